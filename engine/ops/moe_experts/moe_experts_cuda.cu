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
#include "ops/moe_experts/expert_device.cuh"
#include "ops/moe_experts/moe_experts_routes.h"
#include "ops/silu_mul/silu_device.cuh"

enum { ROWS_AT_ONCE = 4 /* of x beside two rows of weights */ };

struct bank_view {
    unsigned char *data;
    int64_t expert_stride, row_stride; /* bytes */
    bool is_aligned;                   /* every row starts at a multiple of 16 bytes */
};

struct experts_call {
    struct row_view x, y;
    struct bank_view gate_up, down;
    struct expert_slots slots;
    int64_t hidden, width; /* H, F */
    float *h;              /* [pairs, F] */
    float *d;              /* [pairs, H] */
    struct expert_lists lists;
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

/* Of one product of linear_gemv.cuh: its row of x and what its rows of weights are like. */
SIMT_DEVICE struct linear_call product_of(struct row_view x, const struct bank_view &bank,
                                          int64_t inner)
{
    struct linear_call call = {x, {}, {}, 1, 1, inner};
    call.w.is_bf16 = true;
    call.w.is_aligned = bank.is_aligned;
    return call;
}

/* ---- few tokens ----------------------------------------------------------------------------- */

SIMT_KERNEL(experts_hidden)(struct experts_call p)
{
    const struct linear_call call = product_of(p.x, p.gate_up, p.hidden);
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * EXPERT_WARPS;
    for (int64_t i = int64_t{simt_block_index().x} * EXPERT_WARPS + simt_warp();
         i < p.slots.pairs * p.width; i += step) {
        int64_t pair = i / p.width, f = i % p.width;
        int e = pair_expert(p.slots, pair);
        if (e < 0)
            continue;
        float sums[PAIR] = {0, 0};
        const unsigned char *w[PAIR] = {bank_row(p.gate_up, e, f),
                                        bank_row(p.gate_up, e, p.width + f)};
        pair_products(call, linear_row(p.x, pair / p.slots.k), w, sums);
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
    for (int64_t i = int64_t{simt_block_index().x} * EXPERT_WARPS + simt_warp();
         i < p.slots.tokens * columns; i += step) {
        int64_t t = i / columns, n = i % columns * 2;
        bool has_both = n + 1 < p.hidden;
        float total[PAIR] = {0, 0};
        for (int slot = 0; slot < p.slots.k; slot++) {
            int e = pair_expert(p.slots, t * p.slots.k + slot);
            float sums[PAIR] = {0, 0}, weight = e < 0 ? NAN : pair_weight(p.slots, t, slot);
            if (e >= 0) {
                const unsigned char *w[PAIR] = {bank_row(p.down, e, n),
                                                bank_row(p.down, e, has_both ? n + 1 : n)};
                pair_products<false>(call, linear_row(call.x, t * p.slots.k + slot), w, sums);
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
        simt_load(p.lists.list + at + (j < left ? j : left - 1));
}

SIMT_KERNEL(experts_group_hidden)(struct experts_call p)
{
    const struct linear_call call = product_of(p.x, p.gate_up, p.hidden);
    int e = static_cast<int>(simt_block_index().y);
    int start = simt_load(p.lists.starts + e), end = simt_load(p.lists.starts + e + 1);
    int64_t f = static_cast<int64_t>(simt_block_index().x) * EXPERT_WARPS + simt_warp();
    if (f >= p.width)
        return;
    const unsigned char *w[PAIR] = {bank_row(p.gate_up, e, f), bank_row(p.gate_up, e, p.width + f)};
    for (int at = start; at < end; at += ROWS_AT_ONCE) {
        int pairs[ROWS_AT_ONCE];
        const unsigned char *x[ROWS_AT_ONCE];
        float sums[ROWS_AT_ONCE][PAIR] = {};
        take_pairs(p, at, end - at, pairs);
        SIMT_UNROLL for (int j = 0; j < ROWS_AT_ONCE; j++) x[j] =
            linear_row(p.x, pairs[j] / p.slots.k);
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
    int start = simt_load(p.lists.starts + e), end = simt_load(p.lists.starts + e + 1);
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

/* ---- launches ------------------------------------------------------------------------------- */

static struct experts_call call_of(const struct assay_moe_experts_args *a)
{
    const struct expert_call call = expert_call_of(a);
    struct experts_call p = {};
    p.x = row_view_of(&a->x);
    p.y = row_view_of(&a->y);
    p.gate_up = bank_view_of(&a->gate_up);
    p.down = bank_view_of(&a->down);
    p.slots = expert_slots_of(&call);
    p.hidden = expert_hidden(&call);
    p.width = expert_width(&call);
    return p;
}

static assay_status pairs_launch(const void *args, struct simt_launch *launch)
{
    struct experts_call p = call_of(static_cast<const struct assay_moe_experts_args *>(args));
    if (p.slots.tokens == 0)
        return ASSAY_OK;
    p.h = static_cast<float *>(launch->workspace);
    launch->grid = {at_most_blocks((p.slots.pairs * p.width + EXPERT_WARPS - 1) / EXPERT_WARPS), 1,
                    1};
    launch->block = {32 * EXPERT_WARPS, 1, 1};
    launch->shared_bytes = 0;
    const assay_status status = SIMT_LAUNCH(launch, experts_hidden, p);
    if (status != ASSAY_OK)
        return status;
    int64_t items = p.slots.tokens * ((p.hidden + 1) / 2);
    launch->grid = {at_most_blocks((items + EXPERT_WARPS - 1) / EXPERT_WARPS), 1, 1};
    return SIMT_LAUNCH(launch, experts_down, p);
}

static assay_status grouped_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_moe_experts_args *a =
        static_cast<const struct assay_moe_experts_args *>(args);
    struct experts_call p = call_of(a);
    const struct expert_call call = expert_call_of(a);
    const struct expert_buffers buffers = expert_buffers_of(&call);
    char *const memory = static_cast<char *>(launch->workspace);
    const unsigned experts = static_cast<unsigned>(p.slots.num_experts);
    if (p.slots.tokens == 0)
        return ASSAY_OK;
    p.h = reinterpret_cast<float *>(memory);
    p.d = reinterpret_cast<float *>(memory + buffers.d);
    p.lists.list = reinterpret_cast<int *>(memory + buffers.list);
    p.lists.starts = reinterpret_cast<int *>(memory + buffers.starts);
    assay_status status = experts_list_launch(p.slots, p.lists, launch);
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
    return experts_combine_launch({p.slots, p.y, p.d, nullptr, p.hidden}, launch);
}

DEVICE_ROUTE_RUN(moe_experts_route_pairs, &assay_op_moe_experts, pairs_launch)
DEVICE_ROUTE_RUN(moe_experts_route_grouped, &assay_op_moe_experts, grouped_launch)
