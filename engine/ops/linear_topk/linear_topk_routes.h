/* SPDX-License-Identifier: MIT
 *
 * The functions behind linear_topk's route table.
 */
#ifndef ASSAY_LINEAR_TOPK_ROUTES_H
#define ASSAY_LINEAR_TOPK_ROUTES_H

#include <assay/ops/linear_topk.h>

#include "cuda/device_route.h"
#include "ops/linear_add/any_product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The vector routes: rows of x and of w in a tile of logits. */
enum { LINEAR_TOPK_TILE_ROWS = 24, LINEAR_TOPK_TILE_COLUMNS = 32 };

/* A device's block reduces so many logits or keys to k, each thread so many of them; a block of the
 * executor fewer, so that small cases have several parts. A part has at least as many threads as
 * there may be places. */
enum { LINEAR_TOPK_PART = 4096, LINEAR_TOPK_PART_SIMT = 512, LINEAR_TOPK_EACH = 8 };

/* Ranges of the vocabulary that the vector routes reduce one by one: as many as give threads work,
 * not so many that their lists take more than a few MiB. No result depends on it. */
int64_t linear_topk_ranges(const struct assay_linear_topk_args *args);
/* Bytes of their lists. */
size_t linear_topk_lists(const struct assay_linear_topk_args *args);

assay_status linear_topk_route_plain(assay_context *context, const void *args, void *workspace);
assay_status linear_topk_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status linear_topk_route_avx512(assay_context *context, const void *args, void *workspace);

/* Workspace of the device routes whose product is the row `method`. */
size_t linear_topk_device_workspace(const assay_context *context,
                                    const struct assay_linear_topk_args *args, const char *method);

DEVICE_ROUTE_DECLARE(linear_topk_route_gemv)
DEVICE_ROUTE_DECLARE(linear_topk_route_small)
DEVICE_ROUTE_DECLARE(linear_topk_route_tiled)

/* One launch of a device route. A row has `parts` lists of k keys. */
struct linear_topk_step {
    struct assay_linear_topk_args a; /* of the rows at hand */
    int part;                        /* logits or keys a block takes */
    const float *logits;             /* topk_part: [T, columns], of ids first_id on */
    int64_t columns, first_id;
    const uint64_t *from; /* topk_merge: the lists that are reduced, parts_from a row */
    int64_t parts_from;
    uint64_t *to; /* NULL: the outputs */
    int64_t parts_to, first_part;
};
DEVICE_ROUTE_DECLARE(linear_topk_part)
DEVICE_ROUTE_DECLARE(linear_topk_merge)

#ifdef __cplusplus
}
#endif
#endif
