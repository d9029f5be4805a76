/* SPDX-License-Identifier: MIT
 *
 * assay_linear_grouped -- y[t,n] = sum_k x[t,k] * code[n,k] * scale[n,k / group] [+ residual[t,n]]
 *
 * [LINEARGROUPED-1] Matrix product with the transposed weight of a grouped format, no bias; the
 *     weight w[n,k] is code * scale, <assay/weights.h>. A residual is added to the finished sum.
 *     qwen3_5.md section 0.
 * [LINEARGROUPED-2] x: [T, K] bf16 or f32; w: N rows and K columns of q4g64, q5g64, q6g64 or q8g32,
 *     in the planes that assay_weight_layout_of() sizes, each with rows strided as they like;
 *     residual: absent (data NULL) or [T, N] f32; y: [T, N] bf16 or f32; T >= 0, K >= 1, N >= 1.
 * [LINEARGROUPED-3] Observable rounding: the one into y's format (nearest, ties to even). Weights
 *     are exact, products and sums binary32 or better; codes may be summed before their group's
 *     scale is applied. Where the residual's magnitude and the sum over k of
 *     |x[t,k] code| max(1, |scale|) together exceed binary32's range a partial sum may overflow,
 *     and y[t,n] may be infinite or NaN.
 * [LINEARGROUPED-4] y may be the residual exactly: y += x W^T, rounded once. Any other overlap of y
 *     with an input is ASSAY_E_ALIAS. Every element of y is written, nothing else.
 * [LINEARGROUPED-5] Row t of y depends on row t of x and of the residual only: within a route it
 * has the same bits at every T, in every batch place and with every number of threads. Backend cuda
 *     takes other routes at other T, whose sums have another order.
 * [LINEARGROUPED-6] NaN and infinities of x, NaN scales and the residual follow the formula: a NaN
 *     in row t of x makes row t of y NaN, in a scale of row n of w column n. An infinite scale,
 *     which no encoder writes, makes column n of y infinite or NaN in no promised way.
 * [LINEARGROUPED-7] Padding does not matter: x counts as 0 beyond column K, whatever codes stand
 *     there, and so does a NaN scale of a group that holds padding only.
 * [LINEARGROUPED-8] Wrong ranks or extents are ASSAY_E_SHAPE, formats (bf16 weights among them:
 *     they belong to linear) ASSAY_E_FORMAT, strides ASSAY_E_LAYOUT, missing or unwanted planes
 *     ASSAY_E_ARG, each with the argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_LINEAR_GROUPED_H
#define ASSAY_OPS_LINEAR_GROUPED_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_linear_grouped_args {
    struct assay_tensor x;        /* [T, K] bf16, f32 */
    struct assay_weights w;       /* N rows, K columns; grouped formats */
    struct assay_tensor residual; /* [T, N] f32, or absent */
    struct assay_tensor y;        /* [T, N] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_linear_grouped(assay_context *context,
                                                 const struct assay_linear_grouped_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_linear_grouped;

#ifdef __cplusplus
}
#endif
#endif
