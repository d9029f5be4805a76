/* SPDX-License-Identifier: MIT
 *
 * assay_silu_mul -- y = gate * sigmoid(gate) * up
 *
 * [SILUMUL-1] Elementwise silu(gate) * up. qwen3_5.md (F18).
 * [SILUMUL-2] gate, up, y: [T, I] bf16 or f32 of equal shape, rows contiguous and strided as they
 *     like; T >= 0, I >= 1.
 * [SILUMUL-3] The only observable rounding is the one into y's format (nearest, ties to even).
 * [SILUMUL-4] y may be gate or up exactly; any other overlap is ASSAY_E_ALIAS. Every element of y
 *     is written, nothing else.
 * [SILUMUL-5] Strongly negative gates give silu's own tiny values down to the format's underflow,
 *     never NaN; silu(-inf) is NaN by the formula. NaN in gate or up makes that element NaN. The
 *     silu of a finite gate other than 0 is not 0: an infinite up gives an infinity.
 * [SILUMUL-6] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name.
 */
#ifndef ASSAY_OPS_SILU_MUL_H
#define ASSAY_OPS_SILU_MUL_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_silu_mul_args {
    struct assay_tensor gate; /* [T, I] bf16, f32 */
    struct assay_tensor up;   /* [T, I] bf16, f32 */
    struct assay_tensor y;    /* [T, I] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_silu_mul(assay_context *context,
                                           const struct assay_silu_mul_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_silu_mul;

#ifdef __cplusplus
}
#endif
#endif
