/* SPDX-License-Identifier: MIT
 *
 * gate.damage: a cut ledger and one with a flipped bit are refused in words that name the file and
 * the way out, or everything that was recorded is still there; the file is never written to.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate_ledger.h"
#include "gate_sample.h"
#include "ledger_files.h"
#include "ledger_read.h"

enum { RUNS = 3 };

static struct gate_result *made; /* what was recorded, RUNS times */

TestSuite(ledger_damage, .init = ledger_files_make, .fini = ledger_files_remove);

/* All runs as one text; NULL when the ledger is refused, with the error. */
static char *read_all(struct assay_error *error)
{
    struct ledger_reader reader;
    json_t *runs = NULL, *all = json_array(), *row;
    size_t i;
    assay_status status = ledger_reader_open(ledger_path, &reader, error);
    if (status == ASSAY_OK)
        status = ledger_list(&reader, &runs, error);
    json_array_foreach(runs, i, row)
    {
        json_t *run;
        if (status == ASSAY_OK)
            status =
                ledger_load(&reader, json_integer_value(json_object_get(row, "id")), &run, error);
        if (status == ASSAY_OK)
            json_array_append_new(all, run);
    }
    ledger_reader_close(&reader);
    char *text = status == ASSAY_OK ? json_dumps(all, JSON_SORT_KEYS) : NULL;
    json_decref(runs);
    json_decref(all);
    return text;
}

/* The newest run, by the index that questions go through: a damaged index hides runs that are all
 * there. */
static int64_t find_newest(const struct gate_result *sample)
{
    struct ledger_reader reader;
    struct assay_error error = {0};
    int64_t run;
    const struct ledger_query query = {.model = sample->key.model,
                                       .trades = sample->key.trades,
                                       .backend = sample->key.backend,
                                       .isa = sample->key.isa,
                                       .seed = -1,
                                       .quick = -1};
    cr_assert(ledger_reader_open(ledger_path, &reader, &error) == ASSAY_OK, "%s", error.message);
    cr_assert(ledger_newest(&reader, &query, &run, &error) == ASSAY_OK, "%s", error.message);
    ledger_reader_close(&reader);
    return run;
}

static void check_unchanged(const uint8_t *expected, size_t size, const char *what, size_t at)
{
    size_t now;
    uint8_t *bytes = ledger_bytes(&now);
    cr_assert(now == size && memcmp(bytes, expected, size) == 0,
              "%s at %zu: the damaged file was written to", what, at);
    free(bytes);
}

/* Whether the damage was noticed. */
static bool try_damaged(const uint8_t *bytes, size_t size, const char *whole, const char *what,
                        size_t at)
{
    struct assay_error error = {0}, writing = {0};
    gate_ledger *ledger;
    ledger_write_bytes(bytes, size);
    char *text = read_all(&error);
    if (text != NULL) {
        /* A place that means nothing: all must be as it was. */
        cr_assert(strcmp(text, whole) == 0, "%s at %zu: other runs, and no error", what, at);
        cr_assert(find_newest(made) == RUNS, "%s at %zu: a run is not found, and no error", what,
                  at);
        free(text);
        return false;
    }
    cr_assert(strcmp(error.what, ledger_path) == 0, "%s at %zu: %s: %s", what, at, error.what,
              error.message);
    check_unchanged(bytes, size, what, at);
    const assay_status status = gate_ledger_open(ledger_path, &ledger, &writing);
    gate_ledger_close(ledger);
    cr_assert(status != ASSAY_OK, "%s at %zu: reading says %s, writing nothing", what, at,
              error.message);
    cr_assert(strcmp(writing.what, ledger_path) == 0, "%s at %zu: the file is not named", what, at);
    cr_assert(strstr(writing.message, "name another") != NULL, "%s at %zu: no way out: %s", what,
              at, writing.message);
    check_unchanged(bytes, size, what, at);
    return true;
}

static uint8_t *make(size_t *size, char **whole)
{
    struct assay_error error = {0};
    made = sample_result();
    cr_assert(ledger_record(made, RUNS, &error) == ASSAY_OK, "%s", error.message);
    *whole = read_all(&error);
    cr_assert(*whole != NULL, "%s", error.message);
    return ledger_bytes(size);
}

Test(ledger_damage, flipped_bits)
{
    size_t size;
    char *whole;
    uint8_t *bytes = make(&size, &whole);
    int noticed = 0, harmless = 0;
    /* The header and the schema's page densely, the rest at a stride that meets every bit. */
    for (size_t bit = 0; bit < 8 * size; bit += bit < 800 ? 1 : 233) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (try_damaged(bytes, size, whole, "bit", bit))
            noticed++;
        else
            harmless++;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    cr_assert(noticed > 300, "%d noticed, %d harmless", noticed, harmless);
    ledger_write_bytes(bytes, size);
    struct assay_error error = {0};
    free(read_all(&error));
    cr_assert(error.status == ASSAY_OK);
    free(bytes);
    free(whole);
    free(made);
}

Test(ledger_damage, cut)
{
    size_t size;
    char *whole;
    uint8_t *bytes = make(&size, &whole);
    for (size_t cut = 1; cut < size; cut += cut < 200 ? 7 : 511)
        cr_assert(try_damaged(bytes, cut, whole, "cut", cut), "cut at %zu: not noticed", cut);
    free(bytes);
    free(whole);
    free(made);
}
