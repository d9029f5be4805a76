/* SPDX-License-Identifier: MIT
 *
 * assay_linear_swiglu -- y[t,n] = silu(g) * u, g = sum_k x[t,k] gate[n,k], u = sum_k x[t,k] up[n,k]
 *
 * [LINEARSWIGLU-1] Two matrix products with one input, and silu(g) u of their elements: the first
 *     half of the MLP, qwen3_5.md (F18). silu(g) = g / (1 + exp(-g)).
 * [LINEARSWIGLU-2] x: [T, K] bf16 or f32; gate, up: N rows and K columns, each bf16 or of q4g64,
 *     q5g64, q6g64, q8g32 (<assay/weights.h>), with rows strided as they like; y: [T, N] bf16 or
 *     f32; T >= 0, K >= 1, N >= 1.
 * [LINEARSWIGLU-3] Observable roundings: g and u may be rounded to binary32; the one into y's
 *     format (nearest, ties to even). Products and sums are binary32 or better. Where a sum's
 *     partial sums may overflow (linear, linear_grouped), y[t,n] may be infinite or NaN.
 * [LINEARSWIGLU-4] y may not overlap an input: ASSAY_E_ALIAS. Every element of y is written,
 *     nothing else; of the inputs nothing beyond K columns and N rows changes it.
 * [LINEARSWIGLU-5] Row t of y depends on row t of x only: within a route that says so it has the
 *     same bits at every T, in every batch place and with every number of threads. Backend cuda
 *     takes other routes at other T.
 * [LINEARSWIGLU-6] NaN and infinities follow the formula as in silu_mul. Where one sum is infinite
 *     and the other is zero within its rounding, y[t,n] is not promised.
 * [LINEARSWIGLU-7] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, missing or unwanted planes ASSAY_E_ARG, each with the argument's name;
 * outputs are then untouched. [LINEARSWIGLU-8] The bits are those of the products into binary32
 * rows followed by silu_mul, where all three take the routes of the same arithmetic.
 */
#ifndef ASSAY_OPS_LINEAR_SWIGLU_H
#define ASSAY_OPS_LINEAR_SWIGLU_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_linear_swiglu_args {
    struct assay_tensor x;     /* [T, K] bf16, f32 */
    struct assay_weights gate; /* N rows, K columns; any format */
    struct assay_weights up;   /* N rows, K columns; any format */
    struct assay_tensor y;     /* [T, N] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_linear_swiglu(assay_context *context,
                                                const struct assay_linear_swiglu_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_linear_swiglu;

#ifdef __cplusplus
}
#endif
#endif
