/* SPDX-License-Identifier: MIT
 *
 * assay_moe_experts_grouped -- moe_experts with banks in grouped formats: codes times scales
 *
 * [MOEEXPERTSGROUPED-1] For each slot i of token t, with e = ids[t,i]: g = sum_k G[2F e + f, k]
 *     x[t,k] and u = sum_k G[2F e + F + f, k] x[t,k] for f < F; h[f] = silu(g) u; d[n] = sum_f
 *     D[H e + n, f] h[f]; y[t,n] = sum_i weights[t,i] d[n]. silu(g) = g / (1 + exp(-g)). G and D
 *     are gate_up and down, whose weights are code * scale, <assay/weights.h>. The routed part
 *     of qwen3_5.md (F19).
 * [MOEEXPERTSGROUPED-2] x: [T, H] bf16 or f32; ids: [T, k] i32; weights: [T, k] f32; gate_up: E
 *     2F rows and H columns, the experts one after another, the rows of each expert's gate
 *     before those of its up; down: E H rows and F columns; each of q4g64, q5g64, q6g64 or
 *     q8g32, in the planes that assay_weight_layout_of() sizes, each with rows strided as they
 *     like; y: [T, H] bf16 or f32. T >= 0; H, F >= 1; 1 <= E <= 65535; 1 <= k <= 64; T k < 2^31.
 * [MOEEXPERTSGROUPED-3] Observable roundings: g, u, h and d may be rounded to binary32; the one
 *     into y's format (nearest, ties to even). Weights are exact, products and sums binary32 or
 *     better; codes may be summed before their group's scale is applied. Where the partial sums
 *     of g, u, d or y may overflow binary32 -- those of g, u and d with max(1, |scale|) for
 *     |scale| -- y[t,n] may be infinite or NaN.
 * [MOEEXPERTSGROUPED-4] An id may occur in several slots of a row: each counts. A slot whose id
 *     is not in [0, E) makes its row of y NaN and reads nothing of the banks.
 * [MOEEXPERTSGROUPED-5] Row t of y depends on rows t of x, ids and weights only: within a route
 *     that says so it has the same bits at every T, in every batch place, whatever experts the
 *     other tokens have and whatever their numbers are, and with every number of threads. Slots
 *     are added in rising order of i, from 0.
 * [MOEEXPERTSGROUPED-6] NaN and infinities of x and the weights, and NaN scales, follow the
 *     formula: a NaN in row t of x makes row t of y NaN, a NaN scale in a row of gate_up the
 *     rows of y that have its expert, in row n of an expert of down column n of these; a weight
 *     of 0 does not hide a NaN or an infinity of its slot. No promise: elements that an infinite
 *     weight of a slot or an infinite scale, which no encoder writes, reaches, and rows in which
 *     one of g and u is infinite and the other is zero within its rounding. An expert that no
 *     token has does not matter, whatever its planes hold.
 * [MOEEXPERTSGROUPED-7] Padding does not matter: x counts as 0 beyond column H and h beyond
 *     column F, whatever codes stand there, and so does a NaN scale of a group that holds
 *     padding only.
 * [MOEEXPERTSGROUPED-8] y may not overlap an input: ASSAY_E_ALIAS. Every element of y is
 *     written, nothing else.
 * [MOEEXPERTSGROUPED-9] Wrong ranks or extents are ASSAY_E_SHAPE, formats (bf16 banks among
 *     them: they belong to moe_experts) ASSAY_E_FORMAT, strides ASSAY_E_LAYOUT, missing or
 *     unwanted planes ASSAY_E_ARG, each with the argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_MOE_EXPERTS_GROUPED_H
#define ASSAY_OPS_MOE_EXPERTS_GROUPED_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_moe_experts_grouped_args {
    struct assay_tensor x;        /* [T, H] bf16, f32 */
    struct assay_tensor ids;      /* [T, k] i32 */
    struct assay_tensor weights;  /* [T, k] f32 */
    struct assay_weights gate_up; /* E 2F rows, H columns; grouped formats */
    struct assay_weights down;    /* E H rows, F columns; grouped formats */
    struct assay_tensor y;        /* [T, H] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_moe_experts_grouped(
    assay_context *context, const struct assay_moe_experts_grouped_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_moe_experts_grouped;

#ifdef __cplusplus
}
#endif
#endif
