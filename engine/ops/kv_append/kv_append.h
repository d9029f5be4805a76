/* SPDX-License-Identifier: MIT
 *
 * assay_kv_append -- cache[start + t, head, :] = rows of k and v
 *
 * [KVAPPEND-1] k_cache[start + t, g, d] = k[t, g, d] and v_cache likewise, for t in [0, T).
 *     qwen3_5.md section 5.3, cache contents.
 * [KVAPPEND-2] k: [T, G, D], v: [T, G, Dv] bf16 or f32; k_cache: [S, G, D], v_cache: [S, G, Dv],
 *     both bf16 or both f32; innermost contiguous, outer dimensions strided as they like; T >= 0,
 *     S >= 1, G >= 1.
 * [KVAPPEND-3] The only observable rounding is the one into the cache's format (nearest, ties to
 *     even); overflow gives an infinity as that rounding does. NaN stays NaN.
 * [KVAPPEND-4] Only the T addressed slots of each cache are written: every other slot keeps its
 *     bits.
 * [KVAPPEND-5] start >= 0 and start + T <= S, else ASSAY_E_FULL naming start, T and S; the caches
 *     are then untouched.
 * [KVAPPEND-6] No cache may overlap k, v or the other cache: ASSAY_E_ALIAS. Wrong ranks or
 *     extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides ASSAY_E_LAYOUT.
 * [KVAPPEND-7] start_at: absent or [1] i32, not a cache's memory: the start, read where the call
 *     runs; .start is then its upper bound. The clauses above hold with min(max(*start_at, 0),
 *     start) for start, without an error where that differs from *start_at; [KVAPPEND-5] is checked
 *     with .start.
 */
#ifndef ASSAY_OPS_KV_APPEND_H
#define ASSAY_OPS_KV_APPEND_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_kv_append_args {
    struct assay_tensor k;        /* [T, G, D] bf16, f32 */
    struct assay_tensor v;        /* [T, G, Dv] bf16, f32 */
    struct assay_tensor k_cache;  /* [S, G, D] bf16, f32; written at [start, start + T) */
    struct assay_tensor v_cache;  /* [S, G, Dv] bf16, f32 */
    int64_t start;                /* slot of the first new row */
    struct assay_tensor start_at; /* absent (data NULL) or [1] i32: the start; .start bounds it */
};

ASSAY_MUST_USE assay_status assay_kv_append(assay_context *context,
                                            const struct assay_kv_append_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_kv_append;

#ifdef __cplusplus
}
#endif
#endif
