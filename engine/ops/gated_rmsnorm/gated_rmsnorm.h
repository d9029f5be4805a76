/* SPDX-License-Identifier: MIT
 *
 * assay_gated_rmsnorm -- y[r,i] = x[r,i] * w[i] / sqrt(mean_i x[r,i]^2 + eps) * silu(z[r,i])
 *
 * [GRMSNORM-1] Plain RMSNorm over the last dimension, then the gate silu(z) = z / (1 + exp(-z)).
 *     qwen3_5.md (F16): norm first, then gate.
 * [GRMSNORM-2] x, z, y: [..., D] bf16 or f32 of equal shape, rank 1 to 3, rows contiguous and
 *     strided as they like; w: [D] bf16 or f32; D >= 1, any number of rows including none.
 * [GRMSNORM-3] The only observable rounding is the one into y's format (nearest, ties to even):
 *     none between norm, weight and gate.
 * [GRMSNORM-4] y may be x or z exactly; any other overlap of y with an input is ASSAY_E_ALIAS.
 *     Every element of y is written, nothing else.
 * [GRMSNORM-5] eps is finite and > 0, else ASSAY_E_ARG, argument eps.
 * [GRMSNORM-6] Finite inputs never overflow on the way. NaN in a row of x makes the row NaN, NaN
 *     in z its own element. silu(-inf) is NaN by the formula (-inf * 0) and silu(+inf) is +inf. The
 *     silu of a finite z other than 0 is not 0: an infinite weight gives an infinity.
 * [GRMSNORM-7] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_GATED_RMSNORM_H
#define ASSAY_OPS_GATED_RMSNORM_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_gated_rmsnorm_args {
    struct assay_tensor x; /* [..., D] bf16, f32 */
    struct assay_tensor z; /* [..., D] bf16, f32 */
    struct assay_tensor w; /* [D] bf16, f32 */
    struct assay_tensor y; /* [..., D] bf16, f32 */
    double eps;            /* > 0 */
};

ASSAY_MUST_USE assay_status assay_gated_rmsnorm(assay_context *context,
                                                const struct assay_gated_rmsnorm_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_gated_rmsnorm;

#ifdef __cplusplus
}
#endif
#endif
