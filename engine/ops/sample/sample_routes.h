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

/* sample.split: tokens of a warp's step, and the most warps of a block and blocks of a row. */
enum {
    SAMPLE_TILE = 256,
    SAMPLE_SPLIT_WARPS = 8,
    SAMPLE_SPLIT_BLOCKS = 256,
    SAMPLE_SMALL = 8192 /* up to this limit fewer of everything, so that small cases meet all */
};

/* Its state in the workspace: words of a stage (the cut by top_k, the cut by top_p), then others.
 */
enum { SAMPLE_STAGE_K, SAMPLE_STAGE_P, SAMPLE_STAGE_NONE };
enum {
    SAMPLE_STAGE_LISTED,      /* tokens offered to the list */
    SAMPLE_STAGE_BIN,         /* of the first histogram, in which the edge lies */
    SAMPLE_STAGE_NEED,        /* what it takes of the bin */
    SAMPLE_STAGE_NEED_LISTED, /* of the sub-bin, which is listed */
    SAMPLE_STAGE_WORDS
};
enum {
    SAMPLE_STATE_SCALE = 2 * SAMPLE_STAGE_WORDS, /* of integer weights */
    SAMPLE_STATE_SPILT,                          /* the list of top_k holds not all */
    SAMPLE_STATE_LAST_RANK,                      /* the last token that top_k keeps */
    SAMPLE_STATE_LAST_ID,
    SAMPLE_STATE_WORDS = 16 /* a cache line: the histograms adjoin */
};

/* How it takes a call. Workspace of a row: words of 8 bytes, parts by their offset. */
struct sample_plan {
    int64_t num_tiles;
    int blocks, warps;   /* of a row, of a block */
    int rows;            /* of a launch, at most */
    int list, bits;      /* tokens of the list; histograms have 1 << bits bins */
    int few;             /* groups whose first tokens bound the top_k ones; 0: by histograms */
    bool cuts_k, cuts_p; /* by histograms */
    int64_t first_rank, first_id, sum; /* of each block */
    int64_t groups;                    /* rank of each warp's first token */
    int64_t state, histograms;         /* of two stages at two levels */
    int64_t zeroed;                    /* words of these two */
    int64_t tiles;                     /* sums of kept weights */
    int64_t list_rank, list_id;
    int64_t row_words;
};

struct sample_plan sample_plan_of(const struct assay_sample_args *args);

DEVICE_ROUTE_DECLARE(sample_route_split)
DEVICE_ROUTE_DECLARE(sample_route_block)

#ifdef __cplusplus
}
#endif
#endif
