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

static void check_against_members(const char *text, size_t size, assay_trade_set set,
                                  const struct gate_policy *policy)
{
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++) {
        struct gate_policy member;
        struct assay_error error = {.status = ASSAY_OK};
        if ((set >> t & 1u) == 0)
            continue;
        if (gate_policy_read(text, size, "policy", (enum assay_trade)t, &member, &error) !=
            ASSAY_OK)
            fuzz_fail("a set is allowed whose member has no policy");
        if (strcmp(policy->expires, member.expires) > 0)
            fuzz_fail("a set outlives its member");
        for (int i = 0; i < GATE_NUM_LIMITS; i++) {
            const struct gate_limit_row *row = &gate_limit_rows[i];
            if (!member.required[row->evidence])
                continue;
            if (!policy->required[row->evidence] ||
                (row->side == GATE_LEAST && policy->limit[i] < member.limit[i]))
                fuzz_fail("a set needs less evidence than its member");
        }
    }
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
