/* SPDX-License-Identifier: MIT
 *
 * gate.policy: what a policy may say, what its errors say, and how evidence is judged by it.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate_sample.h"

/* The built-in policy with the first `from` replaced by `to`; NULL when it holds no `from`. */
static char *edited(const char *from, const char *to)
{
    size_t bytes;
    const char *policy = assay_gate_policy(&bytes);
    char *text = calloc(1, bytes + strlen(to) + 1);
    cr_assert(text != NULL);
    memcpy(text, policy, bytes);
    char *at = strstr(text, from);
    cr_assert(at != NULL, "the policy holds no %s", from);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
    return text;
}

static const struct {
    const char *from, *to, *where, *message;
} faults[] = {
    {"\"version\": 1", "\"version\": 1.5", "policy", "\"version\" must be a whole number"},
    {"\"version\": 1", "\"version\": 0", "policy", "at least 1, is 0"},
    {"\"version\": 1,", "", "policy", "the key \"version\" is missing"},
    {"\"version\": 1", "\"version\": 1, \"versoin\": 2", "policy", "unknown key \"versoin\""},
    {"\"version\": 1", "\"version\": 1, \"version\": 1", "policy", "duplicate object key"},
    {"gdn-state-fp16", "gdn-state-fp8", "trades", "unknown trade \"gdn-state-fp8\""},
    {"\"owner\": \"numerics\"", "\"owner\": 7", "gdn-state-fp16",
     "\"owner\" must be a string, is a number"},
    {"\"owner\": \"numerics\"", "\"owner\": \"\"", "gdn-state-fp16", "\"owner\" must have 1 to"},
    {"\"owner\"", "\"owners\"", "gdn-state-fp16", "unknown key \"owners\"; known: owner"},
    {"2027-11-30", "2027-11-31", "gdn-state-fp16", "must be a date such as"},
    {"2027-11-30", "30.11.2027", "gdn-state-fp16", "must be a date such as"},
    {"\"drift\"", "\"drfit\"", "gdn-state-fp16.evidence", "unknown key \"drfit\""},
    {"\"faults_most\": 0", "\"faults_most\": \"0\"", "gdn-state-fp16.evidence.greedy",
     "\"faults_most\" must be a number or \"reported\", is a string"},
    {"\"steps_least\": 4096", "\"steps_least\": \"reported\"", "gdn-state-fp16.evidence.drift",
     "no evidence decides nothing"},
    {"{\"cases_least\": 100, \"failures_most\": 0}", "\"not required\"", "gdn-state-fp16.evidence",
     "\"op-verdicts\" is required of every trade"},
    {"\"faults_most\": 0", "\"faults_most\": -1", "gdn-state-fp16.evidence.greedy", ">= 0, is -1"},
    {"\"faults_most\"", "\"faults_max\"", "gdn-state-fp16.evidence.greedy",
     "unknown key \"faults_max\""},
    {"\"steps_least\": 4096", "\"steps_least\": 0", "gdn-state-fp16.evidence.drift",
     "no evidence decides nothing"},
    {"\"failures_most\": 0", "\"failures_most\": true", "gdn-state-fp16.evidence.op-verdicts",
     "must be a number or \"reported\", is true, false or null"},
    {"{", "[", "policy", "line "},
};

Test(gate_policy, errors)
{
    const enum assay_trade trade = ASSAY_TRADE_GDN_STATE_FP16;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct assay_error error = {0};
        struct gate_policy policy;
        char *text = edited(faults[i].from, faults[i].to);
        const assay_status status =
            gate_policy_read(text, strlen(text), "policy.json", trade, &policy, &error);
        cr_assert(status == ASSAY_E_PARSE, "%s -> %s was taken", faults[i].from, faults[i].to);
        cr_assert(strcmp(error.where, "policy.json") == 0 &&
                      strcmp(error.what, faults[i].where) == 0 &&
                      strstr(error.message, faults[i].message) != NULL,
                  "%s -> %s: %s: %s", faults[i].from, faults[i].to, error.what, error.message);
        free(text);
    }
    struct assay_error error = {0};
    struct gate_policy policy;
    const char *empty = "{\"version\": 1, \"trades\": {}}";
    cr_assert(gate_policy_read(empty, strlen(empty), "policy.json", trade, &policy, &error) ==
              ASSAY_E_PARSE);
    cr_assert(strstr(error.message, "no policy for gdn-state-fp16") != NULL);
}

/* Any change of the text is another policy. */
Test(gate_policy, digest)
{
    const enum assay_trade trade = ASSAY_TRADE_GDN_STATE_FP16;
    struct assay_error error = {0};
    struct gate_policy policy;
    struct gate_result *sample = sample_result();
    cr_assert(strcmp(sample->policy.digest, sample->key.policy) == 0);
    char *text = edited("0.005", "0.006");
    cr_assert(gate_policy_read(text, strlen(text), "x", trade, &policy, &error) == ASSAY_OK, "%s",
              error.message);
    cr_assert(strcmp(policy.digest, sample->key.policy) != 0);
    cr_assert(policy.limit[GATE_LIMIT_DRIFT_ERROR] == 0.006);
    free(text);
    free(sample);
}

/* What a policy does without it says in words, and only that is not judged. */
Test(gate_policy, words)
{
    struct assay_error error = {0};
    struct gate_result *result = sample_result();
    char *text = edited("\"tie_gap_most\": 0.1", "\"tie_gap_most\": \"reported\"");
    cr_assert(gate_policy_read(text, strlen(text), "x", ASSAY_TRADE_GDN_STATE_FP16, &result->policy,
                               &error) == ASSAY_OK,
              "%s", error.message);
    result->measured[GATE_LIMIT_GREEDY_TIE] = 1e30;
    gate_judge(result, "2026-11-30");
    cr_assert(result->verdict == GATE_PASS, "%s", result->reason);
    result->measured[GATE_LIMIT_GREEDY_TIE] = NAN;
    gate_judge(result, "2026-11-30");
    cr_assert(result->verdict == GATE_FAIL, "a NaN passed");
    free(text);

    size_t bytes;
    const char *policy = assay_gate_policy(&bytes);
    cr_assert(gate_policy_read(policy, bytes, "built-in", ASSAY_TRADE_LM_HEAD_Q4, &result->policy,
                               &error) == ASSAY_OK,
              "%s", error.message);
    cr_assert(!result->policy.required[GATE_DRIFT] && result->policy.required[GATE_NLL_DECODE]);
    for (int i = 0; i < GATE_NUM_LIMITS; i++)
        result->measured[i] = isinf(result->policy.limit[i]) ? 1 : result->policy.limit[i];
    result->item[GATE_DRIFT].taken = GATE_NOT_TAKEN;
    result->measured[GATE_LIMIT_DRIFT_ERROR] = 1;
    gate_judge(result, "2026-11-30");
    cr_assert(result->verdict == GATE_PASS, "%s", result->reason);
    result->item[GATE_NLL_DECODE].coverage = 0;
    gate_judge(result, "2026-11-30");
    cr_assert(result->verdict == GATE_INCONCLUSIVE, "a blind evidence passed");
    free(result);
}

static void expect(struct gate_result *result, enum gate_verdict verdict, const char *reason)
{
    gate_judge(result, "2026-11-30");
    cr_assert(result->verdict == verdict && strstr(result->reason, reason) != NULL,
              "%s: %s; expected %s: %s", gate_verdict_name(result->verdict), result->reason,
              gate_verdict_name(verdict), reason);
}

/* Each limit alone decides, in the way that its side says. */
Test(gate_policy, every_limit)
{
    struct gate_result *result = sample_result();
    expect(result, GATE_PASS, "every limit");
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const bool most = gate_limit_rows[i].side == GATE_MOST;
        const double kept = result->measured[i], limit = result->policy.limit[i];
        const double beyond = most ? nextafter(limit, INFINITY) : nextafter(limit, 0.0);
        const double bad[] = {beyond, NAN, most ? INFINITY : -INFINITY};
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            result->measured[i] = bad[k];
            expect(result, most ? GATE_FAIL : GATE_INCONCLUSIVE, gate_limit_rows[i].what);
        }
        result->measured[i] = kept;
    }
    expect(result, GATE_PASS, "every limit");
    free(result);
}

Test(gate_policy, blind_and_missing)
{
    struct gate_result *result = sample_result();
    for (int e = 0; e < GATE_NUM_EVIDENCE; e++) {
        struct gate_item *item = &result->item[e], kept = *item;
        item->taken = GATE_NOT_TAKEN;
        expect(result, GATE_INCONCLUSIVE, "missing: a < b");
        *item = kept;
        item->coverage = 0;
        if (gate_evidence_rows[e].needs_coverage)
            expect(result, GATE_INCONCLUSIVE, "blind");
        else
            expect(result, GATE_PASS, "every limit");
        *item = kept;
    }
    /* Blind evidence cannot fail either; what is broken elsewhere decides. */
    result->item[GATE_DRIFT].coverage = 0;
    result->measured[GATE_LIMIT_DRIFT_ERROR] = 1.0;
    expect(result, GATE_INCONCLUSIVE, "drift: blind");
    result->measured[GATE_LIMIT_GREEDY_FAULTS] = 1.0;
    expect(result, GATE_FAIL, "greedy: choices changed that are no tie 1, allowed 0");
    free(result);

    result = sample_result();
    result->item[GATE_BASELINE].taken = GATE_NOT_APPLICABLE;
    expect(result, GATE_PASS, "every limit");
    gate_judge(result, result->policy.expires);
    cr_assert(result->verdict == GATE_PASS, "not valid on its last day");
    gate_judge(result, "2099-01-01");
    cr_assert(result->verdict == GATE_INCONCLUSIVE &&
              strstr(result->reason, "the policy expired") != NULL);
    free(result);
}
