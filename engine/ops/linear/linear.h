/* SPDX-License-Identifier: MIT
 *
 * assay_linear -- y[t,n] = sum_k x[t,k] * w[n,k]
 *
 * [LINEAR-1] Matrix product with the transposed weight, no bias. qwen3_5.md section 0.
 * [LINEAR-2] x: [T, K] bf16 or f32; w: [N, K] bf16; y: [T, N] bf16 or f32; rows contiguous and
 *     strided as they like; T >= 0, K >= 1, N >= 1.
 * [LINEAR-3] Observable rounding: the one into y's format (nearest, ties to even). Products of
 *     the stored operands are not rounded to less than binary32, sums are binary32 or better. Where
 *     sum_k |x[t,k] * w[n,k]| exceeds binary32's range a partial sum may overflow, and y[t,n] may
 *     be infinite or NaN.
 * [LINEAR-4] y may not overlap x or w: ASSAY_E_ALIAS. Every element of y is written, nothing
 *     else; columns beyond K and rows beyond T or N are never read.
 * [LINEAR-5] Row t of y depends on row t of x only: within a route it has the same bits at every
 *     T, in every batch place and with every number of threads. Backend cuda takes other routes
 *     at other T, whose sums have another order.
 * [LINEAR-6] NaN and infinities follow the formula: a NaN in row t of x makes row t of y NaN, in
 *     row n of w column n.
 * [LINEAR-7] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_LINEAR_H
#define ASSAY_OPS_LINEAR_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_linear_args {
    struct assay_tensor x; /* [T, K] bf16, f32 */
    struct assay_tensor w; /* [N, K] bf16 */
    struct assay_tensor y; /* [T, N] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_linear(assay_context *context,
                                         const struct assay_linear_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_linear;

#ifdef __cplusplus
}
#endif
#endif
