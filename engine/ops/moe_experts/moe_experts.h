/* SPDX-License-Identifier: MIT
 *
 * assay_moe_experts -- y[t] = sum_i weights[t,i] * down[e] (silu(g) * u), e = ids[t,i]
 *
 * [MOEEXPERTS-1] For each slot i of token t, with e = ids[t,i]: g = sum_k gate_up[e,f,k] x[t,k] and
 *     u = sum_k gate_up[e,F+f,k] x[t,k] for f < F; h[f] = silu(g) u; d[n] = sum_f down[e,n,f] h[f];
 *     y[t,n] = sum_i weights[t,i] d[n]. silu(g) = g / (1 + exp(-g)). The routed part of
 *     qwen3_5.md (F19).
 * [MOEEXPERTS-2] x: [T, H] bf16 or f32; ids: [T, k] i32; weights: [T, k] f32; gate_up: [E, 2F, H]
 *     bf16, the rows of each expert's gate first, then those of up; down: [E, H, F] bf16; y: [T, H]
 *     bf16 or f32. Innermost extents contiguous, others strided as they like. T >= 0; H, F >= 1;
 *     1 <= E <= 65535; 1 <= k <= 64; T k < 2^31. Banks in grouped formats are those of
 *     moe_experts_grouped.
 * [MOEEXPERTS-3] Observable roundings: g, u, h and d may be rounded to binary32; the one into y's
 *     format (nearest, ties to even). Products and sums are binary32 or better. Where the partial
 *     sums of g, u, d or y may overflow binary32, y[t,n] may be infinite or NaN.
 * [MOEEXPERTS-4] An id may occur in several slots of a row: each counts. A slot whose id is not in
 *     [0, E) makes its row of y NaN and reads nothing of the banks.
 * [MOEEXPERTS-5] Row t of y depends on rows t of x, ids and weights only: within a route that says
 *     so it has the same bits at every T, in every batch place, whatever experts the other tokens
 *     have, and with every number of threads. Slots are added in rising order of i, from 0.
 * [MOEEXPERTS-6] NaN and infinities follow the formula: a NaN in row t of x makes row t of y NaN; a
 *     weight of 0 does not hide a NaN or an infinity of its slot. No promise: elements that an
 *     infinite weight of a slot or of down reaches, and rows in which one of g and u is infinite
 *     and the other is zero within its rounding. An expert that no token has does not matter,
 *     whatever its weights hold.
 * [MOEEXPERTS-7] y may not overlap an input: ASSAY_E_ALIAS. Every element of y is written, nothing
 *     else.
 * [MOEEXPERTS-8] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_MOE_EXPERTS_H
#define ASSAY_OPS_MOE_EXPERTS_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_moe_experts_args {
    struct assay_tensor x;       /* [T, H] bf16, f32 */
    struct assay_tensor ids;     /* [T, k] i32 */
    struct assay_tensor weights; /* [T, k] f32 */
    struct assay_tensor gate_up; /* [E, 2F, H] bf16 */
    struct assay_tensor down;    /* [E, H, F] bf16 */
    struct assay_tensor y;       /* [T, H] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_moe_experts(assay_context *context,
                                              const struct assay_moe_experts_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_moe_experts;

#ifdef __cplusplus
}
#endif
#endif
