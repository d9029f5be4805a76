/* SPDX-License-Identifier: MIT
 *
 * Policy + evidence -> verdict. One broken limit is a FAIL; what is missing, blind or too little
 * makes it INCONCLUSIVE; only all limits met is a PASS.
 */
#include "gate.h"

#include <stdio.h>
#include <string.h>

static enum gate_state judge_limit(const struct gate_result *result, enum gate_limit limit)
{
    const struct gate_limit_row *row = &gate_limit_rows[limit];
    const struct gate_item *item = &result->item[row->evidence];
    const double value = result->measured[limit], bound = result->policy.limit[limit];
    if (item->taken == GATE_NOT_APPLICABLE || !result->policy.required[row->evidence])
        return GATE_UNUSED;
    if (item->taken == GATE_NOT_TAKEN)
        return GATE_MISSING;
    if (gate_evidence_rows[row->evidence].needs_coverage && item->coverage == 0)
        return GATE_BLIND;
    /* Written so that a NaN breaks the limit. */
    if (row->side == GATE_MOST)
        return value <= bound ? GATE_MET : GATE_BROKEN;
    return value >= bound ? GATE_MET : GATE_THIN;
}

/* One state in words, appended to the reason. */
static void explain(struct gate_result *result, enum gate_limit limit)
{
    const struct gate_limit_row *row = &gate_limit_rows[limit];
    const struct gate_item *item = &result->item[row->evidence];
    const char *name = gate_evidence_rows[row->evidence].name;
    const double value = result->measured[limit], bound = result->policy.limit[limit];
    const size_t used = strlen(result->reason), size = sizeof result->reason - used;
    char *text = result->reason + used;
    const char *joint = used == 0 ? "" : "; ";
    switch (result->state[limit]) {
    case GATE_BROKEN:
        snprintf(text, size, "%s%s: %s %.4g, allowed %.4g", joint, name, row->what, value, bound);
        break;
    case GATE_THIN:
        snprintf(text, size, "%s%s: %s %.0f, needed %.0f", joint, name, row->what, value, bound);
        break;
    case GATE_BLIND:
        snprintf(text, size, "%s%s: blind, no route that the trade changes ran", joint, name);
        break;
    case GATE_MISSING:
        snprintf(text, size, "%s%s: missing: %s", joint, name, item->note);
        break;
    case GATE_MET:
    case GATE_UNUSED:
        break;
    }
}

static bool decides(const struct gate_result *result, int limit)
{
    const enum gate_state state = result->state[limit];
    if (result->verdict == GATE_FAIL)
        return state == GATE_BROKEN;
    return state != GATE_MET && state != GATE_UNUSED;
}

void gate_judge(struct gate_result *result, const char *today)
{
    /* ISO dates compare as text. */
    const bool expired = strcmp(today, result->policy.expires) > 0;
    result->verdict = expired ? GATE_INCONCLUSIVE : GATE_PASS;
    result->reason[0] = '\0';
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const enum gate_state state = result->state[i] = judge_limit(result, (enum gate_limit)i);
        if (state == GATE_BROKEN)
            result->verdict = GATE_FAIL;
        else if (state != GATE_MET && state != GATE_UNUSED && result->verdict == GATE_PASS)
            result->verdict = GATE_INCONCLUSIVE;
    }
    if (result->verdict == GATE_PASS)
        snprintf(result->reason, sizeof result->reason, "every limit of the policy is met");
    else if (expired && result->verdict == GATE_INCONCLUSIVE)
        snprintf(result->reason, sizeof result->reason,
                 "the policy expired after %s: its owner (%s) must renew it",
                 result->policy.expires, result->policy.owner);
    /* An evidence that is blind or missing is so in all its limits: once is enough. */
    int last = -1;
    for (int i = 0; i < GATE_NUM_LIMITS && result->verdict != GATE_PASS; i++) {
        const bool whole = result->state[i] == GATE_BLIND || result->state[i] == GATE_MISSING;
        const int evidence = (int)gate_limit_rows[i].evidence;
        if (!decides(result, i) || (whole && evidence == last))
            continue;
        explain(result, (enum gate_limit)i);
        last = evidence;
    }
}
