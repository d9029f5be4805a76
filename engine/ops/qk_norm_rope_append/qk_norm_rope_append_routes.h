/* SPDX-License-Identifier: MIT
 *
 * The functions behind qk_norm_rope_append's route table, and its parts as calls of the ops that it
 * is made of.
 */
#ifndef ASSAY_QK_NORM_ROPE_APPEND_ROUTES_H
#define ASSAY_QK_NORM_ROPE_APPEND_ROUTES_H

#include <assay/ops/kv_append.h>
#include <assay/ops/qk_norm_rope_append.h>
#include <assay/ops/rmsnorm.h>
#include <assay/ops/rope.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Views of the call's tensors; their rules are what validate checks by the ops' own functions. */
struct assay_rope_args qknra_rotation(const struct assay_qk_norm_rope_append_args *a);
struct assay_kv_append_args qknra_append(const struct assay_qk_norm_rope_append_args *a);

assay_status qknra_route_plain(assay_context *context, const void *args, void *workspace);
assay_status qknra_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status qknra_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(qknra_route_head)
DEVICE_ROUTE_DECLARE(qknra_route_warp)

#ifdef __cplusplus
}
#else /* host code is C */

/* One head after the other as the cpu routes take them: norm(head) into binary32 at `row`, then its
 * rotation. What differs between instruction sets are the row functions. */
struct qknra_work {
    const struct assay_qk_norm_rope_append_args *a;
    struct assay_rmsnorm_args q_norm, k_norm; /* into binary32 */
    struct assay_rope_args q_rotation;        /* from binary32 into q_out's format */
    struct assay_rope_args k_rotation;        /* within binary32 */
    int64_t first_slot_row;                   /* cache row of token 0, head 0 */
    const double *frequency;                  /* [R/2] */
    float *rows;                              /* [T, D], one a token */
    float *rotations;                         /* [T, R], vector routes */
};

/* Lays the workspace out; its size is qknra_workspace's. */
struct qknra_work qknra_work_of(const struct assay_qk_norm_rope_append_args *a, void *workspace);
size_t qknra_workspace(const assay_context *context, const void *args);

#endif
#endif
