/* SPDX-License-Identifier: MIT
 *
 * assay_l2norm -- y[r,i] = x[r,i] / sqrt(sum_i x[r,i]^2 + eps)
 *
 * [L2NORM-1] The sum is not a mean and eps stands inside the root. qwen3_5.md (F3).
 * [L2NORM-2] x, y: [..., D] bf16 or f32 of equal shape, rank 1 to 3, rows contiguous and strided
 *     as they like; D >= 1, any number of rows including none.
 * [L2NORM-3] The only observable rounding is the one into y's format (nearest, ties to even).
 * [L2NORM-4] y may be x exactly; any other overlap is ASSAY_E_ALIAS. Every element of y is
 *     written, nothing else.
 * [L2NORM-5] eps is finite and > 0, else ASSAY_E_ARG, argument eps. An all-zero row gives zeros.
 * [L2NORM-6] Finite inputs never overflow on the way. A NaN in a row makes that row NaN; an
 *     infinity makes its own element NaN and the row's finite elements zero.
 * [L2NORM-7] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_L2NORM_H
#define ASSAY_OPS_L2NORM_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_l2norm_args {
    struct assay_tensor x; /* [..., D] bf16, f32 */
    struct assay_tensor y; /* [..., D] bf16, f32 */
    double eps;            /* > 0; the models use 1e-6 */
};

ASSAY_MUST_USE assay_status assay_l2norm(assay_context *context,
                                         const struct assay_l2norm_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_l2norm;

#ifdef __cplusplus
}
#endif
#endif
