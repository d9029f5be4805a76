/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append, vectorised: the vector rows of rmsnorm, rope and kv_append, with a head of
 * binary32 in L1 between them, so that the bits are those of the ops; cos and sin once a token.
 *
 * Profile f32. Bound: qk_norm_rope_append_bound.md. Moves each input and output byte once.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/kv_append/kv_append_routes.h"
#include "ops/qk_norm_rope_append/qk_norm_rope_append_routes.h"
#include "ops/rmsnorm/rmsnorm_routes.h"
#include "ops/rope/rope_routes.h"

static void tokens(void *argument, int64_t first, int64_t last)
{
    const struct qknra_work *work = argument;
    const struct assay_qk_norm_rope_append_args *a = work->a;
    const int64_t heads = a->q.extent[1], groups = a->k.extent[1];
    for (int64_t t = first; t < last; t++) {
        float *row = work->rows + t * a->q.extent[2];
        float *rotation = work->rotations + t * a->rotary_dim;
        rope_rotation(&work->q_rotation, work->frequency, t, rotation);
        for (int64_t r = t * heads; r < (t + 1) * heads; r++) { /* q_out may be q */
            const void *q = assay_tensor_row(&a->q, r);
            SIMD_NAME(rmsnorm_row)(&work->q_norm, q, row);
            void *q_out = assay_tensor_row(&a->q_out, r);
            SIMD_NAME(rope_row)(&work->q_rotation, rotation, row, q_out);
        }
        for (int64_t r = t * groups; r < (t + 1) * groups; r++) {
            const void *k = assay_tensor_row(&a->k, r), *v = assay_tensor_row(&a->v, r);
            const int64_t slot_row = work->first_slot_row + r;
            SIMD_NAME(rmsnorm_row)(&work->k_norm, k, row);
            SIMD_NAME(rope_row)(&work->k_rotation, rotation, row, row);
            SIMD_NAME(kv_append_row)(row, ASSAY_F32, &a->k_cache, slot_row);
            SIMD_NAME(kv_append_row)(v, a->v.dtype, &a->v_cache, slot_row);
        }
    }
}

assay_status SIMD_NAME(qknra_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_qk_norm_rope_append_args *a = args;
    struct qknra_work work = qknra_work_of(a, workspace);
    assay_parallel(context, a->q.extent[0], 1, tokens, &work);
    return ASSAY_OK;
}
