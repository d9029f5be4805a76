/* SPDX-License-Identifier: MIT
 *
 * The functions behind kv_append's route table.
 */
#ifndef ASSAY_KV_APPEND_ROUTES_H
#define ASSAY_KV_APPEND_ROUTES_H

#include <assay/ops/kv_append.h>

assay_status kv_append_route_plain(assay_context *context, const void *args, void *workspace);
assay_status kv_append_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status kv_append_route_avx512(assay_context *context, const void *args, void *workspace);

#endif
