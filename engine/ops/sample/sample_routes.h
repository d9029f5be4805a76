/* SPDX-License-Identifier: MIT
 *
 * The functions behind sample's route table.
 */
#ifndef ASSAY_SAMPLE_ROUTES_H
#define ASSAY_SAMPLE_ROUTES_H

#include <assay/ops/sample.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

size_t sample_workspace_plain(const assay_context *context, const void *args);
assay_status sample_route_plain(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(sample_route_block)

#ifdef __cplusplus
}
#endif
#endif
