/* SPDX-License-Identifier: MIT
 *
 * assay_sample -- draws one token a row from the processed distribution of its logits
 *
 * [SAMPLE-1] Penalties first: l_i = logits[t,i] - presence * (counts[i] > 0) - frequency *
 *     counts[i]; then l_i / temperature; then the filters of [SAMPLE-2] to [SAMPLE-4] in that
 *     order; then the draw.
 * [SAMPLE-2] top_k > 0 keeps the top_k largest l_i, ties at the edge resolved to lower indices; 0
 *     or >= limit keeps all.
 * [SAMPLE-3] top_p in (0, 1] keeps the shortest prefix, in falling order of probability (ties:
 *     lower index first), whose probability within what top_k kept reaches top_p; at least one
 *     token stays.
 * [SAMPLE-4] min_p in [0, 1] keeps tokens whose probability is at least min_p times the largest
 *     one's.
 * [SAMPLE-5] The draw is by inversion: u = floor(x / 2^11) * 2^-53 in [0, 1), where x = w0 + 2^32
 *     w1 is made of the first two output words of Philox4x32-10 with key words (seed mod 2^32, seed
 *     div 2^32) and counter words (c mod 2^32, c div 2^32, 0, 0), c = step + s + t modulo 2^64; the
 *     token is the first, in index order, at which the running sum of kept probabilities exceeds
 *     u times their sum. s is 0 without step_at, else max(step_at[0], 0), read where and when the
 *     call runs: a recorded call draws anew after the element has been counted up.
 * [SAMPLE-6] temperature 0 is argmax of the penalised logits. Only columns [0, limit) take part;
 *     1 <= limit <= V.
 * [SAMPLE-7] logits: [T, V] bf16 or f32; counts: absent or [V] i32, >= 0 in [0, limit); step_at:
 *     absent or [1] i32; ids: [T] i32; T >= 0.
 *     Probabilities are computed in binary64 from the stored logits; a token may differ from the
 *     exact one only where a decision lies on its edge: u, or a sum that top_p looks at, within
 *     1e-12 + limit * 2^-51 (a bound on the error of the sums), a probability within 1e-12 of
 *     min_p's, or two l_i that differ by less than their own rounding.
 * [SAMPLE-8] A row with a NaN, or in which every l_i is -inf, gives -1, never a valid token; +inf
 *     logits share the probability equally among themselves.
 * [SAMPLE-9] temperature >= 0, presence and frequency finite, top_k >= 0, top_p in (0, 1], min_p
 *     in [0, 1], else ASSAY_E_ARG with the argument's name. ids may not overlap the inputs:
 *     ASSAY_E_ALIAS. Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT. Negative counts are ASSAY_E_RANGE; in a device's memory, which no check can
 *     see, they give every row -1.
 */
#ifndef ASSAY_OPS_SAMPLE_H
#define ASSAY_OPS_SAMPLE_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_sample_args {
    struct assay_tensor logits; /* [T, V] bf16, f32 */
    struct assay_tensor counts; /* absent or [V] i32: occurrences of each token so far */
    struct assay_tensor ids;    /* [T] i32 */
    int64_t limit;              /* addressable tokens, 1 .. V */
    double temperature;         /* 0: greedy */
    int64_t top_k;              /* 0: all */
    double top_p;               /* 1: all */
    double min_p;               /* 0: all */
    double presence;            /* subtracted once from tokens that occurred */
    double frequency;           /* subtracted for every occurrence */
    uint64_t seed;
    uint64_t step;               /* counter of row 0; row t uses step + t */
    struct assay_tensor step_at; /* absent or [1] i32: added to step, read where the call runs */
};

ASSAY_MUST_USE assay_status assay_sample(assay_context *context,
                                         const struct assay_sample_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_sample;

#ifdef __cplusplus
}
#endif
#endif
