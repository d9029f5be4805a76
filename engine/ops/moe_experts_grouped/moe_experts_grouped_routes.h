/* SPDX-License-Identifier: MIT
 *
 * The functions behind moe_experts_grouped's route table.
 */
#ifndef ASSAY_MOE_EXPERTS_GROUPED_ROUTES_H
#define ASSAY_MOE_EXPERTS_GROUPED_ROUTES_H

#include <assay/ops/moe_experts_grouped.h>

#include "cuda/device_route.h"
#include "ops/moe_experts_grouped/grouped_banks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tokens up to which each pair of a token and a slot reads its expert's planes for itself. */
enum { EXPERTS_GROUPED_FEW = 8 };

/* The tensor-core kernels take the places of an expert's pairs a block at a time, of one of two
 * sizes: the large one where experts have as many pairs on average. */
enum { EXPERTS_GROUPED_SMALL_BLOCK = 16, EXPERTS_GROUPED_LARGE_BLOCK = 64 };

static inline int expert_block_places(const struct expert_call *c)
{
    return expert_pairs(c) >= c->num_experts * EXPERTS_GROUPED_LARGE_BLOCK
               ? EXPERTS_GROUPED_LARGE_BLOCK
               : EXPERTS_GROUPED_SMALL_BLOCK;
}

/* At most: each expert in use leaves one block unfinished. */
static inline int64_t expert_most_blocks(const struct expert_call *c)
{
    const int64_t pairs = expert_pairs(c), experts = c->num_experts;
    return pairs / expert_block_places(c) + (pairs < experts ? pairs : experts);
}

/* Where the intermediates of the kernels lie, in bytes. Places are those of pairs in order of their
 * experts, each expert's rounded up to whole blocks. */
struct tiled_buffers {
    size_t list, starts;     /* expert_device.cuh */
    size_t rows_at, experts; /* i32: a place's pair, a block's expert; -1: none */
    size_t places;           /* [pairs] i32: a pair's place */
    size_t sums;             /* [places, max(2F, H)] f32: g and u, then d */
    size_t h;                /* [pairs, F] f32 */
    size_t ordered;          /* x, then h, as linear_grouped_mma.cuh orders it */
    size_t total;
};

struct tiled_buffers tiled_buffers_of(const struct expert_call *call);

DEVICE_ROUTE_DECLARE(moe_experts_grouped_route_gemv)
DEVICE_ROUTE_DECLARE(moe_experts_grouped_route_tiled)

assay_status moe_experts_grouped_route_plain(assay_context *context, const void *args,
                                             void *workspace);
assay_status moe_experts_grouped_route_avx2(assay_context *context, const void *args,
                                            void *workspace);
assay_status moe_experts_grouped_route_avx512(assay_context *context, const void *args,
                                              void *workspace);

#ifdef __cplusplus
}
#endif
#endif
