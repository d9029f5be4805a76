/* SPDX-License-Identifier: MIT
 *
 * Slots of a call on a device, for the kernels of moe_experts and moe_experts_grouped: whose expert
 * a pair of a token and a slot has, each expert's pairs as a list, and y from the pairs' products.
 * Ids are read where they lie, on the device: grids depend on shapes only.
 */
#ifndef ASSAY_EXPERT_DEVICE_CUH
#define ASSAY_EXPERT_DEVICE_CUH

#include "ops/linear/linear_device.cuh"
#include "ops/moe_experts/expert_banks.h"

enum { EXPERT_WARPS = 8, /* of a block */ EXPERT_BLOCKS = 1 << 15 /* more take turns */ };

struct expert_slots {
    const unsigned char *ids, *weights;
    int64_t ids_stride, weights_stride; /* bytes */
    int64_t tokens, pairs;              /* T, T k */
    int k, num_experts;
};

static inline struct expert_slots expert_slots_of(const struct expert_call *c)
{
    const struct row_view ids = row_view_of(&c->ids), weights = row_view_of(&c->weights);
    return {ids.data,
            weights.data,
            ids.outer_stride,
            weights.outer_stride,
            c->ids.extent[0],
            expert_pairs(c),
            static_cast<int>(c->ids.extent[1]),
            static_cast<int>(c->num_experts)};
}

/* -1: the id is no expert. */
SIMT_DEVICE int pair_expert(const struct expert_slots &s, int64_t pair)
{
    const int32_t *ids =
        reinterpret_cast<const int32_t *>(s.ids + pair / s.k * s.ids_stride) + pair % s.k;
    int id = simt_load_constant(ids);
    return id >= 0 && id < s.num_experts ? id : -1;
}

SIMT_DEVICE float pair_weight(const struct expert_slots &s, int64_t t, int i)
{
    return simt_load_constant(reinterpret_cast<const float *>(s.weights + t * s.weights_stride) +
                              i);
}

/* A buffer of whole rows [rows, width] of the workspace. */
SIMT_DEVICE struct row_view buffer_view(float *data, int64_t width)
{
    return {reinterpret_cast<unsigned char *>(data), 1, 4 * width, 0, false, width % 4 == 0};
}

/* Blocks of EXPERT_WARPS warps for items of a warp each. */
static inline unsigned blocks_for(int64_t items)
{
    return static_cast<unsigned>((items + EXPERT_WARPS - 1) / EXPERT_WARPS);
}

/* For kernels whose blocks take turns. */
static inline unsigned at_most_blocks(int64_t blocks)
{
    return static_cast<unsigned>(blocks < EXPERT_BLOCKS ? blocks
                                                        : static_cast<int64_t>(EXPERT_BLOCKS));
}

/* ---- lists ---------------------------------------------------------------------------------- */

struct expert_lists {
    int *list;   /* [pairs] pairs by experts */
    int *starts; /* [num_experts + 1] where an expert's pairs begin in it */
};

SIMT_DEVICE int bits_set(unsigned v)
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return static_cast<int>(((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
}

/* The sum over a warp, in each lane. */
SIMT_DEVICE int warp_total(int value)
{
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) value +=
        simt_shuffle_xor(SIMT_ALL_LANES, value, bits);
    return value;
}

/* A warp for each expert, and one for the end of the list. It passes over all ids twice and needs
 * no other warp: how many pairs belong to lower experts, then where each of its own stands. */
SIMT_KERNEL(experts_list)(struct expert_slots s, struct expert_lists lists)
{
    int e = static_cast<int>(simt_block_index().x), start = 0;
    for (int64_t pair = simt_lane(); pair < s.pairs; pair += 32) {
        int id = pair_expert(s, pair);
        start += id >= 0 && id < e;
    }
    start = warp_total(start);
    if (simt_lane() == 0)
        simt_store(lists.starts + e, start);
    for (int64_t first = 0; e < s.num_experts && first < s.pairs; first += 32) {
        int64_t pair = first + simt_lane();
        bool is_mine = pair < s.pairs && pair_expert(s, pair) == e;
        unsigned mine = simt_ballot(SIMT_ALL_LANES, is_mine);
        if (is_mine)
            simt_store(lists.list + start + bits_set(mine & ((1u << simt_lane()) - 1)),
                       static_cast<int>(pair));
        start += bits_set(mine);
    }
}

static inline assay_status experts_list_launch(const struct expert_slots &s,
                                               const struct expert_lists &lists,
                                               struct simt_launch *launch)
{
    launch->grid = {static_cast<unsigned>(s.num_experts) + 1, 1, 1};
    launch->block = {32, 1, 1};
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, experts_list, s, lists);
}

/* ---- y -------------------------------------------------------------------------------------- */

struct expert_sums {
    struct expert_slots slots;
    struct row_view y;
    const float *d;    /* rows of `hidden`, of pairs or of places */
    const int *places; /* a pair's row of d; NULL: its own number */
    int64_t hidden;
};

SIMT_KERNEL(experts_combine)(struct expert_sums p)
{
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * simt_block_extent().x;
    for (int64_t i =
             static_cast<int64_t>(simt_block_index().x) * simt_block_extent().x + simt_thread();
         i < p.slots.tokens * p.hidden; i += step) {
        int64_t t = i / p.hidden, n = i % p.hidden;
        float total = 0;
        for (int slot = 0; slot < p.slots.k; slot++) {
            int64_t pair = t * p.slots.k + slot;
            bool is_there = pair_expert(p.slots, pair) >= 0;
            int64_t row = p.places != nullptr && is_there ? simt_load(p.places + pair) : pair;
            float d = is_there ? simt_load(p.d + row * p.hidden + n) : 0;
            total = fmaf(is_there ? pair_weight(p.slots, t, slot) : NAN, d, total);
        }
        linear_store(p.y, t, n, total);
    }
}

static inline assay_status experts_combine_launch(const struct expert_sums &p,
                                                  struct simt_launch *launch)
{
    int64_t blocks = (p.slots.tokens * p.hidden + 32 * EXPERT_WARPS - 1) / (32 * EXPERT_WARPS);
    launch->grid = {at_most_blocks(blocks), 1, 1};
    launch->block = {32 * EXPERT_WARPS, 1, 1};
    launch->shared_bytes = 0;
    return SIMT_LAUNCH(launch, experts_combine, p);
}

#endif
