/* SPDX-License-Identifier: MIT
 *
 * assay perplexity: losses on held-out texts, and what a lossy option changes on the same tokens.
 */
#include "tools/tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/model.h>

#include "core/core.h"
#include "tools/perplexity_report.h"
#include "tools/progress.h"
#include "tools/trade_gate.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

struct shown {
    struct progress progress;
    const char *what; /* that is being scored; NULL: nothing yet */
};

static bool on_progress(void *user, const char *what, int64_t done, int64_t total)
{
    struct shown *shown = user;
    if (shown->what == NULL || strcmp(shown->what, what) != 0) {
        if (shown->what != NULL)
            progress_end(&shown->progress);
        progress_begin(&shown->progress, what, total);
        shown->what = what;
    }
    progress_update(&shown->progress, done, "");
    return interrupted == 0;
}

/* Refuses trades without passing gate records, of both settings. */
static assay_status ask_gates(const struct perplexity_options *options, struct assay_error *error)
{
    const struct quality_options *m = &options->measure;
    const struct assay_gate_machine machine = {m->backend, assay_isa_detect(), m->device};
    assay_model *model;
    if ((m->trades | m->against_trades) == 0 || options->ungated)
        return ASSAY_OK;
    ASSAY_TRY(assay_model_open(m->model_dir, &model, error));
    assay_status status =
        trade_gate_ask("perplexity", model, m->trades, NULL, options->ledger, &machine, error);
    if (status == ASSAY_OK)
        status = trade_gate_ask("perplexity", model, m->against_trades, NULL, options->ledger,
                                &machine, error);
    assay_model_close(model);
    return status;
}

static assay_status write_json(const struct perplexity_options *options,
                               const struct quality_result *result, struct assay_error *error)
{
    struct assay_new_file file;
    if (options->json == NULL)
        return ASSAY_OK;
    ASSAY_TRY(assay_new_file_open(options->json, &file, error));
    /* A failed write shows in the stream, which commit looks at. */
    if (!perplexity_report_json(options, result, file.stream) && ferror(file.stream) == 0) {
        assay_new_file_abort(&file);
        return assay_fail(error, ASSAY_E_MEMORY, "perplexity", "--json", "no memory");
    }
    return assay_new_file_commit(&file, error);
}

static assay_status measure(struct perplexity_options *options, struct quality_result *result,
                            struct assay_error *error)
{
    struct shown shown = {.what = NULL};
    ASSAY_TRY(ask_gates(options, error));
    options->measure.progress = on_progress;
    options->measure.user = &shown;
    const assay_status status = quality_measure(&options->measure, result, error);
    if (shown.what != NULL)
        progress_end(&shown.progress);
    ASSAY_TRY(status);
    perplexity_report_text(options, result, stdout);
    return write_json(options, result, error);
}

/* The mark frames everything that an ungated run printed, so that no excerpt loses it. */
static void mark(const struct perplexity_options *options)
{
    char trades[256];
    if (!options->ungated)
        return;
    assay_trade_set_format(options->measure.trades | options->measure.against_trades, trades,
                           sizeof trades);
    fprintf(stderr, "UNGATED: %s\n", trades);
}

int tool_perplexity(int argc, char **argv)
{
    static const int codes[] = {
        [QUALITY_WITHIN] = TOOL_OK,
        [QUALITY_BEYOND] = TOOL_FAILED,
        [QUALITY_INCONCLUSIVE] = TOOL_INCONCLUSIVE,
        [QUALITY_REPORTED] = TOOL_OK,
    };
    struct perplexity_options options;
    struct assay_error error = {0};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    perplexity_options_parse(&options, argc, argv);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    /* A file that grows beyond a limit is a write error like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    struct quality_result *result = calloc(1, sizeof *result);
    if (result == NULL) {
        fprintf(stderr, "assay: no memory\n");
        return TOOL_USAGE;
    }
    mark(&options);
    const assay_status status = measure(&options, result, &error);
    const int code = status == ASSAY_OK ? codes[result->verdict] : tool_report(&error);
    mark(&options);
    quality_result_free(result);
    free(result);
    const int flushed = tool_flush_stdout();
    return flushed != TOOL_OK ? flushed : code;
}
