/* SPDX-License-Identifier: MIT
 *
 * policy: the first two bytes choose a set of trades, the others are the policy's text.
 */
#include "fuzz_folder.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <assay/testing.h>

#include "gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What every judgement relies on. */
static void check_policy(const struct gate_policy *policy)
{
    if (policy->version < 1 || policy->owner[0] == '\0' || strlen(policy->expires) != 10 ||
        strlen(policy->digest) != 64 || !policy->required[GATE_OPS])
        fuzz_fail("a policy that cannot be judged by was accepted");
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const struct gate_limit_row *row = &gate_limit_rows[i];
        const double limit = policy->limit[i];
        if (!policy->required[row->evidence])
            continue;
        if (isnan(limit) || limit < 0 || (row->side == GATE_LEAST && limit < 1))
            fuzz_fail("a limit that nothing or anything meets");
    }
}

/* An entry of a set's own may ask for less than its members do. */
static bool has_own_entries(const char *text, size_t size)
{
    json_t *root = json_loadb(text, size, 0, NULL);
    const json_t *own = json_object_get(json_object_get(root, "sets"), "own");
    const bool has = json_object_size(own) > 0;
    json_decref(root);
    return has;
}

/* The limit of a set as docs/gate.md says: of the members that need the evidence the sum, which is
 * without end when one is, or the smallest or largest of those that have an end. */
static double combined(const char *rule, const struct gate_policy *members, assay_trade_set set,
                       enum gate_limit limit)
{
    const bool is_sum = strcmp(rule, "sum") == 0, is_largest = strcmp(rule, "largest") == 0;
    double sum = 0.0, extreme = INFINITY;
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++) {
        const double one = members[t].limit[limit];
        if ((set >> t & 1u) == 0 || !members[t].required[gate_limit_rows[limit].evidence])
            continue;
        sum += one;
        if (!isinf(one) && (isinf(extreme) || (is_largest ? one > extreme : one < extreme)))
            extreme = one;
    }
    return is_sum ? sum : extreme;
}

static void check_limits(const json_t *rules, const struct gate_policy *members,
                         assay_trade_set set, const struct gate_policy *policy)
{
    bool needed[GATE_NUM_EVIDENCE] = {false};
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++)
        for (int e = 0; e < GATE_NUM_EVIDENCE && (set >> t & 1u) != 0; e++)
            needed[e] = needed[e] || members[t].required[e];
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const struct gate_limit_row *row = &gate_limit_rows[i];
        if (policy->required[row->evidence] != needed[row->evidence])
            fuzz_fail("a set needs other evidence than its members");
        if (!needed[row->evidence])
            continue;
        const char *rule = json_string_value(json_object_get(rules, row->key));
        const double wanted = combined(rule, members, set, (enum gate_limit)i);
        if (!(policy->limit[i] == wanted || fabs(policy->limit[i] - wanted) <= 1e-12 * wanted))
            fuzz_fail("a set's limit is not what the rule makes of its members'");
    }
}

static void check_against_members(const char *text, size_t size, assay_trade_set set,
                                  const struct gate_policy *policy)
{
    struct gate_policy members[ASSAY_NUM_TRADES] = {0};
    json_t *root = json_loadb(text, size, 0, NULL);
    const json_t *const sets = json_object_get(root, "sets");
    const bool is_set = (set & (set - 1)) != 0;
    const char *expires =
        is_set ? json_string_value(json_object_get(sets, "expires")) : policy->expires;
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++) {
        struct assay_error error = {.status = ASSAY_OK};
        if ((set >> t & 1u) == 0)
            continue;
        if (gate_policy_read(text, size, "policy", (enum assay_trade)t, &members[t], &error) !=
            ASSAY_OK)
            fuzz_fail("a set is allowed whose member has no policy");
        if (strcmp(members[t].expires, expires) < 0)
            expires = members[t].expires;
    }
    if (strcmp(policy->expires, expires) != 0)
        fuzz_fail("a set is not valid until the first of its members or rules ends");
    if (is_set)
        check_limits(json_object_get(sets, "limits"), members, set, policy);
    json_decref(root);
}

static assay_trade_set listed(const char *text, size_t size)
{
    struct assay_error error = {.status = ASSAY_OK};
    enum assay_trade trades[ASSAY_NUM_TRADES];
    assay_trade_set set = 0;
    int count = 0;
    fuzz_check_record(gate_policy_trades(text, size, "policy", trades, &count, &error), &error);
    for (int i = 0; i < count; i++)
        set |= 1u << (unsigned)trades[i];
    return set;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const assay_trade_set set =
        (data[0] | (assay_trade_set)data[1] << 8) % (1u << ASSAY_NUM_TRADES);
    const char *text = (const char *)data + 2;
    struct assay_error error = {.status = ASSAY_OK};
    struct gate_policy policy;
    const assay_status status =
        gate_policy_read_set(text, size - 2, "policy", set, &policy, &error);
    fuzz_check_record(status, &error);
    const assay_trade_set named = listed(text, size - 2);
    if (status == ASSAY_OK) {
        if (set == 0 || (set & ~named) != 0)
            fuzz_fail("a trade without a policy is allowed");
        check_policy(&policy);
        if (!has_own_entries(text, size - 2))
            check_against_members(text, size - 2, set, &policy);
    }
    if (assay_live_allocations() != 0)
        fuzz_fail("a leak");
    return 0;
}
