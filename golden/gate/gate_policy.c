/* SPDX-License-Identifier: MIT
 *
 * Reads a policy. No key is optional and none is ignored: a key that is misspelt would be a limit
 * that is not checked. What a trade does without is said in words.
 *
 *   {"version": N, "trades": {TRADE: {"owner": "...", "expires": "YYYY-MM-DD",
 *     "evidence": {EVIDENCE: {LIMIT: number or "reported", ...} or "not required", ...}}},
 *    "sets": see gate_policy_set.c; without it no set can be gated}
 */
#include "gate_policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "gate_try.h"

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    default:
        return "true, false or null";
    }
}

assay_status policy_member(const struct policy_reader *r, const json_t *object, const char *place,
                           const char *key, const char *wanted, bool fits(const json_t *),
                           json_t **value)
{
    *value = json_object_get(object, key);
    if (*value == NULL)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, place, "the key \"%s\" is missing",
                          key);
    if (!fits(*value))
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, place, "\"%s\" must be %s, is %s", key,
                          wanted, type_name(*value));
    return ASSAY_OK;
}

bool policy_is_object(const json_t *value)
{
    return json_is_object(value);
}
bool policy_is_string(const json_t *value)
{
    return json_is_string(value);
}
static bool is_word(const json_t *value, const char *word)
{
    return json_is_string(value) && strcmp(json_string_value(value), word) == 0;
}
static bool is_number_or_word(const json_t *value)
{
    return json_is_number(value) || is_word(value, "reported");
}
static bool is_object_or_word(const json_t *value)
{
    return json_is_object(value) || is_word(value, "not required");
}
static bool is_integer(const json_t *value)
{
    return json_is_integer(value);
}

assay_status policy_known_keys(const struct policy_reader *r, json_t *object, const char *place,
                               const char *const *names, size_t count)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        bool known = false;
        char list[384] = "";
        for (size_t i = 0; i < count; i++) {
            known = known || strcmp(key, names[i]) == 0;
            const size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", names[i]);
        }
        if (!known)
            return assay_fail(r->error, ASSAY_E_PARSE, r->file, place,
                              "unknown key \"%.64s\"; known: %s", key, list);
    }
    return ASSAY_OK;
}

static assay_status read_limit(const struct policy_reader *r, const json_t *object,
                               const char *place, const struct gate_limit_row *row, double *limit)
{
    json_t *value;
    TRY(policy_member(r, object, place, row->key, "a number or \"reported\"", is_number_or_word,
                      &value));
    if (json_is_string(value) && row->side == GATE_LEAST)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, place,
                          "\"%s\" must be a number: no evidence decides nothing", row->key);
    *limit = INFINITY;
    if (json_is_string(value)) /* any value but NaN will do */
        return ASSAY_OK;
    *limit = json_number_value(value);
    if (!isfinite(*limit) || *limit < 0.0)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, place,
                          "\"%s\" must be a number >= 0, is %g", row->key, *limit);
    if (row->side == GATE_LEAST && *limit < 1.0)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, place,
                          "\"%s\" must be at least 1, is %g: no evidence decides nothing", row->key,
                          *limit);
    return ASSAY_OK;
}

static assay_status read_evidence(const struct policy_reader *r, const json_t *object,
                                  const char *trade, struct gate_policy *policy)
{
    for (int e = 0; e < GATE_NUM_EVIDENCE; e++) {
        const char *keys[GATE_NUM_LIMITS], *name = gate_evidence_rows[e].name;
        size_t num_keys = 0;
        char above[96], place[96];
        json_t *item;
        snprintf(above, sizeof above, "%.48s.evidence", trade);
        snprintf(place, sizeof place, "%.60s.%s", above, name);
        TRY(policy_member(r, object, above, name, "an object or \"not required\"",
                          is_object_or_word, &item));
        policy->required[e] = json_is_object(item);
        if (!policy->required[e] && e == GATE_OPS)
            return assay_fail(r->error, ASSAY_E_PARSE, r->file, above,
                              "\"%s\" is required of every trade", name);
        if (!policy->required[e])
            continue;
        for (int i = 0; i < GATE_NUM_LIMITS; i++)
            if ((int)gate_limit_rows[i].evidence == e)
                keys[num_keys++] = gate_limit_rows[i].key;
        TRY(policy_known_keys(r, item, place, keys, num_keys));
        for (int i = 0; i < GATE_NUM_LIMITS; i++)
            if ((int)gate_limit_rows[i].evidence == e)
                TRY(read_limit(r, item, place, &gate_limit_rows[i], &policy->limit[i]));
    }
    return ASSAY_OK;
}

/* 2027-11-30, and a day that exists. */
static bool is_date(const char *text)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day, length = 0;
    return strlen(text) == 10 && sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &length) == 3 &&
           length == 10 && year >= 2000 && month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1];
}

assay_status policy_read_owner(const struct policy_reader *r, const json_t *object,
                               const char *name, struct gate_policy *policy)
{
    json_t *owner, *expires;
    TRY(policy_member(r, object, name, "owner", "a string", policy_is_string, &owner));
    TRY(policy_member(r, object, name, "expires", "a string", policy_is_string, &expires));
    if (json_string_length(owner) == 0 || json_string_length(owner) >= sizeof policy->owner)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, name,
                          "\"owner\" must have 1 to %zu bytes", sizeof policy->owner - 1);
    if (!is_date(json_string_value(expires)))
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, name,
                          "\"expires\" must be a date such as 2027-11-30, is \"%.32s\"",
                          json_string_value(expires));
    snprintf(policy->owner, sizeof policy->owner, "%s", json_string_value(owner));
    snprintf(policy->expires, sizeof policy->expires, "%.10s", json_string_value(expires));
    return ASSAY_OK;
}

assay_status policy_read_entry(const struct policy_reader *r, json_t *object, const char *name,
                               struct gate_policy *policy)
{
    static const char *const keys[] = {"owner", "expires", "evidence"};
    const char *evidence[GATE_NUM_EVIDENCE];
    json_t *items;
    char place[96];
    TRY(policy_known_keys(r, object, name, keys, sizeof keys / sizeof *keys));
    TRY(policy_read_owner(r, object, name, policy));
    TRY(policy_member(r, object, name, "evidence", "an object", policy_is_object, &items));
    for (int e = 0; e < GATE_NUM_EVIDENCE; e++)
        evidence[e] = gate_evidence_rows[e].name;
    snprintf(place, sizeof place, "%.64s.evidence", name);
    TRY(policy_known_keys(r, items, place, evidence, GATE_NUM_EVIDENCE));
    return read_evidence(r, items, name, policy);
}

/* Reads all trades' policies; entry[t] is complete where the set `named` holds t. */
static assay_status read_trades(const struct policy_reader *r, const json_t *trades,
                                struct policy_entries *entries)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)trades, key, value)
    {
        const enum assay_trade trade = assay_trade_find(key);
        if (!json_is_object(value))
            return assay_fail(r->error, ASSAY_E_PARSE, r->file, "trades",
                              "\"%.64s\" must be an object, is %s", key, type_name(value));
        if (trade == ASSAY_NUM_TRADES)
            return assay_fail(r->error, ASSAY_E_PARSE, r->file, "trades", "unknown trade \"%.64s\"",
                              key);
        struct gate_policy *policy = &entries->entry[trade];
        TRY(policy_read_entry(r, value, key, policy));
        for (int e = 0; e < GATE_NUM_EVIDENCE; e++)
            policy->members[e] = policy->required[e] ? 1u << (unsigned)trade : 0;
        entries->order[entries->count++] = trade;
        entries->named |= 1u << (unsigned)trade;
    }
    return ASSAY_OK;
}

/* *sets is NULL when there is no such key. */
static assay_status read_root(const struct policy_reader *r, json_t *root,
                              struct policy_entries *entries, json_t **sets)
{
    static const char *const keys[] = {"version", "trades", "sets"};
    json_t *version, *trades;
    if (!json_is_object(root))
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, "policy", "must be an object, is %s",
                          type_name(root));
    TRY(policy_known_keys(r, root, "policy", keys, 3));
    TRY(policy_member(r, root, "policy", "version", "a whole number", is_integer, &version));
    TRY(policy_member(r, root, "policy", "trades", "an object", policy_is_object, &trades));
    TRY(read_trades(r, trades, entries));
    entries->version = json_integer_value(version);
    if (entries->version < 1)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, "policy",
                          "\"version\" must be at least 1, is %lld", (long long)entries->version);
    *sets = json_object_get(root, "sets");
    return *sets == NULL ? ASSAY_OK : policy_check_sets(r, *sets);
}

/* The policy of the set out of a text that has been read. */
static assay_status choose(const struct policy_reader *r, const struct policy_entries *entries,
                           const json_t *sets, assay_trade_set set, struct gate_policy *policy)
{
    char names[256];
    const assay_trade_set missing = set & ~entries->named;
    assay_trade_set_format(missing, names, sizeof names);
    if (set == 0 || missing != 0)
        return assay_fail(r->error, ASSAY_E_PARSE, r->file, "trades",
                          "there is no policy for %s: it cannot be gated", names);
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++)
        if (set == 1u << t) {
            *policy = entries->entry[t];
            policy->version = entries->version;
            return ASSAY_OK;
        }
    TRY(policy_combine(r, entries, sets, set, policy));
    policy->version = entries->version;
    return ASSAY_OK;
}

static assay_status load(const char *text, size_t bytes, const char *file, json_t **root,
                         struct assay_error *error)
{
    json_error_t where;
    *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);
    if (*root == NULL)
        return assay_fail(error, ASSAY_E_PARSE, file, "policy", "line %d, column %d: %s",
                          where.line, where.column, where.text);
    return ASSAY_OK;
}

assay_status gate_policy_read_set(const char *text, size_t bytes, const char *file,
                                  assay_trade_set set, struct gate_policy *policy,
                                  struct assay_error *error)
{
    const struct policy_reader r = {.file = file, .error = error};
    struct policy_entries entries = {.count = 0};
    json_t *root, *sets;
    *policy = (struct gate_policy){0};
    TRY(load(text, bytes, file, &root, error));
    assay_status status = read_root(&r, root, &entries, &sets);
    if (status == ASSAY_OK)
        status = choose(&r, &entries, sets, set, policy);
    json_decref(root);
    if (status == ASSAY_OK)
        status = assay_gate_digest(text, bytes, policy->digest, error);
    return status;
}

assay_status gate_policy_read(const char *text, size_t bytes, const char *file,
                              enum assay_trade trade, struct gate_policy *policy,
                              struct assay_error *error)
{
    return gate_policy_read_set(text, bytes, file, 1u << (unsigned)trade, policy, error);
}

assay_status gate_policy_trades(const char *text, size_t bytes, const char *file,
                                enum assay_trade *trades, int *num_trades,
                                struct assay_error *error)
{
    const struct policy_reader r = {.file = file, .error = error};
    struct policy_entries entries = {.count = 0};
    json_t *root, *sets;
    *num_trades = 0;
    TRY(load(text, bytes, file, &root, error));
    const assay_status status = read_root(&r, root, &entries, &sets);
    json_decref(root);
    for (int i = 0; status == ASSAY_OK && i < entries.count; i++)
        trades[(*num_trades)++] = entries.order[i];
    return status;
}
