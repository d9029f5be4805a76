/* SPDX-License-Identifier: MIT
 *
 * gate.set: how the policies of several trades become one, what its errors say, and that evidence
 * on a set is blind where one of its members did not run.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate_bench.h"
#include "gate_sample.h"

enum {
    STATE = 1u << ASSAY_TRADE_GDN_STATE_FP16,
    EMBEDDING = 1u << ASSAY_TRADE_EMBEDDING_Q6,
    HEAD = 1u << ASSAY_TRADE_LM_HEAD_Q6
};

/* The built-in policy with the last `from` replaced by `to`. */
static char *edited(const char *from, const char *to)
{
    size_t bytes;
    const char *policy = assay_gate_policy(&bytes);
    char *text = calloc(1, bytes + strlen(to) + 1), *at = NULL;
    cr_assert(text != NULL);
    memcpy(text, policy, bytes);
    for (char *next = text; (next = strstr(next, from)) != NULL; next++)
        at = next;
    cr_assert(at != NULL, "the policy holds no %s", from);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
    return text;
}

static assay_status read_text(const char *text, assay_trade_set set, struct gate_policy *policy,
                              struct assay_error *error)
{
    return gate_policy_read_set(text, strlen(text), "policy.json", set, policy, error);
}

static const struct {
    const char *from, *to, *where, *message;
} faults[] = {
    {"\"failures_most\": \"smallest\"", "\"failures_most\": \"least\"", "sets.limits",
     "must be \"smallest\", \"largest\" or \"sum\", is \"least\""},
    {"\"failures_most\": \"smallest\"", "\"failures_most\": 0", "sets.limits", "must be a string"},
    {"\"failures_most\": \"smallest\",", "", "sets.limits", "the key \"failures_most\" is missing"},
    {"\"failures_most\": \"smallest\"", "\"failures_most\": \"sum\", \"failure_most\": \"sum\"",
     "sets.limits", "unknown key \"failure_most\""},
    {"\"cases_least\": \"largest\"", "\"cases_least\": \"smallest\"", "sets.limits",
     "a set needs no less evidence than its members"},
    {"\"expires\"", "\"expire\"", "sets", "unknown key \"expire\""},
    {"2027-11-30", "2027-13-30", "sets", "must be a date such as"},
    {"\"numerics\"", "\"\"", "sets", "\"owner\" must have 1 to"},
    {"\"own\": {}", "\"own\": []", "sets", "\"own\" must be an object"},
    {"\"own\": {}", "\"own\": {\"lm-head-q5,lm-head-q6\": {}}", "sets.own", "unknown trade"},
    {"\"own\": {}", "\"own\": {\"lm-head-q4,lm-head-q6\": {}}", "sets.own", "cannot be combined"},
    {"\"own\": {}", "\"own\": {\"lm-head-q6\": {}}", "sets.own", "two trades or more"},
    {"\"own\": {}", "\"own\": {\"lm-head-q6,embedding-q6\": {}}", "sets.own",
     "spelt \"embedding-q6,lm-head-q6\""},
    {"\"own\": {}", "\"own\": {\"embedding-q6,lm-head-q6\": {}}", "embedding-q6,lm-head-q6",
     "the key \"owner\" is missing"},
    {"\"sets\": {", "\"sets\": 1, \"x\": {", "policy", "unknown key \"x\""},
};

/* Wrong sets are refused also where a single trade is gated: nothing of a policy is ignored. */
Test(gate_set, errors)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct assay_error error = {0};
        struct gate_policy policy;
        char *text = edited(faults[i].from, faults[i].to);
        const assay_status status = read_text(text, STATE, &policy, &error);
        cr_assert(status == ASSAY_E_PARSE, "%s -> %s was taken", faults[i].from, faults[i].to);
        cr_assert(strcmp(error.what, faults[i].where) == 0 &&
                      strstr(error.message, faults[i].message) != NULL,
                  "%s -> %s: %s: %s", faults[i].from, faults[i].to, error.what, error.message);
        free(text);
    }
    struct assay_error error = {0};
    struct gate_policy policy;
    char *text = edited(",\n  \"sets\": {", ",\n  \"kept\": {");
    *(strstr(text, ",\n  \"kept\"")) = '}';
    *(strstr(text, "}\n  \"kept\"") + 1) = '\0';
    cr_assert(read_text(text, STATE, &policy, &error) == ASSAY_OK, "%s", error.message);
    cr_assert(read_text(text, STATE | HEAD, &policy, &error) == ASSAY_E_PARSE);
    cr_assert(strstr(error.message, "the key \"sets\" is missing") != NULL, "%s", error.message);
    free(text);
}

static struct gate_policy policy_of(const char *text, assay_trade_set set)
{
    struct assay_error error = {0};
    struct gate_policy policy;
    cr_assert(read_text(text, set, &policy, &error) == ASSAY_OK, "%s: %s", error.what,
              error.message);
    return policy;
}

/* Sums, unions and dates, from the members' own figures. */
Test(gate_set, combination)
{
    char *text = edited("\"expires\": \"2027-11-30\",\n    \"limits\"",
                        "\"expires\": \"2028-11-30\",\n    \"limits\"");
    const struct gate_policy state = policy_of(text, STATE), head = policy_of(text, HEAD);
    const struct gate_policy embedding = policy_of(text, EMBEDDING);
    const struct gate_policy both = policy_of(text, STATE | HEAD);
    const struct gate_policy three = policy_of(text, STATE | HEAD | EMBEDDING);
    const int change = GATE_LIMIT_DECODE_CHANGE;
    cr_assert(both.limit[change] == state.limit[change] + head.limit[change]);
    cr_assert(fabs(three.limit[change] - both.limit[change] - embedding.limit[change]) < 1e-15);
    cr_assert(both.limit[GATE_LIMIT_OPS_CASES] == state.limit[GATE_LIMIT_OPS_CASES]);
    cr_assert(both.limit[GATE_LIMIT_OPS_FAILURES] == 0.0);
    /* lm-head-q6 goes without drift and only reports ties. */
    cr_assert(!head.required[GATE_DRIFT] && both.required[GATE_DRIFT]);
    cr_assert(both.limit[GATE_LIMIT_DRIFT_ERROR] == state.limit[GATE_LIMIT_DRIFT_ERROR]);
    cr_assert(both.members[GATE_DRIFT] == STATE);
    cr_assert(three.members[GATE_NLL_DECODE] == (STATE | HEAD | EMBEDDING));
    cr_assert(isinf(both.limit[GATE_LIMIT_GREEDY_TIE]));
    char *other = edited("\"tie_gap_most\": \"sum\"", "\"tie_gap_most\": \"smallest\"");
    const struct gate_policy limited = policy_of(other, STATE | HEAD);
    cr_assert(limited.limit[GATE_LIMIT_GREEDY_TIE] == state.limit[GATE_LIMIT_GREEDY_TIE]);
    free(other);
    const struct gate_policy quiet = policy_of(text, EMBEDDING | HEAD);
    cr_assert(!quiet.required[GATE_DRIFT]);
    cr_assert(strcmp(both.expires, state.expires) == 0, "a set outlives its members");
    free(text);

    text = edited("\"expires\": \"2027-11-30\",\n    \"limits\"",
                  "\"expires\": \"2027-01-31\",\n    \"limits\"");
    const struct gate_policy shorter = policy_of(text, STATE | HEAD);
    cr_assert(strcmp(shorter.expires, "2027-01-31") == 0);
    free(text);
    cr_assert(strcmp(both.digest, shorter.digest) != 0);
}

/* An entry of its own is taken as it is, for exactly that set. */
Test(gate_set, own_entry)
{
    char *text = edited(
        "\"own\": {}",
        "\"own\": {\"embedding-q6,lm-head-q6\": {\"owner\": \"x\", \"expires\": \"2029-01-01\", "
        "\"evidence\": {\"op-verdicts\": {\"cases_least\": 7, \"failures_most\": 0}, "
        "\"drift\": \"not required\", \"greedy\": \"not required\", "
        "\"nll-decode\": {\"tokens_least\": 9, \"relative_change_most\": 0.5}, "
        "\"nll-prefill\": \"not required\", \"nll-width\": \"not required\", "
        "\"baseline\": \"not required\"}}}");
    const struct gate_policy own = policy_of(text, EMBEDDING | HEAD);
    cr_assert(own.limit[GATE_LIMIT_OPS_CASES] == 7.0 && own.limit[GATE_LIMIT_DECODE_CHANGE] == 0.5);
    cr_assert(!own.required[GATE_GREEDY] && own.required[GATE_NLL_DECODE]);
    cr_assert(strcmp(own.owner, "x") == 0 && strcmp(own.expires, "2029-01-01") == 0);
    const struct gate_policy other = policy_of(text, EMBEDDING | HEAD | STATE);
    cr_assert(other.limit[GATE_LIMIT_OPS_CASES] == 100.0 && other.required[GATE_GREEDY]);
    free(text);
}

static void run_session(struct gate_bench *bench, assay_context *context, assay_trade_set trades)
{
    static const int32_t ids[] = {5, 6, 7, 8};
    struct assay_session_options options = assay_session_defaults();
    struct assay_error error = {0};
    assay_session *session;
    float *logits = calloc((size_t)bench->vocab, sizeof *logits);
    options.capacity = 16;
    options.trades = trades;
    cr_assert(assay_session_create(context, bench->model, &options, &session, &error) == ASSAY_OK,
              "%s", error.message);
    cr_assert(assay_session_forward(session, ids, 4, ASSAY_LOGITS_LAST, logits, &error) ==
              ASSAY_OK);
    assay_session_destroy(session);
    free(logits);
}

/* Each member has to run; what ran before the evidence began does not count. */
Test(gate_set, coverage)
{
    struct assay_error error = {0};
    struct gate_result *result = sample_result();
    struct gate_bench bench;
    const struct gate_options options = {.model_dir = ASSAY_GOLDEN_DIR "/models/tiny-hybrid",
                                         .trades = STATE | EMBEDDING,
                                         .data_dir = ASSAY_GOLDEN_DIR,
                                         .threads = 1};
    size_t bytes;
    const char *text = assay_gate_policy(&bytes);
    cr_assert(gate_policy_read_set(text, bytes, "x", options.trades, &result->policy, &error) ==
              ASSAY_OK);
    cr_assert(gate_bench_open(&options, result, &bench, &error) == ASSAY_OK, "%s", error.message);
    run_session(&bench, bench.with, STATE | EMBEDDING);
    gate_bench_coverage_begin(&bench);
    cr_assert(gate_bench_extra_coverage(&bench, GATE_GREEDY) == 0, "what ran before is counted");
    run_session(&bench, bench.with, STATE);
    cr_assert(gate_bench_extra_coverage(&bench, GATE_GREEDY) == 0, "one member did not run");
    cr_assert(gate_bench_extra_coverage(&bench, GATE_DRIFT) > 1, "drift is the state's alone");
    run_session(&bench, bench.with, EMBEDDING);
    cr_assert(gate_bench_extra_coverage(&bench, GATE_GREEDY) == 1, "the fewest runs are one");
    run_session(&bench, bench.without, EMBEDDING);
    cr_assert(gate_bench_extra_coverage(&bench, GATE_GREEDY) == 0, "what both run is no trade's");
    gate_bench_close(&bench);

    const uint64_t counts[ASSAY_NUM_TRADES] = {[ASSAY_TRADE_GDN_STATE_FP16] = 3,
                                               [ASSAY_TRADE_EMBEDDING_Q6] = 0,
                                               [ASSAY_TRADE_LM_HEAD_Q6] = 9};
    cr_assert(gate_bench_fewest(&bench, GATE_OPS, counts) == 0);
    cr_assert(gate_bench_fewest(&bench, GATE_DRIFT, counts) == 3);
    free(result);
}

/* What applies to a model: the survey's answers on the bundled one. */
Test(gate_set, survey)
{
    struct assay_error error = {0};
    struct gate_result *result = calloc(1, sizeof *result);
    enum assay_trade trades[ASSAY_NUM_TRADES];
    struct gate_survey_row rows[ASSAY_NUM_TRADES];
    int count;
    size_t bytes;
    const struct gate_options options = {.model_dir = ASSAY_GOLDEN_DIR "/models/tiny-hybrid",
                                         .data_dir = ASSAY_GOLDEN_DIR,
                                         .threads = 1};
    const char *text = assay_gate_policy(&bytes);
    cr_assert(gate_policy_trades(text, bytes, "x", trades, &count, &error) == ASSAY_OK);
    cr_assert(count >= 5 && trades[0] == ASSAY_TRADE_GDN_STATE_FP16);
    cr_assert(gate_survey(&options, trades, count, rows, result, &error) == ASSAY_OK, "%s",
              error.message);
    for (int i = 0; i < 5; i++)
        cr_assert(rows[i].applies && rows[i].trade == trades[i], "%s: %s",
                  assay_trade_name(trades[i]), rows[i].note);
    cr_assert(strlen(result->key.model) == 64 && strlen(result->corpus) == 64);

    cr_assert(result->bytes_without > result->bytes_with && result->bytes_with > 0.0);
    free(result);
}
