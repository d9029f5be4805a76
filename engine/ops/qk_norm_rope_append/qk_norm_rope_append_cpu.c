/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append, the plain route: the plain rows of rmsnorm, rope and kv_append, with a head
 * of binary32 between them, so that the bits are those of the ops. Written to be read.
 */
#include "core/core.h"
#include "ops/kv_append/kv_append_routes.h"
#include "ops/qk_norm_rope_append/qk_norm_rope_append_routes.h"
#include "ops/rmsnorm/rmsnorm_routes.h"
#include "ops/rope/rope_routes.h"

size_t qknra_workspace(const assay_context *context, const void *args)
{
    const struct assay_qk_norm_rope_append_args *a = args;
    const size_t tokens = (size_t)a->q.extent[0], width = (size_t)a->q.extent[2];
    const size_t rotated = (size_t)a->rotary_dim;
    (void)context;
    return rotated / 2 * sizeof(double) + tokens * (width + rotated) * sizeof(float);
}

struct qknra_work qknra_work_of(const struct assay_qk_norm_rope_append_args *a, void *workspace)
{
    double *frequency = workspace;
    struct qknra_work work = {
        .a = a,
        .q_norm = {.x = a->q, .w = a->q_weight, .unit_offset = a->unit_offset, .eps = a->eps},
        .k_norm = {.x = a->k, .w = a->k_weight, .unit_offset = a->unit_offset, .eps = a->eps},
        .q_rotation = qknra_rotation(a),
        .k_rotation = qknra_rotation(a),
        .frequency = frequency,
        .rows = (float *)(frequency + a->rotary_dim / 2),
    };
    work.rotations = work.rows + a->q.extent[0] * a->q.extent[2];
    work.q_norm.y.dtype = work.k_norm.y.dtype = ASSAY_F32;
    work.q_rotation.x.dtype = work.k_rotation.x.dtype = ASSAY_F32;
    work.k_rotation.y.dtype = ASSAY_F32;
    const struct assay_kv_append_args append = qknra_append(a);
    work.first_slot_row = kv_append_start(&append) * a->k.extent[1];
    rope_frequencies(&work.q_rotation, frequency);
    return work;
}

static void tokens(void *argument, int64_t first, int64_t last)
{
    const struct qknra_work *work = argument;
    const struct assay_qk_norm_rope_append_args *a = work->a;
    const int64_t heads = a->q.extent[1], groups = a->k.extent[1];
    for (int64_t t = first; t < last; t++) {
        float *row = work->rows + t * a->q.extent[2];
        for (int64_t r = t * heads; r < (t + 1) * heads; r++) { /* q_out may be q */
            rmsnorm_row_plain(&work->q_norm, assay_tensor_row(&a->q, r), row);
            rope_row_plain(&work->q_rotation, work->frequency, t, row,
                           assay_tensor_row(&a->q_out, r));
        }
        for (int64_t r = t * groups; r < (t + 1) * groups; r++) {
            const int64_t slot_row = work->first_slot_row + r;
            rmsnorm_row_plain(&work->k_norm, assay_tensor_row(&a->k, r), row);
            rope_row_plain(&work->k_rotation, work->frequency, t, row, row);
            kv_append_row_plain(row, ASSAY_F32, &a->k_cache, slot_row);
            kv_append_row_plain(assay_tensor_row(&a->v, r), a->v.dtype, &a->v_cache, slot_row);
        }
    }
}

assay_status qknra_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_qk_norm_rope_append_args *a = args;
    struct qknra_work work = qknra_work_of(a, workspace);
    assay_parallel(context, a->q.extent[0], 1, tokens, &work);
    return ASSAY_OK;
}
