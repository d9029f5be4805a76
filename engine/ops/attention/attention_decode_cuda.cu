/* SPDX-License-Identifier: MIT
 *
 * attention of few tokens, in tensor cores: 8 query rows (token, head) of one key head, in their
 * two parts, are the 16-row operand: rows 0 to 7 the high parts, 8 to 15 the low ones, so that a
 * lane has both of a row. Weights are taken in the same way. Keys are split over blocks at fixed
 * places, a split's steps of 32 keys over its warps in turn; each warp keeps sums of its own, the
 * block joins them, and a second kernel joins the splits. A row's sums take the same path in every
 * tile and at every T: its bits depend neither on the other rows nor on the launch's bound.
 *
 * Keys and values are not arranged for mma. Which elements stand at which k of a product does not
 * matter as long as both operands agree: a lane takes 16 bytes of a key for two products. And which
 * column of a value is which n does not matter: a lane takes 8 columns of 4 keys and pairs the keys
 * in registers. So a lane reads from shared memory what it has copied there itself, and a warp's
 * ring is a queue of asynchronous copies without barriers or bank conflicts.
 *
 * Profile a16x2. Bound: attention_bound.md. Moves the attended keys and values once for each tile
 * of rows (later ones from L2) and 2 (Dv + 2) floats a row and split; 128 mma of 4096 operations a
 * step, D = Dv = 256. Two warps a scheduler do not hide their own latency: 56 % of an H200's copy
 * bandwidth at 32,768 keys (61 us, both kernels), 13 us where a context is short.
 */
#include "ops/attention/attention_tensor.cuh"

enum {
    WARPS = ATTENTION_DECODE_WARPS,
    THREADS = WARPS * 32,
    ROWS = ATTENTION_DECODE_ROWS,
    PART = 64, /* columns of a stage */
    PART_BYTES = 2 * PART,
    ROUND = WARPS * STEP_KEYS, /* keys from a warp's step to its next */
    STAGES = 6,
    SLOTS = 8, /* 16-byte pieces of a lane in a stage: 32 keys, 64 columns */
    SLOT_WORDS = 32 * 4,
    STAGE_WORDS = SLOTS * SLOT_WORDS,
    RING_WORDS = WARPS * STAGES * STAGE_WORDS,
    JOIN_LANES = 16, /* that share the splits of 64 columns */
    JOIN_BATCH = 8,
    JOIN_MOST = 2048, /* splits whose weights are kept */
    JOIN_THREADS = JOIN_LANES * PART / 4
};

struct decode_call {
    struct attention_call a;
    float *means, *tails; /* [T Hq, splits, Dv]; [T Hq, splits, 2]: m, sum of weights */
    int64_t splits;       /* the bound */
    int key_parts, group; /* of 64 columns; a.group */
    int tiles;            /* of rows */
    float factor;
};

/* What one block works on. */
struct decode_tile {
    int64_t first_key, key_head;
    int first_row, num_rows; /* row: token * group + head of the group */
    int num_keys, keys;      /* of the split, for the last row and for the lane's */
};

/* A warp's copies: the lane's first piece of a step's keys and values, the step's first key in the
 * split, the next 64 columns and where they go in the ring. */
struct decode_copies {
    const unsigned char *k, *v;
    int first, part, stage;
};

struct decode_state {
    float largest, sum; /* m of the lane's row, sum of the weights of its own keys */
};

SIMT_DEVICE int64_t split_begin(int64_t i)
{
    return ATTENTION_DECODE_BEGIN(i);
}

/* The last splits first: they are the largest. */
SIMT_DEVICE int64_t block_split()
{
    return simt_grid_extent().y - 1 - simt_block_index().y;
}

SIMT_DEVICE int next_stage(int stage)
{
    return stage + 1 < STAGES ? stage + 1 : 0;
}

SIMT_DEVICE struct simt_words words_of(const float *x)
{
    return {{simt_f32_bits(x[0]), simt_f32_bits(x[1]), simt_f32_bits(x[2]), simt_f32_bits(x[3])}};
}

/* The queries as operands: [32 columns][half][lane]{4 words: high, low, high, low}. */
SIMT_DEVICE void stage_queries(const struct decode_call &p, const struct decode_tile &t,
                               struct simt_shared<uint32_t> queries)
{
    SIMT_ROLLED for (int i = simt_thread(); i < p.key_parts * PART; i += THREADS)
    {
        int lane = i % 32, d = i / 32 * 32 + lane % 4 * ROW_CHUNK, row = t.first_row + lane / 4;
        float x[ROW_CHUNK] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (lane / 4 < t.num_rows) {
            const unsigned char *q =
                attention_row(p.a.q, row / p.group, t.key_head * p.group + row % p.group);
            row_load_chunk<false>(p.a.q, q, d, p.a.width, x); /* y may be q */
        }
        SIMT_UNROLL for (int half = 0; half < 2; half++)
        {
            struct simt_words w;
            tensor_split_pair(x + 4 * half, &w.word[0], &w.word[1]);
            tensor_split_pair(x + 4 * half + 2, &w.word[2], &w.word[3]);
            queries.store16((i / 32 * 64 + half * 32 + lane) * 4, w);
        }
    }
}

SIMT_DEVICE struct decode_copies begin_copies(const struct decode_call &p,
                                              const struct decode_tile &t)
{
    int group = simt_lane() / 4, quad = simt_lane() % 4, first = simt_warp() * STEP_KEYS;
    int64_t key = t.first_key + first;
    return {attention_row(p.a.k, key + group, t.key_head) + quad * 16,
            attention_row(p.a.v, key + 2 * quad, t.key_head) + group * 16, first, 0, 0};
}

/* One stage: 64 columns of 32 keys, or of their values. Piece i of a lane is of key 8 (i / 2) and
 * lane / 4 more, half i % 2 of the columns; or of the value of key 8 (i / 2) + 2 (lane % 4) + i
 * % 2.
 */
SIMT_DEVICE void copy_stage(const struct decode_call &p, const struct decode_tile &t,
                            struct simt_shared<uint32_t> ring, const struct decode_copies &c)
{
    bool is_key = c.part < p.key_parts;
    const unsigned char *from =
        is_key ? c.k + c.part * PART_BYTES : c.v + (c.part - p.key_parts) * PART_BYTES;
    int64_t stride = is_key ? p.a.k.outer_stride : p.a.v.outer_stride;
    int64_t half = PART_BYTES / 2, step = is_key ? half : stride;
    int at = c.stage * STAGE_WORDS + simt_lane() * 4, odd = is_key ? 0 : 1;
    int left = t.num_keys - c.first - (is_key ? simt_lane() / 4 : simt_lane() % 4 * 2);
    if (!(is_key ? p.a.k.is_aligned : p.a.v.is_aligned)) {
        SIMT_ROLLED for (int i = 0; i < SLOTS; i++)
            tensor_gather(ring, at + i * SLOT_WORDS, from + i / 2 * 8 * stride + i % 2 * step,
                          i / 2 * 8 + i % 2 * odd < left);
    } else if (c.first + STEP_KEYS <= t.num_keys) {
        SIMT_UNROLL for (int i = 0; i < SLOTS; i += 2)
        {
            simt_copy_async<16>(ring.at(at + i * SLOT_WORDS), from);
            simt_copy_async<16>(ring.at(at + (i + 1) * SLOT_WORDS), from + step);
            from += 8 * stride;
        }
    } else {
        SIMT_UNROLL for (int i = 0; i < SLOTS; i += 2)
        {
            simt_copy_async_part<16>(ring.at(at + i * SLOT_WORDS), from, 4 * i < left ? 16 : 0);
            simt_copy_async_part<16>(ring.at(at + (i + 1) * SLOT_WORDS), from + step,
                                     4 * i + odd < left ? 16 : 0);
            from += 8 * stride;
        }
    }
}

/* Copies what comes next, if anything does, and closes the group. */
SIMT_DEVICE void copy_next(const struct decode_call &p, const struct decode_tile &t,
                           struct simt_shared<uint32_t> ring, int parts, struct decode_copies *c)
{
    if (c->first < t.num_keys)
        copy_stage(p, t, ring, *c);
    simt_copy_commit();
    c->stage = next_stage(c->stage);
    c->part++;
    if (c->part == parts) {
        c->part = 0;
        c->first += ROUND;
        c->k += ROUND * p.a.k.outer_stride;
        c->v += ROUND * p.a.v.outer_stride;
    }
}

/* Adds the products of 64 columns: scores[i] are of keys 8 i .. 8 i + 7. */
SIMT_DEVICE void add_scores(struct simt_shared<uint32_t> queries, struct simt_shared<uint32_t> ring,
                            int part, int stage, float (*scores)[4])
{
    int at = stage * STAGE_WORDS + simt_lane() * 4, at_query = part * 4 * SLOT_WORDS;
    SIMT_UNROLL for (int chunk = 0; chunk < 2; chunk++)
    {
        struct simt_words k[STEP_TILES];
        SIMT_UNROLL for (int i = 0; i < STEP_TILES; i++) k[i] =
            ring.load16(at + (2 * i + chunk) * SLOT_WORDS);
        SIMT_UNROLL for (int half = 0; half < 2; half++)
        {
            struct simt_words q =
                queries.load16(at_query + (2 * chunk + half) * SLOT_WORDS + simt_lane() * 4);
            SIMT_UNROLL for (int i = 0; i < STEP_TILES; i++)
            {
                uint32_t b[2] = {k[i].word[2 * half], k[i].word[2 * half + 1]};
                simt_mma_bf16(scores[i], q.word, b, scores[i]);
            }
        }
    }
}

/* Puts others in the place of what the lane has copied of a stage. */
SIMT_DEVICE void replace_values(struct simt_shared<uint32_t> ring, int stage, int pass)
{
    int at = stage * STAGE_WORDS + simt_lane() * 4;
    SIMT_ROLLED for (int i = 0; i < SLOTS; i++)
    {
        struct simt_words v = ring.load16(at + i * SLOT_WORDS);
        SIMT_UNROLL for (int j = 0; j < 4; j++) v.word[j] = tensor_stand_in(v.word[j], pass);
        ring.store16(at + i * SLOT_WORDS, v);
    }
}

/* Adds the weighted values of 64 columns: sums[i], column n is column 8 n + i of them. */
SIMT_DEVICE void add_values(struct simt_shared<uint32_t> ring, int stage,
                            const uint32_t (*weights)[4], float (*sums)[4])
{
    int at = stage * STAGE_WORDS + simt_lane() * 4;
    SIMT_UNROLL for (int slice = 0; slice < STEP_SLICES; slice++)
    {
        struct simt_words v[4];
        SIMT_UNROLL for (int i = 0; i < 4; i++) v[i] =
            ring.load16(at + (4 * slice + i) * SLOT_WORDS);
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
        {
            uint32_t b[2];
            SIMT_UNROLL for (int j = 0; j < 2; j++)
            {
                uint32_t first = v[2 * j].word[i / 2], second = v[2 * j + 1].word[i / 2];
                b[j] = i % 2 == 0 ? (first & 0xffffu) | second << 16
                                  : first >> 16 | (second & 0xffff0000u);
            }
            simt_mma_bf16(sums[i], weights[slice], b, sums[i]);
        }
    }
}

/* Products of a step become scores, -infinity where the row has no such key: element 2 i + j is of
 * key 8 i + 2 (lane % 4) + j. A product that is not finite is that of the high part: the low part
 * met an infinity there, too, with any sign. */
SIMT_DEVICE void finish_scores(const float (*products)[4], float factor, int keys, float *x)
{
    keys -= 2 * (simt_lane() % 4);
    SIMT_UNROLL for (int i = 0; i < 2 * STEP_TILES; i++)
    {
        float high = products[i / 2][i % 2], dot = high + products[i / 2][2 + i % 2];
        x[i] = (tensor_is_finite(high) ? dot : high) * factor;
        if (i / 2 * 8 + i % 2 >= keys)
            x[i] = -INFINITY;
    }
}

/* Takes a step's scores into the state; gives what the sums are multiplied by. */
SIMT_DEVICE float take_largest(const float *x, struct decode_state *state)
{
    float largest = x[0];
    SIMT_UNROLL for (int i = 1; i < 2 * STEP_TILES; i++) largest = fmaxf(largest, x[i]);
    largest = fmaxf(largest, simt_shuffle_xor(SIMT_ALL_LANES, largest, 1));
    largest = fmaxf(largest, simt_shuffle_xor(SIMT_ALL_LANES, largest, 2));
    largest = fmaxf(state->largest, ceilf(largest));
    float scale = tensor_rescale(state->largest, largest);
    state->largest = largest;
    state->sum *= scale;
    return scale;
}

/* Scores become weights: their sum, and their parts as operands. In a pass that counts: ones and
 * zeros. */
SIMT_DEVICE void weigh(const float *x, int keys, int pass, struct decode_state *state,
                       uint32_t (*weights)[4])
{
    float m = state->largest == -INFINITY ? 0 : state->largest, w[2 * STEP_TILES];
    keys -= 2 * (simt_lane() % 4);
    SIMT_UNROLL for (int i = 0; i < 2 * STEP_TILES; i++) w[i] = exp2f(2 * (x[i] - m));
    if (pass >= PASS_SMALL)
        SIMT_UNROLL for (int i = 0; i < 2 * STEP_TILES; i++) w[i] =
            tensor_pass_weight(w[i], i / 2 * 8 + i % 2 < keys, pass);
    SIMT_UNROLL for (int i = 0; i < 2 * STEP_TILES; i++) state->sum += w[i];
    SIMT_UNROLL for (int i = 0; i < STEP_TILES; i++)
        tensor_weight_parts(w + 2 * i, &weights[i / 2][i % 2 * 2], &weights[i / 2][i % 2 * 2 + 1]);
}

/* A step's products are complete. */
template <int value_parts>
SIMT_DEVICE void weigh_step(const struct decode_call &p, const struct decode_tile &t, int first,
                            int pass, float (*products)[4], struct decode_state *state,
                            uint32_t (*weights)[4], float (*sums)[4])
{
    float x[2 * STEP_TILES];
    finish_scores(products, p.factor, t.keys - first, x);
    float scale = take_largest(x, state);
    weigh(x, t.keys - first, pass, state, weights);
    if (!simt_all(SIMT_ALL_LANES, scale == 1) && pass <= PASS_SMALL)
        SIMT_UNROLL for (int i = 0; i < 32 * value_parts; i++) sums[i / 4][i % 4] *= scale;
    SIMT_UNROLL for (int i = 0; i < 4 * STEP_TILES; i++) products[i / 4][i % 4] = 0;
}

/* The warp's share of the split. Copies run STAGES - 1 stages ahead. */
template <int value_parts>
SIMT_DEVICE void take_steps(const struct decode_call &p, const struct decode_tile &t,
                            struct simt_shared<uint32_t> queries, struct simt_shared<uint32_t> ring,
                            int pass, struct decode_copies *copies, struct decode_state *state,
                            float (*sums)[4])
{
    float products[STEP_TILES][4];
    uint32_t weights[STEP_SLICES][4];
    int parts = p.key_parts + value_parts, stage = 0;
    SIMT_UNROLL for (int i = 0; i < 4 * STEP_TILES; i++) products[i / 4][i % 4] = 0;
    SIMT_ROLLED for (int first = simt_warp() * STEP_KEYS; first < t.num_keys; first += ROUND)
    {
        SIMT_ROLLED for (int part = 0; part < p.key_parts; part++)
        {
            simt_copy_wait<STAGES - 2>();
            copy_next(p, t, ring, parts, copies);
            add_scores(queries, ring, part, stage, products);
            stage = next_stage(stage);
        }
        weigh_step<value_parts>(p, t, first, pass, products, state, weights, sums);
        SIMT_UNROLL for (int part = 0; part < value_parts; part++)
        {
            simt_copy_wait<STAGES - 2>();
            copy_next(p, t, ring, parts, copies);
            if (pass != PASS_PLAIN)
                replace_values(ring, stage, pass);
            add_values(ring, stage, weights, sums + 8 * part);
            stage = next_stage(stage);
        }
    }
    simt_copy_wait<0>();
    SIMT_UNROLL for (int bits = 1; bits < 4; bits *= 2) state->sum +=
        simt_shuffle_xor(SIMT_ALL_LANES, state->sum, bits);
}

/* Words of a row of sums in shared memory: rows beside each other start in other banks. */
template <int value_parts> struct joined {
    static const int pitch = value_parts * PART + 4;
};

/* The warp's sums to shared memory, both parts added: a lane has 16 columns beside each other of
 * every 64. */
template <int value_parts>
SIMT_DEVICE void put_sums(const struct decode_tile &t, const struct decode_state &state,
                          const float (*sums)[4], struct simt_shared<uint32_t> to,
                          struct simt_shared<float> maxima, struct simt_shared<float> weights)
{
    int r = simt_warp() * ROWS + simt_lane() / 4;
    if (simt_lane() % 4 == 0) {
        maxima.store(r, state.largest);
        weights.store(r, state.sum);
    }
    if (simt_lane() / 4 >= t.num_rows)
        return;
    int at = r * joined<value_parts>::pitch + simt_lane() % 4 * 16;
    SIMT_UNROLL for (int i = 0; i < 4 * value_parts; i++)
    {
        float x[4];
        SIMT_UNROLL for (int j = 0; j < 4; j++)
        {
            const float *sum = sums[i / 4 * 8 + i % 2 * 4 + j];
            x[j] = sum[i / 2 % 2] + sum[2 + i / 2 % 2];
        }
        to.store16(at + i / 4 * PART + i % 4 * 4, words_of(x));
    }
}

/* Joins the warps: means to the workspace, for the rows of the mask. Notes rows that are not
 * finite. */
template <int value_parts>
SIMT_DEVICE void join_warps(const struct decode_call &p, const struct decode_tile &t, int pass,
                            unsigned rows, struct simt_shared<uint32_t> from,
                            struct simt_shared<float> maxima, struct simt_shared<float> weights,
                            struct simt_shared<unsigned> bad)
{
    const int width = value_parts * PART;
    SIMT_ROLLED for (int i = simt_thread() * 4; i < t.num_rows * width; i += THREADS * 4)
    {
        int r = i / width, d = i % width, row = t.first_row + r;
        if ((rows >> r & 1) == 0)
            continue;
        float largest = -INFINITY, sum = 0, mean[4] = {0, 0, 0, 0};
        SIMT_UNROLL for (int w = 0; w < WARPS; w++) largest =
            fmaxf(largest, maxima.load(w * ROWS + r));
        SIMT_UNROLL for (int w = 0; w < WARPS; w++)
        {
            float scale = tensor_rescale(maxima.load(w * ROWS + r), largest);
            scale = pass > PASS_SMALL ? 1 : scale;
            struct simt_words x = from.load16((w * ROWS + r) * joined<value_parts>::pitch + d);
            sum += weights.load(w * ROWS + r) * scale;
            SIMT_UNROLL for (int j = 0; j < 4; j++) mean[j] +=
                simt_f32_from_bits(x.word[j]) * scale;
        }
        int64_t at = (row / p.group * p.a.heads + t.key_head * p.group + row % p.group) * p.splits +
                     block_split();
        float *to = p.means + at * width + d;
        bool is_finite = true;
        SIMT_UNROLL for (int j = 0; j < 4; j++)
        {
            if (pass > PASS_SMALL)
                mean[j] = tensor_mark(simt_load(to + j), mean[j], pass);
            else /* no weights at all: 0 here, NaN where all splits have none */
                mean[j] = sum == 0 ? mean[j] : mean[j] / sum;
            is_finite = is_finite && tensor_is_finite(mean[j]);
        }
        if (!is_finite)
            simt_atomic_or(bad.at(pass), 1u << r);
        simt_store16(to, words_of(mean));
        if (d == 0 && pass <= PASS_SMALL) {
            simt_store(p.tails + 2 * at, largest);
            simt_store(p.tails + 2 * at + 1, pass == PASS_SMALL ? sum / TENSOR_SMALL : sum);
        }
    }
}

SIMT_DEVICE struct decode_tile tile_of(const struct decode_call &p)
{
    struct decode_tile t;
    int64_t begin = split_begin(block_split()), end = split_begin(block_split() + 1);
    int64_t count = attention_start_of(p.a) + 1;
    int left = static_cast<int>(p.a.tokens) * p.group;
    t.first_key = begin;
    int index = static_cast<int>(simt_block_index().x);
    t.key_head = index / p.tiles; /* tiles of the same keys beside each other: L2 serves them */
    t.first_row = index % p.tiles * ROWS;
    t.num_rows = left - t.first_row < ROWS ? left - t.first_row : ROWS;
    int64_t last = count + (t.first_row + t.num_rows - 1) / p.group;
    t.num_keys = tensor_keys_left(last < end ? last : end, begin);
    t.keys = tensor_keys_left(count + (t.first_row + simt_lane() / 4) / p.group, begin);
    return t;
}

template <int value_parts> SIMT_KERNEL(attention_decode)(struct decode_call p)
{
    SIMT_SHARED(float, maxima, WARPS *ROWS);
    SIMT_SHARED(float, weights, WARPS *ROWS);
    SIMT_SHARED(unsigned, bad, NUM_PASSES);
    int query_words = p.key_parts * PART * ROWS;
    SIMT_SHARED_DYNAMIC(uint32_t, queries, 0, query_words);
    SIMT_SHARED_DYNAMIC(uint32_t, rings, query_words * 4, RING_WORDS);
    struct simt_shared<uint32_t> ring =
        rings.slice(simt_warp() * STAGES * STAGE_WORDS, STAGES * STAGE_WORDS);
    simt_wait_for_stream();
    simt_release_stream();
    struct decode_tile t = tile_of(p);
    if (t.num_keys == 0)
        return; /* beyond the last query of the tile; attention_decode_join does not look here */
    if (simt_thread() < NUM_PASSES)
        bad.store(simt_thread(), 0);
    unsigned rows = 0xffu;
    SIMT_ROLLED for (int pass = PASS_PLAIN; pass < NUM_PASSES; pass++)
    {
        struct decode_copies copies = begin_copies(p, t);
        SIMT_ROLLED for (int i = 0; i < STAGES - 1; i++)
            copy_next(p, t, ring, p.key_parts + value_parts, &copies);
        if (pass == PASS_PLAIN) {
            stage_queries(p, t, queries);
            simt_sync_block();
        }
        struct decode_state state = {-INFINITY, 0};
        float sums[8 * value_parts][4];
        SIMT_UNROLL for (int i = 0; i < 32 * value_parts; i++) sums[i / 4][i % 4] = 0;
        take_steps<value_parts>(p, t, queries, ring, pass, &copies, &state, sums);
        simt_sync_block(); /* all rings are read */
        put_sums<value_parts>(t, state, sums, rings, maxima, weights);
        simt_sync_block();
        join_warps<value_parts>(p, t, pass, rows, rings, maxima, weights, bad);
        simt_sync_block();
        if (pass == PASS_PLAIN && bad.load(PASS_PLAIN) == 0)
            return;
        rows = pass == PASS_FINITE ? bad.load(PASS_FINITE) : bad.load(PASS_PLAIN);
    }
}

/* The largest number over the block's threads, or their sum, the same in every thread. */
SIMT_DEVICE float block_largest(struct simt_shared<float> partial, float x)
{
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) x =
        fmaxf(x, simt_shuffle_xor(SIMT_ALL_LANES, x, bits));
    if (simt_lane() == 0)
        partial.store(simt_warp(), x);
    simt_sync_block();
    SIMT_UNROLL for (int i = 0; i < JOIN_THREADS / 32; i++) x = fmaxf(x, partial.load(i));
    return x;
}

SIMT_DEVICE float block_sum(struct simt_shared<float> partial, float x)
{
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) x +=
        simt_shuffle_xor(SIMT_ALL_LANES, x, bits);
    if (simt_lane() == 0)
        partial.store(simt_warp(), x);
    simt_sync_block();
    float sum = 0;
    SIMT_UNROLL for (int i = 0; i < JOIN_THREADS / 32; i++) sum += partial.load(i);
    return sum;
}

SIMT_DEVICE float split_weight(const float *tails, int64_t split, float largest)
{
    return simt_load(tails + 2 * split + 1) * tensor_rescale(simt_load(tails + 2 * split), largest);
}

/* 4 columns of some splits, JOIN_LANES apart. */
struct join_batch {
    struct simt_words mean[JOIN_BATCH];
};

SIMT_DEVICE struct join_batch load_batch(const float *means, int64_t width, int64_t first,
                                         int64_t splits)
{
    struct join_batch b;
    SIMT_UNROLL for (int i = 0; i < JOIN_BATCH; i++)
    {
        b.mean[i] = {{0, 0, 0, 0}};
        if (first + i * JOIN_LANES < splits)
            b.mean[i] = simt_load16(means + (first + i * JOIN_LANES) * width);
    }
    return b;
}

/* A block joins the splits of 64 columns of a row: a thread 4 columns of every JOIN_LANES-th. The
 * first means are under way while the weights are found. */
SIMT_KERNEL(attention_decode_join)(struct decode_call p)
{
    SIMT_SHARED(float, partial, 2 * JOIN_THREADS / 32);
    SIMT_SHARED(float, kept, JOIN_MOST);
    SIMT_SHARED(float, sums, JOIN_LANES *PART);
    int row = static_cast<int>(simt_block_index().x), heads = static_cast<int>(p.a.heads);
    int token = row / heads, thread = simt_thread();
    int lane = thread / (PART / 4), d = thread % (PART / 4) * 4;
    int64_t column = static_cast<int64_t>(simt_block_index().y) * PART;
    const float *tails = p.tails + row * p.splits * 2;
    const float *means = p.means + row * p.splits * p.a.value_width + column + d;
    simt_wait_for_stream();
    simt_release_stream();
    int64_t splits = ATTENTION_DECODE_SPLITS(attention_start_of(p.a) + token + 1);
    float largest = -INFINITY, sum = 0, total[4] = {0, 0, 0, 0};
    struct join_batch batch = load_batch(means, p.a.value_width, lane, splits);
    for (int64_t i = thread; i < splits; i += JOIN_THREADS)
        largest = fmaxf(largest, simt_load(tails + 2 * i));
    largest = block_largest(partial, largest);
    for (int64_t i = thread; i < splits; i += JOIN_THREADS) {
        float weight = split_weight(tails, i, largest);
        sum += weight;
        if (i < JOIN_MOST)
            kept.store(i, weight);
    }
    float share = 1 / block_sum(partial.slice(JOIN_THREADS / 32, JOIN_THREADS / 32), sum);
    for (int64_t first = lane;;) {
        SIMT_UNROLL for (int i = 0; i < JOIN_BATCH; i++)
        {
            int64_t split = first + i * JOIN_LANES;
            if (split >= splits)
                continue;
            float weight =
                split < JOIN_MOST ? kept.load(split) : split_weight(tails, split, largest);
            SIMT_UNROLL for (int j = 0; j < 4; j++) total[j] =
                fmaf(weight * share, simt_f32_from_bits(batch.mean[i].word[j]), total[j]);
        }
        first += JOIN_BATCH * JOIN_LANES;
        if (first >= splits)
            break;
        batch = load_batch(means, p.a.value_width, first, splits);
    }
    SIMT_UNROLL for (int j = 0; j < 4; j++) sums.store(lane * PART + d + j, total[j]);
    simt_sync_block();
    if (thread >= PART)
        return;
    float value = 0;
    SIMT_UNROLL for (int i = 0; i < JOIN_LANES; i++) value += sums.load(i * PART + thread);
    tensor_store(p.a, token, row % heads, column + thread, value);
}

template <int value_parts>
static assay_status launch_decode(const struct decode_call &p, struct simt_launch *launch)
{
    return SIMT_LAUNCH(launch, attention_decode<value_parts>, p);
}

static assay_status attention_decode_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_attention_args *a = static_cast<const struct assay_attention_args *>(args);
    struct decode_call p = {attention_call_of(a),
                            static_cast<float *>(launch->workspace),
                            NULL,
                            ATTENTION_DECODE_SPLITS(a->start + a->q.extent[0]),
                            static_cast<int>(a->q.extent[2] / PART),
                            static_cast<int>(a->q.extent[1] / a->k_cache.extent[1]),
                            0,
                            tensor_factor(a->scale)};
    int64_t rows = p.a.tokens * p.a.group;
    if (rows == 0)
        return ASSAY_OK;
    p.tails = p.means + p.a.tokens * p.a.heads * p.splits * p.a.value_width;
    p.tiles = static_cast<int>((rows + ROWS - 1) / ROWS);
    launch->grid = {static_cast<unsigned>(p.a.key_heads * p.tiles), static_cast<unsigned>(p.splits),
                    1};
    launch->block = {THREADS, 1, 1};
    launch->overlaps = true;
    launch->shared_bytes = sizeof(uint32_t) * (RING_WORDS + p.key_parts * PART * ROWS);
    assay_status status = p.a.value_width == PART       ? launch_decode<1>(p, launch)
                          : p.a.value_width == 2 * PART ? launch_decode<2>(p, launch)
                                                        : launch_decode<4>(p, launch);
    launch->grid = {static_cast<unsigned>(p.a.tokens * p.a.heads),
                    static_cast<unsigned>(p.a.value_width / PART), 1};
    launch->block = {JOIN_THREADS, 1, 1};
    launch->shared_bytes = 0;
    if (status == ASSAY_OK)
        status = SIMT_LAUNCH(launch, attention_decode_join, p);
    launch->overlaps = false;
    return status;
}

DEVICE_ROUTE_RUN(attention_route_decode, &assay_op_attention, attention_decode_launch)
