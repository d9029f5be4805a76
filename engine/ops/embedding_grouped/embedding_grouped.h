/* SPDX-License-Identifier: MIT
 *
 * assay_embedding_grouped -- y[t,i] = code[ids[t],i] * scale[ids[t], i / group]
 *
 * [EMBEDDINGGROUPED-1] Row t of y is row ids[t] of a table in a grouped format, decoded: a gather,
 *     no other scale. qwen3_5.md (F4), <assay/weights.h>.
 * [EMBEDDINGGROUPED-2] ids: [T] i32; table: V rows and H columns of q4g64, q5g64, q6g64 or q8g32,
 * in the planes that assay_weight_layout_of() sizes, each with rows strided as they like; y: [T, H]
 *     bf16 or f32; T >= 0, V >= 1, H >= 1. Else ASSAY_E_SHAPE, ASSAY_E_FORMAT (bf16 tables among
 *     them: they belong to embedding), ASSAY_E_LAYOUT, or ASSAY_E_ARG for a missing or unwanted
 *     plane, with the argument's name.
 * [EMBEDDINGGROUPED-3] The only observable rounding is the one into y's format (nearest, ties to
 *     even); f32 holds every weight exactly. NaN and infinite scales follow IEEE 754, a NaN's
 *     payload is free.
 * [EMBEDDINGGROUPED-4] Every element of y is written, nothing else. y may not overlap ids or table:
 *     ASSAY_E_ALIAS. Inputs are never written; padding does not matter.
 * [EMBEDDINGGROUPED-5] An id outside [0, V) is ASSAY_E_RANGE, names the position and the id, and y
 *     is left untouched. Where the host cannot read ids (backend cuda), the row becomes NaN
 * instead.
 */
#ifndef ASSAY_OPS_EMBEDDING_GROUPED_H
#define ASSAY_OPS_EMBEDDING_GROUPED_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_embedding_grouped_args {
    struct assay_tensor ids;    /* [T] i32 */
    struct assay_weights table; /* V rows, H columns; grouped formats */
    struct assay_tensor y;      /* [T, H] bf16, f32 */
};

ASSAY_MUST_USE assay_status
assay_embedding_grouped(assay_context *context, const struct assay_embedding_grouped_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_embedding_grouped;

#ifdef __cplusplus
}
#endif
#endif
