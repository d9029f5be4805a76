/* SPDX-License-Identifier: MIT
 *
 * assay_linear_add -- y[t,n] = r[t,n] + sum_k x[t,k] * w[n,k]
 *
 * [LINEARADD-1] Matrix product with the transposed weight, added to a residual; the weight is a
 *     number in bf16, or code * scale of a grouped format, <assay/weights.h>. qwen3_5.md section 0
 *     and (F4).
 * [LINEARADD-2] x: [T, K] bf16 or f32; w: N rows and K columns of any format, in the planes that
 *     assay_weight_layout_of() sizes, each with rows strided as they like; r: [T, N] f32; y: [T, N]
 *     bf16 or f32; T >= 0, K >= 1, N >= 1.
 * [LINEARADD-3] Observable rounding: the one into y's format (nearest, ties to even). Products of
 *     the stored operands are not rounded to less than binary32, sums are binary32 or better; r is
 *     added to the finished sum. Where abs(r) and the sum over k of |x w| - of grouped formats
 *     |x code| max(1, |scale|) - together exceed binary32's range a partial sum may overflow, and
 *     y[t,n] may be infinite or NaN.
 * [LINEARADD-4] y may be r exactly: y += x W^T, rounded once. Any other overlap of y with an input
 *     is ASSAY_E_ALIAS. Every element of y is written, nothing else.
 * [LINEARADD-5] Row t of y depends on row t of x and of r only: within a route it has the same bits
 *     at every T, in every batch place and with every number of threads. Backend cuda takes other
 *     routes at other T, whose sums have another order.
 * [LINEARADD-6] NaN and infinities of x, w, NaN scales and r follow the formula. An infinite scale,
 *     which no encoder writes, makes column n of y infinite or NaN in no promised way.
 * [LINEARADD-7] Padding does not matter: x counts as 0 beyond column K, whatever codes stand
 *     there, and so does a NaN scale of a group that holds padding only.
 * [LINEARADD-8] With a grouped format y has the bits that linear_grouped gives with r as its
 *     residual by the route of the same name.
 * [LINEARADD-9] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, missing or unwanted planes ASSAY_E_ARG, each with the argument's name;
 *     outputs are then untouched.
 */
#ifndef ASSAY_OPS_LINEAR_ADD_H
#define ASSAY_OPS_LINEAR_ADD_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_linear_add_args {
    struct assay_tensor x;  /* [T, K] bf16, f32 */
    struct assay_weights w; /* N rows, K columns; any format */
    struct assay_tensor r;  /* [T, N] f32 */
    struct assay_tensor y;  /* [T, N] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_linear_add(assay_context *context,
                                             const struct assay_linear_add_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_linear_add;

#ifdef __cplusplus
}
#endif
#endif
