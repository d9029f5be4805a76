/* SPDX-License-Identifier: MIT
 *
 * linear_topk's selection on a device, after the product's kernels: a block takes a part of a row's
 * logits, 8 a thread, and leaves the k best as keys; further launches reduce parts of keys until
 * one list is left, which the last one writes out.
 *
 * Of each part most is dropped unsorted: the threads make k groups or more, and the least of the
 * groups' largest keys has k keys at or above it, so that what is below it cannot be selected. What
 * stays, some 3 to 6 % of random logits, is sorted in shared memory by Batcher's bitonic network;
 * its order there before does not matter, as keys differ from one another.
 *
 * Profile of the product's route; selection is exact (argmax_keys.cuh). Bound:
 * linear_topk_bound.md. Moves 4 bytes a logit, which the product has just left in L2, and 8 k bytes
 * for each 4096 of them. Limited by the latency of loads, barriers and two launches. On an H200 for
 * 248077 ids: 12, 17 and 22 us for k = 1, 20 and 64 at T = 1, 26 and 46 us for 20 and 64 at T = 8.
 * sass: word stores, one key or result a thread.
 */
#include "cuda/rows.cuh"
#include "ops/argmax/argmax_keys.cuh"
#include "ops/linear_topk/linear_topk_routes.h"

enum {
    TOPK_EACH = LINEAR_TOPK_EACH,
    TOPK_MAX_PART = LINEAR_TOPK_PART,
    TOPK_MAX_WARPS = TOPK_MAX_PART / TOPK_EACH / 32
};

struct topk_call {
    const float *logits;
    const uint64_t *from;
    uint64_t *to;
    float *values;
    int32_t *ids;
    int64_t values_stride, ids_stride; /* elements */
    int64_t columns, first_id, parts_to, first_part;
    int64_t keys_from; /* of a row */
    int k;
    int group_lanes; /* of a warp that make a group: there are k groups at least */
};

SIMT_DEVICE uint64_t topk_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

SIMT_DEVICE uint64_t topk_smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* In every lane: the least of the largest keys of the warp's groups. */
SIMT_DEVICE uint64_t topk_warp_least(const uint64_t *mine, int group_lanes)
{
    uint64_t key = mine[0];
    SIMT_UNROLL for (int j = 1; j < TOPK_EACH; j++) key = topk_larger(key, mine[j]);
    SIMT_UNROLL for (int bits = 1; bits < 32; bits *= 2)
    {
        uint64_t other = simt_shuffle_xor(SIMT_ALL_LANES, key, bits);
        key = bits < group_lanes ? topk_larger(key, other) : topk_smaller(key, other);
    }
    return key;
}

/* The place of this thread's first key of `count`: threads' keys follow each other in a warp, warps
 * in whatever order they come. */
SIMT_DEVICE int topk_place(struct simt_shared<int> total, int count)
{
    int end = count, base = 0;
    SIMT_UNROLL for (int n = 1; n < 32; n *= 2)
    {
        int below = simt_shuffle_up(SIMT_ALL_LANES, end, n);
        end += simt_lane() >= n ? below : 0;
    }
    if (simt_lane() == 31)
        base = simt_atomic_add(total.at(0), end);
    return simt_shuffle(SIMT_ALL_LANES, base, 31) + end - count;
}

struct topk_memory {
    struct simt_shared<uint64_t> keys, least;
    struct simt_shared<int> total;
};

/* Falling; barriers before and after. */
SIMT_DEVICE void topk_sort(struct simt_shared<uint64_t> keys, int count)
{
    int threads = static_cast<int>(simt_block_extent().x);
    for (int size = 2; size <= count; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            simt_sync_block();
            for (int i = simt_thread(); i < count / 2; i += threads) {
                int low = 2 * i - (i & (stride - 1)), high = low + stride;
                uint64_t a = keys.load(low), b = keys.load(high);
                bool is_falling = (low & size) == 0;
                if (is_falling ? a < b : a > b) {
                    keys.store(low, b);
                    keys.store(high, a);
                }
            }
        }
    }
    simt_sync_block();
}

/* The k largest keys of the block's threads come to the front of m.keys, in falling order; zeros
 * where there are fewer. */
SIMT_DEVICE void topk_select(const struct topk_call &p, const struct topk_memory &m,
                             const uint64_t *mine)
{
    int threads = static_cast<int>(simt_block_extent().x), count = 0, size = 32;
    uint64_t least = topk_warp_least(mine, p.group_lanes);
    if (simt_lane() == 0)
        m.least.store(simt_warp(), least);
    if (simt_thread() == 0)
        m.total.store(0, 0);
    simt_sync_block();
    for (int w = 0; w < threads / 32; w++)
        least = topk_smaller(least, m.least.load(w));
    least = topk_larger(least, 1); /* 0 is no key */
    SIMT_UNROLL for (int j = 0; j < TOPK_EACH; j++) count += mine[j] >= least;
    int at = topk_place(m.total, count);
    SIMT_UNROLL for (int j = 0; j < TOPK_EACH; j++) if (mine[j] >= least)
        m.keys.store(at++, mine[j]);
    simt_sync_block();
    int found = m.total.load(0);
    while (size < found || size < p.k)
        size *= 2;
    for (int i = found + simt_thread(); i < size; i += threads)
        m.keys.store(i, 0);
    topk_sort(m.keys, size);
}

/* The k best of a part, as keys. */
SIMT_DEVICE void topk_keep(const struct topk_call &p, struct simt_shared<uint64_t> keys,
                           int64_t row, int64_t part)
{
    int threads = static_cast<int>(simt_block_extent().x);
    uint64_t *to = p.to + (row * p.parts_to + part) * p.k;
    for (int i = simt_thread(); i < p.k; i += threads)
        simt_store(to + i, keys.load(i));
}

/* The one list that is left of a row. Its first key shows a NaN [LINEARTOPK-5]; places without a
 * logit have the key 0 [LINEARTOPK-3]. */
SIMT_DEVICE void topk_write(const struct topk_call &p, struct simt_shared<uint64_t> keys,
                            int64_t row)
{
    int threads = static_cast<int>(simt_block_extent().x);
    bool has_nan = keys.load(0) >> 32 == ARGMAX_NAN;
    for (int i = simt_thread(); i < p.k; i += threads) {
        uint64_t key = keys.load(i);
        uint32_t order = static_cast<uint32_t>(key >> 32);
        uint32_t bits = order >> 31 != 0 ? order & 0x7fffffffu : ~order;
        bits = has_nan ? 0x7fc00000u : key == 0 ? 0xff800000u : bits;
        simt_store(p.values + row * p.values_stride + i, simt_f32_from_bits(bits));
        simt_store(p.ids + row * p.ids_stride + i, has_nan || key == 0 ? -1 : argmax_id(key));
    }
}

/* Block (part, row). */
SIMT_KERNEL(topk_part)(struct topk_call p)
{
    SIMT_SHARED(uint64_t, keys, TOPK_MAX_PART);
    SIMT_SHARED(uint64_t, least, TOPK_MAX_WARPS);
    SIMT_SHARED(int, total, 1);
    int64_t part = simt_block_index().x, row = simt_block_index().y;
    int threads = static_cast<int>(simt_block_extent().x);
    uint64_t mine[TOPK_EACH];
    SIMT_UNROLL for (int j = 0; j < TOPK_EACH; j++)
    {
        int64_t column = (part * TOPK_EACH + j) * threads + simt_thread();
        mine[j] = 0;
        if (column < p.columns)
            mine[j] = argmax_key(argmax_order(simt_load(p.logits + row * p.columns + column)),
                                 static_cast<uint32_t>(p.first_id + column));
    }
    topk_select(p, {keys, least, total}, mine);
    topk_keep(p, keys, row, p.first_part + part);
}

/* Block (part, row). Lists are in falling order: groups take turns, so that each gets first places
 * of some and last places of others. */
SIMT_KERNEL(topk_merge)(struct topk_call p)
{
    SIMT_SHARED(uint64_t, keys, TOPK_MAX_PART);
    SIMT_SHARED(uint64_t, least, TOPK_MAX_WARPS);
    SIMT_SHARED(int, total, 1);
    int64_t part = simt_block_index().x, row = simt_block_index().y;
    int threads = static_cast<int>(simt_block_extent().x);
    uint64_t mine[TOPK_EACH];
    SIMT_UNROLL for (int j = 0; j < TOPK_EACH; j++)
    {
        int turned = (simt_thread() + j * p.group_lanes) % threads;
        int64_t at = (part * TOPK_EACH + j) * threads + turned;
        mine[j] = at < p.keys_from ? simt_load(p.from + row * p.keys_from + at) : 0;
    }
    topk_select(p, {keys, least, total}, mine);
    if (p.to != nullptr)
        topk_keep(p, keys, row, part);
    else
        topk_write(p, keys, row);
}

static struct topk_call call_of(const struct linear_topk_step *s)
{
    int64_t k = s->a.values.extent[1];
    return {s->logits,
            s->from,
            s->to,
            static_cast<float *>(s->a.values.data),
            static_cast<int32_t *>(s->a.ids.data),
            s->a.values.stride[0],
            s->a.ids.stride[0],
            s->columns,
            s->first_id,
            s->parts_to,
            s->first_part,
            s->parts_from * k,
            static_cast<int>(k),
            1};
}

/* `count` keys or logits a row. */
static void shape(struct topk_call *p, const struct linear_topk_step *s, int64_t count,
                  struct simt_launch *launch)
{
    int threads = s->part / TOPK_EACH, groups = 1;
    while (groups < p->k)
        groups *= 2;
    p->group_lanes = threads / groups < 32 ? threads / groups : 32;
    launch->grid = {static_cast<unsigned>((count + s->part - 1) / s->part),
                    static_cast<unsigned>(s->a.x.extent[0]), 1};
    launch->block = {static_cast<unsigned>(threads), 1, 1};
    launch->shared_bytes = 0;
}

static assay_status part_launch(const void *args, struct simt_launch *launch)
{
    const struct linear_topk_step *s = static_cast<const struct linear_topk_step *>(args);
    struct topk_call p = call_of(s);
    shape(&p, s, s->columns, launch);
    return SIMT_LAUNCH(launch, topk_part, p);
}

static assay_status merge_launch(const void *args, struct simt_launch *launch)
{
    const struct linear_topk_step *s = static_cast<const struct linear_topk_step *>(args);
    struct topk_call p = call_of(s);
    shape(&p, s, p.keys_from, launch);
    return SIMT_LAUNCH(launch, topk_merge, p);
}

DEVICE_ROUTE_RUN(linear_topk_part, &assay_op_linear_topk, part_launch)
DEVICE_ROUTE_RUN(linear_topk_merge, &assay_op_linear_topk, merge_launch)
