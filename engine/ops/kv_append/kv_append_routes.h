/* SPDX-License-Identifier: MIT
 *
 * The functions behind kv_append's route table.
 */
#ifndef ASSAY_KV_APPEND_ROUTES_H
#define ASSAY_KV_APPEND_ROUTES_H

#include <assay/ops/kv_append.h>

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status kv_append_route_plain(assay_context *context, const void *args, void *workspace);
assay_status kv_append_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status kv_append_route_avx512(assay_context *context, const void *args, void *workspace);
assay_status kv_append_route_warp_simt(assay_context *context, const void *args, void *workspace);

/* kv_append_cuda.cu; args: struct assay_kv_append_args. */
assay_status kv_append_warp_launch(const void *args, struct simt_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
