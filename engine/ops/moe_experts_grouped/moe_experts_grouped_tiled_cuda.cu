/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped for any number of tokens, in tensor cores: the pairs of each expert get
 * places in whole blocks of rows, x is brought there in the order of mma, and a block of
 * linear_grouped's kernel (linear_grouped_mma.cuh) multiplies those of one expert with its planes;
 * then h, once more with down, then y. Grids depend on shapes only: blocks that no expert has end
 * at once.
 *
 * Profile a16x2 (bf16 x is exact, h is not). Bound: moe_experts_grouped_bound.md. Limited by
 * instructions like linear_grouped.tiled, and by the places that experts with few pairs leave
 * empty.
 */
#include "ops/linear_grouped/linear_grouped_mma.cuh"
#include "ops/moe_experts/expert_device.cuh"
#include "ops/moe_experts_grouped/moe_experts_grouped_routes.h"
#include "ops/silu_mul/silu_device.cuh"

struct tiled_call {
    struct expert_slots slots;
    struct expert_lists lists;
    int *rows_at, *experts, *places; /* struct tiled_buffers */
    int block_places, num_blocks;
    int64_t hidden, width; /* H, F */
    float *sums, *h;
};

/* ---- places --------------------------------------------------------------------------------- */

SIMT_DEVICE int blocks_of(const struct tiled_call &p, int count)
{
    return (count + p.block_places - 1) / p.block_places;
}

/* A warp for each expert, and one for the blocks that are left. */
SIMT_KERNEL(experts_places)(struct tiled_call p)
{
    int e = static_cast<int>(simt_block_index().x), first = 0;
    for (int i = simt_lane(); i < e; i += 32)
        first += blocks_of(p, simt_load(p.lists.starts + i + 1) - simt_load(p.lists.starts + i));
    first = warp_total(first);
    bool is_rest = e == p.slots.num_experts;
    int start = simt_load(p.lists.starts + e);
    int count = is_rest ? 0 : simt_load(p.lists.starts + e + 1) - start;
    int end = is_rest ? p.num_blocks : first + blocks_of(p, count);
    for (int b = first + simt_lane(); b < end; b += 32)
        simt_store(p.experts + b, is_rest ? -1 : e);
    for (int i = simt_lane(); i < (end - first) * p.block_places; i += 32) {
        int place = first * p.block_places + i;
        int pair = i < count ? simt_load(p.lists.list + start + i) : -1;
        simt_store(p.rows_at + place, pair);
        if (pair >= 0)
            simt_store(p.places + pair, place);
    }
}

/* ---- products ------------------------------------------------------------------------------- */

struct experts_mma {
    struct mma_call product; /* with expert 0 */
    const int *experts;
    int64_t expert_bytes[3]; /* from expert to expert in each plane */
};

/* The tiles of one block of places follow each other: they have its x and, with the next, its
 * expert in common. */
template <typename shape>
SIMT_KERNEL_RESIDENT(experts_mma_tile, shape::threads, 1)
(struct experts_mma p)
{
    int64_t tiles_n = (p.product.columns + p.product.block_rows - 1) / p.product.block_rows;
    const struct mma_place place = {simt_block_index().x % tiles_n, simt_block_index().x / tiles_n};
    int e = simt_load(p.experts + place.t);
    if (e < 0)
        return;
    struct mma_call call = p.product;
    call.w.base += e * p.expert_bytes[0];
    call.w.high += e * p.expert_bytes[1];
    call.w.scales += e * p.expert_bytes[2];
    mma_block<shape>(call, place);
}

template <typename shape>
static assay_status launch_shape(struct experts_mma *p, struct simt_launch *launch)
{
    p->product.block_rows = shape::rows;
    p->product.tiles_t = p->product.x_tiles / shape::block_x_tiles;
    int64_t tiles_n = (p->product.columns + shape::rows - 1) / shape::rows;
    launch->grid = {static_cast<unsigned>(tiles_n * p->product.tiles_t), 1, 1};
    launch->block = {shape::threads, 1, 1};
    launch->shared_bytes = sizeof(uint32_t) * shape::stages * shape::stage_words;
    return SIMT_LAUNCH(launch, experts_mma_tile<shape>, *p);
}

template <int bits, int planes>
static assay_status launch_planes(struct experts_mma *p, int block_places,
                                  struct simt_launch *launch)
{
    typedef mma_shape<bits, planes, bits == 8 ? 3 : 4, 4, 4, 2, 1, 1> large_block;
    typedef mma_shape<bits, planes, 2, 4, 2, 1, 1, 2> small_block;
    static_assert(8 * large_block::block_x_tiles == EXPERTS_GROUPED_LARGE_BLOCK &&
                      8 * small_block::block_x_tiles == EXPERTS_GROUPED_SMALL_BLOCK,
                  "a block has the places of one expert");
    return block_places == EXPERTS_GROUPED_LARGE_BLOCK ? launch_shape<large_block>(p, launch)
                                                       : launch_shape<small_block>(p, launch);
}

template <int bits>
static assay_status launch_bits(struct experts_mma *p, int block_places, struct simt_launch *launch)
{
    return p->product.num_planes == 1 ? launch_planes<bits, 1>(p, block_places, launch)
                                      : launch_planes<bits, 2>(p, block_places, launch);
}

/* Rows of x, `slots` pairs each, at their places, with the bank's matrices into the sums. constant:
 * nothing in the call writes x. */
template <bool constant>
static assay_status launch_product(const struct tiled_call &t, struct assay_tensor x, int slots,
                                   const struct expert_bank *bank, void *ordered,
                                   struct simt_launch *launch)
{
    struct assay_linear_grouped_args args = {};
    args.x = x;
    args.w = bank->matrix;
    const int64_t places = int64_t{t.num_blocks} * t.block_places;
    args.y = assay_tensor_2d(t.sums, ASSAY_F32, places, bank->matrix.rows);
    struct experts_mma p = {mma_call_of(&args, 1), t.experts, {}};
    p.product.rows = places;
    p.product.x_tiles = places / 8;
    p.product.rows_at = t.rows_at;
    p.product.slots = slots;
    p.expert_bytes[0] = bank->step * p.product.w.base_stride;
    p.expert_bytes[1] = bank->step * p.product.w.high_stride;
    p.expert_bytes[2] = bank->step * p.product.w.scales_stride;
    struct simt_launch order = *launch;
    order.workspace = ordered;
    const assay_status status = mma_order_x<constant>(&p.product, &order);
    if (status != ASSAY_OK)
        return status;
    switch (p.product.w.bits) {
    case 4:
        return launch_bits<4>(&p, t.block_places, launch);
    case 5:
        return launch_bits<5>(&p, t.block_places, launch);
    case 6:
        return launch_bits<6>(&p, t.block_places, launch);
    default:
        return launch_bits<8>(&p, t.block_places, launch);
    }
}

/* h of all pairs that have an expert, from g and u at their places. */
SIMT_KERNEL(experts_silu)(struct tiled_call p)
{
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * simt_block_extent().x;
    for (int64_t i =
             static_cast<int64_t>(simt_block_index().x) * simt_block_extent().x + simt_thread();
         i < p.slots.pairs * p.width; i += step) {
        int64_t pair = i / p.width, f = i % p.width;
        if (pair_expert(p.slots, pair) < 0)
            continue;
        const float *sums = p.sums + int64_t{simt_load(p.places + pair)} * 2 * p.width;
        simt_store(p.h + i, silu_times(simt_load(sums + f), simt_load(sums + p.width + f)));
    }
}

/* ---- launches ------------------------------------------------------------------------------- */

static struct tiled_call call_of(const struct expert_call *c, char *memory)
{
    const struct tiled_buffers b = tiled_buffers_of(c);
    return {expert_slots_of(c),
            {reinterpret_cast<int *>(memory + b.list), reinterpret_cast<int *>(memory + b.starts)},
            reinterpret_cast<int *>(memory + b.rows_at),
            reinterpret_cast<int *>(memory + b.experts),
            reinterpret_cast<int *>(memory + b.places),
            expert_block_places(c),
            static_cast<int>(expert_most_blocks(c)),
            expert_hidden(c),
            expert_width(c),
            reinterpret_cast<float *>(memory + b.sums),
            reinterpret_cast<float *>(memory + b.h)};
}

static assay_status launch_places(const struct tiled_call &p, struct simt_launch *launch)
{
    const assay_status status = experts_list_launch(p.slots, p.lists, launch);
    return status != ASSAY_OK ? status : SIMT_LAUNCH(launch, experts_places, p);
}

static assay_status tiled_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_moe_experts_grouped_args *a =
        static_cast<const struct assay_moe_experts_grouped_args *>(args);
    const struct expert_call call = grouped_call_of(a);
    if (expert_pairs(&call) == 0)
        return ASSAY_OK;
    char *const memory = static_cast<char *>(launch->workspace);
    void *const ordered = memory + tiled_buffers_of(&call).ordered;
    const struct tiled_call p = call_of(&call, memory);
    assay_status status = launch_places(p, launch);
    if (status != ASSAY_OK)
        return status;
    status = launch_product<true>(p, a->x, p.slots.k, &call.gate_up, ordered, launch);
    if (status != ASSAY_OK)
        return status;
    const int64_t threads = 32 * EXPERT_WARPS;
    launch->grid = {at_most_blocks((p.slots.pairs * p.width + threads - 1) / threads), 1, 1};
    launch->block = {static_cast<unsigned>(threads), 1, 1};
    launch->shared_bytes = 0;
    status = SIMT_LAUNCH(launch, experts_silu, p);
    if (status != ASSAY_OK)
        return status;
    const struct assay_tensor h = assay_tensor_2d(p.h, ASSAY_F32, p.slots.pairs, p.width);
    status = launch_product<false>(p, h, 1, &call.down, ordered, launch);
    if (status != ASSAY_OK)
        return status;
    return experts_combine_launch({p.slots, row_view_of(&a->y), p.sums, p.places, p.hidden},
                                  launch);
}

DEVICE_ROUTE_RUN(moe_experts_grouped_route_tiled, &assay_op_moe_experts_grouped, tiled_launch)
