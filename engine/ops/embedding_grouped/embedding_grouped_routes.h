/* SPDX-License-Identifier: MIT
 *
 * The functions behind embedding_grouped's route table.
 */
#ifndef ASSAY_EMBEDDING_GROUPED_ROUTES_H
#define ASSAY_EMBEDDING_GROUPED_ROUTES_H

#include <assay/ops/embedding_grouped.h>

#include "cuda/device_route.h"
#include "ops/linear_grouped/grouped_planes.h"

#ifdef __cplusplus
extern "C" {
#endif

assay_status embedding_grouped_route_plain(assay_context *context, const void *args,
                                           void *workspace);
assay_status embedding_grouped_route_codec(assay_context *context, const void *args,
                                           void *workspace);

DEVICE_ROUTE_DECLARE(embedding_grouped_route_row)

#ifdef __cplusplus
}
#endif
#endif
