/* SPDX-License-Identifier: MIT
 *
 * assay_causal_conv1d -- y[t,c] = silu(sum_j w[c,j] * x[t - (taps-1) + j, c])
 *
 * [CONV1D-1] Depthwise causal cross-correlation, then SiLU when silu is set: the last tap
 *     multiplies the current token, tap 0 the oldest. qwen3_5.md (F12).
 * [CONV1D-2] x at negative times is the state: state[i, c] is x[i - (taps-1), c], oldest first.
 *     Zero at the start of a sequence.
 * [CONV1D-3] After the call the state is the last taps-1 rows of [old state | x], also when T <
 *     taps-1; T = 0 leaves it unchanged.
 * [CONV1D-4] x, y: [T, C] bf16 or f32; w: [C, taps] bf16 or f32; state: [taps-1, C] f32 or bf16,
 *     read and written; rows contiguous and strided as they like; T >= 0, C >= 1, 2 <= taps <= 8.
 * [CONV1D-5] Observable roundings: y's format once, after SiLU, and the state's format for the
 *     stored inputs (both nearest, ties to even). Nothing is rounded between convolution and
 *     SiLU.
 * [CONV1D-6] y may be x exactly; any other overlap among y, state and the inputs is
 *     ASSAY_E_ALIAS. Every element of y and of the state is written, nothing else.
 * [CONV1D-7] NaN and infinities follow the formula in the tokens and channels that see them, and
 *     stay in the state only as long as the taps reach. Finite inputs never overflow on the way:
 *     SiLU of a sum below the range of binary32 is zero.
 * [CONV1D-8] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name; y and state are then untouched.
 */
#ifndef ASSAY_OPS_CAUSAL_CONV1D_H
#define ASSAY_OPS_CAUSAL_CONV1D_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_causal_conv1d_args {
    struct assay_tensor x;     /* [T, C] bf16, f32 */
    struct assay_tensor w;     /* [C, taps] bf16, f32 */
    struct assay_tensor state; /* [taps-1, C] f32, bf16; in and out */
    struct assay_tensor y;     /* [T, C] bf16, f32 */
    bool silu;                 /* apply SiLU to the sum */
};

ASSAY_MUST_USE assay_status assay_causal_conv1d(assay_context *context,
                                                const struct assay_causal_conv1d_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_causal_conv1d;

#ifdef __cplusplus
}
#endif
#endif
