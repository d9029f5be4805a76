/* SPDX-License-Identifier: MIT
 *
 * The functions behind sigmoid_mul's route table.
 */
#ifndef ASSAY_SIGMOID_MUL_ROUTES_H
#define ASSAY_SIGMOID_MUL_ROUTES_H

#include <assay/ops/sigmoid_mul.h>

assay_status sigmoid_mul_route_plain(assay_context *context, const void *args, void *workspace);
assay_status sigmoid_mul_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status sigmoid_mul_route_avx512(assay_context *context, const void *args, void *workspace);

#endif
