/* SPDX-License-Identifier: MIT
 *
 * The functions behind causal_conv1d's route table.
 */
#ifndef ASSAY_CAUSAL_CONV1D_ROUTES_H
#define ASSAY_CAUSAL_CONV1D_ROUTES_H

#include <assay/ops/causal_conv1d.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CAUSAL_CONV1D_MAX_TAPS = 8 };

assay_status causal_conv1d_route_plain(assay_context *context, const void *args, void *workspace);
assay_status causal_conv1d_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status causal_conv1d_route_avx512(assay_context *context, const void *args, void *workspace);

/* Rows of w follow each other without a gap: [C, taps] is one row of C taps elements. */
static inline bool causal_conv1d_is_packed(const struct assay_tensor *w)
{
    return w->extent[0] == 1 || w->stride[0] == w->extent[1];
}

DEVICE_ROUTE_DECLARE(causal_conv1d_route_channels)

#ifdef __cplusplus
}
#endif
#endif
