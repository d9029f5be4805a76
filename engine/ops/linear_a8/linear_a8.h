/* SPDX-License-Identifier: MIT
 *
 * assay_linear_a8 -- y[t,n] = sum over groups of (sum_k xcode * wcode) * wscale * xscale [+ r[t,n]]
 *
 * The product of linear_grouped with activations of 8 bits: integer arithmetic within a group of
 * columns, one binary32 operation a group. formats.md section 8.3.
 *
 * [LINEARA8-1] Activations. For each row t and each group of 64 columns, the last one shorter where
 *     K asks for it: amax = max(|x|, 1e-20f); s = f16(fl32(amax / 127)); inv = fl32(127 / amax);
 *     xcode = clamp(round(fl32(x * inv)), -127, 127). Every rounding is to nearest, ties to even,
 *     and inv is not taken from the rounded s. s may be subnormal, and is 0 where amax is
 *     127 * 2^-25 (3.8e-6) or less: such a group adds nothing.
 * [LINEARA8-2] Sums. acc = 0; for each group of columns of w, in rising order of its columns,
 *     acc = fma((float)(sum of xcode * wcode), wscale * s, acc) in binary32, then y = acc, or
 *     fl32(acc + residual). The sum of integers is exact (at most 64 * 127 * 32 or 32 * 127 * 128)
 *     and so is its conversion; wscale * s has at most 22 bits and is exact. q8g32 has two groups
 *     of 32 in a group of 64 activations: two such steps with the same s.
 * [LINEARA8-3] Rounding. y is rounded once more where its format is bf16. All of it is stated, so
 *     every route gives the same bits, whatever T, batch place, number of threads or backend (of a
 *     NaN that it is one).
 * [LINEARA8-4] x: [T, K] bf16 or f32; w: N rows and K columns of q4g64, q5g64, q6g64 or q8g32;
 *     residual: absent (data NULL) or [T, N] f32; y: [T, N] bf16 or f32; rows strided as they like;
 *     T >= 0, K >= 1, N >= 1.
 * [LINEARA8-5] y may be the residual exactly. Any other overlap of y with an input is
 *     ASSAY_E_ALIAS. Every element of y is written, nothing else; columns beyond K and rows beyond
 *     T or N of x, residual and y are never read.
 * [LINEARA8-6] Where a group of x holds a NaN or an infinity, or s would exceed binary16 (amax of
 *     127 * 65520 = 8321040 and more), s is a NaN: all of row t of y is NaN, and no such value
 *     becomes a plausible number. NaN and infinite scales of w and residuals follow [LINEARA8-2].
 * [LINEARA8-7] Padding of w does not matter: codes beyond column K count as 0 and groups beyond it
 *     are not added, whatever stands there.
 * [LINEARA8-8] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, missing or unwanted planes ASSAY_E_ARG, each with the argument's name;
 *     outputs are then untouched.
 */
#ifndef ASSAY_OPS_LINEAR_A8_H
#define ASSAY_OPS_LINEAR_A8_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_linear_a8_args {
    struct assay_tensor x;        /* [T, K] bf16, f32 */
    struct assay_weights w;       /* N rows, K columns; grouped formats */
    struct assay_tensor residual; /* [T, N] f32, or absent */
    struct assay_tensor y;        /* [T, N] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_linear_a8(assay_context *context,
                                            const struct assay_linear_a8_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_linear_a8;

#ifdef __cplusplus
}
#endif
#endif
