/* SPDX-License-Identifier: MIT
 *
 * argmax with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "argmax_mutants.h"

#include <math.h>

#include "words.h"

enum fault {
    NONE,
    LAST_MAXIMUM,
    NAN_IGNORED,
    LIMIT_IGNORED,
    STARTS_AT_ZERO,
    LANE_INDEX,
    LANES_MERGED_LAST,
    TAIL_SKIPPED,
    ZEROS_ORDERED,
    INFINITY_REFUSED,
    BF16_COMPARED,
    FIRST_ROW,
};

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

#define MUTANT_FUNCTION(fault)                                                                 \
    static assay_status run_##fault(assay_context *context, const void *args, void *workspace) \
    {                                                                                          \
        (void)context;                                                                         \
        (void)workspace;                                                                       \
        return run(args, fault);                                                               \
    }
MUTANT_FUNCTION(NONE)
MUTANT_FUNCTION(LAST_MAXIMUM)
MUTANT_FUNCTION(NAN_IGNORED)
MUTANT_FUNCTION(LIMIT_IGNORED)
MUTANT_FUNCTION(STARTS_AT_ZERO)
MUTANT_FUNCTION(LANE_INDEX)
MUTANT_FUNCTION(LANES_MERGED_LAST)
MUTANT_FUNCTION(TAIL_SKIPPED)
MUTANT_FUNCTION(ZEROS_ORDERED)
MUTANT_FUNCTION(INFINITY_REFUSED)
MUTANT_FUNCTION(BF16_COMPARED)
MUTANT_FUNCTION(FIRST_ROW)

#define MUTANT(short_name, text, ids, which)            \
    {                                                   \
        .fault = text, .catalogue = ids, .route = {     \
            .name = "argmax.mutant." short_name ".cpu", \
            .backend = ASSAY_CPU,                       \
            .profile = ASSAY_PROFILE_EXACT,             \
            .run = run_##which                          \
        }                                               \
    }

const struct case_mutant argmax_mutants[ARGMAX_NUM_MUTANTS] = {
    MUTANT("control", NULL, "", NONE),
    MUTANT("last", "the last of equal maxima wins", "", LAST_MAXIMUM),
    MUTANT("nan_ignored", "a NaN is passed over by the comparisons", "B191 B092", NAN_IGNORED),
    MUTANT("limit_ignored", "padding columns of the vocabulary take part", "B118", LIMIT_IGNORED),
    MUTANT("starts_at_zero", "the maximum starts at 0: rows of negatives give id 0", "B121",
           STARTS_AT_ZERO),
    MUTANT("lane", "the index within the vector is returned", "", LANE_INDEX),
    MUTANT("merged", "equal maxima in different lanes: the lowest lane wins", "",
           LANES_MERGED_LAST),
    MUTANT("tail", "columns after the last multiple of 8 are not looked at", "", TAIL_SKIPPED),
    MUTANT("zeros", "+0 beats -0", "", ZEROS_ORDERED),
    MUTANT("infinity", "an infinity is taken for a NaN", "", INFINITY_REFUSED),
    MUTANT("bf16", "binary32 logits are compared as bf16", "", BF16_COMPARED),
    MUTANT("first_row", "every row is given the id of row 0", "", FIRST_ROW),
};
