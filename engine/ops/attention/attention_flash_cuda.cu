/* SPDX-License-Identifier: MIT
 *
 * attention of many tokens, in tensor cores: a block takes 128 query rows (token, head) of one key
 * head, a warp 16 of them with all columns of their sums. Keys and values come into shared memory
 * 32 at a time, the next while these are used, up to the last that a row of the block attends;
 * blocks with the most keys start first. 16-byte pieces of row r stand at places XOR r % 8, so that
 * neither the copies nor ldmatrix meet in a bank.
 *
 * Steps of keys stand at fixed places and a row's sums take the same path in every tile: its bits
 * depend neither on the other rows nor on T nor on the launch's bound.
 *
 * Profile a16x2. Bound: attention_bound.md. 4 T Hq L (D + Dv) operations with q of binary32, twice
 * what the products themselves are (q of bf16: 2 D + 4 Dv). On an H200 15 % of what cuBLAS does in
 * bf16 by the products themselves, 30 % by the doubled ones (T = 512 after 3,584 keys, 24 heads of
 * 256: 474 us); limited by the latency of mma with two warps a scheduler.
 */
#include "ops/attention/attention_tensor.cuh"

enum {
#if defined(__CUDACC__)
    WARPS = 8,
#else
    WARPS = 2, /* the executor's sweep shall have several blocks of few rows */
#endif
    THREADS = WARPS * 32,
    ROWS = WARPS * 16,
    PART = 64,
    STAGES = 2
};

struct flash_call {
    struct attention_call a;
    int64_t tiles;
    int group; /* a.group */
    float factor;
};

/* What one block works on. */
struct flash_tile {
    int key_head, first_row, num_rows; /* row: token * group + head of the group */
    int first_count, num_keys;         /* keys of query 0, of the last row */
};

/* A lane has rows lane / 4 and lane / 4 + 8 of its warp's 16. */
struct flash_state {
    float largest[2]; /* m */
    float sum[2];     /* of the weights of the lane's own keys */
};

struct flash_scores {
    float part[PLANES][STEP_TILES][4]; /* q in its two parts times k */
};

struct flash_weights {
    uint32_t part[PLANES][STEP_SLICES][4];
};

/* Place of element 8 `piece` of row `row` in an array of rows of `width`. */
SIMT_DEVICE int piece_at(int row, int piece, int width)
{
    return row * width + (piece ^ row % 8) * ROW_CHUNK;
}

/* The parts of the block's queries: [plane][row][D]. */
template <int key_parts, int query_planes>
SIMT_DEVICE void stage_queries(const struct flash_call &p, const struct flash_tile &t,
                               struct simt_shared<uint16_t> queries)
{
    const int width = key_parts * PART, pieces = width / ROW_CHUNK;
    SIMT_ROLLED for (int i = simt_thread(); i < ROWS * pieces; i += THREADS)
    {
        int r = i / pieces, piece = i % pieces;
        float x[ROW_CHUNK] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (r < t.num_rows) {
            int row = t.first_row + r;
            const unsigned char *q =
                attention_row(p.a.q, row / p.group, t.key_head * p.group + row % p.group);
            row_load_chunk<false>(p.a.q, q, piece * ROW_CHUNK, width, x); /* y may be q */
        }
        struct simt_words high, low;
        SIMT_UNROLL for (int j = 0; j < 4; j++)
            tensor_split_pair(x + 2 * j, &high.word[j], &low.word[j]);
        queries.store16(piece_at(r, piece, width), high);
        if (query_planes > 1)
            queries.store16(ROWS * width + piece_at(r, piece, width), low);
    }
}

/* 32 rows of a cache from `first` on. */
template <int width>
SIMT_DEVICE void copy_rows(struct row_view v, const struct flash_tile &t, int first,
                           struct simt_shared<uint16_t> to)
{
    const int pieces = width / ROW_CHUNK, rows = THREADS / pieces; /* at a time */
    int piece = simt_thread() % pieces, r = simt_thread() / pieces;
    const unsigned char *from = attention_row(v, first + r, t.key_head) + 16 * piece;
    if (!v.is_aligned) {
        SIMT_ROLLED for (; r < STEP_KEYS; r += rows)
        {
            tensor_gather(to, piece_at(r, piece, width), from, first + r < t.num_keys);
            from += rows * v.outer_stride;
        }
        return;
    }
    SIMT_UNROLL for (int i = 0; i < (STEP_KEYS + rows - 1) / rows; i++)
    {
        if (rows <= STEP_KEYS || r < STEP_KEYS)
            simt_copy_async_part<16>(to.at(piece_at(r, piece, width)), from,
                                     first + r < t.num_keys ? 16 : 0);
        from += rows * v.outer_stride;
        r += rows;
    }
}

/* Adds q k of the warp's rows and a step's keys. Pieces 2 i and 2 i + 1 of a row, i < 4 of each 64
 * columns, stand where XOR 16 i of the first ones' place says. */
template <int key_parts, int query_planes>
SIMT_DEVICE void add_scores(struct simt_shared<uint16_t> queries, struct simt_shared<uint16_t> keys,
                            struct flash_scores &s)
{
    const int width = key_parts * PART;
    int lane = simt_lane(), row = lane % 8;
    int at_q = (simt_warp() * 16 + lane % 16) * width + (lane / 16 ^ row) * ROW_CHUNK;
    int at_k = (lane / 16 * 8 + row) * width + (lane / 8 % 2 ^ row) * ROW_CHUNK;
    SIMT_ROLLED for (int part = 0; part < key_parts; part++)
    {
        SIMT_UNROLL for (int i = 0; i < PART / 16; i++)
        {
            uint32_t q[query_planes][4], k[STEP_TILES / 2][4];
            SIMT_UNROLL for (int plane = 0; plane < query_planes; plane++)
                simt_ldmatrix<4>(q[plane], queries.at((at_q ^ 16 * i) + plane * ROWS * width));
            SIMT_UNROLL for (int j = 0; j < STEP_TILES / 2; j++)
                simt_ldmatrix<4>(k[j], keys.at((at_k ^ 16 * i) + j * 16 * width));
            SIMT_UNROLL for (int plane = 0; plane < query_planes;
                             plane++) SIMT_UNROLL for (int j = 0; j < STEP_TILES; j++)
                simt_mma_bf16(s.part[plane][j], q[plane], k[j / 2] + j % 2 * 2, s.part[plane][j]);
        }
        at_q += PART;
        at_k += PART;
    }
}

/* Adds weights times values: sums[i] are columns 8 i .. 8 i + 7. */
template <int value_parts>
SIMT_DEVICE void add_values(struct simt_shared<uint16_t> values, const struct flash_weights &w,
                            float (*sums)[4])
{
    const int width = value_parts * PART;
    int lane = simt_lane(), at = lane % 16 * width + (lane / 16 ^ lane % 8) * ROW_CHUNK;
    SIMT_UNROLL for (int slice = 0; slice < STEP_SLICES; slice++)
        SIMT_UNROLL for (int i = 0; i < 8 * value_parts; i += 4)
    {
        uint32_t v[2][4];
        SIMT_UNROLL for (int j = 0; j < 2; j++)
            simt_ldmatrix_transposed<4>(v[j], values.at((at ^ (i % 8 + 2 * j) * ROW_CHUNK) +
                                                        i / 8 * PART + slice * 16 * width));
        SIMT_UNROLL for (int plane = 0; plane < PLANES; plane++) /* far from the same sum */
            SIMT_UNROLL for (int j = 0; j < 4; j++)
                simt_mma_bf16(sums[i + j], w.part[plane][slice], v[j / 2] + j % 2 * 2, sums[i + j]);
    }
}

/* Puts others in the place of a step's values. */
SIMT_DEVICE void replace_values(struct simt_shared<uint16_t> values, int count, int pass)
{
    for (int i = simt_thread() * ROW_CHUNK; i < count; i += THREADS * ROW_CHUNK) {
        struct simt_words x = values.load16(i);
        SIMT_UNROLL for (int j = 0; j < 4; j++) x.word[j] = tensor_stand_in(x.word[j], pass);
        values.store16(i, x);
    }
}

/* Scores: -infinity where a row has no such key. A product that is not finite is that of the high
 * part: the low part met an infinity there, too, with any sign. */
SIMT_DEVICE void finish_scores(const int *keys, float factor, bool is_masked,
                               struct flash_scores &s)
{
    SIMT_UNROLL for (int i = 0; i < STEP_TILES; i++) SIMT_UNROLL for (int c = 0; c < 4; c++)
    {
        float high = s.part[0][i][c], dot = high + s.part[1][i][c];
        float x = (tensor_is_finite(high) ? dot : high) * factor;
        int key = 8 * i + 2 * (simt_lane() % 4) + c % 2;
        s.part[0][i][c] = is_masked && key >= keys[c / 2] ? -INFINITY : x;
    }
}

/* Takes the largest scores of the step into the state; scale[2]: what its sums are multiplied by.
 */
SIMT_DEVICE void take_largest(const struct flash_scores &s, struct flash_state &state, float *scale)
{
    SIMT_UNROLL for (int row = 0; row < 2; row++)
    {
        float largest = -INFINITY;
        SIMT_UNROLL for (int i = 0; i < STEP_TILES; i++) largest =
            fmaxf(largest, fmaxf(s.part[0][i][2 * row], s.part[0][i][2 * row + 1]));
        largest = fmaxf(largest, simt_shuffle_xor(SIMT_ALL_LANES, largest, 1));
        largest = fmaxf(largest, simt_shuffle_xor(SIMT_ALL_LANES, largest, 2));
        largest = fmaxf(state.largest[row], ceilf(largest));
        scale[row] = tensor_rescale(state.largest[row], largest);
        state.largest[row] = largest;
        state.sum[row] *= scale[row];
    }
}

/* Weights, their sum, and their parts as operands. In a pass that counts: ones and zeros. */
SIMT_DEVICE void weigh(const struct flash_scores &s, const int *keys, int pass,
                       struct flash_state &state, struct flash_weights &w)
{
    SIMT_UNROLL for (int i = 0; i < STEP_TILES; i++) SIMT_UNROLL for (int row = 0; row < 2; row++)
    {
        float m = state.largest[row] == -INFINITY ? 0 : state.largest[row];
        float pair[2];
        SIMT_UNROLL for (int j = 0; j < 2; j++) pair[j] =
            exp2f(2 * (s.part[0][i][2 * row + j] - m));
        if (pass >= PASS_SMALL) {
            int key = 8 * i + 2 * (simt_lane() % 4);
            SIMT_UNROLL for (int j = 0; j < 2; j++) pair[j] =
                tensor_pass_weight(pair[j], key + j < keys[row], pass);
        }
        state.sum[row] += pair[0] + pair[1];
        tensor_weight_parts(pair, &w.part[0][i / 2][i % 2 * 2 + row],
                            &w.part[1][i / 2][i % 2 * 2 + row]);
    }
}

/* Multiplies the sums of a lane's rows, where there is something to do. Sums of counts stay. */
template <int tiles> SIMT_DEVICE void scale_sums(const float *scale, int pass, float (*sums)[4])
{
    bool is_one = scale[0] == 1 && scale[1] == 1;
    if (simt_all(SIMT_ALL_LANES, is_one) || pass > PASS_SMALL)
        return;
    SIMT_UNROLL for (int i = 0; i < tiles; i++) SIMT_UNROLL for (int c = 0; c < 4; c++)
        sums[i][c] *= scale[c / 2];
}

/* The sum of weights over the four lanes of a row. */
SIMT_DEVICE void finish_state(struct flash_state &state)
{
    SIMT_UNROLL for (int row = 0; row < 2; row++)
        SIMT_UNROLL for (int bits = 1; bits < 4; bits *= 2)
            state.sum[row] += simt_shuffle_xor(SIMT_ALL_LANES, state.sum[row], bits);
}

template <int key_parts, int value_parts, int query_planes>
SIMT_DEVICE void take_step(const struct flash_call &p, struct simt_shared<uint16_t> queries,
                           struct simt_shared<uint16_t> keys, struct simt_shared<uint16_t> values,
                           const int *counts, bool is_masked, int pass, struct flash_state &state,
                           float (*sums)[4])
{
    struct flash_scores s;
    struct flash_weights w;
    float scale[2];
    SIMT_UNROLL for (int i = 0; i < PLANES * STEP_TILES; i++)
        SIMT_UNROLL for (int c = 0; c < 4; c++) s.part[i / STEP_TILES][i % STEP_TILES][c] = 0;
    add_scores<key_parts, query_planes>(queries, keys, s);
    finish_scores(counts, p.factor, is_masked, s);
    take_largest(s, state, scale);
    weigh(s, counts, pass, state, w);
    scale_sums<8 * value_parts>(scale, pass, sums);
    add_values<value_parts>(values, w, sums);
}

/* A step's keys and values into its stage; nothing from the last key on. */
template <int key_parts, int value_parts>
SIMT_DEVICE void copy_step(const struct flash_call &p, const struct flash_tile &t, int first,
                           struct simt_shared<uint16_t> stage)
{
    if (first < t.num_keys) {
        const int key_halves = STEP_KEYS * key_parts * PART;
        const int value_halves = STEP_KEYS * value_parts * PART;
        copy_rows<key_parts * PART>(p.a.k, t, first, stage.slice(0, key_halves));
        copy_rows<value_parts * PART>(p.a.v, t, first, stage.slice(key_halves, value_halves));
    }
    simt_copy_commit();
}

/* All steps of the block; the warp leaves out those that none of its rows attends. */
template <int key_parts, int value_parts, int query_planes>
SIMT_DEVICE void take_steps(const struct flash_call &p, const struct flash_tile &t,
                            struct simt_shared<uint16_t> queries,
                            struct simt_shared<uint16_t> stages, int pass,
                            struct flash_state &state, float (*sums)[4])
{
    const int value_halves = STEP_KEYS * value_parts * PART;
    const int key_halves = STEP_KEYS * key_parts * PART, stage_halves = key_halves + value_halves;
    int row = t.first_row + simt_warp() * 16, counts[2];
    SIMT_UNROLL for (int i = 0; i < 2; i++) counts[i] =
        t.first_count + (row + simt_lane() / 4 + 8 * i) / p.group;
    int least = t.first_count + row / p.group, most = t.first_count + (row + 15) / p.group;
    int stage = 0, next = stage_halves;
    copy_step<key_parts, value_parts>(p, t, 0, stages.slice(0, stage_halves));
    SIMT_ROLLED for (int first = 0; first < t.num_keys; first += STEP_KEYS)
    {
        struct simt_shared<uint16_t> values = stages.slice(stage + key_halves, value_halves);
        simt_copy_wait<0>();
        simt_sync_block(); /* the step has come, and its predecessor is read */
        copy_step<key_parts, value_parts>(p, t, first + STEP_KEYS,
                                          stages.slice(next, stage_halves));
        if (pass != PASS_PLAIN) {
            replace_values(values, value_halves, pass);
            simt_sync_block();
        }
        int left[2] = {counts[0] - first, counts[1] - first};
        if (first < most)
            take_step<key_parts, value_parts, query_planes>(
                p, queries, stages.slice(stage, key_halves), values, left,
                first + STEP_KEYS > least, pass, state, sums);
        next = stage;
        stage = stage_halves - stage;
    }
    simt_sync_block(); /* all is read */
    finish_state(state);
}

/* Columns d .. d + 3 of an output row. */
SIMT_DEVICE void store_four(struct row_view y, unsigned char *row, int d, const float *x)
{
    if (y.is_aligned && y.is_bf16) {
        uint64_t high = simt_bf16x2_from_f32(x[2], x[3]);
        simt_store(reinterpret_cast<uint64_t *>(row + 2 * d),
                   high << 32 | simt_bf16x2_from_f32(x[0], x[1]));
    } else if (y.is_aligned) {
        simt_store16(row + 4 * d, {{simt_f32_bits(x[0]), simt_f32_bits(x[1]), simt_f32_bits(x[2]),
                                    simt_f32_bits(x[3])}});
    } else {
        SIMT_UNROLL for (int j = 0; j < 4; j++)
        {
            if (y.is_bf16)
                simt_store(reinterpret_cast<uint16_t *>(row) + d + j, simt_bf16_from_f32(x[j]));
            else
                simt_store(reinterpret_cast<float *>(row) + d + j, x[j]);
        }
    }
}

/* Four columns of a row into y: gated means, or what a pass that counts adds to them. False where
 * a mean is not finite. */
SIMT_DEVICE bool finish_four(const struct flash_call &p, int64_t token, int64_t head, int d,
                             int pass, float sum, struct simt_words values)
{
    const unsigned char *gates = attention_row(p.a.gate, token, head);
    unsigned char *y = attention_row(p.a.y, token, head);
    bool is_finite = true;
    float x[4];
    SIMT_UNROLL for (int j = 0; j < 4; j++)
    {
        float value = simt_f32_from_bits(values.word[j]);
        float gate = p.a.has_gate ? tensor_sigmoid(tensor_load(p.a.gate, gates, d + j)) : 1;
        if (pass > PASS_SMALL) {
            x[j] = tensor_load(p.a.y, y, d + j);
            x[j] = value == 0 ? x[j] : x[j] + tensor_mark(0, value, pass) * gate;
        } else {
            value /= sum;
            is_finite = is_finite && tensor_is_finite(value);
            x[j] = value * gate;
        }
    }
    store_four(p.a.y, y, d, x);
    return is_finite;
}

template <int value_parts> struct finished {
    static const int pitch = value_parts * PART + 8; /* of rows in shared memory, by banks */
    static const int warp_floats = 8 * pitch;
};

/* Stores the warp's rows of the mask, eight at a time by way of shared memory, and notes those that
 * are not finite. */
template <int value_parts>
SIMT_DEVICE void finish(const struct flash_call &p, const struct flash_tile &t, int pass,
                        unsigned rows, const struct flash_state &state, const float (*sums)[4],
                        struct simt_shared<float> to, struct simt_shared<float> weights,
                        struct simt_shared<unsigned> bad)
{
    const int width = value_parts * PART, pitch = finished<value_parts>::pitch;
    int lane = simt_lane(), first_row = simt_warp() * 16;
    SIMT_UNROLL for (int half = 0; half < 2; half++)
    {
        if (lane % 4 == 0)
            weights.store(first_row + lane / 4 + 8 * half, state.sum[half]);
        SIMT_UNROLL for (int i = 0; i < 16 * value_parts; i++) to.store(
            lane / 4 * pitch + i / 2 * 8 + lane % 4 * 2 + i % 2, sums[i / 2][2 * half + i % 2]);
        simt_sync_warp(SIMT_ALL_LANES);
        SIMT_ROLLED for (int i = 4 * lane; i < 8 * width; i += 128)
        {
            int r = i / width + 8 * half, d = i % width, row = t.first_row + first_row + r;
            if (first_row + r >= t.num_rows || (rows >> r & 1) == 0)
                continue;
            if (!finish_four(p, row / p.group, t.key_head * p.group + row % p.group, d, pass,
                             weights.load(first_row + r), to.load16(i / width * pitch + d)))
                simt_atomic_or(bad.at(simt_warp()), 1u << r);
        }
        simt_sync_warp(SIMT_ALL_LANES);
    }
}

template <int key_parts, int value_parts, int query_planes>
SIMT_KERNEL(attention_flash)
(struct flash_call p)
{
    SIMT_SHARED(unsigned, bad, NUM_PASSES *WARPS);
    SIMT_SHARED(float, weights, ROWS);
    const int query_halves = query_planes * ROWS * key_parts * PART;
    SIMT_SHARED_DYNAMIC(uint16_t, queries, 0, query_halves);
    SIMT_SHARED_DYNAMIC(uint16_t, stages, 2 * query_halves,
                        STAGES * STEP_KEYS * (key_parts + value_parts) * PART);
    SIMT_SHARED_DYNAMIC(float, results, 2 * query_halves,
                        WARPS * finished<value_parts>::warp_floats);
    struct flash_tile t;
    int64_t index = simt_block_index().x, tile = p.tiles - 1 - index / p.a.key_heads;
    int left = static_cast<int>(p.a.tokens * p.a.group - tile * ROWS);
    t.key_head = static_cast<int>(index % p.a.key_heads);
    t.first_row = static_cast<int>(tile) * ROWS;
    t.num_rows = left < ROWS ? left : ROWS;
    t.first_count = static_cast<int>(attention_start_of(p.a)) + 1;
    t.num_keys = t.first_count + (t.first_row + t.num_rows - 1) / p.group;
    if (simt_thread() < NUM_PASSES * WARPS)
        bad.store(simt_thread(), 0);
    stage_queries<key_parts, query_planes>(p, t, queries);
    unsigned rows = 0xffffu;
    SIMT_ROLLED for (int pass = PASS_PLAIN; pass < NUM_PASSES; pass++)
    {
        struct flash_state state = {{-INFINITY, -INFINITY}, {0, 0}};
        float sums[8 * value_parts][4];
        SIMT_UNROLL for (int i = 0; i < 8 * value_parts; i++)
            SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][c] = 0;
        take_steps<key_parts, value_parts, query_planes>(p, t, queries, stages, pass, state, sums);
        finish<value_parts>(p, t, pass, rows, state, sums,
                            results.slice(simt_warp() * finished<value_parts>::warp_floats,
                                          finished<value_parts>::warp_floats),
                            weights, bad.slice(pass * WARPS, WARPS));
        simt_sync_block();
        unsigned any = 0;
        SIMT_UNROLL for (int i = 0; i < WARPS; i++) any |= bad.load(i);
        if (pass == PASS_PLAIN && any == 0)
            return;
        rows = bad.load((pass == PASS_FINITE ? PASS_FINITE : PASS_PLAIN) * WARPS + simt_warp());
    }
}

template <int key_parts, int value_parts, int query_planes>
static assay_status launch_planes(const struct flash_call &p, struct simt_launch *launch)
{
    size_t stage_bytes = sizeof(uint16_t) * STAGES * STEP_KEYS * (key_parts + value_parts) * PART;
    size_t result_bytes = sizeof(float) * WARPS * finished<value_parts>::warp_floats;
    launch->grid = {static_cast<unsigned>(p.tiles * p.a.key_heads), 1, 1};
    launch->block = {THREADS, 1, 1};
    launch->shared_bytes = sizeof(uint16_t) * query_planes * ROWS * key_parts * PART +
                           (stage_bytes < result_bytes ? result_bytes : stage_bytes);
    return SIMT_LAUNCH(launch, (attention_flash<key_parts, value_parts, query_planes>), p);
}

/* Queries of bf16 have no low parts; only D = Dv takes advantage of it. */
template <int key_parts, int value_parts>
static assay_status launch_widths(const struct flash_call &p, struct simt_launch *launch)
{
    if (p.a.q.is_bf16 && key_parts == value_parts)
        return launch_planes < key_parts, value_parts,
               key_parts == value_parts ? 1 : 2 > (p, launch);
    return launch_planes<key_parts, value_parts, 2>(p, launch);
}

template <int key_parts>
static assay_status launch_flash(const struct flash_call &p, struct simt_launch *launch)
{
    const int half = key_parts > 1 ? key_parts / 2 : 1, quarter = key_parts > 3 ? 1 : half;
    int value_parts = static_cast<int>(p.a.value_width / PART);
    return value_parts == key_parts ? launch_widths<key_parts, key_parts>(p, launch)
           : value_parts == half    ? launch_widths<key_parts, half>(p, launch)
                                    : launch_widths<key_parts, quarter>(p, launch);
}

static assay_status attention_flash_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_attention_args *a = static_cast<const struct assay_attention_args *>(args);
    struct flash_call p = {attention_call_of(a), 0,
                           static_cast<int>(a->q.extent[1] / a->k_cache.extent[1]),
                           tensor_factor(a->scale)};
    p.tiles = (p.a.tokens * p.a.group + ROWS - 1) / ROWS;
    if (p.tiles == 0)
        return ASSAY_OK;
    return p.a.width == PART       ? launch_flash<1>(p, launch)
           : p.a.width == 2 * PART ? launch_flash<2>(p, launch)
                                   : launch_flash<4>(p, launch);
}

DEVICE_ROUTE_RUN(attention_route_flash, &assay_op_attention, attention_flash_launch)
