/* SPDX-License-Identifier: MIT
 *
 * The policy of several trades used together, as data:
 *
 *   "sets": {"owner": "...", "expires": "YYYY-MM-DD",
 *     "limits": {LIMIT: "smallest", "largest" or "sum", ...},
 *     "own": {"TRADE,TRADE": an entry as a trade has it, ...}}
 *
 * A set with an entry of its own is judged by it. Another needs the evidence that any of its
 * members needs; a limit is made of the limits of the members that need its evidence, as the rule
 * of its key says. "sum" is for allowances that add up: a member whose policy only reports the
 * figure then makes the set's unlimited too; the other two look at the members that limit it. No
 * rule may ask less evidence of a set than of a member.
 */
#include "gate_policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gate_try.h"

enum rule { SMALLEST, LARGEST, SUM, NUM_RULES };

static const char *const rule_names[NUM_RULES] = {"smallest", "largest", "sum"};

static enum rule find_rule(const json_t *value)
{
    const char *text = json_string_value(value);
    for (int i = 0; text != NULL && i < NUM_RULES; i++)
        if (strcmp(text, rule_names[i]) == 0)
            return (enum rule)i;
    return NUM_RULES;
}

/* ---- schema --------------------------------------------------------------------------------- */

static assay_status check_rules(const struct policy_reader *r, json_t *limits)
{
    const char *keys[GATE_NUM_LIMITS];
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const struct gate_limit_row *row = &gate_limit_rows[i];
        json_t *value;
        keys[i] = row->key;
        TRY(policy_member(r, limits, "sets.limits", row->key, "a string", policy_is_string,
                          &value));
        const enum rule rule = find_rule(value);
        if (rule == NUM_RULES)
            return assay_fail(r->error, ASSAY_E_PARSE, r->file, "sets.limits",
                              "\"%s\" must be \"smallest\", \"largest\" or \"sum\", is \"%.32s\"",
                              row->key, json_string_value(value));
        if (row->side == GATE_LEAST && rule == SMALLEST)
            return assay_fail(r->error, ASSAY_E_PARSE, r->file, "sets.limits",
                              "\"%s\" must be \"largest\" or \"sum\": a set needs no less evidence "
                              "than its members",
                              row->key);
    }
    return policy_known_keys(r, limits, "sets.limits", keys, GATE_NUM_LIMITS);
}

/* The names are those of a set that a session takes, spelt as the ledger spells it. */
static assay_status check_names(const struct policy_reader *r, const char *names)
{
    char spelt[256];
    assay_trade_set set;
    struct assay_error found = {0};
    if (assay_trade_set_parse(names, &set, &found) != ASSAY_OK)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, "sets.own", "\"%.64s\": %s", names,
                          found.message);
    assay_trade_set_format(set, spelt, sizeof spelt);
    if (strchr(names, ',') == NULL || strcmp(spelt, names) != 0)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, "sets.own",
                          "\"%.64s\" must be two trades or more, spelt \"%.128s\"", names, spelt);
    return ASSAY_OK;
}

assay_status policy_check_sets(const struct policy_reader *r, json_t *sets)
{
    static const char *const keys[] = {"owner", "expires", "limits", "own"};
    const char *names;
    json_t *limits, *own, *entry;
    struct gate_policy ignored = {0};
    if (!json_is_object(sets))
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, "policy", "\"sets\" must be an object");
    TRY(policy_known_keys(r, sets, "sets", keys, sizeof keys / sizeof *keys));
    TRY(policy_read_owner(r, sets, "sets", &ignored));
    TRY(policy_member(r, sets, "sets", "limits", "an object", policy_is_object, &limits));
    TRY(policy_member(r, sets, "sets", "own", "an object", policy_is_object, &own));
    TRY(check_rules(r, limits));
    json_object_foreach(own, names, entry)
    {
        TRY(check_names(r, names));
        if (!json_is_object(entry))
            return assay_fail(r->error, ASSAY_E_PARSE, r->file, "sets.own",
                              "\"%.64s\" must be an object", names);
        TRY(policy_read_entry(r, entry, names, &ignored));
    }
    return ASSAY_OK;
}

/* ---- combination ---------------------------------------------------------------------------- */

static double combine(enum rule rule, double a, double b)
{
    if (rule == SUM)
        return a + b;
    if (isinf(a) || isinf(b)) /* reported */
        return isinf(a) ? b : a;
    return rule == SMALLEST ? fmin(a, b) : fmax(a, b);
}

static void combine_limits(const struct policy_entries *entries, const json_t *rules,
                           assay_trade_set set, struct gate_policy *policy)
{
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const struct gate_limit_row *row = &gate_limit_rows[i];
        const enum rule rule = find_rule(json_object_get(rules, row->key));
        bool first = true;
        for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++) {
            const struct gate_policy *member = &entries->entry[t];
            if ((set >> t & 1u) == 0 || !member->required[row->evidence])
                continue;
            policy->limit[i] =
                first ? member->limit[i] : combine(rule, policy->limit[i], member->limit[i]);
            first = false;
        }
    }
}

assay_status policy_combine(const struct policy_reader *r, const struct policy_entries *entries,
                            const json_t *sets, assay_trade_set set, struct gate_policy *policy)
{
    char names[256];
    assay_trade_set_format(set, names, sizeof names);
    if (sets == NULL)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, "policy",
                          "the key \"sets\" is missing, which says how %s combine: gate them one "
                          "by one, or add it",
                          names);
    json_t *own = json_object_get(json_object_get(sets, "own"), names);
    if (own != NULL)
        TRY(policy_read_entry(r, own, names, policy));
    else
        TRY(policy_read_owner(r, sets, "sets", policy));
    for (int e = 0; e < GATE_NUM_EVIDENCE; e++)
        for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++) {
            const struct gate_policy *member = &entries->entry[t];
            if ((set >> t & 1u) == 0 || !member->required[e])
                continue;
            policy->members[e] |= 1u << t;
            policy->required[e] = policy->required[e] || own == NULL;
        }
    if (own != NULL)
        return ASSAY_OK;
    combine_limits(entries, json_object_get(sets, "limits"), set, policy);
    /* A set is valid no longer than its members; ISO dates compare as text. */
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++)
        if ((set >> t & 1u) != 0 && strcmp(entries->entry[t].expires, policy->expires) < 0)
            snprintf(policy->expires, sizeof policy->expires, "%.10s", entries->entry[t].expires);
    return ASSAY_OK;
}
