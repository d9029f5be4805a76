/* SPDX-License-Identifier: MIT
 *
 * argmax with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "argmax_mutants.h"

#include <math.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

static bool better(double value, double best, enum fault fault)
{
    if (fault == LAST_MAXIMUM)
        return value >= best;
    if (fault == ZEROS_ORDERED && value == 0 && best == 0)
        return signbit(best) && !signbit(value);
    return value > best;
}

/* Lanes of 8 columns, each with its first maximum; the lowest lane with the largest one wins. */
static int64_t merged_by_lane(const struct assay_argmax_args *a, int64_t first, double best)
{
    for (int64_t lane = 0; lane < 8; lane++)
        for (int64_t i = lane; i < a->limit; i += 8)
            if (oracle_get(&a->logits, first + i) == best)
                return i;
    return 0;
}

static int64_t row_argmax(const struct assay_argmax_args *a, int64_t t, enum fault fault)
{
    int64_t first = t * a->logits.extent[1], limit = a->limit, id = 0;
    if (fault == LIMIT_IGNORED)
        limit = a->logits.extent[1];
    if (fault == TAIL_SKIPPED && limit > 8)
        limit = limit / 8 * 8;
    double best = fault == STARTS_AT_ZERO ? 0 : -INFINITY;
    for (int64_t i = 0; i < limit; i++) {
        double value = oracle_get(&a->logits, first + i);
        if (fault == BF16_COMPARED)
            value = oracle_round(value, ASSAY_BF16);
        if (isnan(value) && fault != NAN_IGNORED)
            return -1;
        if (fault == INFINITY_REFUSED && isinf(value))
            return -1;
        if (better(value, best, fault)) {
            best = value;
            id = i;
        }
    }
    if (fault == LANES_MERGED_LAST)
        id = merged_by_lane(a, first, best);
    return fault == LANE_INDEX ? id % 8 : id;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_argmax_args *a = args;
    for (int64_t t = 0; t < a->ids.extent[0]; t++)
        oracle_put_int(&a->ids, t, row_argmax(a, fault == FIRST_ROW ? 0 : t, fault));
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("argmax", ASSAY_PROFILE_EXACT, __VA_ARGS__)

const struct case_mutant argmax_mutants[ARGMAX_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
