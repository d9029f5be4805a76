/* SPDX-License-Identifier: MIT
 *
 * The functions behind silu_mul's route table.
 */
#ifndef ASSAY_SILU_MUL_ROUTES_H
#define ASSAY_SILU_MUL_ROUTES_H

#include <assay/ops/silu_mul.h>

assay_status silu_mul_route_plain(assay_context *context, const void *args, void *workspace);
assay_status silu_mul_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status silu_mul_route_avx512(assay_context *context, const void *args, void *workspace);

#endif
