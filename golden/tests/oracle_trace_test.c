/* SPDX-License-Identifier: MIT
 *
 * model.oracle.trace: every intermediate of the reference trace, from the embedding to the logits.
 */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "oracle_fixture.h"

#define TRACE         "trace32of96-f64.safetensors"
#define GREEDY_TOKENS 4

Test(model_oracle, trace)
{
    struct oracle_model *model = fixture_model();
    struct oracle_archive *archive = fixture_archive(TRACE);
    int64_t n, count, vocab = oracle_model_extents(model).vocab_size;
    int32_t *ids = fixture_ids(archive, "input_ids", &n);
    double *logits = malloc((size_t)vocab * sizeof *logits);
    cr_assert_not_null(logits);
    struct fixture_trace trace = {.references = archive, .positions = 32};
    struct oracle_session *session = fixture_session(model, ORACLE_FLOAT64, ORACLE_FAULT_NONE);
    fixture_forward(
        session, ids, n,
        &(struct oracle_outputs){
            .logits = logits, .first_logits = n - 1, .observe = fixture_observe, .data = &trace});
    /* All tensors of the file but input_ids, logits_last and greedy_ids, which are compared below.
     */
    cr_assert_eq(trace.compared, FIXTURE_TRACE_TENSORS, "%d tensors compared", trace.compared);
    cr_assert_leq(trace.worst_share, 1, "%s: difference %g, %g times the allowance",
                  trace.worst_name, trace.worst_difference, trace.worst_share);

    double *reference = fixture_tensor(archive, "logits_last", &count);
    cr_assert_eq(count, vocab);
    double difference = fixture_max_difference(logits, reference, vocab);
    double allowed = fixture_allowance(FIXTURE_LAYERS + 1, n, fixture_max_abs(reference, vocab));
    cr_log_info("worst tensor %s: %.1e, share %.3f; logits_last: %.1e of %.1e", trace.worst_name,
                trace.worst_difference, trace.worst_share, difference, allowed);
    cr_assert_leq(difference, allowed, "logits_last: %g above %g", difference, allowed);

    int32_t *greedy = fixture_ids(archive, "greedy_ids", &count);
    cr_assert_eq(count, GREEDY_TOKENS);
    for (int i = 0; i < GREEDY_TOKENS; i++) {
        int32_t token = oracle_argmax(logits, vocab);
        cr_assert_eq(token, greedy[i], "greedy token %d: %d, expected %d", i, token, greedy[i]);
        fixture_forward(session, &token, 1, &(struct oracle_outputs){.logits = logits});
    }
    free(greedy);
    free(reference);
    free(logits);
    free(ids);
    oracle_session_free(session);
    oracle_archive_close(archive);
    oracle_model_close(model);
}
