/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped for few tokens: of each pair of a token and a slot h, then d, by
 * linear_grouped's kernel for one row (linear_grouped_gemv.cuh) with the planes of the pair's
 * expert, EXPERT_GEMV_BLOCKS blocks a pair; then y. A pair's sums do not depend on how many there
 * are.
 *
 * Profile a16x2. Bound: moe_experts_grouped_bound.md. Moves the planes of a token's experts once
 * for each token, which limits it. sass: word stores, one output a row of weights.
 */
#include "ops/linear_grouped/linear_grouped_gemv.cuh"
#include "ops/moe_experts/expert_device.cuh"
#include "ops/moe_experts_grouped/moe_experts_grouped_routes.h"

/* With eight slots about one block on each multiprocessor of an H200. */
#if defined(__CUDACC__)
enum { EXPERT_GEMV_BLOCKS = 16 };
#else
enum { EXPERT_GEMV_BLOCKS = 2 };
#endif

/* One of the two products of all pairs. */
struct experts_gemv {
    struct gemv_call product; /* with expert 0, rows of x and y those of the first */
    struct expert_slots slots;
    int64_t expert_bytes[3]; /* from expert to expert in each plane */
    int row_slots;           /* pairs that share a row of x */
};

/* The pair's product: rows of x and y, and the planes of its expert. */
SIMT_DEVICE struct gemv_call gemv_of_pair(const struct experts_gemv &p, int64_t pair, int e)
{
    struct gemv_call call = p.product;
    call.w.base += e * p.expert_bytes[0];
    call.w.high += e * p.expert_bytes[1];
    call.w.scales += e * p.expert_bytes[2];
    call.x.data = linear_row(p.product.x, pair / p.row_slots);
    call.y.data = linear_row(p.product.y, pair);
    return call;
}

/* has_gates: h of x, which nothing writes; else d of h. */
template <int bits, bool is_aligned, bool has_gates>
SIMT_KERNEL_RESIDENT(experts_gemv_rows, 32 * gemv_format<bits>::most_warps, 1)
(struct experts_gemv p)
{
    int64_t pair = simt_block_index().y;
    int e = pair_expert(p.slots, pair);
    if (e < 0)
        return;
    const struct gemv_call call = gemv_of_pair(p, pair, e);
    gemv_rows<bits, is_aligned, has_gates, has_gates>(call, static_cast<int>(simt_block_index().x));
}

template <int bits, bool has_gates>
static assay_status launch_bits(const struct experts_gemv &p, struct simt_launch *launch)
{
    if (gemv_is_aligned(p.product.w))
        return SIMT_LAUNCH(launch, (experts_gemv_rows<bits, true, has_gates>), p);
    return SIMT_LAUNCH(launch, (experts_gemv_rows<bits, false, has_gates>), p);
}

template <bool has_gates>
static assay_status launch_product(struct experts_gemv *p, struct simt_launch *launch)
{
    launch->shared_bytes = gemv_plan(&p->product, EXPERT_GEMV_BLOCKS, GEMV_MAX_WARPS);
    launch->grid = {static_cast<unsigned>(p->product.num_blocks),
                    static_cast<unsigned>(p->slots.pairs), 1};
    launch->block = {static_cast<unsigned>(32 * p->product.num_warps), 1, 1};
    switch (p->product.w.bits) {
    case 4:
        return launch_bits<4, has_gates>(*p, launch);
    case 5:
        return launch_bits<5, has_gates>(*p, launch);
    case 6:
        return launch_bits<6, has_gates>(*p, launch);
    default:
        return launch_bits<8, has_gates>(*p, launch);
    }
}

/* Of rows of x, `row_slots` pairs each, with the first `rows` rows of each of the bank's matrices,
 * into a row of `to` a pair. */
static struct experts_gemv product_of(const struct expert_slots &slots, struct row_view x,
                                      int row_slots, const struct expert_bank *bank, int64_t rows,
                                      float *to)
{
    const struct assay_weights w = expert_rows(bank, 0, 0, rows);
    struct assay_linear_grouped_args args = {};
    args.w = w;
    struct experts_gemv p = {gemv_call_of(&args), slots, {}, row_slots};
    p.product.x = x;
    p.product.y = {reinterpret_cast<unsigned char *>(to), 1, 4 * rows, 0, false, rows % 4 == 0};
    p.expert_bytes[0] = bank->step * p.product.w.base_stride;
    p.expert_bytes[1] = bank->step * p.product.w.high_stride;
    p.expert_bytes[2] = bank->step * p.product.w.scales_stride;
    return p;
}

/* A tile has row f of gate, row f of up, then rows f + 1. */
static void take_gates(struct gemv_call *p)
{
    p->up_bytes[0] = p->columns * p->w.base_stride;
    p->up_bytes[1] = p->columns * p->w.high_stride;
    p->up_bytes[2] = p->columns * p->w.scales_stride;
    p->tile_rows = GEMV_ROWS / 2;
    p->tiles = (p->columns + p->tile_rows - 1) / p->tile_rows;
}

static assay_status gemv_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_moe_experts_grouped_args *a =
        static_cast<const struct assay_moe_experts_grouped_args *>(args);
    const struct expert_call call = grouped_call_of(a);
    const struct expert_slots slots = expert_slots_of(&call);
    const int64_t hidden = expert_hidden(&call), width = expert_width(&call);
    char *const memory = static_cast<char *>(launch->workspace);
    float *const h = reinterpret_cast<float *>(memory);
    float *const d = reinterpret_cast<float *>(memory + expert_buffers_of(&call).d);
    if (slots.pairs == 0)
        return ASSAY_OK;
    struct experts_gemv first =
        product_of(slots, row_view_of(&a->x), slots.k, &call.gate_up, width, h);
    take_gates(&first.product);
    assay_status status = launch_product<true>(&first, launch);
    if (status != ASSAY_OK)
        return status;
    struct experts_gemv second = product_of(slots, first.product.y, 1, &call.down, hidden, d);
    status = launch_product<false>(&second, launch);
    if (status != ASSAY_OK)
        return status;
    return experts_combine_launch({slots, row_view_of(&a->y), d, nullptr, hidden}, launch);
}

DEVICE_ROUTE_RUN(moe_experts_grouped_route_gemv, &assay_op_moe_experts_grouped, gemv_launch)
