/* SPDX-License-Identifier: MIT
 *
 * The functions behind rmsnorm's route table.
 */
#ifndef ASSAY_RMSNORM_ROUTES_H
#define ASSAY_RMSNORM_ROUTES_H

#include <assay/ops/rmsnorm.h>

assay_status rmsnorm_route_plain(assay_context *context, const void *args, void *workspace);
assay_status rmsnorm_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status rmsnorm_route_avx512(assay_context *context, const void *args, void *workspace);

#endif
