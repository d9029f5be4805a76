/* SPDX-License-Identifier: MIT
 *
 * What the two readers of a policy share: its members, entries, sets. Private to golden/gate.
 */
#ifndef GATE_POLICY_H
#define GATE_POLICY_H

#include <jansson.h>

#include "gate.h"

struct policy_reader {
    const char *file; /* for errors */
    struct assay_error *error;
};

/* The trades' policies. */
struct policy_entries {
    int64_t version;
    struct gate_policy entry[ASSAY_NUM_TRADES];
    assay_trade_set named;
    enum assay_trade order[ASSAY_NUM_TRADES];
    int count;
};

/* The member `key` of the object at `place`, of a type that `fits` accepts. */
assay_status policy_member(const struct policy_reader *r, const json_t *object, const char *place,
                           const char *key, const char *wanted, bool fits(const json_t *),
                           json_t **value);
bool policy_is_object(const json_t *value);
bool policy_is_string(const json_t *value);
/* Every key of the object is among names[0, count). */
assay_status policy_known_keys(const struct policy_reader *r, json_t *object, const char *place,
                               const char *const *names, size_t count);
/* owner, expires and evidence of the entry `name`. */
assay_status policy_read_entry(const struct policy_reader *r, json_t *object, const char *name,
                               struct gate_policy *policy);
/* owner and expires into the policy. */
assay_status policy_read_owner(const struct policy_reader *r, const json_t *object,
                               const char *name, struct gate_policy *policy);

/* ---- gate_policy_set.c ---------------------------------------------------------------------- */

/* All of `sets` is as it should be. */
assay_status policy_check_sets(const struct policy_reader *r, json_t *sets);
/* The policy of a set of two trades or more; sets may be NULL. */
assay_status policy_combine(const struct policy_reader *r, const struct policy_entries *entries,
                            const json_t *sets, assay_trade_set set, struct gate_policy *policy);

#endif
