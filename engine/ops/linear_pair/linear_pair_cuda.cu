/* SPDX-License-Identifier: MIT
 *
 * linear_pair for one row of x in one launch: the matrices share the blocks by what they have to
 * do, and in its blocks each has the kernel for one row of linear or linear_grouped. A row's sum
 * has the order that it has there [LINEARPAIR-5].
 *
 * Profile f32 (all matrices bf16), a16x2. Bound: linear_pair_bound.md. Moves the matrices once
 * through device memory, which limits it as it does those kernels. sass: word stores, one output a
 * row of w.
 */
#include "ops/linear/linear_gemv.cuh"
#include "ops/linear_grouped/linear_grouped_gemv.cuh"
#include "ops/linear_pair/linear_pair_routes.h"

enum { ROWS_MAX = ASSAY_LINEAR_PAIR_MAX, ROWS_ANY = 0 /* bits of matrices of several formats */ };

/* Warps of a block, by registers: those of the format alone, or of all formats at once. */
static constexpr int rows_most_warps(int bits)
{
    return bits == 16                      ? static_cast<int>(PAIR_MAX_WARPS)
           : bits == 6 || bits == ROWS_ANY ? static_cast<int>(GEMV_MAX_WARPS_6)
                                           : static_cast<int>(GEMV_MAX_WARPS);
}

struct rows_call {
    struct linear_call bf16[ROWS_MAX]; /* one of the two for each matrix */
    struct gemv_call grouped[ROWS_MAX];
    int bits[ROWS_MAX]; /* 16: bf16 */
    int warps[ROWS_MAX];
    int first_block[ROWS_MAX + 1];
    int num_products;
    int most_warps; /* that any kernel has which takes a part */
};

SIMT_DEVICE void bf16_rows(const struct linear_call &p, int block, int num_blocks, int num_warps)
{
    int64_t items = (p.columns + PAIR - 1) / PAIR;
    if (simt_warp() >= num_warps)
        return;
    for (int64_t i = simt_warp() * num_blocks + block; i < items; i += num_warps * num_blocks)
        pair_of_rows(p, 0, i * PAIR);
}

/* only: the bits of the matrices that are taken, the others' blocks end at once; or ROWS_ANY. */
template <bool is_aligned, int only>
SIMT_KERNEL_RESIDENT(linear_pair_rows, 32 * rows_most_warps(only), 1)
(struct rows_call p)
{
    int i = 0, block = static_cast<int>(simt_block_index().x);
    while (i + 1 < p.num_products && block >= p.first_block[i + 1])
        i++;
    block -= p.first_block[i];
    if (only != ROWS_ANY && p.bits[i] != only)
        return;
    switch (only != ROWS_ANY ? only : p.bits[i]) {
    case 4:
        gemv_rows<4, is_aligned, false>(p.grouped[i], block);
        break;
    case 5:
        gemv_rows<5, is_aligned, false>(p.grouped[i], block);
        break;
    case 6:
        gemv_rows<6, is_aligned, false>(p.grouped[i], block);
        break;
    case 8:
        gemv_rows<8, is_aligned, false>(p.grouped[i], block);
        break;
    default:
        bf16_rows(p.bf16[i], block, p.first_block[i + 1] - p.first_block[i], p.warps[i]);
    }
}

/* What a product asks of the blocks: how many at least and at most, and its share of the time: the
 * time of a weight on an H200, times weights. */
struct rows_share {
    int64_t least, most;
    double time;
};

/* The parts of a grouped product are those that it has alone; of several each warp takes one tile,
 * for which there must be enough. */
static struct rows_share add_product(struct rows_call *p, int i,
                                     const struct assay_linear_pair_args *a)
{
    double weights = static_cast<double>(a->w[i].rows) * static_cast<double>(a->w[i].columns);
    p->bits[i] = assay_weight_bits(a->w[i].format);
    if (p->bits[i] == 16) {
        const struct assay_linear_args product = {a->x, a->w[i].base, a->y[i]};
        p->bf16[i] = linear_call_of(&product);
        return {1, (p->bf16[i].columns + PAIR - 1) / PAIR, 10 * weights};
    }
    const struct assay_linear_grouped_args product = {a->x, a->w[i], {}, a->y[i]};
    struct gemv_call &call = p->grouped[i];
    call = gemv_call_of(&product);
    gemv_plan(&call, GEMV_BLOCKS, GEMV_MAX_WARPS);
    gemv_plan(&call, GEMV_BLOCKS, p->most_warps);
    int64_t in_block = call.most_warps / call.parts;
    return {call.parts == 1 ? 1 : (call.tiles + in_block - 1) / in_block, call.tiles,
            (p->bits[i] == 4   ? 4
             : p->bits[i] == 5 ? 5.5
                               : 6) *
                weights};
}

/* Blocks one by one to the product whose blocks have most to do, so that all end at about the same
 * time. Gives that time. */
static double deal_blocks(const struct rows_share *share, int num_products, int64_t *blocks)
{
    int64_t left = GEMV_BLOCKS;
    for (int i = 0; i < num_products; i++) {
        blocks[i] = share[i].least;
        left -= blocks[i];
    }
    for (;; left--) {
        int longest = 0;
        double most = 0;
        for (int i = 0; i < num_products; i++) {
            double time = share[i].time / static_cast<double>(blocks[i]);
            longest = time > most ? i : longest;
            most = time > most ? time : most;
        }
        if (left <= 0 || blocks[longest] >= share[longest].most)
            return most;
        blocks[longest]++;
    }
}

/* One block on each multiprocessor, dealt among the products; or all of them to each product, one
 * after the other, where products of several parts would leave too few for the others. */
static void share_blocks(const struct rows_share *share, int num_products, int64_t *blocks)
{
    const int64_t all = GEMV_BLOCKS;
    double apart = 0, dealt = deal_blocks(share, num_products, blocks);
    for (int i = 0; i < num_products; i++)
        apart += share[i].time / static_cast<double>(share[i].most < all ? share[i].most : all);
    for (int i = 0; i < num_products && apart < dealt; i++)
        blocks[i] = share[i].least > all ? share[i].least : all;
}

/* Sets the numbers of a product whose blocks stand behind those before. */
static void place_product(struct rows_call *p, int i, int64_t most_blocks, size_t *shared_bytes)
{
    int64_t blocks, warps;
    if (p->bits[i] == 16) {
        struct pair_plan plan =
            pair_plan_for((p->bf16[i].columns + PAIR - 1) / PAIR, most_blocks, p->most_warps);
        blocks = plan.blocks;
        warps = plan.warps;
    } else {
        size_t bytes = gemv_plan(&p->grouped[i], most_blocks, p->most_warps);
        *shared_bytes = bytes > *shared_bytes ? bytes : *shared_bytes;
        blocks = p->grouped[i].num_blocks;
        warps = p->grouped[i].num_warps;
    }
    p->first_block[i + 1] = p->first_block[i] + static_cast<int>(blocks);
    p->warps[i] = static_cast<int>(warps);
}

template <int only>
static assay_status launch_unaligned(const struct rows_call &p, struct simt_launch *launch)
{
    bool has_some = false;
    for (int i = 0; i < p.num_products; i++)
        has_some = has_some || p.bits[i] == only;
    return has_some ? SIMT_LAUNCH(launch, (linear_pair_rows<false, only>), p) : ASSAY_OK;
}

/* The bits of all matrices, or ROWS_ANY. */
static int common_bits(const struct assay_linear_pair_args *a)
{
    int bits = assay_weight_bits(a->w[0].format);
    for (int i = 1; i < a->num_products; i++)
        bits = assay_weight_bits(a->w[i].format) == bits ? bits : static_cast<int>(ROWS_ANY);
    return bits;
}

static assay_status launch_aligned(const struct rows_call &p, int bits, struct simt_launch *launch)
{
    switch (bits) {
    case 4:
        return SIMT_LAUNCH(launch, (linear_pair_rows<true, 4>), p);
    case 5:
        return SIMT_LAUNCH(launch, (linear_pair_rows<true, 5>), p);
    case 6:
        return SIMT_LAUNCH(launch, (linear_pair_rows<true, 6>), p);
    case 8:
        return SIMT_LAUNCH(launch, (linear_pair_rows<true, 8>), p);
    case 16:
        return SIMT_LAUNCH(launch, (linear_pair_rows<true, 16>), p);
    default:
        return SIMT_LAUNCH(launch, (linear_pair_rows<true, ROWS_ANY>), p);
    }
}

/* One launch; where a grouped matrix is not aligned for copies one for each format, since a kernel
 * of all formats would need too many registers. */
static assay_status gemv_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_linear_pair_args *a =
        static_cast<const struct assay_linear_pair_args *>(args);
    struct rows_call p = {};
    struct rows_share share[ROWS_MAX];
    int64_t blocks[ROWS_MAX];
    bool is_aligned = true;
    int most_warps = 1, bits = common_bits(a);
    p.num_products = static_cast<int>(a->num_products);
    p.most_warps = rows_most_warps(bits);
    launch->shared_bytes = 0;
    for (int i = 0; i < p.num_products; i++)
        share[i] = add_product(&p, i, a);
    share_blocks(share, p.num_products, blocks);
    for (int i = 0; i < p.num_products; i++) {
        place_product(&p, i, blocks[i], &launch->shared_bytes);
        most_warps = p.warps[i] > most_warps ? p.warps[i] : most_warps;
        is_aligned = is_aligned && (p.bits[i] == 16 || gemv_is_aligned(p.grouped[i].w));
    }
    launch->grid = {static_cast<unsigned>(p.first_block[p.num_products]), 1, 1};
    launch->block = {static_cast<unsigned>(32 * most_warps), 1, 1};
    if (is_aligned)
        return launch_aligned(p, bits, launch);
    assay_status status = launch_unaligned<4>(p, launch);
    if (status == ASSAY_OK)
        status = launch_unaligned<5>(p, launch);
    if (status == ASSAY_OK)
        status = launch_unaligned<6>(p, launch);
    if (status == ASSAY_OK)
        status = launch_unaligned<8>(p, launch);
    return status == ASSAY_OK ? launch_unaligned<16>(p, launch) : status;
}

DEVICE_ROUTE_RUN(linear_pair_route_gemv, &assay_op_linear_pair, gemv_launch)
