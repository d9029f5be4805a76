/* SPDX-License-Identifier: MIT
 *
 * The functions behind l2norm's route table.
 */
#ifndef ASSAY_L2NORM_ROUTES_H
#define ASSAY_L2NORM_ROUTES_H

#include <assay/ops/l2norm.h>

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status l2norm_route_plain(assay_context *context, const void *args, void *workspace);
assay_status l2norm_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status l2norm_route_avx512(assay_context *context, const void *args, void *workspace);
assay_status l2norm_route_row_simt(assay_context *context, const void *args, void *workspace);

/* l2norm_cuda.cu; args: struct assay_l2norm_args. */
assay_status l2norm_row_launch(const void *args, struct simt_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
