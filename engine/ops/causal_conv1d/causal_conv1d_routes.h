/* SPDX-License-Identifier: MIT
 *
 * The functions behind causal_conv1d's route table.
 */
#ifndef ASSAY_CAUSAL_CONV1D_ROUTES_H
#define ASSAY_CAUSAL_CONV1D_ROUTES_H

#include <assay/ops/causal_conv1d.h>

enum { CAUSAL_CONV1D_MAX_TAPS = 8 };

assay_status causal_conv1d_route_plain(assay_context *context, const void *args, void *workspace);
assay_status causal_conv1d_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status causal_conv1d_route_avx512(assay_context *context, const void *args, void *workspace);

#endif
