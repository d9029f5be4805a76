/* SPDX-License-Identifier: MIT
 *
 * assay_rope -- rotates the first rotary_dim elements of each head by position-dependent angles
 *
 * [ROPE-1] For pair i in [0, R/2), R = rotary_dim: y_i = x_i cos(phi) - x_{i+R/2} sin(phi),
 *     y_{i+R/2} = x_{i+R/2} cos(phi) + x_i sin(phi), phi = p * theta^(-2i/R). NeoX pairing: i
 *     with i + R/2. qwen3_5.md (F7).
 * [ROPE-2] Elements [R, D) of each head are copied.
 * [ROPE-3] p is positions[axis, t]; with positions of rank 1 there is one axis. With three rows
 *     the axis of pair i is 1 if i % 3 == 1 and i < 3*sections[1], 2 if i % 3 == 2 and i <
 *     3*sections[2], else 0 (interleaved MRoPE). qwen3_5.md (F8).
 * [ROPE-4] x, y: [T, heads, D] bf16 or f32 of equal shape, heads contiguous inside and strided as
 *     they like; positions: [T] or [3, T] i32; T >= 0, heads >= 1.
 * [ROPE-5] R is even and 0 < R <= D; theta is finite and > 1; sections are >= 0 and sum to R/2
 *     when positions has three rows (ignored otherwise); else ASSAY_E_ARG with the argument's
 *     name.
 * [ROPE-6] Positions are in [0, 2^24); anything else is ASSAY_E_RANGE and leaves y untouched;
 *     not checked where the host cannot read them (backend cuda). The angle is computed so that
 *     its absolute error stays below 1e-7 at every such position (angles are not formed in
 *     binary32).
 * [ROPE-7] The only observable rounding is the one into y's format (nearest, ties to even); at
 *     position 0 a rotation copies finite pairs. An infinity makes both elements of its pair
 *     non-finite, as the formula does in IEEE 754.
 * [ROPE-8] y may be x exactly; any other overlap is ASSAY_E_ALIAS. Every element of y is written,
 *     nothing else. Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT.
 */
#ifndef ASSAY_OPS_ROPE_H
#define ASSAY_OPS_ROPE_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_rope_args {
    struct assay_tensor x;         /* [T, heads, D] bf16, f32 */
    struct assay_tensor positions; /* [T] or [3, T] i32 */
    struct assay_tensor y;         /* [T, heads, D] bf16, f32 */
    int64_t rotary_dim;            /* R */
    double theta;                  /* base of the frequencies, 1e7 in the models */
    int64_t sections[3];           /* pairs of the axes time, height, width */
};

ASSAY_MUST_USE assay_status assay_rope(assay_context *context, const struct assay_rope_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_rope;

#ifdef __cplusplus
}
#endif
#endif
