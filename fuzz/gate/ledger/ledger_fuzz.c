/* SPDX-License-Identifier: MIT
 *
 * ledger: the bytes are the ledger's SQLite file. All that shows it is tried, none of it may change
 * a byte of it; then it is opened for writing, which must leave a file that it refuses as it lies.
 */
#include "fuzz_folder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <assay/gate_record.h>
#include <assay/testing.h>

#include "gate_ledger.h"
#include "ledger_read.h"
#include "ledger_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[4200];

static void remove_ledger(void)
{
    static const char *const names[] = {"ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm",
                                        "ledger.sqlite-journal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fuzz_folder_remove(names[i]);
}

static void check_unchanged(const uint8_t *data, size_t size, const char *by)
{
    FILE *file = fopen(path, "rb");
    uint8_t *found = malloc(size + 1);
    if (file == NULL || found == NULL)
        fuzz_fail("the ledger cannot be read any more");
    if (fread(found, 1, size + 1, file) != size || (size > 0 && memcmp(found, data, size) != 0))
        fuzz_fail(by);
    free(found);
    fclose(file);
}

/* A stream that forgets. */
static FILE *sink(void)
{
    static FILE *file;
    if (file == NULL && (file = fopen("/dev/null", "w")) == NULL)
        fuzz_fail("/dev/null cannot be written");
    return file;
}

static json_t *load(const struct ledger_reader *reader, int64_t run)
{
    struct assay_error error = {.status = ASSAY_OK};
    json_t *object = NULL;
    const assay_status status = ledger_load(reader, run, &object, &error);
    fuzz_check_record(status, &error);
    if ((status == ASSAY_OK) != (object != NULL))
        fuzz_fail("status and run contradict each other");
    return object;
}

static void print(const json_t *value)
{
    char *text = json_dumps(value, JSON_SORT_KEYS);
    if (text == NULL)
        fuzz_fail("a run that is no JSON");
    free(text);
}

static void compare(const json_t *a, const json_t *b)
{
    json_t *diff = ledger_diff(a, b);
    if (diff == NULL)
        fuzz_fail("two runs that cannot be compared");
    print(diff);
    ledger_diff_print(diff, sink());
    (void)ledger_regressions(a, b, sink());
    json_decref(diff);
}

/* The first runs with all that is recorded of them, against each other; then as a table. */
static void show(const struct ledger_reader *reader, const json_t *runs)
{
    enum { MOST = 4 };
    const enum assay_trade trades[] = {ASSAY_TRADE_GDN_STATE_FP16, ASSAY_TRADE_LM_HEAD_Q4};
    json_t *whole = json_array();
    for (size_t i = 0; i < json_array_size(runs) && i < MOST; i++) {
        const json_t *id = json_object_get(json_array_get(runs, i), "id");
        json_t *run = load(reader, json_integer_value(id));
        if (run == NULL)
            continue;
        print(run);
        json_array_append_new(whole, run);
    }
    for (size_t i = 1; i < json_array_size(whole); i++)
        compare(json_array_get(whole, i - 1), json_array_get(whole, i));
    ledger_table_write(whole, trades, 2, sink());
    json_decref(whole);
}

static void ask(const struct ledger_reader *reader)
{
    const struct ledger_query query = {.model = "m",
                                       .trades = "gdn-state-fp16",
                                       .backend = "cpu",
                                       .isa = "avx2",
                                       .seed = -1,
                                       .quick = -1};
    struct assay_error error = {.status = ASSAY_OK};
    int64_t run = 0;
    fuzz_check_record(ledger_find(reader, "LAST", &run, &error), &error);
    error = (struct assay_error){.status = ASSAY_OK};
    fuzz_check_record(ledger_newest(reader, &query, &run, &error), &error);
}

static void read_ledger(void)
{
    struct assay_error error = {.status = ASSAY_OK};
    struct ledger_reader reader;
    json_t *runs = NULL;
    assay_status status = ledger_reader_open(path, &reader, &error);
    fuzz_check_record(status, &error);
    if (status == ASSAY_OK) {
        fuzz_check_record(ledger_list(&reader, &runs, &error), &error);
        print(runs);
        show(&reader, runs);
        ask(&reader);
        json_decref(runs);
    }
    ledger_reader_close(&reader);
}

/* No run of the input can be of this process's build: nothing may pass. */
static void look_up(void)
{
    const struct assay_gate_machine machine = {ASSAY_CPU, assay_isa_detect(), 0};
    struct assay_error error = {.status = ASSAY_OK};
    char reason[256] = "";
    bool passes = true;
    const assay_status status = assay_gate_lookup(
        path, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        1u << ASSAY_TRADE_GDN_STATE_FP16, &machine, &passes, reason, sizeof reason, &error);
    fuzz_check_record(status, &error);
    if (passes || (status == ASSAY_OK && reason[0] == '\0'))
        fuzz_fail("allowed by a ledger of another build");
}

static assay_status open_to_write(void)
{
    struct assay_error error = {.status = ASSAY_OK};
    gate_ledger *ledger = NULL;
    const assay_status status = gate_ledger_open(path, &ledger, &error);
    fuzz_check_record(status, &error);
    if ((status == ASSAY_OK) != (ledger != NULL))
        fuzz_fail("status and ledger contradict each other");
    gate_ledger_close(ledger);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned calls;
    if (path[0] == '\0')
        snprintf(path, sizeof path, "%s/ledger.sqlite", fuzz_folder());
    remove_ledger();
    fuzz_folder_write("ledger.sqlite", data, size);
    read_ledger();
    check_unchanged(data, size, "reading changed the ledger");
    /* The lookup reads the whole program file for its digest: not every time, but always when one
     * input is repeated. */
    if (calls++ % 64 == 0) {
        look_up();
        check_unchanged(data, size, "the lookup changed the ledger");
    }
    if (open_to_write() != ASSAY_OK)
        check_unchanged(data, size, "a ledger that was refused is not as it was");
    remove_ledger();
    if (assay_live_allocations() != 0)
        fuzz_fail("a leak");
    return 0;
}
