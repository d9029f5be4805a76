/* SPDX-License-Identifier: MIT
 *
 * assay_qk_norm_rope_append -- heads of q and k normalised and rotated, k and v stored in the
 * cache: ops rmsnorm, rope and kv_append in one pass over memory
 *
 * [QKNRA-1] n[t,h,:] = q[t,h,:] g(w_i) / sqrt(mean_i q[t,h,i]^2 + eps) with w = q_weight, and k
 *     likewise with k_weight; g(w) = 1 + w when unit_offset is set, else w. qwen3_5.md (F6).
 * [QKNRA-2] The first R = rotary_dim elements of n are rotated by phi = p theta^(-2i/R), element i
 *     with i + R/2; elements [R, D) stay. p is positions[axis, t], axis as in [ROPE-3] by sections.
 *     qwen3_5.md (F7), (F8).
 * [QKNRA-3] q_out[t,h,:] = q's; k_cache[start + t, g, :] = k's; v_cache[start + t, g, :] =
 * v[t,g,:]. [QKNRA-4] q, q_out: [T, Hq, D], k: [T, G, D], v: [T, G, Dv] bf16 or f32; q_weight,
 * k_weight: [D] bf16 or f32; k_cache: [S, G, D], v_cache: [S, G, Dv], both bf16 or both f32;
 * positions: [T] or [3, T] i32; innermost contiguous, outer dimensions strided as they like; T >=
 * 0, Hq >= 1, G >= 1, S >= 1, D >= 2. [QKNRA-5] The observable roundings are those of the ops one
 * after the other with binary32 between them, or fewer: n into binary32; q's rotated elements into
 * q_out's format; k's rotated elements into binary32 and then into the cache's format; v once into
 * the cache's format (nearest, ties to even each). Angles are as exact as [ROPE-6] asks. [QKNRA-6]
 * start and start_at are those of [KVAPPEND-5] and [KVAPPEND-7]; only the T addressed slots of each
 * cache are written. [QKNRA-7] R, theta, sections and eps as [ROPE-5] and [RMSNORM-5] ask, else
 * ASSAY_E_ARG with the argument's name. Positions are in [0, 2^24), else ASSAY_E_RANGE; not checked
 * where the host cannot read them (backend cuda). [QKNRA-8] Squares of finite heads never overflow.
 * A NaN in a head makes it NaN; an infinity makes its own element of n NaN, and zeros of the head's
 * finite ones, before the rotation: a NaN makes both elements of its pair NaN. Where an element of
 * n leaves binary32's range nothing is promised of its pair. [QKNRA-9] q_out may be q exactly; any
 * other overlap of q_out or a cache with another tensor is ASSAY_E_ALIAS. Every element of q_out
 * and of the addressed slots is written, nothing else. Wrong ranks or extents are ASSAY_E_SHAPE,
 * formats ASSAY_E_FORMAT, strides ASSAY_E_LAYOUT; outputs are then untouched.
 */
#ifndef ASSAY_OPS_QK_NORM_ROPE_APPEND_H
#define ASSAY_OPS_QK_NORM_ROPE_APPEND_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_qk_norm_rope_append_args {
    struct assay_tensor q;         /* [T, Hq, D] bf16, f32 */
    struct assay_tensor k;         /* [T, G, D] bf16, f32 */
    struct assay_tensor v;         /* [T, G, Dv] bf16, f32 */
    struct assay_tensor q_weight;  /* [D] bf16, f32 */
    struct assay_tensor k_weight;  /* [D] bf16, f32 */
    struct assay_tensor positions; /* [T] or [3, T] i32 */
    struct assay_tensor q_out;     /* [T, Hq, D] bf16, f32 */
    struct assay_tensor k_cache;   /* [S, G, D] bf16, f32; written at [start, start + T) */
    struct assay_tensor v_cache;   /* [S, G, Dv] bf16, f32 */
    int64_t start;                 /* slot of the first new row */
    struct assay_tensor start_at;  /* absent (data NULL) or [1] i32: the start; .start bounds it */
    int64_t rotary_dim;            /* R */
    double theta;                  /* base of the frequencies */
    int64_t sections[3];           /* pairs of the axes time, height, width */
    bool unit_offset;              /* weights are offsets from one */
    double eps;                    /* > 0 */
};

ASSAY_MUST_USE assay_status assay_qk_norm_rope_append(
    assay_context *context, const struct assay_qk_norm_rope_append_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_qk_norm_rope_append;

#ifdef __cplusplus
}
#endif
#endif
