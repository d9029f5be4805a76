/* SPDX-License-Identifier: MIT
 *
 * Which trades apply to a model: a session takes them, and the routes that they change run in it.
 * Cheap, so that a gate of all trades can say it before it takes evidence.
 */
#include "gate_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFILL = 96, DECODE = 2, WIDTH = 16 };

/* The session refused for what the model is, not for want of memory or device. */
static bool is_refusal(assay_status status)
{
    return status == ASSAY_E_UNSUPPORTED || status == ASSAY_E_EXCLUSIVE ||
           status == ASSAY_E_FORMAT || status == ASSAY_E_SHAPE || status == ASSAY_E_ARG ||
           status == ASSAY_E_NO_ROUTE;
}

/* Every kind of pass that a session makes: a trade may change only one of them. */
static assay_status run_passes(assay_session *session, const int32_t *ids, int64_t num_ids,
                               float *logits, struct assay_error *error)
{
    const int64_t prefill = num_ids < PREFILL + DECODE ? num_ids / 2 : PREFILL;
    TRY(assay_session_forward(session, ids, prefill, ASSAY_LOGITS_LAST, logits, error));
    for (int i = 0; i < DECODE && prefill + i < num_ids; i++)
        TRY(assay_session_verify(session, ids + prefill + i, 1, logits, error));
    return num_ids < PREFILL + DECODE + WIDTH
               ? ASSAY_OK
               : assay_session_verify(session, ids + PREFILL + DECODE, WIDTH, logits, error);
}

/* The passes of the setting without the trade, or with it, in the context that is for it. */
static assay_status run_setting(struct gate_bench *bench, assay_trade_set trades, bool with,
                                const int32_t *ids, int64_t num_ids, struct assay_error *problem)
{
    struct assay_session_options options = assay_session_defaults();
    assay_session *session = NULL;
    options.capacity = PREFILL + DECODE + WIDTH;
    options.trades = trades;
    float *logits = calloc((size_t)(WIDTH * bench->vocab), sizeof *logits);
    if (logits == NULL)
        return assay_fail(problem, ASSAY_E_MEMORY, "gate", "survey", "no memory");
    assay_status status = assay_session_create(with ? bench->with : bench->without, bench->model,
                                               &options, &session, problem);
    if (status == ASSAY_OK)
        status = run_passes(session, ids, num_ids, logits, problem);
    assay_session_destroy(session);
    free(logits);
    return status;
}

static assay_status probe(struct gate_bench *bench, enum assay_trade trade, const int32_t *ids,
                          int64_t num_ids, struct gate_survey_row *row, struct assay_error *error)
{
    struct assay_error problem = {0};
    assay_trade_set without, with;
    assay_trade_set_compared(1u << (unsigned)trade, &without, &with);
    gate_bench_coverage_begin(bench);
    assay_status status = run_setting(bench, without, false, ids, num_ids, &problem);
    if (status == ASSAY_OK)
        status = run_setting(bench, with, true, ids, num_ids, &problem);
    row->applies =
        status == ASSAY_OK && gate_bench_trade_coverage(bench, bench->with, trade) >
                                  gate_bench_trade_coverage(bench, bench->without, trade);
    if (status == ASSAY_OK && !row->applies)
        snprintf(row->note, sizeof row->note, "none of the routes that it changes runs");
    else if (status != ASSAY_OK)
        snprintf(row->note, sizeof row->note, "%.200s: %.200s", problem.what, problem.message);
    if (status != ASSAY_OK && !is_refusal(status)) {
        *error = problem;
        return status;
    }
    return ASSAY_OK;
}

assay_status gate_survey(const struct gate_options *options, const enum assay_trade *trades,
                         int num_trades, struct gate_survey_row *rows, struct gate_result *result,
                         struct assay_error *error)
{
    struct gate_bench bench;
    struct gate_options own = *options;
    int32_t *ids = NULL;
    size_t num_ids = 0;
    own.trades = 1u << (unsigned)trades[0];
    assay_status status = gate_bench_open(&own, result, &bench, error);
    if (status == ASSAY_OK)
        status = gate_bench_identify(&bench, error);
    if (status == ASSAY_OK)
        status = gate_bench_text(&bench, gate_texts[0], &ids, &num_ids, error);
    for (int i = 0; i < num_trades && status == ASSAY_OK; i++) {
        rows[i] = (struct gate_survey_row){.trade = trades[i]};
        status = gate_bench_progress(&bench, "survey", i, num_trades, error);
        if (status == ASSAY_OK)
            status = probe(&bench, trades[i], ids, (int64_t)num_ids, &rows[i], error);
    }
    assay_tokens_free(ids);
    gate_bench_close(&bench);
    return status;
}
