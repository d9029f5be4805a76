/* SPDX-License-Identifier: MIT
 *
 * The functions behind embedding's route table.
 */
#ifndef ASSAY_EMBEDDING_ROUTES_H
#define ASSAY_EMBEDDING_ROUTES_H

#include <assay/ops/embedding.h>

assay_status embedding_route_plain(assay_context *context, const void *args, void *workspace);
assay_status embedding_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status embedding_route_avx512(assay_context *context, const void *args, void *workspace);

#endif
