/* SPDX-License-Identifier: MIT
 *
 * The gate's tables as data: evidence, limits, names.
 */
#include "gate.h"

const struct gate_evidence_row gate_evidence_rows[GATE_NUM_EVIDENCE] = {
#define ROW(enumerator, name, covered, what) [GATE_##enumerator] = {name, covered, what},
    GATE_EVIDENCE_TABLE(ROW)
#undef ROW
};

const struct gate_limit_row gate_limit_rows[GATE_NUM_LIMITS] = {
#define ROW(enumerator, evidence, key, side, what) \
    [GATE_LIMIT_##enumerator] = {GATE_##evidence, key, GATE_##side, what},
    GATE_LIMIT_TABLE(ROW)
#undef ROW
};

const char *gate_state_name(enum gate_state state)
{
    static const char *const names[] = {
#define ROW(enumerator, name) [GATE_##enumerator] = name,
        GATE_STATE_TABLE(ROW)
#undef ROW
    };
    return names[state];
}

const char *gate_verdict_name(enum gate_verdict verdict)
{
    static const char *const names[] = {"PASS", "FAIL", "INCONCLUSIVE"};
    return names[verdict];
}
