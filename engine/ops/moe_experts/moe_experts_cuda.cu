/* SPDX-License-Identifier: MIT
 *
 * moe_experts in plain binary32. A warp takes a column: rows f and F + f of an expert's gate_up for
 * h[f], and two rows of down for two columns of d, by the sums of linear's kernel for one row
 * (linear_gemv.cuh). Ids are read where they lie, on the device: grids depend on shapes only.
 *
 *   pairs     few tokens: h of each pair of a token and a slot, then y, whose warp adds the slots
 *             in their order. Reads the weights of the experts in use once a token.
 *   grouped   any number: each expert's pairs are listed, and a warp that has read a part of its
 *             expert's rows takes it to ROWS_AT_ONCE pairs; d of all pairs goes through the
 *             workspace, and y adds them up. Lists, like all else, have one order.
 *
 * Both add the same products in the same order: y has the same bits. Profile f32. Bound:
 * moe_experts_bound.md. What limits pairs is device memory, 2 operations a weight; grouped reads an
 * expert's weights once for ROWS_AT_ONCE pairs and is limited by L1 from about two on. Speed on a
 * device: not measured.
 */
#include "ops/linear/linear_gemv.cuh"
#include "ops/moe_experts/expert_banks.h"
#include "ops/moe_experts/moe_experts_routes.h"
#include "ops/silu_mul/silu_device.cuh"

enum {
    EXPERT_WARPS = 8,       /* columns, or pairs of columns, a block */
    ROWS_AT_ONCE = 4,       /* of x beside two rows of weights */
    EXPERT_BLOCKS = 1 << 15 /* more take turns */
};

struct bank_view {
    unsigned char *data;
    int64_t expert_stride, row_stride; /* bytes */
    bool is_aligned;                   /* every row starts at a multiple of 16 bytes */
};

struct experts_call {
    struct row_view x, y;
    struct bank_view gate_up, down;
    const unsigned char *ids, *weights;
    int64_t ids_stride, weights_stride;   /* bytes */
    int64_t tokens, hidden, width, pairs; /* T, H, F, T k */
    int k, num_experts;
    float *h;    /* [pairs, F] */
    float *d;    /* [pairs, H] */
    int *list;   /* [pairs] pairs by experts */
    int *starts; /* [num_experts + 1] where an expert's pairs begin in it */
};

static inline struct bank_view bank_view_of(const struct assay_tensor *bank)
{
    struct bank_view v = {static_cast<unsigned char *>(bank->data), 2 * bank->stride[0],
                          2 * bank->stride[1], false};
    v.is_aligned = reinterpret_cast<uintptr_t>(v.data) % 16 == 0 && v.expert_stride % 16 == 0 &&
                   v.row_stride % 16 == 0;
    return v;
}

SIMT_DEVICE const unsigned char *bank_row(const struct bank_view &v, int e, int64_t row)
{
    return v.data + e * v.expert_stride + row * v.row_stride;
}

/* -1: the id is no expert. */
SIMT_DEVICE int pair_expert(const struct experts_call &p, int64_t pair)
{
    const int32_t *ids =
        reinterpret_cast<const int32_t *>(p.ids + pair / p.k * p.ids_stride) + pair % p.k;
    int id = simt_load_constant(ids);
    return id >= 0 && id < p.num_experts ? id : -1;
}

SIMT_DEVICE float pair_weight(const struct experts_call &p, int64_t t, int i)
{
    return simt_load_constant(reinterpret_cast<const float *>(p.weights + t * p.weights_stride) +
                              i);
}

/* Of one product of linear_gemv.cuh: its row of x and what its rows of weights are like. */
SIMT_DEVICE struct linear_call product_of(struct row_view x, const struct bank_view &bank,
                                          int64_t inner)
{
    struct linear_call call = {x, {}, {}, 1, 1, inner};
    call.w.is_bf16 = true;
    call.w.is_aligned = bank.is_aligned;
    return call;
}

/* A buffer of whole rows [rows, width] of the workspace. */
SIMT_DEVICE struct row_view buffer_view(float *data, int64_t width)
{
    return {reinterpret_cast<unsigned char *>(data), 1, 4 * width, 0, false, width % 4 == 0};
}

/* ---- few tokens ----------------------------------------------------------------------------- */

SIMT_KERNEL(experts_hidden)(struct experts_call p)
{
    const struct linear_call call = product_of(p.x, p.gate_up, p.hidden);
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * EXPERT_WARPS;
    for (int64_t i = simt_block_index().x * EXPERT_WARPS + simt_warp(); i < p.pairs * p.width;
         i += step) {
        int64_t pair = i / p.width, f = i % p.width;
        int e = pair_expert(p, pair);
        if (e < 0)
            continue;
        float sums[PAIR] = {0, 0};
        const unsigned char *w[PAIR] = {bank_row(p.gate_up, e, f),
                                        bank_row(p.gate_up, e, p.width + f)};
        pair_products(call, linear_row(p.x, pair / p.k), w, sums);
        pair_total(sums);
        if (simt_lane() == 0)
            simt_store(p.h + i, silu_times(sums[0], sums[1]));
    }
}

/* Columns n and, where it exists, n + 1 of y[t]. */
SIMT_KERNEL(experts_down)(struct experts_call p)
{
    const struct linear_call call = product_of(buffer_view(p.h, p.width), p.down, p.width);
    int64_t columns = (p.hidden + 1) / 2;
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * EXPERT_WARPS;
    for (int64_t i = simt_block_index().x * EXPERT_WARPS + simt_warp(); i < p.tokens * columns;
         i += step) {
        int64_t t = i / columns, n = i % columns * 2;
        bool has_both = n + 1 < p.hidden;
        float total[PAIR] = {0, 0};
        for (int slot = 0; slot < p.k; slot++) {
            int e = pair_expert(p, t * p.k + slot);
            float sums[PAIR] = {0, 0}, weight = e < 0 ? NAN : pair_weight(p, t, slot);
            if (e >= 0) {
                const unsigned char *w[PAIR] = {bank_row(p.down, e, n),
                                                bank_row(p.down, e, has_both ? n + 1 : n)};
                pair_products<false>(call, linear_row(call.x, t * p.k + slot), w, sums);
                pair_total(sums);
            }
            SIMT_UNROLL for (int r = 0; r < PAIR; r++) total[r] = fmaf(weight, sums[r], total[r]);
        }
        if (simt_lane() == 0)
            linear_store(p.y, t, n, total[0]);
        else if (simt_lane() == 1 && has_both)
            linear_store(p.y, t, n + 1, total[1]);
    }
}

/* ---- any number of tokens ------------------------------------------------------------------- */

SIMT_DEVICE int bits_set(unsigned v)
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return static_cast<int>(((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
}

/* A warp for each expert, and one for the end of the list. It passes over all ids twice and needs
 * no other warp: how many pairs belong to lower experts, then where each of its own stands. */
SIMT_KERNEL(experts_list)(struct experts_call p)
{
    int e = static_cast<int>(simt_block_index().x), start = 0;
    for (int64_t pair = simt_lane(); pair < p.pairs; pair += 32) {
        int id = pair_expert(p, pair);
        start += id >= 0 && id < e;
    }
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) start +=
        simt_shuffle_xor(SIMT_ALL_LANES, start, bits);
    if (simt_lane() == 0)
        simt_store(p.starts + e, start);
    for (int64_t first = 0; e < p.num_experts && first < p.pairs; first += 32) {
        int64_t pair = first + simt_lane();
        bool is_mine = pair < p.pairs && pair_expert(p, pair) == e;
        unsigned mine = simt_ballot(SIMT_ALL_LANES, is_mine);
        if (is_mine)
            simt_store(p.list + start + bits_set(mine & ((1u << simt_lane()) - 1)),
                       static_cast<int>(pair));
        start += bits_set(mine);
    }
}

/* pair_products for several rows of x: the same additions in the same order for each. */
template <bool constant>
SIMT_DEVICE void rows_products(const struct linear_call &p, const unsigned char *const *x,
                               const unsigned char *const *w, float (*sums)[PAIR])
{
    for (int64_t k = simt_lane() * ROW_CHUNK; k < p.inner; k += PAIR_STEP) {
        bool is_whole = p.w.is_aligned && k + ROW_CHUNK <= p.inner;
        struct simt_words words[PAIR];
        SIMT_UNROLL for (int r = 0; r < PAIR; r++) words[r] =
            is_whole ? simt_load16_constant(w[r] + 2 * k) : linear_gather(w[r], k, p.inner);
        SIMT_UNROLL for (int j = 0; j < ROWS_AT_ONCE; j++)
        {
            float values[ROW_CHUNK];
            row_load_chunk<constant>(p.x, x[j], k, p.inner, values);
            SIMT_UNROLL for (int r = 0; r < PAIR; r++) sums[j][r] =
                add_products(words[r], values, sums[j][r]);
        }
    }
}

/* All sums over the lanes: that of row j and weights' row r in lanes 4 (PAIR j + r) and on. The
 * tree is pair_total's, and so are the bits; but of the sums that a lane has left it sends one half
 * and keeps the other. */
SIMT_DEVICE float rows_total(const float (*sums)[PAIR])
{
    float own[ROWS_AT_ONCE * PAIR];
    SIMT_UNROLL for (int i = 0; i < ROWS_AT_ONCE * PAIR; i++) own[i] = sums[i / PAIR][i % PAIR];
    SIMT_UNROLL for (int half = ROWS_AT_ONCE * PAIR / 2; half > 0; half /= 2)
    {
        bool is_upper = (simt_lane() & 4 * half) != 0;
        SIMT_UNROLL for (int i = 0; i < half; i++)
        {
            float sent = is_upper ? own[i] : own[i + half];
            float kept = is_upper ? own[i + half] : own[i];
            own[i] = kept + simt_shuffle_xor(SIMT_ALL_LANES, sent, 4 * half);
        }
    }
    own[0] += simt_shuffle_xor(SIMT_ALL_LANES, own[0], 2);
    return own[0] + simt_shuffle_xor(SIMT_ALL_LANES, own[0], 1);
}

/* Which of these sums a lane stores: one in four lanes has the first copy. */
SIMT_DEVICE int rows_sum_index()
{
    return simt_lane() % 4 == 0 ? simt_lane() / 4 : -1;
}

/* pairs[j] by a j that is no constant. */
SIMT_DEVICE int pair_number(const int *pairs, int j)
{
    int pair = pairs[0];
    SIMT_UNROLL for (int i = 1; i < ROWS_AT_ONCE; i++) pair = i == j ? pairs[i] : pair;
    return pair;
}

/* Pairs `at` .. of the list, at most `left` of them; the last again where there are fewer. */
SIMT_DEVICE void take_pairs(const struct experts_call &p, int at, int left, int *pairs)
{
    SIMT_UNROLL for (int j = 0; j < ROWS_AT_ONCE; j++) pairs[j] =
        simt_load(p.list + at + (j < left ? j : left - 1));
}

SIMT_KERNEL(experts_group_hidden)(struct experts_call p)
{
    const struct linear_call call = product_of(p.x, p.gate_up, p.hidden);
    int e = static_cast<int>(simt_block_index().y);
    int start = simt_load(p.starts + e), end = simt_load(p.starts + e + 1);
    int64_t f = static_cast<int64_t>(simt_block_index().x) * EXPERT_WARPS + simt_warp();
    if (f >= p.width)
        return;
    const unsigned char *w[PAIR] = {bank_row(p.gate_up, e, f), bank_row(p.gate_up, e, p.width + f)};
    for (int at = start; at < end; at += ROWS_AT_ONCE) {
        int pairs[ROWS_AT_ONCE];
        const unsigned char *x[ROWS_AT_ONCE];
        float sums[ROWS_AT_ONCE][PAIR] = {};
        take_pairs(p, at, end - at, pairs);
        SIMT_UNROLL for (int j = 0; j < ROWS_AT_ONCE; j++) x[j] = linear_row(p.x, pairs[j] / p.k);
        rows_products<true>(call, x, w, sums);
        float gate = rows_total(sums), up = simt_shuffle_xor(SIMT_ALL_LANES, gate, 4);
        int i = rows_sum_index(), j = i / PAIR;
        if (i >= 0 && i % PAIR == 0 && j < end - at)
            simt_store(p.h + pair_number(pairs, j) * p.width + f, silu_times(gate, up));
    }
}

SIMT_KERNEL(experts_group_down)(struct experts_call p)
{
    const struct linear_call call = product_of(buffer_view(p.h, p.width), p.down, p.width);
    int e = static_cast<int>(simt_block_index().y);
    int start = simt_load(p.starts + e), end = simt_load(p.starts + e + 1);
    int64_t n = 2 * (static_cast<int64_t>(simt_block_index().x) * EXPERT_WARPS + simt_warp());
    if (n >= p.hidden)
        return;
    bool has_both = n + 1 < p.hidden;
    const unsigned char *w[PAIR] = {bank_row(p.down, e, n),
                                    bank_row(p.down, e, has_both ? n + 1 : n)};
    for (int at = start; at < end; at += ROWS_AT_ONCE) {
        int pairs[ROWS_AT_ONCE];
        const unsigned char *h[ROWS_AT_ONCE];
        float sums[ROWS_AT_ONCE][PAIR] = {};
        take_pairs(p, at, end - at, pairs);
        SIMT_UNROLL for (int j = 0; j < ROWS_AT_ONCE; j++) h[j] = linear_row(call.x, pairs[j]);
        rows_products<false>(call, h, w, sums);
        float d = rows_total(sums);
        int i = rows_sum_index(), j = i / PAIR, r = i % PAIR;
        if (i >= 0 && j < end - at && (r == 0 || has_both))
            simt_store(p.d + pair_number(pairs, j) * p.hidden + n + r, d);
    }
}

SIMT_KERNEL(experts_combine)(struct experts_call p)
{
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * simt_block_extent().x;
    for (int64_t i =
             static_cast<int64_t>(simt_block_index().x) * simt_block_extent().x + simt_thread();
         i < p.tokens * p.hidden; i += step) {
        int64_t t = i / p.hidden, n = i % p.hidden;
        float total = 0;
        for (int slot = 0; slot < p.k; slot++) {
            int64_t pair = t * p.k + slot;
            bool is_there = pair_expert(p, pair) >= 0;
            float d = is_there ? simt_load(p.d + pair * p.hidden + n) : 0;
            total = fmaf(is_there ? pair_weight(p, t, slot) : NAN, d, total);
        }
        linear_store(p.y, t, n, total);
    }
}

/* ---- launches ------------------------------------------------------------------------------- */

static struct experts_call call_of(const struct assay_moe_experts_args *a)
{
    struct experts_call p = {};
    const struct row_view ids = row_view_of(&a->ids), weights = row_view_of(&a->weights);
    p.x = row_view_of(&a->x);
    p.y = row_view_of(&a->y);
    p.gate_up = bank_view_of(&a->gate_up);
    p.down = bank_view_of(&a->down);
    p.ids = ids.data;
    p.ids_stride = ids.outer_stride;
    p.weights = weights.data;
    p.weights_stride = weights.outer_stride;
    p.tokens = a->x.extent[0];
    p.hidden = a->x.extent[1];
    p.width = expert_width(a);
    p.pairs = expert_pairs(a);
    p.k = static_cast<int>(a->ids.extent[1]);
    p.num_experts = static_cast<int>(a->gate_up.extent[0]);
    return p;
}

/* Blocks of EXPERT_WARPS warps for items of a warp each. */
static unsigned blocks_for(int64_t items)
{
    return static_cast<unsigned>((items + EXPERT_WARPS - 1) / EXPERT_WARPS);
}

/* For kernels whose blocks take turns. */
static unsigned at_most_blocks(int64_t blocks)
{
    return static_cast<unsigned>(blocks < EXPERT_BLOCKS ? blocks
                                                        : static_cast<int64_t>(EXPERT_BLOCKS));
}

static assay_status pairs_launch(const void *args, struct simt_launch *launch)
{
    struct experts_call p = call_of(static_cast<const struct assay_moe_experts_args *>(args));
    if (p.tokens == 0)
        return ASSAY_OK;
    p.h = static_cast<float *>(launch->workspace);
    launch->grid = {at_most_blocks((p.pairs * p.width + EXPERT_WARPS - 1) / EXPERT_WARPS), 1, 1};
    launch->block = {32 * EXPERT_WARPS, 1, 1};
    launch->shared_bytes = 0;
    const assay_status status = SIMT_LAUNCH(launch, experts_hidden, p);
    if (status != ASSAY_OK)
        return status;
    int64_t items = p.tokens * ((p.hidden + 1) / 2);
    launch->grid = {at_most_blocks((items + EXPERT_WARPS - 1) / EXPERT_WARPS), 1, 1};
    return SIMT_LAUNCH(launch, experts_down, p);
}

static assay_status grouped_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_moe_experts_args *a =
        static_cast<const struct assay_moe_experts_args *>(args);
    struct experts_call p = call_of(a);
    const struct expert_buffers buffers = expert_buffers_of(a);
    char *const memory = static_cast<char *>(launch->workspace);
    const unsigned experts = static_cast<unsigned>(p.num_experts);
    if (p.tokens == 0)
        return ASSAY_OK;
    p.h = reinterpret_cast<float *>(memory);
    p.d = reinterpret_cast<float *>(memory + buffers.d);
    p.list = reinterpret_cast<int *>(memory + buffers.list);
    p.starts = reinterpret_cast<int *>(memory + buffers.starts);
    launch->grid = {experts + 1, 1, 1};
    launch->block = {32, 1, 1};
    launch->shared_bytes = 0;
    assay_status status = SIMT_LAUNCH(launch, experts_list, p);
    if (status != ASSAY_OK)
        return status;
    launch->block = {32 * EXPERT_WARPS, 1, 1};
    launch->grid = {blocks_for(p.width), experts, 1};
    status = SIMT_LAUNCH(launch, experts_group_hidden, p);
    if (status != ASSAY_OK)
        return status;
    launch->grid = {blocks_for((p.hidden + 1) / 2), experts, 1};
    status = SIMT_LAUNCH(launch, experts_group_down, p);
    if (status != ASSAY_OK)
        return status;
    int64_t blocks = (p.tokens * p.hidden + 32 * EXPERT_WARPS - 1) / (32 * EXPERT_WARPS);
    launch->grid = {at_most_blocks(blocks), 1, 1};
    return SIMT_LAUNCH(launch, experts_combine, p);
}

DEVICE_ROUTE_RUN(moe_experts_route_pairs, &assay_op_moe_experts, pairs_launch)
DEVICE_ROUTE_RUN(moe_experts_route_grouped, &assay_op_moe_experts, grouped_launch)
