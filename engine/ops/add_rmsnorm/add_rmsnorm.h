/* SPDX-License-Identifier: MIT
 *
 * assay_add_rmsnorm -- s = residual + x, y = rmsnorm(s): ops add and rmsnorm in one pass over
 * memory
 *
 * [ADDNORM-1] s[t,i] = residual[t,i] + x[t,i]; y[t,i] = s[t,i] * g(w[i]) / sqrt(mean_i s[t,i]^2 +
 *     eps), g(w) = 1 + w when unit_offset is set, else w. qwen3_5.md (F4), (F1), (F2).
 * [ADDNORM-2] residual, x, s, y: [T, H] bf16 or f32 of equal shape, rows contiguous and strided as
 *     they like; w: [H] bf16 or f32; T >= 0, H >= 1.
 * [ADDNORM-3] The observable roundings are those of the two ops one after the other: the exact sum
 *     is rounded once into s's format, y is the norm of the s that is stored and rounded once into
 *     y's format (nearest, ties to even).
 * [ADDNORM-4] s and y may each be residual or x exactly (same data, shape, strides, format); s and
 *     y may not overlap, and any other overlap of an output with an input is ASSAY_E_ALIAS. Every
 *     element of s and y is written, nothing else.
 * [ADDNORM-5] eps is finite and > 0, else ASSAY_E_ARG, argument eps.
 * [ADDNORM-6] s follows IEEE 754 addition, y what is stored in s: finite sums never overflow on the
 *     way to y. A NaN in a row of s makes the row of y NaN; an infinity makes its own element NaN
 *     and the row's finite elements zero of the product's sign.
 * [ADDNORM-7] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_ADD_RMSNORM_H
#define ASSAY_OPS_ADD_RMSNORM_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_add_rmsnorm_args {
    struct assay_tensor residual; /* [T, H] bf16, f32: the stream */
    struct assay_tensor x;        /* [T, H] bf16, f32: what is added to it */
    struct assay_tensor w;        /* [H] bf16, f32 */
    struct assay_tensor s;        /* [T, H] bf16, f32: the sum */
    struct assay_tensor y;        /* [T, H] bf16, f32: the norm of the sum */
    bool unit_offset;             /* weights are offsets from one */
    double eps;                   /* > 0 */
};

ASSAY_MUST_USE assay_status assay_add_rmsnorm(assay_context *context,
                                              const struct assay_add_rmsnorm_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_add_rmsnorm;

#ifdef __cplusplus
}
#endif
#endif
