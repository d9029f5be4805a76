/* SPDX-License-Identifier: MIT
 *
 * The functions behind linear's route table.
 */
#ifndef ASSAY_LINEAR_ROUTES_H
#define ASSAY_LINEAR_ROUTES_H

#include <assay/ops/linear.h>

/* The register tile of the vector routes: rows of x times rows of w. */
enum { LINEAR_TILE_N = 4, LINEAR_TILE_T_AVX2 = 3, LINEAR_TILE_T_AVX512 = 6 };

assay_status linear_route_plain(assay_context *context, const void *args, void *workspace);
assay_status linear_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status linear_route_avx512(assay_context *context, const void *args, void *workspace);

#endif
