/* SPDX-License-Identifier: MIT
 *
 * assay_add -- y = a + b
 *
 * [ADD-1] Elementwise sum. qwen3_5.md (F4), the residual.
 * [ADD-2] a, b, y: [T, I] bf16 or f32 of equal shape, rows contiguous and strided as they like; T
 *     >= 0, I >= 1.
 * [ADD-3] The sum of the stored values is rounded once, into y's format (nearest, ties to even).
 *     The result is the same for a + b and b + a.
 * [ADD-4] y may be a or b exactly; any other overlap is ASSAY_E_ALIAS. Every element of y is
 *     written, nothing else.
 * [ADD-5] NaN and infinities follow IEEE 754 addition.
 * [ADD-6] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name.
 */
#ifndef ASSAY_OPS_ADD_H
#define ASSAY_OPS_ADD_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_add_args {
    struct assay_tensor a; /* [T, I] bf16, f32 */
    struct assay_tensor b; /* [T, I] bf16, f32 */
    struct assay_tensor y; /* [T, I] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_add(assay_context *context, const struct assay_add_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_add;

#ifdef __cplusplus
}
#endif
#endif
