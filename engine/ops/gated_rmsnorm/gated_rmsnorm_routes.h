/* SPDX-License-Identifier: MIT
 *
 * The functions behind gated_rmsnorm's route table.
 */
#ifndef ASSAY_GATED_RMSNORM_ROUTES_H
#define ASSAY_GATED_RMSNORM_ROUTES_H

#include <assay/ops/gated_rmsnorm.h>

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status gated_rmsnorm_route_plain(assay_context *context, const void *args, void *workspace);
assay_status gated_rmsnorm_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status gated_rmsnorm_route_avx512(assay_context *context, const void *args, void *workspace);
assay_status gated_rmsnorm_route_row_simt(assay_context *context, const void *args,
                                          void *workspace);

/* gated_rmsnorm_cuda.cu; args: struct assay_gated_rmsnorm_args. */
assay_status gated_rmsnorm_row_launch(const void *args, struct simt_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
