/* SPDX-License-Identifier: MIT
 *
 * attention, keys split over blocks. A block takes the keys of one split for up to `rows` query
 * rows of one key head: a lane holds 8 elements of each query, a warp scores 8 keys at a time, then
 * sums 8 values at a time. A second kernel joins a row's splits in order. Splits stand at fixed
 * places, and a row's arithmetic is the same in every tile: its bits depend neither on the other
 * rows nor on the launch's bound. More than 16 tokens are cut into launches of 16.
 *
 * Profile f32. Bound: attention_bound.md. A weight is the product of two exponentials, of its score
 * below the split's largest and of that below the row's: their exponents add up to the distance
 * that the bound counts once, and either has half of the error 2^-22 that it allows (binary32 expf
 * is within 2^-23 on the host and on a device). Splits are means: no finite sum overflows.
 * Moves the attended keys and values once for each tile of rows (later ones from L2), and
 * 2 (Dv + 2) / 128 floats a key and row of partial results. Per element of a key or value: one
 * conversion and `rows` FMAs, so that memory limits it up to about 8 rows. Speed on a device: not
 * measured.
 */
#include "ops/attention/attention_device.cuh"

enum {
    KEYS = ATTENTION_SPLIT_KEYS,
    WARPS = ATTENTION_SPLIT_WARPS,
    THREADS = WARPS * 32,
    RUN = KEYS / WARPS, /* keys of a warp */
    LOADS = 8,          /* keys or values under way in a lane */
    BATCH = 4,          /* keys whose sums are reduced together */
    MAX_ROWS = 8,
    WIDTH = ATTENTION_SPLIT_WIDTH,
    JOIN_WARPS = ATTENTION_JOIN_WARPS,
    JOIN_LOADS = 4
};

struct split_call {
    struct attention_call a;
    float *memory;               /* [rows of the launch, splits, pitch] */
    int64_t splits, pitch;       /* splits: the bound */
    int64_t first_token, tokens; /* of the launch */
};

/* What one block works on. */
struct split_tile {
    int64_t first_key, key_head, first_row; /* row: token * group + head of the group */
    int num_rows, num_keys, least_keys;     /* keys that the last and the first row attend here */
};

/* 8 elements of a key or value: as loaded, or widened where rows are not aligned or not bf16. */
template <bool fast> struct chunk;
template <> struct chunk<true> {
    struct simt_words words;
};
template <> struct chunk<false> {
    float x[ROW_CHUNK];
};

SIMT_DEVICE float element(const struct chunk<true> &c, int i)
{
    uint32_t word = c.words.word[i / 2];
    return simt_f32_from_bits(i % 2 == 0 ? word << 16 : word & 0xffff0000u);
}

SIMT_DEVICE float element(const struct chunk<false> &c, int i)
{
    return c.x[i];
}

/* Keys [first, first + LOADS) of the split, zeros from num_keys and from the row's end on. */
template <bool fast>
SIMT_DEVICE void load_chunks(struct row_view v, const struct split_tile &t, int first,
                             int64_t width, struct chunk<fast> *to)
{
    int d = simt_lane() * ROW_CHUNK;
    SIMT_UNROLL for (int i = 0; i < LOADS; i++)
    {
        const unsigned char *row = attention_row(v, t.first_key + first + i, t.key_head);
        bool present = first + i < t.num_keys && d < width;
        if constexpr (fast) {
            to[i].words = {{0, 0, 0, 0}};
            if (present)
                to[i].words = simt_load16_constant(row + 2 * d);
        } else {
            SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) to[i].x[j] = 0;
            if (present)
                row_load_chunk<true>(v, row, d, width, to[i].x);
        }
    }
}

/* Sums over the lanes of BATCH x rows numbers, at most MAX_ROWS rows: each step halves the numbers,
 * keys first. Lane 8 k + r ends with the sum of key k and row r; with 2 rows lane 8 k + 4 r. */
template <int rows> SIMT_DEVICE float reduce(float (*x)[rows])
{
    const int width = rows > 2 ? MAX_ROWS : 2;
    bool second = (simt_lane() & 16) != 0, odd = (simt_lane() & 8) != 0;
    float sum[width];
    SIMT_UNROLL for (int r = 0; r < width; r++) sum[r] = 0;
    SIMT_UNROLL for (int r = 0; r < rows; r++)
    {
        float even = second ? x[2][r] : x[0][r], other = second ? x[3][r] : x[1][r];
        even += simt_shuffle_xor(SIMT_ALL_LANES, second ? x[0][r] : x[2][r], 16);
        other += simt_shuffle_xor(SIMT_ALL_LANES, second ? x[1][r] : x[3][r], 16);
        sum[r] = (odd ? other : even) + simt_shuffle_xor(SIMT_ALL_LANES, odd ? even : other, 8);
    }
    int bits = 4;
    SIMT_UNROLL for (int half = width / 2; half > 0; half /= 2)
    {
        bool upper = (simt_lane() & bits) != 0;
        SIMT_UNROLL for (int r = 0; r < half; r++)
        {
            float given = upper ? sum[r] : sum[r + half], kept = upper ? sum[r + half] : sum[r];
            sum[r] = kept + simt_shuffle_xor(SIMT_ALL_LANES, given, bits);
        }
        bits /= 2;
    }
    for (; bits > 0; bits /= 2)
        sum[0] += simt_shuffle_xor(SIMT_ALL_LANES, sum[0], bits);
    return sum[0];
}

/* score[key * MAX_ROWS + r] for the warp's keys below num_keys. */
template <int rows, bool fast>
SIMT_DEVICE void score_keys(const struct split_call &p, const struct split_tile &t,
                            struct simt_shared<float> score)
{
    float q[rows][ROW_CHUNK]; /* y may be q: no read-only path */
    SIMT_UNROLL for (int r = 0; r < rows; r++)
    {
        int64_t row = t.first_row + r, head = t.key_head * p.a.group + row % p.a.group;
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) q[r][i] = 0;
        if (r < t.num_rows && simt_lane() * ROW_CHUNK < p.a.width)
            row_load_chunk<false>(p.a.q,
                                  attention_row(p.a.q, p.first_token + row / p.a.group, head),
                                  simt_lane() * ROW_CHUNK, p.a.width, q[r]);
    }
    int first = simt_warp() * RUN, end = first + RUN < t.num_keys ? first + RUN : t.num_keys;
    for (; first < end; first += LOADS) {
        struct chunk<fast> k[LOADS];
        load_chunks<fast>(p.a.k, t, first, p.a.width, k);
        SIMT_UNROLL for (int batch = 0; batch < LOADS; batch += BATCH)
        {
            float dot[BATCH][rows];
            SIMT_UNROLL for (int j = 0; j < BATCH; j++) SIMT_UNROLL for (int r = 0; r < rows; r++)
            {
                dot[j][r] = 0;
                SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) dot[j][r] =
                    fmaf(q[r][i], element(k[batch + j], i), dot[j][r]);
            }
            float sum = reduce<rows>(dot);
            int key = first + batch + (simt_lane() >> 3);
            int r = rows > 2 ? simt_lane() & 7 : (simt_lane() & 7) >> 2;
            if (r < rows && (rows > 2 || (simt_lane() & 3) == 0))
                score.store(key * MAX_ROWS + r, attention_score(sum, p.a.scale));
        }
    }
}

SIMT_DEVICE float *partial_of(const struct split_call &p, const struct split_tile &t, int r)
{
    int64_t row = t.first_row + r;
    int64_t at = row / p.a.group * p.a.heads + t.key_head * p.a.group + row % p.a.group;
    return p.memory + (at * p.splits + simt_block_index().x) * p.pitch;
}

/* Scores become weights that add up to 1, or 0 where no score is above -infinity; 0 beyond the
 * row's own keys. A warp takes a row. */
SIMT_DEVICE void weigh_keys(const struct split_call &p, const struct split_tile &t, int r,
                            int num_keys, struct simt_shared<float> score)
{
    float x[KEYS / 32], largest = -INFINITY, sum = 0;
    SIMT_UNROLL for (int i = 0; i < KEYS / 32; i++)
    {
        int key = simt_lane() + 32 * i;
        x[i] = key < num_keys ? score.load(key * MAX_ROWS + r) : -INFINITY;
        largest = fmaxf(largest, x[i]);
    }
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) largest =
        fmaxf(largest, simt_shuffle_xor(SIMT_ALL_LANES, largest, bits));
    SIMT_UNROLL for (int i = 0; i < KEYS / 32; i++)
    {
        x[i] = attention_weight(x[i], largest);
        sum += x[i];
    }
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) sum +=
        simt_shuffle_xor(SIMT_ALL_LANES, sum, bits);
    SIMT_UNROLL for (int i = 0; i < KEYS / 32; i++)
        score.store((simt_lane() + 32 * i) * MAX_ROWS + r, sum == 0 ? 0.0f : x[i] / sum);
    if (r < t.num_rows && simt_lane() == 0) {
        float *to = partial_of(p, t, r) + p.pitch - 8;
        simt_store(to, largest);
        simt_store(to + 1, sum);
    }
}

/* total[r] += the warp's keys' weights times values. Weights of 0 beyond a row's own keys must not
 * meet the values there, which may be anything. */
template <int rows, bool fast>
SIMT_DEVICE void sum_values(const struct split_call &p, const struct split_tile &t,
                            struct simt_shared<float> weight, struct simt_shared<int> counts,
                            float (*total)[ROW_CHUNK])
{
    int first = simt_warp() * RUN, end = first + RUN < t.num_keys ? first + RUN : t.num_keys;
    for (; first < end; first += LOADS) {
        struct chunk<fast> v[LOADS];
        load_chunks<fast>(p.a.v, t, first, p.a.value_width, v);
        bool all = first + LOADS <= t.least_keys;
        SIMT_UNROLL for (int j = 0; j < LOADS; j++)
        {
            struct simt_words low = weight.load16((first + j) * MAX_ROWS);
            struct simt_words high = low;
            if (rows > 4)
                high = weight.load16((first + j) * MAX_ROWS + 4);
            SIMT_UNROLL for (int r = 0; r < rows; r++)
            {
                float w = simt_f32_from_bits(r < 4 ? low.word[r % 4] : high.word[r % 4]);
                bool attends = all || first + j < counts.load(r);
                SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) total[r][i] =
                    attends ? fmaf(w, element(v[j], i), total[r][i]) : total[r][i];
            }
        }
    }
}

SIMT_DEVICE void store_floats(struct simt_shared<float> to, int at, const float *x)
{
    struct simt_words words;
    SIMT_UNROLL for (int i = 0; i < 4; i++) words.word[i] = simt_f32_bits(x[i]);
    to.store16(at, words);
}

/* The sum over the warps, in their order, into the workspace. */
template <int rows>
SIMT_DEVICE void store_partial(const struct split_call &p, const struct split_tile &t,
                               struct simt_shared<float> sums)
{
    for (int at = simt_thread() * 4; at < rows * WIDTH; at += THREADS * 4) {
        int r = at / WIDTH, d = at % WIDTH;
        if (r >= t.num_rows || d >= p.pitch - 8)
            continue;
        float sum[4] = {0, 0, 0, 0};
        SIMT_UNROLL for (int w = 0; w < WARPS; w++)
        {
            struct simt_words x = sums.load16(w * rows * WIDTH + at);
            SIMT_UNROLL for (int i = 0; i < 4; i++) sum[i] += simt_f32_from_bits(x.word[i]);
        }
        struct simt_words words;
        SIMT_UNROLL for (int i = 0; i < 4; i++) words.word[i] = simt_f32_bits(sum[i]);
        simt_store16(partial_of(p, t, r) + d, words);
    }
}

SIMT_DEVICE int keys_here(const struct split_call &p, int64_t start, int64_t row, int64_t first_key)
{
    int64_t count = start + p.first_token + row / p.a.group + 1 - first_key;
    return count < 0 ? 0 : count < KEYS ? static_cast<int>(count) : static_cast<int>(KEYS);
}

template <int rows, bool fast> SIMT_KERNEL(attention_split)(struct split_call p)
{
    SIMT_SHARED(float, weight, KEYS *MAX_ROWS);
    SIMT_SHARED(float, sums, WARPS *rows *WIDTH);
    SIMT_SHARED(int, counts, MAX_ROWS);
    int64_t start = attention_start_of(p.a);
    struct split_tile t;
    t.first_key = static_cast<int64_t>(simt_block_index().x) * KEYS;
    t.key_head = simt_block_index().y;
    t.first_row = static_cast<int64_t>(simt_block_index().z) * rows;
    int64_t left = p.tokens * p.a.group - t.first_row;
    t.num_rows = left < rows ? static_cast<int>(left) : rows;
    t.num_keys = keys_here(p, start, t.first_row + t.num_rows - 1, t.first_key);
    t.least_keys = keys_here(p, start, t.first_row, t.first_key);
    if (t.num_keys == 0)
        return; /* beyond the last query of the tile; attention_join does not look here either */
    if (simt_thread() < rows)
        counts.store(simt_thread(),
                     simt_thread() < t.num_rows
                         ? keys_here(p, start, t.first_row + simt_thread(), t.first_key)
                         : 0);
    score_keys<rows, fast>(p, t, weight);
    simt_sync_block();
    for (int r = simt_warp(); r < (rows <= 4 ? 4 : MAX_ROWS); r += WARPS)
        weigh_keys(p, t, r, r < rows ? counts.load(r) : 0, weight);
    simt_sync_block();
    float total[rows][ROW_CHUNK];
    SIMT_UNROLL for (int r = 0; r < rows; r++) SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
        total[r][i] = 0;
    sum_values<rows, fast>(p, t, weight, counts, total);
    SIMT_UNROLL for (int r = 0; r < rows; r++)
    {
        int at = (simt_warp() * rows + r) * WIDTH + simt_lane() * ROW_CHUNK;
        store_floats(sums, at, total[r]);
        store_floats(sums, at + 4, total[r] + 4);
    }
    simt_sync_block();
    store_partial<rows>(p, t, sums);
}

/* The largest score of the row and the sum of its weights below that, over all splits; the same in
 * every lane. */
SIMT_DEVICE void join_weights(const float *partial, int64_t pitch, int64_t splits, float *largest,
                              float *sum)
{
    float most = -INFINITY, total = 0;
    for (int64_t i = simt_lane(); i < splits; i += 32)
        most = fmaxf(most, simt_load(partial + i * pitch + pitch - 8));
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) most =
        fmaxf(most, simt_shuffle_xor(SIMT_ALL_LANES, most, bits));
    for (int64_t i = simt_lane(); i < splits; i += 32) {
        const float *tail = partial + i * pitch + pitch - 8;
        total = fmaf(simt_load(tail + 1), attention_weight(simt_load(tail), most), total);
    }
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) total +=
        simt_shuffle_xor(SIMT_ALL_LANES, total, bits);
    *largest = most;
    *sum = total;
}

/* A block joins the splits of a row; a warp takes every JOIN_WARPS-th. */
SIMT_KERNEL(attention_join)(struct split_call p)
{
    SIMT_SHARED(float, sums, JOIN_WARPS *WIDTH);
    int64_t row = simt_block_index().x, token = p.first_token + row / p.a.heads;
    int64_t splits = (attention_start_of(p.a) + token + KEYS) / KEYS;
    const float *partial = p.memory + row * p.splits * p.pitch;
    int d = simt_lane() * ROW_CHUNK;
    float total[ROW_CHUNK] = {0, 0, 0, 0, 0, 0, 0, 0}, largest, sum;
    join_weights(partial, p.pitch, splits, &largest, &sum);
    for (int64_t first = simt_warp(); first < splits; first += JOIN_WARPS * JOIN_LOADS) {
        struct simt_words x[JOIN_LOADS][2];
        float weight[JOIN_LOADS];
        SIMT_UNROLL for (int j = 0; j < JOIN_LOADS; j++)
        {
            int64_t i = first + JOIN_WARPS * j;
            const float *from = partial + i * p.pitch, *tail = from + p.pitch - 8;
            x[j][0] = x[j][1] = {{0, 0, 0, 0}};
            weight[j] = 0;
            if (i < splits) {
                weight[j] = simt_load(tail + 1) * attention_weight(simt_load(tail), largest) / sum;
                if (d < p.pitch - 8) {
                    x[j][0] = simt_load16(from + d);
                    x[j][1] = simt_load16(from + d + 4);
                }
            }
        }
        SIMT_UNROLL for (int j = 0; j < JOIN_LOADS; j++)
            SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) total[i] =
                fmaf(weight[j], simt_f32_from_bits(x[j][i / 4].word[i % 4]), total[i]);
    }
    store_floats(sums, simt_warp() * WIDTH + d, total);
    store_floats(sums, simt_warp() * WIDTH + d + 4, total + 4);
    simt_sync_block();
    if (simt_thread() >= p.a.value_width)
        return;
    float value = 0;
    for (int w = 0; w < JOIN_WARPS; w++)
        value += sums.load(w * WIDTH + simt_thread());
    attention_store(p.a, token, row % p.a.heads, simt_thread(), value);
}

template <int rows>
static assay_status launch_split(const struct split_call &p, bool is_fast,
                                 struct simt_launch *launch)
{
    int64_t tiles = (p.tokens * p.a.group + rows - 1) / rows;
    launch->grid = {static_cast<unsigned>(p.splits), static_cast<unsigned>(p.a.key_heads),
                    static_cast<unsigned>(tiles)};
    launch->block = {THREADS, 1, 1};
    if (is_fast)
        return SIMT_LAUNCH(launch, (attention_split<rows, true>), p);
    return SIMT_LAUNCH(launch, (attention_split<rows, false>), p);
}

/* Both kernels for one block of tokens. */
static assay_status launch_block(const struct split_call &p, struct simt_launch *launch)
{
    const struct attention_call &a = p.a;
    bool is_fast = a.k.is_bf16 && a.k.is_aligned && a.v.is_aligned && a.width % ROW_CHUNK == 0 &&
                   a.value_width % ROW_CHUNK == 0;
    int64_t rows = p.tokens * a.group;
    bool by_six = (rows + 5) / 6 * 6 < (rows + 7) / 8 * 8; /* fewer idle rows */
    assay_status status = rows <= 2 ? launch_split<2>(p, is_fast, launch)
                          : by_six  ? launch_split<6>(p, is_fast, launch)
                                    : launch_split<8>(p, is_fast, launch);
    if (status != ASSAY_OK)
        return status;
    launch->grid = {static_cast<unsigned>(p.tokens * a.heads), 1, 1};
    launch->block = {JOIN_WARPS * 32, 1, 1};
    return SIMT_LAUNCH(launch, attention_join, p);
}

static assay_status attention_split_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_attention_args *a = static_cast<const struct assay_attention_args *>(args);
    struct split_call p = {attention_call_of(a),
                           static_cast<float *>(launch->workspace),
                           attention_num_splits(a),
                           attention_split_pitch(a->y.extent[2]),
                           0,
                           0};
    assay_status status = ASSAY_OK;
    for (; p.first_token < p.a.tokens && status == ASSAY_OK; p.first_token += p.tokens) {
        int64_t left = p.a.tokens - p.first_token, most = ATTENTION_SPLIT_TOKENS;
        p.tokens = left < most ? left : most;
        status = launch_block(p, launch);
    }
    return status;
}

DEVICE_ROUTE_RUN(attention_route_split, &assay_op_attention, attention_split_launch)
