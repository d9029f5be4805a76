/* SPDX-License-Identifier: MIT
 *
 * assay_argmax -- ids[t] = the smallest i among the maxima of logits[t, 0:limit]
 *
 * [ARGMAX-1] The smallest index among equal maxima; -0 and +0 are equal. qwen3_5.md (F20).
 * [ARGMAX-2] Columns at or beyond limit are never read: padding rows of a vocabulary are no
 *     tokens. 1 <= limit <= V, else ASSAY_E_ARG.
 * [ARGMAX-3] logits: [T, V] bf16 or f32, rows contiguous and strided as they like; ids: [T] i32;
 *     T >= 0.
 * [ARGMAX-4] A row with a NaN among the first limit columns gives -1, never a valid token; a row
 *     of -inf only gives 0; +inf counts as the largest value.
 * [ARGMAX-5] ids may not overlap logits: ASSAY_E_ALIAS. Every element of ids is written, nothing
 *     else. Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT.
 */
#ifndef ASSAY_OPS_ARGMAX_H
#define ASSAY_OPS_ARGMAX_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_argmax_args {
    struct assay_tensor logits; /* [T, V] bf16, f32 */
    struct assay_tensor ids;    /* [T] i32 */
    int64_t limit;              /* addressable tokens, 1 .. V */
};

ASSAY_MUST_USE assay_status assay_argmax(assay_context *context,
                                         const struct assay_argmax_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_argmax;

#ifdef __cplusplus
}
#endif
#endif
