/* SPDX-License-Identifier: MIT
 *
 * assay_sigmoid_mul -- y[t,i] = x[t,i] * sigmoid(gate[t,i]), or gate[t,0] for every i
 *
 * [SIGMUL-1] Elementwise product with sigmoid(gate) = 1 / (1 + exp(-gate)). qwen3_5.md (F10);
 *     with one gate a row: the shared expert's, (F19).
 * [SIGMUL-2] x, y: [T, I] bf16 or f32 of equal shape; gate: [T, I] or [T, 1] bf16 or f32; rows
 *     contiguous and strided as they like; T >= 0, I >= 1.
 * [SIGMUL-3] The only observable rounding is the one into y's format (nearest, ties to even).
 * [SIGMUL-4] y may be x exactly, or gate exactly when it is [T, I]; any other overlap is
 *     ASSAY_E_ALIAS. Every element of y is written, nothing else.
 * [SIGMUL-5] sigmoid is 0 or 1 at the infinities, so 0 * inf is NaN by the formula; NaN in x or
 *     gate makes its elements NaN. Gates of any finite size give no overflow on the way. The
 *     sigmoid of a finite gate is not 0: an infinite x gives an infinity.
 * [SIGMUL-6] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name.
 */
#ifndef ASSAY_OPS_SIGMOID_MUL_H
#define ASSAY_OPS_SIGMOID_MUL_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_sigmoid_mul_args {
    struct assay_tensor x;    /* [T, I] bf16, f32 */
    struct assay_tensor gate; /* [T, I] or [T, 1] bf16, f32 */
    struct assay_tensor y;    /* [T, I] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_sigmoid_mul(assay_context *context,
                                              const struct assay_sigmoid_mul_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_sigmoid_mul;

#ifdef __cplusplus
}
#endif
#endif
