/* SPDX-License-Identifier: MIT
 *
 * The verdict: one function compares a route's output with an oracle. All tests, the CLI, fuzzing
 * and gates use it. docs/verdicts.md has the mathematics.
 */
#ifndef ORACLE_VERDICT_H
#define ORACLE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/tensor.h>

#include "oracle.h"

/* X(enumerator, name, meaning): what a verdict can find. The first finding is reported. */
#define VERDICT_FINDING_TABLE(X)                                                            \
    X(PASS, "pass", "both error measures hold")                                             \
    X(STATUS, "status", "the call returned another status than expected")                   \
    X(UNWRITTEN, "unwritten", "an output element still holds the poison")                   \
    X(GUARD, "guard", "memory outside an output was written")                               \
    X(INPUT_CHANGED, "input changed", "an input was written")                               \
    X(NONFINITE, "non-finite", "NaN or infinity where the oracle has none, or the reverse") \
    X(ELEMENT, "element", "an element's error is beyond its forward bound")                 \
    X(RELATIVE_L2, "relative L2", "the relative L2 error is beyond the allowance")          \
    X(INEXACT, "inexact", "an exact case does not match to the bit")                        \
    X(NOT_REPEATED, "not repeated", "a second run gave other bits")                         \
    X(CRASHED, "crashed", "the route ended its process")                                    \
    X(HUNG, "hung", "the route did not return in time")                                     \
    X(MISTRUSTED, "mistrusted", "the case did not excite what it claims to")                \
    X(NOT_RUN, "not run", "there was no memory for the case")

enum verdict_finding {
#define VERDICT_FINDING_ENUM(enumerator, name, meaning) VERDICT_##enumerator,
    VERDICT_FINDING_TABLE(VERDICT_FINDING_ENUM)
#undef VERDICT_FINDING_ENUM
        VERDICT_NUM_FINDINGS
};

const char *verdict_finding_name(enum verdict_finding finding);
/* Whether the route is wrong: no other finding than PASS, MISTRUSTED and NOT_RUN, of which the last
 * two say nothing about it, and make a run bad all the same. */
bool verdict_is_failure(enum verdict_finding finding);

#define VERDICT_ULP_BINS \
    24 /* bin b: error in [2^(b-8), 2^(b-7)) ulp of the output format; 0: less */

struct verdict {
    enum verdict_finding finding;
    char output[16];     /* the output it was found in */
    double relative_l2;  /* |actual - reference|_2 / |reference|_2 over finite elements */
    double allowance;    /* what it may be */
    double worst_ratio;  /* largest |error| / bound; > 1 fails. 0 when all errors are 0 */
    int64_t worst_index; /* its element, row-major */
    double worst_actual, worst_reference, worst_own;
    double worst_term[ORACLE_NUM_TERMS];
    double own_share; /* largest own / bound: how far the oracle itself is from exact */
    double ulp_50, ulp_99, ulp_100; /* error in ulps of the output format, percentiles */
    int64_t ulp_histogram[VERDICT_ULP_BINS];
    int64_t count;     /* elements compared */
    int64_t nonzero;   /* reference elements that are not zero */
    char message[512]; /* one line: what is wrong, where, by how much */
};

/* Compares one output. `exact`: the case is one whose sums are exact, so the output must equal the
 * rounded reference to the bit (signs of zero apart). `ceiling`: see struct oracle_op. */
void verdict_compare(const struct assay_tensor *actual, const struct oracle_output *reference,
                     double ceiling, bool exact, struct verdict *verdict);
/* Merges `more` into `total`: the first finding that is no pass wins, maxima and counts combine. */
void verdict_merge(struct verdict *total, const struct verdict *more);
/* The worst element's bound as a sum of named terms with the share that was used, one line. */
void verdict_explain(const struct verdict *verdict, char *text, size_t size);

#endif
