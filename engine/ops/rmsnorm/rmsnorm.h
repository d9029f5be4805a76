/* SPDX-License-Identifier: MIT
 *
 * assay_rmsnorm -- y[r,i] = x[r,i] * g(w[i]) / sqrt(mean_i x[r,i]^2 + eps)
 *
 * [RMSNORM-1] g(w) = 1 + w when unit_offset is set, else w. qwen3_5.md (F1), (F2).
 * [RMSNORM-2] x, y: [..., H] bf16 or f32 of equal shape, rank 1 to 3, each row contiguous, rows
 *     strided as they like; w: [H] bf16 or f32; H >= 1, any number of rows including none.
 * [RMSNORM-3] The only observable rounding is the one into y's format (nearest, ties to even).
 * [RMSNORM-4] y may be x exactly (same data, shape, strides, format); any other overlap of y with
 *     x or w is ASSAY_E_ALIAS. Every element of y is written, nothing else.
 * [RMSNORM-5] eps is finite and > 0, else ASSAY_E_ARG, argument eps.
 * [RMSNORM-6] Finite inputs never overflow on the way: rows near the largest finite value give
 *     finite results. A NaN in a row of x makes that row NaN; an infinity makes its own element
 *     NaN and the row's finite elements zero of the product's sign.
 * [RMSNORM-7] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_RMSNORM_H
#define ASSAY_OPS_RMSNORM_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_rmsnorm_args {
    struct assay_tensor x; /* [..., H] bf16, f32 */
    struct assay_tensor w; /* [H] bf16, f32 */
    struct assay_tensor y; /* [..., H] bf16, f32 */
    bool unit_offset;      /* weights are offsets from one */
    double eps;            /* > 0 */
};

ASSAY_MUST_USE assay_status assay_rmsnorm(assay_context *context,
                                          const struct assay_rmsnorm_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_rmsnorm;

#ifdef __cplusplus
}
#endif
#endif
