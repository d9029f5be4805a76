/* SPDX-License-Identifier: MIT
 *
 * attention, vectorised: a softmax of two passes. All scores of a row are formed first, so weights
 * are taken against the final maximum and nothing is ever rescaled; weights are divided by their
 * sum before the values are summed, so that sums of large values stay below the largest value.
 *
 * Lanes run along D for scores and along Dv for values. Query rows of one key group (tokens of a
 * block, heads of the group) share each key and value that is read. The order of a row's own
 * arithmetic depends on its position and on D and Dv only [ATTENTION-8]: rows next to it decide
 * what is loaded together, never what is added.
 *
 * Profile f32. Bound: attention_bound.md. Reads each attended key and value once an item.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/attention/attention_routes.h"

#include <math.h>
#include <stdatomic.h>

/* Register tiles: ROWS x KEYS sums of products, ROWS x VECTORS sums of values. */
enum { ROWS = SIMD_WIDTH == 16 ? 4 : 2, KEYS = 4, VECTORS = 4, TILE = ATTENTION_VALUE_TILE };

#define INLINE static inline __attribute__((always_inline))

struct work {
    const struct assay_attention_args *a;
    int64_t start; /* effective */
    struct attention_plan plan;
    float *memory; /* plan.lane_floats of each lane */
    _Atomic int64_t next_item;
};

struct item {
    const struct assay_attention_args *a;
    const struct attention_plan *plan;
    int64_t start; /* effective */
    int64_t key_head, first_token, num_rows;
    float *query, *value, *score; /* rows of the plan's widths */
};

/* Row of q, gate and y. */
static int64_t tensor_row(const struct item *item, int64_t row)
{
    int64_t group = item->plan->heads_per_key;
    int64_t token = item->first_token + row / group;
    return token * item->a->q.extent[1] + item->key_head * group + row % group;
}

/* Keys that the row attends; never falls from one row to the next. */
static int64_t num_keys(const struct item *item, int64_t row)
{
    return item->start + item->first_token + row / item->plan->heads_per_key + 1;
}

INLINE const void *cache_row(const struct assay_tensor *cache, int64_t slot, int64_t head)
{
    int64_t offset = slot * cache->stride[0] + head * cache->stride[1];
    return (const char *)cache->data + offset * (cache->dtype == ASSAY_F32 ? 4 : 2);
}

/* Queries in binary32; padded lanes are 0. */
static void load_queries(const struct item *item)
{
    const struct assay_tensor *q = &item->a->q;
    int64_t width = q->extent[2];
    for (int64_t row = 0; row < item->num_rows; row++) {
        const void *from = assay_tensor_row(q, tensor_row(item, row));
        float *to = item->query + row * item->plan->query_width;
        int64_t d = 0;
        for (; d + SIMD_LANES <= width; d += SIMD_LANES)
            vf_store(to + d, vf_load_any(from, q->dtype, d));
        if (d < width)
            vf_store(to + d, vf_load_tail(from, q->dtype, d, width - d));
    }
}

/* Sums of neighbouring lanes: of a in the lower half, of b in the upper. */
INLINE vf neighbours(vf a, vf b)
{
#if SIMD_WIDTH == 16
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                   30) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#else
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#endif
}

/* Lane i of the result is the sum of the lanes of v[i], as a tree. Destroys v. */
INLINE vf sums_of_lanes(vf *v)
{
    for (int n = SIMD_LANES / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            v[i] = neighbours(v[2 * i], v[2 * i + 1]);
    return v[0];
}

/* sum[i][j], j in [0, KEYS): products of query i and key j, each lane a chain along D. */
INLINE void multiply(const float *const *q, const void *const *k, enum assay_dtype dtype,
                     int64_t width, vf (*sum)[SIMD_LANES])
{
    vf chain[ROWS][KEYS] = {{{0}}};
    int64_t d = 0;
    for (; d + SIMD_LANES <= width; d += SIMD_LANES) {
        vf key[KEYS];
        for (int j = 0; j < KEYS; j++)
            key[j] = vf_load_any(k[j], dtype, d);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < KEYS; j++)
                chain[i][j] = vf_fma(vf_load(q[i] + d), key[j], chain[i][j]);
    }
    if (d < width) {
        for (int j = 0; j < KEYS; j++) {
            vf key = vf_load_tail(k[j], dtype, d, width - d);
            for (int i = 0; i < ROWS; i++)
                chain[i][j] = vf_fma(vf_load(q[i] + d), key, chain[i][j]);
        }
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < KEYS; j++)
            sum[i][j] = chain[i][j];
}

/* The scale is applied in binary64: it need not be a binary32 number. */
INLINE vf scaled(vf x, vd scale)
{
    return vf_from_vd(vd_low(x) * scale, vd_high(x) * scale);
}

/* Scores of ROWS rows from `first` on. Lanes past a row's keys get what other rows' keys give:
 * normalise overwrites them. Slots past the last row's keys are not read [ATTENTION-4]. */
INLINE void score_rows(const struct item *item, int64_t first, enum assay_dtype dtype)
{
    const struct assay_tensor *cache = &item->a->k_cache;
    const int64_t last = first + ROWS <= item->num_rows ? first + ROWS - 1 : item->num_rows - 1;
    const int64_t last_key = num_keys(item, last) - 1;
    const vd scale = vd_set(item->a->scale);
    const float *q[ROWS];
    for (int i = 0; i < ROWS; i++) /* a missing row repeats the last one */
        q[i] = item->query + (first + i < last ? first + i : last) * item->plan->query_width;
    for (int64_t key = 0; key <= last_key; key += SIMD_LANES) {
        vf sum[ROWS][SIMD_LANES];
        for (int block = 0; block < SIMD_LANES; block += KEYS) {
            const void *k[KEYS];
            for (int j = 0; j < KEYS; j++) { /* a missing key repeats the last one */
                int64_t slot = key + block + j;
                k[j] = cache_row(cache, slot < last_key ? slot : last_key, item->key_head);
            }
            vf part[ROWS][SIMD_LANES];
            multiply(q, k, dtype, cache->extent[2], part);
            for (int i = 0; i < ROWS; i++)
                for (int j = 0; j < KEYS; j++)
                    sum[i][block + j] = part[i][j];
        }
        for (int i = 0; i < ROWS && first + i <= last; i++) {
            float *score = item->score + (first + i) * item->plan->score_width;
            vf_store(score + key, scaled(sums_of_lanes(sum[i]), scale));
        }
    }
}

/* Scores of one row become weights that sum to 1. A NaN score never wins the maximum but makes
 * the sum NaN, and with it every weight. */
static void normalise(float *score, int64_t count)
{
    int64_t end = (count + SIMD_LANES - 1) / SIMD_LANES * SIMD_LANES;
    for (int64_t j = count; j < end; j++)
        score[j] = -INFINITY; /* weight 0 */
    vf largest = vf_set(-INFINITY);
    for (int64_t j = 0; j < end; j += SIMD_LANES) {
        vf s = vf_load(score + j);
        largest = vf_select((vi)(s > largest), s, largest);
    }
    float lane[SIMD_LANES], top = -INFINITY;
    vf_store(lane, largest);
    for (int i = 0; i < SIMD_LANES; i++)
        top = lane[i] > top ? lane[i] : top;
    vd low = vd_set(0), high = vd_set(0);
    for (int64_t j = 0; j < end; j += SIMD_LANES) {
        vf w = vf_exp(vf_load(score + j) - vf_set(top));
        vf_store(score + j, w);
        low += vd_low(w);
        high += vd_high(w);
    }
    vf sum = vf_set((float)vd_sum(low + high));
    for (int64_t j = 0; j < end; j += SIMD_LANES)
        vf_store(score + j, vf_load(score + j) / sum);
}

/* `count` (at most VECTORS) vectors of weighted values from column d on, over the keys [key, key +
 * TILE) that each of ROWS rows attends; `rest` > 0: the one vector has only that many columns. */
INLINE void weigh_columns(const struct item *item, int64_t first, int64_t last, int64_t key,
                          int64_t d, int count, int64_t rest, enum assay_dtype dtype)
{
    const struct assay_tensor *cache = &item->a->v_cache;
    vf total[ROWS][VECTORS] = {{{0}}};
    const float *weight[ROWS];
    int64_t end[ROWS];
    for (int i = 0; i < ROWS; i++) {
        int64_t row = first + i < last ? first + i : last;
        int64_t keys = num_keys(item, row);
        weight[i] = item->score + row * item->plan->score_width;
        end[i] = keys < key + TILE ? keys : key + TILE;
    }
#define LOAD(v, slot)                                          \
    const void *row_ = cache_row(cache, slot, item->key_head); \
    vf v[VECTORS];                                             \
    for (int c = 0; c < count; c++)                            \
    v[c] = rest > 0 ? vf_load_tail(row_, dtype, d, rest)       \
                    : vf_load_any(row_, dtype, d + c * SIMD_LANES)
    int64_t slot = key;
    for (; slot < end[0]; slot++) { /* keys that all rows attend */
        LOAD(v, slot);
        for (int i = 0; i < ROWS; i++)
            for (int c = 0; c < count; c++)
                total[i][c] = vf_fma(vf_set(weight[i][slot]), v[c], total[i][c]);
    }
    for (int i = 1; i < ROWS; i++) { /* and those of later tokens only [ATTENTION-4] */
        for (int64_t more = slot; more < end[i]; more++) {
            LOAD(v, more);
            for (int c = 0; c < count; c++)
                total[i][c] = vf_fma(vf_set(weight[i][more]), v[c], total[i][c]);
        }
    }
#undef LOAD
    for (int i = 0; i < ROWS && first + i <= last; i++) {
        float *value = item->value + (first + i) * item->plan->value_width + d;
        if (key < end[i]) /* even a zero must not be added to a row that has ended: -0 + 0 is 0 */
            for (int c = 0; c < count; c++)
                vf_store(value + c * SIMD_LANES, vf_load(value + c * SIMD_LANES) + total[i][c]);
    }
}

INLINE void weigh_rows(const struct item *item, int64_t first, enum assay_dtype dtype)
{
    const int64_t last = first + ROWS <= item->num_rows ? first + ROWS - 1 : item->num_rows - 1;
    const int64_t width = item->a->v_cache.extent[2];
    for (int64_t row = first; row <= last; row++)
        memset(item->value + row * item->plan->value_width, 0,
               (size_t)item->plan->value_width * sizeof(float));
    for (int64_t key = 0; key < num_keys(item, last); key += TILE) {
        int64_t d = 0;
        for (; d + VECTORS * SIMD_LANES <= width; d += VECTORS * SIMD_LANES)
            weigh_columns(item, first, last, key, d, VECTORS, 0, dtype);
        for (; d + SIMD_LANES <= width; d += SIMD_LANES)
            weigh_columns(item, first, last, key, d, 1, 0, dtype);
        if (d < width)
            weigh_columns(item, first, last, key, d, 1, width - d, dtype);
    }
}

/* [ATTENTION-2] and the one rounding into y. */
static void store_row(const struct item *item, int64_t row)
{
    const struct assay_attention_args *a = item->a;
    const float *value = item->value + row * item->plan->value_width;
    const void *gate =
        a->gate.data == NULL ? NULL : assay_tensor_row(&a->gate, tensor_row(item, row));
    void *y = assay_tensor_row(&a->y, tensor_row(item, row));
    int64_t width = a->y.extent[2], d = 0;
    for (; d + SIMD_LANES <= width; d += SIMD_LANES) {
        vf v = vf_load(value + d);
        if (gate != NULL)
            v *= vf_sigmoid(vf_load_any(gate, a->gate.dtype, d));
        vf_store_any(y, a->y.dtype, d, v);
    }
    if (d < width) {
        vf v = vf_load(value + d);
        if (gate != NULL)
            v *= vf_sigmoid(vf_load_tail(gate, a->gate.dtype, d, width - d));
        vf_store_tail(y, a->y.dtype, d, width - d, v);
    }
}

static void attend(const struct item *item)
{
    load_queries(item); /* y may be q */
    for (int64_t row = 0; row < item->num_rows; row += ROWS) {
        if (item->a->k_cache.dtype == ASSAY_F32)
            score_rows(item, row, ASSAY_F32);
        else
            score_rows(item, row, ASSAY_BF16);
    }
    for (int64_t row = 0; row < item->num_rows; row++)
        normalise(item->score + row * item->plan->score_width, num_keys(item, row));
    for (int64_t row = 0; row < item->num_rows; row += ROWS) {
        if (item->a->v_cache.dtype == ASSAY_F32)
            weigh_rows(item, row, ASSAY_F32);
        else
            weigh_rows(item, row, ASSAY_BF16);
    }
    for (int64_t row = 0; row < item->num_rows; row++)
        store_row(item, row);
}

static void lanes(void *argument, int64_t first, int64_t last)
{
    struct work *work = argument;
    const struct attention_plan *plan = &work->plan;
    int64_t key_heads = work->a->k_cache.extent[1], tokens = work->a->q.extent[0];
    int64_t most = plan->tokens < tokens ? plan->tokens : tokens;
    int64_t rows = most * plan->heads_per_key;
    for (int64_t lane = first; lane < last; lane++) {
        float *memory = work->memory + (size_t)lane * plan->lane_floats;
        struct item item = {.a = work->a,
                            .start = work->start,
                            .plan = plan,
                            .query = memory,
                            .value = memory + rows * plan->query_width,
                            .score = memory + rows * (plan->query_width + plan->value_width)};
        for (;;) {
            int64_t index = atomic_fetch_add(&work->next_item, 1);
            if (index >= plan->num_items)
                break;
            index = plan->num_items - 1 - index; /* the longest first */
            item.key_head = index % key_heads;
            item.first_token = index / key_heads * plan->tokens;
            int64_t left = tokens - item.first_token;
            item.num_rows = (left < plan->tokens ? left : plan->tokens) * plan->heads_per_key;
            attend(&item);
        }
    }
}

assay_status SIMD_NAME(attention_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_attention_args *a = args;
    struct work work = {.a = a,
                        .start = attention_start(a),
                        .plan = attention_plan_of(context, a),
                        .memory = workspace};
    assay_parallel(context, work.plan.num_lanes, 1, lanes, &work);
    return ASSAY_OK;
}
