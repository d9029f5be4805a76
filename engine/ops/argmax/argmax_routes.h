/* SPDX-License-Identifier: MIT
 *
 * The functions behind argmax's route table.
 */
#ifndef ASSAY_ARGMAX_ROUTES_H
#define ASSAY_ARGMAX_ROUTES_H

#include <assay/ops/argmax.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status argmax_route_plain(assay_context *context, const void *args, void *workspace);
assay_status argmax_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status argmax_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(argmax_route_row)

#ifdef __cplusplus
}
#endif
#endif
