/* SPDX-License-Identifier: MIT
 *
 * assay_embedding -- y[t,i] = table[ids[t], i]
 *
 * [EMBEDDING-1] Row t of y is row ids[t] of the table: a gather, no scale. qwen3_5.md (F4).
 * [EMBEDDING-2] ids: [T] i32; table: [V, H] bf16 or f32; y: [T, H] bf16 or f32; T >= 0, V >= 1, H
 *     >= 1. Rows may be strided; else ASSAY_E_SHAPE, ASSAY_E_FORMAT, ASSAY_E_LAYOUT with the
 *     argument's name.
 * [EMBEDDING-3] The only observable rounding is the one into y's format (nearest, ties to even);
 *     bf16 to bf16 and bf16 to f32 copy exactly. A NaN stays a NaN, its payload is free.
 * [EMBEDDING-4] Every element of y is written, nothing else. y may not overlap ids or table:
 *     ASSAY_E_ALIAS. Inputs are never written.
 * [EMBEDDING-5] An id outside [0, V) is ASSAY_E_RANGE, names the position and the id, and y is
 *     left untouched. Where the host cannot read ids (backend cuda), the row becomes NaN instead.
 */
#ifndef ASSAY_OPS_EMBEDDING_H
#define ASSAY_OPS_EMBEDDING_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_embedding_args {
    struct assay_tensor ids;   /* [T] i32 */
    struct assay_tensor table; /* [V, H] bf16, f32 */
    struct assay_tensor y;     /* [T, H] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_embedding(assay_context *context,
                                            const struct assay_embedding_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_embedding;

#ifdef __cplusplus
}
#endif
#endif
