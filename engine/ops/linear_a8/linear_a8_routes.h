/* SPDX-License-Identifier: MIT
 *
 * The functions behind linear_a8's route table.
 */
#ifndef ASSAY_LINEAR_A8_ROUTES_H
#define ASSAY_LINEAR_A8_ROUTES_H

#include <assay/ops/linear_a8.h>

#include "cuda/device_route.h"
#include "ops/linear_a8/a8_activations.h"
#include "ops/linear_grouped/grouped_planes.h"

/* Rows of x that stay in the vector routes' accumulators while a panel of w passes. */
enum { LINEAR_A8_TILE_T = 32 };

/* Rows of x up to which the kernel for few rows goes. */
enum { LINEAR_A8_SMALL_ROWS = 32 };

#ifdef __cplusplus
extern "C" {
#endif

DEVICE_ROUTE_DECLARE(linear_a8_route_small)
DEVICE_ROUTE_DECLARE(linear_a8_route_warpgroup)
DEVICE_ROUTE_DECLARE(linear_a8_route_tiled)
DEVICE_ROUTE_DECLARE(linear_a8_route_generic)

assay_status linear_a8_route_plain(assay_context *context, const void *args, void *workspace);
assay_status linear_a8_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status linear_a8_route_avx512(assay_context *context, const void *args, void *workspace);

#ifdef __cplusplus
}
#endif
#endif
