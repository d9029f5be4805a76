/* SPDX-License-Identifier: MIT
 *
 * model.oracle.mtp: intermediates of the MTP head after the 96-token prompt, and its recursive
 * drafts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "oracle_fixture.h"

#define KEPT   32
#define DRAFTS 3

static void mtp_forward(struct oracle_session *session, const int32_t *ids, const double *hidden,
                        int64_t n, const struct oracle_outputs *outputs)
{
    char message[512] = "";
    assay_status status =
        oracle_mtp_forward(session, ids, hidden, n, outputs, message, sizeof message);
    cr_assert_eq(status, ASSAY_OK, "%s", message);
}

/* mtp.top1_ids, mtp.top1_logits, mtp.gap of the kept positions. */
static void check_best(const struct oracle_archive *archive, const double *logits, int64_t vocab)
{
    int64_t count;
    int32_t *best = fixture_ids(archive, "mtp.top1_ids", &count);
    cr_assert_eq(count, KEPT);
    double *top = fixture_tensor(archive, "mtp.top1_logits", &count);
    double *gap = fixture_tensor(archive, "mtp.gap", &count);
    for (int64_t t = 0; t < KEPT; t++) {
        const double *row = logits + t * vocab;
        cr_assert_eq(oracle_argmax(row, vocab), best[t], "position %lld", (long long)t);
        double second = -INFINITY;
        for (int64_t i = 0; i < vocab; i++)
            if (i != best[t])
                second = fmax(second, row[i]);
        double allowed = fixture_allowance(FIXTURE_LAYERS + 3, KEPT, fixture_max_abs(row, vocab));
        cr_assert_leq(fabs(row[best[t]] - top[t]), allowed, "top1, position %lld", (long long)t);
        cr_assert_leq(fabs(row[best[t]] - second - gap[t]), 2 * allowed, "gap, position %lld",
                      (long long)t);
    }
    free(best);
    free(top);
    free(gap);
}

/* (F24): each draft and the head's own last row go in again, at the next position. */
static void check_drafts(const struct oracle_archive *archive, struct oracle_session *session,
                         double *logits, double *hidden, int64_t vocab)
{
    int64_t count;
    int32_t *drafts = fixture_ids(archive, "mtp.draft_ids", &count);
    double *reference = fixture_tensor(archive, "mtp.draft_logits", &count);
    cr_assert_eq(count, DRAFTS * vocab);
    for (int i = 0; i < DRAFTS; i++) {
        double difference = fixture_max_difference(logits, reference + i * vocab, vocab);
        double allowed =
            fixture_allowance(FIXTURE_LAYERS + 3 + 2 * i, 96, fixture_max_abs(reference, count));
        cr_log_info("draft %d: largest difference %.1e of %.1e", i, difference, allowed);
        cr_assert_leq(difference, allowed, "draft %d: %g above %g", i, difference, allowed);
        int32_t token = oracle_argmax(logits, vocab);
        cr_assert_eq(token, drafts[i], "draft %d: %d", i, token);
        if (i + 1 < DRAFTS)
            mtp_forward(session, &token, hidden, 1,
                        &(struct oracle_outputs){.logits = logits, .hidden = hidden});
    }
    free(reference);
    free(drafts);
}

Test(model_oracle, mtp)
{
    struct oracle_model *model = fixture_model();
    struct oracle_model_extents e = oracle_model_extents(model);
    struct oracle_archive *prompt = fixture_archive("trace32of96-f64.safetensors");
    struct oracle_archive *archive = fixture_archive("mtp32of96-f64.safetensors");
    int64_t n, count;
    int32_t *ids = fixture_ids(prompt, "input_ids", &n);
    int32_t *next = fixture_ids(archive, "mtp.next_ids", &count);
    cr_assert_eq(count, n);
    double *hidden = malloc((size_t)(n * e.hidden_size) * sizeof *hidden);
    double *logits = malloc((size_t)(n * e.vocab_size) * sizeof *logits);
    double *last = malloc((size_t)e.vocab_size * sizeof *last);
    cr_assert(hidden != NULL && logits != NULL && last != NULL);
    struct oracle_session *session = fixture_session(model, ORACLE_FLOAT64, ORACLE_FAULT_NONE);
    fixture_forward(session, ids, n, &(struct oracle_outputs){.hidden = hidden});

    struct fixture_trace trace = {.references = archive, .positions = KEPT};
    double *rows = malloc((size_t)(n * e.hidden_size) * sizeof *rows);
    cr_assert_not_null(rows);
    mtp_forward(session, next, hidden, n,
                &(struct oracle_outputs){
                    .logits = logits, .hidden = rows, .observe = fixture_observe, .data = &trace});
    cr_assert_eq(trace.compared, FIXTURE_MTP_TENSORS, "%d tensors compared", trace.compared);
    cr_assert_leq(trace.worst_share, 1, "%s: difference %g", trace.worst_name,
                  trace.worst_difference);
    cr_log_info("worst tensor %s: %.1e, share %.3f", trace.worst_name, trace.worst_difference,
                trace.worst_share);
    check_best(archive, logits, e.vocab_size);

    /* Drafting twice from the same place gives the same: provisional positions are forgotten. */
    for (int round = 0; round < 2; round++) {
        memcpy(last, logits + (n - 1) * e.vocab_size, (size_t)e.vocab_size * sizeof *last);
        double *row = hidden; /* the prompt's hidden rows are no longer needed */
        memcpy(row, rows + (n - 1) * e.hidden_size, (size_t)e.hidden_size * sizeof *row);
        check_drafts(archive, session, last, row, e.vocab_size);
        cr_assert_eq(oracle_mtp_length(session), n + DRAFTS - 1);
        oracle_mtp_rewind(session, n);
        cr_assert_eq(oracle_mtp_length(session), n);
    }
    oracle_session_free(session);
    free(rows);
    free(last);
    free(logits);
    free(hidden);
    free(next);
    free(ids);
    oracle_archive_close(archive);
    oracle_archive_close(prompt);
    oracle_model_close(model);
}
