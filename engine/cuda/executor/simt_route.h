/* SPDX-License-Identifier: MIT
 *
 * Routes of the backend simt: an op's CUDA launch, run by the executor.
 */
#ifndef ASSAY_CUDA_EXECUTOR_SIMT_ROUTE_H
#define ASSAY_CUDA_EXECUTOR_SIMT_ROUTE_H

#include "core/core.h"
#include "cuda/simt_launch.h"

/* Calls launch(args, ...) with the regions that its kernels may touch. A fault becomes the
 * context's error record. */
assay_status simt_route_run(assay_context *context, const char *op,
                            const struct simt_region *regions, int num_regions,
                            assay_status (*launch)(const void *args, struct simt_launch *launch),
                            const void *args);

#endif
