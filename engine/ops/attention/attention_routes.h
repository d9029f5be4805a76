/* SPDX-License-Identifier: MIT
 *
 * The functions behind attention's route table, and the sizes that table and routes share.
 */
#ifndef ASSAY_ATTENTION_ROUTES_H
#define ASSAY_ATTENTION_ROUTES_H

#include <stddef.h>

#include <assay/ops/attention.h>

#include "cuda/device_route.h"

enum {
    /* Vector routes: keys whose weighted values are summed before they join the total. Bounds the
     * chain of additions by ATTENTION_VALUE_TILE + L / ATTENTION_VALUE_TILE. */
    ATTENTION_VALUE_TILE = 32,
    /* Query rows (token, head) of one key group that walk the cache together, where one token has
     * no more. */
    ATTENTION_ROWS = 16,
    /* Widest vector of any instruction set: rows in the workspace are padded to it. */
    ATTENTION_PAD = 16,
    /* Device, generic: a block has a row of weights in the workspace. */
    ATTENTION_GENERIC_WARPS = 4,
    ATTENTION_GENERIC_BLOCKS = 256,
    /* Device, split: keys of a split, at absolute places so that they depend on nothing else; warps
     * that share a split, each with an equal run of keys; warps that join the splits; tokens of one
     * launch; widest D and Dv. */
    ATTENTION_SPLIT_KEYS = 128,
    ATTENTION_SPLIT_WARPS = 4,
    ATTENTION_JOIN_WARPS = 16,
    ATTENTION_SPLIT_TOKENS = 16,
    ATTENTION_SPLIT_WIDTH = 256,
    /* Device, decode: rows of a tile; warps that take the steps of a split in turn; tokens of a
     * call. */
    ATTENTION_DECODE_ROWS = 8,
    ATTENTION_DECODE_WARPS = 4,
    ATTENTION_DECODE_TOKENS = 16,
    ATTENTION_TENSOR_MOST = 1 << 24, /* keys, and query rows of a call: both routes count in int */
    /* Device, decode: splits are larger further on, so that short contexts have enough of them and
     * long ones not too many: places of the first of medium and of large size. */
    ATTENTION_DECODE_SMALL = 128,
    ATTENTION_DECODE_MEDIUM = 256,
    ATTENTION_DECODE_LARGE = 384,
    ATTENTION_DECODE_FIRST_MEDIUM = 32,
    ATTENTION_DECODE_FIRST_LARGE = 48,
    ATTENTION_DECODE_MEDIUM_KEY = ATTENTION_DECODE_FIRST_MEDIUM * ATTENTION_DECODE_SMALL,
    ATTENTION_DECODE_LARGE_KEY =
        ATTENTION_DECODE_MEDIUM_KEY +
        (ATTENTION_DECODE_FIRST_LARGE - ATTENTION_DECODE_FIRST_MEDIUM) * ATTENTION_DECODE_MEDIUM,
};

/* Decode route: first key of split i; splits that hold `keys` keys. Macros for host and device. */
#define ATTENTION_DECODE_BEGIN(i)                                            \
    ((i) < ATTENTION_DECODE_FIRST_MEDIUM ? (i)*ATTENTION_DECODE_SMALL        \
     : (i) < ATTENTION_DECODE_FIRST_LARGE                                    \
         ? ATTENTION_DECODE_MEDIUM_KEY +                                     \
               ((i)-ATTENTION_DECODE_FIRST_MEDIUM) * ATTENTION_DECODE_MEDIUM \
         : ATTENTION_DECODE_LARGE_KEY +                                      \
               ((i)-ATTENTION_DECODE_FIRST_LARGE) * ATTENTION_DECODE_LARGE)
#define ATTENTION_DECODE_SPLITS(keys)                                               \
    ((keys) <= ATTENTION_DECODE_MEDIUM_KEY                                          \
         ? ((keys) + ATTENTION_DECODE_SMALL - 1) / ATTENTION_DECODE_SMALL           \
     : (keys) <= ATTENTION_DECODE_LARGE_KEY                                         \
         ? ATTENTION_DECODE_FIRST_MEDIUM +                                          \
               ((keys)-ATTENTION_DECODE_MEDIUM_KEY + ATTENTION_DECODE_MEDIUM - 1) / \
                   ATTENTION_DECODE_MEDIUM                                          \
         : ATTENTION_DECODE_FIRST_LARGE +                                           \
               ((keys)-ATTENTION_DECODE_LARGE_KEY + ATTENTION_DECODE_LARGE - 1) /   \
                   ATTENTION_DECODE_LARGE)

#ifdef __cplusplus
extern "C" {
#endif

assay_status attention_route_plain(assay_context *context, const void *args, void *workspace);
assay_status attention_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status attention_route_avx512(assay_context *context, const void *args, void *workspace);

/* The start of a call whose tensors the host can read [ATTENTION-9]. */
static inline int64_t attention_start(const struct assay_attention_args *a)
{
    if (a->start_at.data == NULL)
        return a->start;
    int32_t at = *(const int32_t *)a->start_at.data;
    int64_t least = at > 0 ? at : 0;
    return least < a->start ? least : a->start;
}

DEVICE_ROUTE_DECLARE(attention_route_decode)
DEVICE_ROUTE_DECLARE(attention_route_flash)
DEVICE_ROUTE_DECLARE(attention_route_split)
DEVICE_ROUTE_DECLARE(attention_route_generic)

/* Split route: floats of one split's result for a query row: a value padded to whole chunks of 8,
 * the largest score, the sum of weights, 6 unused. */
static inline int64_t attention_split_pitch(int64_t value_width)
{
    return (value_width + 7) / 8 * 8 + 8;
}

/* Split route: splits that the last query can need. */
static inline int64_t attention_num_splits(const struct assay_attention_args *a)
{
    return (a->start + a->q.extent[0] + ATTENTION_SPLIT_KEYS - 1) / ATTENTION_SPLIT_KEYS;
}

/* Numbers that one thread of the plain route works in: weights of the keys, a query, a row of y and
 * a row of a cache. */
static inline int64_t attention_plain_lane(const struct assay_attention_args *a)
{
    int64_t dk = a->q.extent[2], dv = a->y.extent[2];
    return a->start + a->q.extent[0] + dk + dv + (dk > dv ? dk : dv);
}

/* How a vector route cuts a call: an item is a block of tokens for one key head; a lane takes one
 * item after the other and owns one part of the workspace. Results depend on neither. */
struct attention_plan {
    int64_t heads_per_key; /* Hq / G */
    int64_t tokens;        /* of an item, the last block may have fewer */
    int64_t num_items;
    int64_t num_lanes;
    int64_t query_width, value_width, score_width; /* floats of a workspace row, padded */
    size_t lane_floats;
};
struct attention_plan attention_plan_of(const assay_context *context,
                                        const struct assay_attention_args *a);

#ifdef __cplusplus
}
#endif
#endif
