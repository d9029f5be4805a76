/* SPDX-License-Identifier: MIT
 *
 * assay_attention -- y[t,h] = softmax_j(scale q[t,h] . k[j,g]) v[j,g] [* sigmoid(gate[t,h])]
 *
 * [ATTENTION-1] Causal grouped-query attention over a cache: query t stands at position start + t
 *     and attends j in [0, start + t]. Query head h reads key head g = h / (Hq / G), integer
 *     division. qwen3_5.md (F9).
 * [ATTENTION-2] With a gate the sum is multiplied elementwise by sigmoid(gate) after the value
 *     sum. qwen3_5.md (F10).
 * [ATTENTION-3] q: [T, Hq, D], gate: absent or [T, Hq, Dv], y: [T, Hq, Dv], each bf16 or f32;
 *     k_cache: [S, G, D], v_cache: [S, G, Dv], both bf16 or both f32; innermost contiguous, outer
 *     dimensions strided; T >= 0; Hq a multiple of G; start >= 0 and start + T <= S, else
 *     ASSAY_E_SHAPE.
 * [ATTENTION-4] Slots at or beyond start + T are never read, whatever they hold; a later token
 *     never changes an earlier output.
 * [ATTENTION-5] The softmax is shift invariant: scores of any finite size give finite results,
 *     also when all are strongly negative, as long as sum_d |q_d k_jd| and its product with |scale|
 *     are below the largest binary32 number for each attended key. Observable rounding: the one
 *     into y's format; scores, weights and sums are binary32 or better.
 * [ATTENTION-6] scale is finite, else ASSAY_E_ARG. A NaN in a query or in an attended key or
 *     value makes the outputs that use it NaN; infinities follow IEEE 754, but that an infinite
 *     value whose weight is below 2^-126 gives an infinity or NaN.
 * [ATTENTION-7] y may be q exactly when Dv == D, and may not overlap anything else:
 *     ASSAY_E_ALIAS. Every element of y is written, nothing else.
 * [ATTENTION-8] Row t depends on queries t only: the same bits at every T that places it at the
 *     same position. Formats are checked with ASSAY_E_FORMAT, strides with ASSAY_E_LAYOUT.
 * [ATTENTION-9] start_at: absent or [1] i32, not y's memory: the start, read where the call runs;
 *     .start is then its upper bound. The clauses above hold with min(max(*start_at, 0), start)
 *     for start, without an error where that differs from *start_at; shapes are checked with
 *     .start. A route's bits do not depend on the bound.
 */
#ifndef ASSAY_OPS_ATTENTION_H
#define ASSAY_OPS_ATTENTION_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_attention_args {
    struct assay_tensor q;        /* [T, Hq, D] bf16, f32 */
    struct assay_tensor k_cache;  /* [S, G, D] bf16, f32 */
    struct assay_tensor v_cache;  /* [S, G, Dv] bf16, f32 */
    struct assay_tensor gate;     /* absent (data NULL) or [T, Hq, Dv] bf16, f32 */
    struct assay_tensor y;        /* [T, Hq, Dv] bf16, f32 */
    int64_t start;                /* position of query 0: tokens already in the cache before it */
    struct assay_tensor start_at; /* absent (data NULL) or [1] i32: the start; .start bounds it */
    double scale;                 /* D^(-1/2) in the models */
};

ASSAY_MUST_USE assay_status assay_attention(assay_context *context,
                                            const struct assay_attention_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_attention;

#ifdef __cplusplus
}
#endif
#endif
