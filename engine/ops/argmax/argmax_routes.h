/* SPDX-License-Identifier: MIT
 *
 * The functions behind argmax's route table.
 */
#ifndef ASSAY_ARGMAX_ROUTES_H
#define ASSAY_ARGMAX_ROUTES_H

#include <assay/ops/argmax.h>

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status argmax_route_plain(assay_context *context, const void *args, void *workspace);
assay_status argmax_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status argmax_route_avx512(assay_context *context, const void *args, void *workspace);
assay_status argmax_route_row_simt(assay_context *context, const void *args, void *workspace);

/* argmax_cuda.cu; args: struct assay_argmax_args. */
assay_status argmax_row_launch(const void *args, struct simt_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
