/* SPDX-License-Identifier: MIT
 *
 * attention of few tokens, in tensor cores: 8 query rows (token, head) of one key head are the 8
 * columns of the second operand, keys or columns of values the 16 rows of the first. Queries and
 * weights are in two parts, high and low, a product each. Keys are split over blocks at fixed
 * places, a split's steps of 32 keys over its warps in turn; each warp keeps sums of its own, the
 * block joins them, and a second kernel joins the splits. A row's sums take the same path in every
 * tile and at every T: its bits depend neither on the other rows nor on the launch's bound.
 *
 * A warp has a ring of its own in shared memory and waits for no other: a stage is 64 columns of 32
 * keys or values, whole lines of memory, whose 16-byte pieces stand at places that let ldmatrix
 * read without bank conflicts. Weights come out of the scores' product with keys along lanes and go
 * into the values' product with keys along registers: they pass through the stage of the last keys,
 * which has been read.
 *
 * Profile a16x2. Bound: attention_bound.md. Moves the attended keys and values once for each tile
 * of rows (later ones from L2) and 2 (Dv + 2) floats a row and split; 256 mma of 4096 operations a
 * step, D = Dv = 256. On an H200, 4 key heads of ratio 6, both kernels: 140 us at 131,072 keys, 96
 * % of the copy bandwidth; 42 us at 32,768, 80 %; 12 us at 4,096; 9 us at 512. What is left there
 * is latency: 6.4 us of a block's first step (1 us each the queries and the first copies, 3 us
 * scores, weights and values, 1.5 us the join of warps) and 2.3 us of the join of splits.
 */
#include "ops/attention/attention_tensor.cuh"

enum {
    WARPS = ATTENTION_DECODE_WARPS,
    THREADS = WARPS * 32,
    ROWS = ATTENTION_DECODE_ROWS,
    RESIDENT = 3, /* blocks of a multiprocessor */
    PART = 64,    /* columns of a stage */
    PART_BYTES = 2 * PART,
    ROUND = WARPS * STEP_KEYS, /* keys from a warp's step to its next */
    STAGES = 4,
    KEY_WORDS = PART / 2, /* of a key in a stage */
    PIECES = 8,           /* 16-byte pieces of a lane in a stage: of every fourth key */
    PIECE_WORDS = 4 * KEY_WORDS,
    SLICE_WORDS = 16 * KEY_WORDS, /* 16 keys: the first operand of a product */
    CHUNK_WORDS = 8,              /* 16 columns of a key */
    STAGE_WORDS = STEP_KEYS * KEY_WORDS,
    RING_WORDS = WARPS * STAGES * STAGE_WORDS,
    QUERY_WORDS = 32 * 4,                   /* 16 columns: 4 words of a lane */
    MOST_QUERIES = 256 / 16 * 32 / THREADS, /* of a thread */
    WEIGHT_WORDS = STEP_TILES * 32,         /* of one part: a word of each lane for 8 keys */
    JOIN_LANES = 16,                        /* that share the splits of 64 columns */
    JOIN_BATCH = 8, /* more of them cost registers, and blocks where there are many rows */
    JOIN_ROUND = JOIN_LANES * JOIN_BATCH,
    JOIN_THREADS = JOIN_LANES * PART / 4
};

/* Of a row in a split. */
struct alignas(8) decode_tail {
    float largest, sum; /* m, sum of weights */
};

struct decode_call {
    struct attention_call a;
    float *means;              /* [T Hq, splits, Dv] */
    struct decode_tail *tails; /* [T Hq, splits] */
    int64_t splits;            /* the bound */
    int key_parts, group;      /* of 64 columns; a.group */
    float factor;
};

/* What one block works on. A lane has rows 2 (lane % 4) and the next of the tile. */
struct decode_tile {
    int64_t first_key, key_head;
    int first_row, num_rows; /* row: token * group + head of the group */
    int num_keys, keys[2];   /* of the split, for the last row and for the lane's */
};

/* A warp's copies: the lane's first piece of a step's keys and values, the step's first key in the
 * split, the next 64 columns and where they go in the ring. */
struct decode_copies {
    const unsigned char *k, *v;
    int first, part, stage;
};

/* Of the lane's rows. */
struct decode_state {
    float largest[2], sum[2]; /* m, sum of the weights of the lane's keys */
};

SIMT_DEVICE int64_t split_begin(int64_t i)
{
    return ATTENTION_DECODE_BEGIN(i);
}

/* The last splits first: they are the largest. */
SIMT_DEVICE int64_t block_split()
{
    return simt_grid_extent().z - 1 - simt_block_index().z;
}

SIMT_DEVICE int next_stage(int stage)
{
    return stage + 1 < STAGES ? stage + 1 : 0;
}

SIMT_DEVICE struct simt_words words_of(const float *x)
{
    return {{simt_f32_bits(x[0]), simt_f32_bits(x[1]), simt_f32_bits(x[2]), simt_f32_bits(x[3])}};
}

SIMT_DEVICE float float_of(float x)
{
    return x;
}

SIMT_DEVICE float float_of(uint16_t word)
{
    return simt_bf16_to_f32(word);
}

/* Elements d, d + 1, d + 8 and d + 9 of the chunks of 16 columns that a warp stages. */
template <typename T>
SIMT_DEVICE void load_queries(const unsigned char *row, int chunks, float (*x)[4])
{
    const T *q = reinterpret_cast<const T *>(row) + simt_lane() % 4 * 2;
    SIMT_UNROLL for (int i = 0; i < MOST_QUERIES; i++)
    {
        int chunk = simt_warp() + i * WARPS;
        SIMT_UNROLL for (int j = 0; j < 4; j++)
        {
            x[i][j] = 0;
            if (chunk < chunks) /* y may be q: no read-only path */
                x[i][j] = float_of(simt_load(q + chunk * 16 + j / 2 * 8 + j % 2));
        }
    }
}

/* The queries as second operands: [16 columns][lane]{high, high, low, low}. */
SIMT_DEVICE void stage_queries(const struct decode_call &p, const struct decode_tile &t,
                               struct simt_shared<uint32_t> queries)
{
    float x[MOST_QUERIES][4];
    int lane = simt_lane(), row = t.first_row + lane / 4, chunks = p.key_parts * 4;
    const unsigned char *q =
        attention_row(p.a.q, row / p.group, t.key_head * p.group + row % p.group);
    int present = lane / 4 < t.num_rows ? chunks : 0;
    if (p.a.q.is_bf16)
        load_queries<uint16_t>(q, present, x);
    else
        load_queries<float>(q, present, x);
    SIMT_UNROLL for (int i = 0; i < MOST_QUERIES; i++)
    {
        struct simt_words w;
        int chunk = simt_warp() + i * WARPS;
        if (chunk >= chunks)
            break;
        tensor_split_pair(x[i], &w.word[0], &w.word[2]);
        tensor_split_pair(x[i] + 2, &w.word[1], &w.word[3]);
        queries.store16(chunk * QUERY_WORDS + lane * 4, w);
    }
}

/* Piece i of a lane is of key 4 i + lane / 8. */
SIMT_DEVICE struct decode_copies begin_copies(const struct decode_call &p,
                                              const struct decode_tile &t)
{
    int first = simt_warp() * STEP_KEYS, piece = simt_lane() % 8 * 16;
    int64_t key = t.first_key + first + simt_lane() / 8;
    return {attention_row(p.a.k, key, t.key_head) + piece,
            attention_row(p.a.v, key, t.key_head) + piece, first, 0, 0};
}

/* One stage, zeros for keys past the split's last. Piece c of key j goes to place c ^ j % 8 of the
 * key's 8: pieces c of 8 keys beside each other lie in different banks. */
template <bool is_aligned>
SIMT_DEVICE void copy_stage(const struct decode_call &p, const struct decode_tile &t,
                            struct simt_shared<uint32_t> ring, const struct decode_copies &c)
{
    bool is_key = c.part < p.key_parts;
    const unsigned char *from =
        is_key ? c.k + c.part * PART_BYTES : c.v + (c.part - p.key_parts) * PART_BYTES;
    int64_t step = 4 * (is_key ? p.a.k.outer_stride : p.a.v.outer_stride);
    int key = simt_lane() / 8, left = t.num_keys - c.first - key;
    int place[2] = {key * KEY_WORDS + (simt_lane() % 8 ^ key) * 4 + c.stage * STAGE_WORDS, 0};
    place[1] = place[0] ^ 16;
    if (is_aligned) {
        SIMT_UNROLL for (int i = 0; i < PIECES; i++)
        {
            simt_copy_async_part<16>(ring.at(place[i % 2] + i * PIECE_WORDS), from,
                                     4 * i < left ? 16 : 0);
            from += step;
        }
    } else {
        SIMT_ROLLED for (int i = 0; i < PIECES; i++) tensor_gather(
            ring, (place[0] ^ i % 2 * 16) + i * PIECE_WORDS, from + i * step, 4 * i < left);
    }
}

/* Copies what comes next, if anything does, and closes the group. */
template <bool is_aligned>
SIMT_DEVICE void copy_next(const struct decode_call &p, const struct decode_tile &t,
                           struct simt_shared<uint32_t> ring, int parts, struct decode_copies *c)
{
    if (c->first < t.num_keys)
        copy_stage<is_aligned>(p, t, ring, *c);
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

/* Waits for a stage, then fills the one before it, which all lanes have read. */
template <bool is_aligned>
SIMT_DEVICE void await_stage(const struct decode_call &p, const struct decode_tile &t,
                             struct simt_shared<uint32_t> ring, int parts, struct decode_copies *c)
{
    simt_copy_wait<STAGES - 2>();
    simt_sync_warp(SIMT_ALL_LANES);
    copy_next<is_aligned>(p, t, ring, parts, c);
}

/* Adds the products of 64 columns: products[2 i + part] are of keys 16 i .. 16 i + 15. */
SIMT_DEVICE void add_scores(struct simt_shared<uint32_t> queries, struct simt_shared<uint32_t> ring,
                            int part, int stage, float (*products)[4])
{
    int lane = simt_lane();
    int at = lane % 16 * KEY_WORDS + (lane / 16 ^ lane % 8) * 4, base = stage * STAGE_WORDS;
    SIMT_UNROLL for (int chunk = 0; chunk < PART / 16; chunk++)
    {
        uint32_t k[STEP_SLICES][4];
        struct simt_words q = queries.load16((part * 4 + chunk) * QUERY_WORDS + lane * 4);
        SIMT_UNROLL for (int i = 0; i < STEP_SLICES; i++)
            simt_ldmatrix<4>(k[i], ring.at(base + i * SLICE_WORDS + (at ^ chunk * CHUNK_WORDS)));
        SIMT_UNROLL for (int j = 0; j < PLANES; j++)
            SIMT_UNROLL for (int i = 0; i < STEP_SLICES; i++)
                simt_mma_bf16(products[2 * i + j], k[i], q.word + 2 * j, products[2 * i + j]);
    }
}

/* Puts others in the place of a stage's values. */
SIMT_DEVICE void replace_values(struct simt_shared<uint32_t> ring, int stage, int pass)
{
    int at = stage * STAGE_WORDS + simt_lane() * 4;
    SIMT_ROLLED for (int i = 0; i < PIECES; i++)
    {
        struct simt_words v = ring.load16(at + i * PIECE_WORDS);
        SIMT_UNROLL for (int j = 0; j < 4; j++) v.word[j] = tensor_stand_in(v.word[j], pass);
        ring.store16(at + i * PIECE_WORDS, v);
    }
    simt_sync_warp(SIMT_ALL_LANES);
}

/* Adds the weighted values of 64 columns: sums[i] are of columns 16 i .. 16 i + 15. */
SIMT_DEVICE void add_values(struct simt_shared<uint32_t> ring, int stage,
                            const uint32_t (*weights)[STEP_TILES], float (*sums)[4])
{
    int lane = simt_lane(), key = lane / 16 * 8 + lane % 8;
    int at = key * KEY_WORDS + (lane / 8 % 2 ^ lane % 8) * 4, base = stage * STAGE_WORDS;
    SIMT_UNROLL for (int slice = 0; slice < STEP_SLICES; slice++)
    {
        uint32_t v[PART / 16][4];
        SIMT_UNROLL for (int i = 0; i < PART / 16; i++) simt_ldmatrix_transposed<4>(
            v[i], ring.at(base + slice * SLICE_WORDS + (at ^ i * CHUNK_WORDS)));
        SIMT_UNROLL for (int j = 0; j < PLANES; j++) SIMT_UNROLL for (int i = 0; i < PART / 16; i++)
            simt_mma_bf16(sums[i], v[i], weights[j] + 2 * slice, sums[i]);
    }
}

/* Products of a step become scores, -infinity where the row has no such key: element (i, j) is of
 * key 16 (i / 2) + 8 (i % 2) + lane / 4 and the lane's row j. A product that is not finite is that
 * of the high part: the low part met an infinity there, too, with any sign. */
SIMT_DEVICE void finish_scores(const float (*products)[4], float factor, const int *keys,
                               float (*x)[2])
{
    SIMT_UNROLL for (int i = 0; i < STEP_TILES; i++) SIMT_UNROLL for (int j = 0; j < 2; j++)
    {
        int e = i % 2 * 2 + j;
        float high = products[i / 2 * 2][e], dot = high + products[i / 2 * 2 + 1][e];
        x[i][j] = (tensor_is_finite(high) ? dot : high) * factor;
        if (i * 8 >= keys[j])
            x[i][j] = -INFINITY;
    }
}

/* Takes a step's scores into the state; gives what the sums are multiplied by. */
SIMT_DEVICE void take_largest(const float (*x)[2], struct decode_state *state, float *scale)
{
    SIMT_UNROLL for (int j = 0; j < 2; j++)
    {
        float largest = fmaxf(fmaxf(x[0][j], x[1][j]), fmaxf(x[2][j], x[3][j]));
        SIMT_UNROLL for (int bits = 4; bits < 32; bits *= 2) largest =
            fmaxf(largest, simt_shuffle_xor(SIMT_ALL_LANES, largest, bits));
        largest = fmaxf(state->largest[j], ceilf(largest));
        scale[j] = tensor_rescale(state->largest[j], largest);
        state->largest[j] = largest;
        state->sum[j] *= scale[j];
    }
}

/* Scores become weights, which are added to the state. In a pass that counts: ones and zeros. */
SIMT_DEVICE void weigh(float (*x)[2], const int *keys, int pass, struct decode_state *state)
{
    SIMT_UNROLL for (int j = 0; j < 2; j++)
    {
        float m = state->largest[j] == -INFINITY ? 0 : state->largest[j];
        SIMT_UNROLL for (int i = 0; i < STEP_TILES; i++)
        {
            x[i][j] = exp2f(2 * (x[i][j] - m));
            if (pass >= PASS_SMALL)
                x[i][j] = tensor_pass_weight(x[i][j], i * 8 < keys[j], pass);
            state->sum[j] += x[i][j];
        }
    }
}

/* Weights as second operands, by way of 1 KiB that nothing else uses meanwhile. */
SIMT_DEVICE void turn_weights(const float (*x)[2], struct simt_shared<uint32_t> memory,
                              uint32_t (*weights)[STEP_TILES])
{
    simt_sync_warp(SIMT_ALL_LANES);
    SIMT_UNROLL for (int i = 0; i < STEP_TILES; i++)
    {
        uint32_t high, low;
        tensor_weight_parts(x[i], &high, &low);
        memory.store(i * 32 + simt_lane(), high);
        memory.store(WEIGHT_WORDS + i * 32 + simt_lane(), low);
    }
    simt_sync_warp(SIMT_ALL_LANES);
    SIMT_UNROLL for (int j = 0; j < PLANES; j++)
        simt_ldmatrix_transposed<4>(weights[j], memory.at(j * WEIGHT_WORDS + simt_lane() * 4));
}

/* A step's products are complete. `stage` held the last of its keys. */
template <int value_parts>
SIMT_DEVICE void weigh_step(const struct decode_call &p, const struct decode_tile &t, int first,
                            int pass, struct simt_shared<uint32_t> ring, int stage,
                            float (*products)[4], struct decode_state *state,
                            uint32_t (*weights)[STEP_TILES], float (*sums)[4])
{
    float x[STEP_TILES][2], scale[2];
    int begin = first + simt_lane() / 4, keys[2] = {t.keys[0] - begin, t.keys[1] - begin};
    finish_scores(products, p.factor, keys, x);
    take_largest(x, state, scale);
    weigh(x, keys, pass, state);
    turn_weights(x, ring.slice(stage * STAGE_WORDS, STAGE_WORDS), weights);
    if (!simt_all(SIMT_ALL_LANES, scale[0] == 1 && scale[1] == 1) && pass <= PASS_SMALL)
        SIMT_UNROLL for (int i = 0; i < 16 * value_parts; i++) sums[i / 4][i % 4] *= scale[i % 2];
    SIMT_UNROLL for (int i = 0; i < 4 * STEP_TILES; i++) products[i / 4][i % 4] = 0;
}

/* The warp's share of the split. Copies run STAGES - 1 stages ahead. */
template <int value_parts, bool is_aligned>
SIMT_DEVICE void take_steps(const struct decode_call &p, const struct decode_tile &t,
                            struct simt_shared<uint32_t> queries, struct simt_shared<uint32_t> ring,
                            int pass, struct decode_copies *copies, struct decode_state *state,
                            float (*sums)[4])
{
    float products[STEP_TILES][4];
    uint32_t weights[PLANES][STEP_TILES];
    int parts = p.key_parts + value_parts, stage = 0;
    SIMT_UNROLL for (int i = 0; i < 4 * STEP_TILES; i++) products[i / 4][i % 4] = 0;
    SIMT_ROLLED for (int first = simt_warp() * STEP_KEYS; first < t.num_keys; first += ROUND)
    {
        int last = stage;
        SIMT_ROLLED for (int part = 0; part < p.key_parts; part++)
        {
            await_stage<is_aligned>(p, t, ring, parts, copies);
            add_scores(queries, ring, part, stage, products);
            last = stage;
            stage = next_stage(stage);
        }
        weigh_step<value_parts>(p, t, first, pass, ring, last, products, state, weights, sums);
        SIMT_UNROLL for (int part = 0; part < value_parts; part++)
        {
            await_stage<is_aligned>(p, t, ring, parts, copies);
            if (pass != PASS_PLAIN)
                replace_values(ring, stage, pass);
            add_values(ring, stage, weights, sums + 4 * part);
            stage = next_stage(stage);
        }
    }
    simt_copy_wait<0>();
    SIMT_UNROLL for (int j = 0; j < 2; j++) SIMT_UNROLL for (int bits = 4; bits < 32; bits *= 2)
        state->sum[j] += simt_shuffle_xor(SIMT_ALL_LANES, state->sum[j], bits);
}

/* Words of a row of sums in shared memory: rows beside each other start in other banks. */
template <int value_parts> struct joined {
    static const int pitch = value_parts * PART + 4;
};

/* The warp's sums to shared memory. */
template <int value_parts>
SIMT_DEVICE void put_sums(const struct decode_tile &t, const struct decode_state &state,
                          const float (*sums)[4], struct simt_shared<uint32_t> to,
                          struct simt_shared<float> maxima, struct simt_shared<float> weights)
{
    SIMT_UNROLL for (int j = 0; j < 2; j++)
    {
        int row = simt_lane() % 4 * 2 + j, r = simt_warp() * ROWS + row;
        if (simt_lane() < 4) {
            maxima.store(r, state.largest[j]);
            weights.store(r, state.sum[j]);
        }
        if (row >= t.num_rows)
            continue;
        int at = r * joined<value_parts>::pitch + simt_lane() / 4;
        SIMT_UNROLL for (int i = 0; i < 8 * value_parts; i++)
            to.store(at + i * 8, simt_f32_bits(sums[i / 2][i % 2 * 2 + j]));
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
        float share = sum == 0 ? 1 : 1 / sum; /* no weights at all: 0 here, NaN in the join */
        int64_t at = (row / p.group * p.a.heads + t.key_head * p.group + row % p.group) * p.splits +
                     block_split();
        float *to = p.means + at * width + d;
        bool is_finite = true;
        SIMT_UNROLL for (int j = 0; j < 4; j++)
        {
            if (pass > PASS_SMALL)
                mean[j] = tensor_mark(simt_load(to + j), mean[j], pass);
            else
                mean[j] *= share;
            is_finite = is_finite && tensor_is_finite(mean[j]);
        }
        if (!is_finite)
            simt_atomic_or(bad.at(pass), 1u << r);
        simt_store16(to, words_of(mean));
        if (d == 0 && pass <= PASS_SMALL) {
            simt_store(&p.tails[at].largest, largest);
            simt_store(&p.tails[at].sum, pass == PASS_SMALL ? sum / TENSOR_SMALL : sum);
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
    t.key_head = simt_block_index().y;
    t.first_row = static_cast<int>(simt_block_index().x) * ROWS;
    t.num_rows = left - t.first_row < ROWS ? left - t.first_row : ROWS;
    int64_t last = count + (t.first_row + t.num_rows - 1) / p.group;
    t.num_keys = tensor_keys_left(last < end ? last : end, begin);
    SIMT_UNROLL for (int j = 0; j < 2; j++) t.keys[j] =
        tensor_keys_left(count + (t.first_row + simt_lane() % 4 * 2 + j) / p.group, begin);
    return t;
}

/* What the warps of a block share. */
struct decode_memory {
    struct simt_shared<uint32_t> queries, rings;
    struct simt_shared<float> maxima, weights; /* [warp][row] */
    struct simt_shared<unsigned> bad;          /* [pass]: rows whose means are not finite */
};

template <int value_parts, bool is_aligned>
SIMT_DEVICE void take_pass(const struct decode_call &p, const struct decode_tile &t,
                           const struct decode_memory &m, int pass, unsigned rows)
{
    struct simt_shared<uint32_t> ring =
        m.rings.slice(simt_warp() * STAGES * STAGE_WORDS, STAGES * STAGE_WORDS);
    struct decode_copies copies = begin_copies(p, t);
    SIMT_ROLLED for (int i = 0; i < STAGES - 1; i++)
        copy_next<is_aligned>(p, t, ring, p.key_parts + value_parts, &copies);
    if (pass == PASS_PLAIN) {
        stage_queries(p, t, m.queries);
        simt_sync_block();
    }
    struct decode_state state = {{-INFINITY, -INFINITY}, {0, 0}};
    float sums[4 * value_parts][4];
    SIMT_UNROLL for (int i = 0; i < 16 * value_parts; i++) sums[i / 4][i % 4] = 0;
    take_steps<value_parts, is_aligned>(p, t, m.queries, ring, pass, &copies, &state, sums);
    simt_sync_block(); /* all rings are read */
    put_sums<value_parts>(t, state, sums, m.rings, m.maxima, m.weights);
    simt_sync_block();
    join_warps<value_parts>(p, t, pass, rows, m.rings, m.maxima, m.weights, m.bad);
    simt_sync_block();
}

/* The plain pass has code of its own, without what the others need: where each step is taken once,
 * fetching instructions counts. */
template <int value_parts, bool is_aligned>
SIMT_KERNEL_RESIDENT(attention_decode, THREADS, RESIDENT)
(struct decode_call p)
{
    SIMT_SHARED(float, maxima, WARPS *ROWS);
    SIMT_SHARED(float, weights, WARPS *ROWS);
    SIMT_SHARED(unsigned, bad, NUM_PASSES);
    int query_words = p.key_parts * PART * ROWS;
    SIMT_SHARED_DYNAMIC(uint32_t, queries, 0, query_words);
    SIMT_SHARED_DYNAMIC(uint32_t, rings, query_words * 4, RING_WORDS);
    struct decode_memory m = {queries, rings, maxima, weights, bad};
    simt_wait_for_stream();
    simt_release_stream();
    struct decode_tile t = tile_of(p);
    if (t.num_keys == 0)
        return; /* beyond the last query of the tile; attention_decode_join does not look here */
    if (simt_thread() < NUM_PASSES)
        bad.store(simt_thread(), 0);
    take_pass<value_parts, is_aligned>(p, t, m, PASS_PLAIN, 0xffu);
    unsigned rows = bad.load(PASS_PLAIN);
    if (rows == 0)
        return;
    SIMT_ROLLED for (int pass = PASS_FINITE; pass < NUM_PASSES; pass++)
    {
        take_pass<value_parts, is_aligned>(p, t, m, pass, rows);
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

SIMT_DEVICE float split_weight(struct decode_tail tail, float largest)
{
    return tail.sum * tensor_rescale(tail.largest, largest);
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

/* A block joins the splits of 64 columns of a row: a thread 4 columns of every JOIN_LANES-th. All
 * that it needs first is asked for at once: a tail, means and the gate. */
SIMT_KERNEL(attention_decode_join)(struct decode_call p)
{
    SIMT_SHARED(float, partial, 2 * JOIN_THREADS / 32);
    SIMT_SHARED(float, shares, JOIN_ROUND);
    SIMT_SHARED(float, sums, JOIN_LANES *PART);
    int row = static_cast<int>(simt_block_index().x), heads = static_cast<int>(p.a.heads);
    int token = row / heads, thread = simt_thread();
    int lane = thread / (PART / 4), d = thread % (PART / 4) * 4;
    int64_t column = static_cast<int64_t>(simt_block_index().y) * PART;
    const struct decode_tail *tails = p.tails + row * p.splits;
    const float *means = p.means + row * p.splits * p.a.value_width + column + d;
    simt_wait_for_stream();
    simt_release_stream();
    int64_t splits = ATTENTION_DECODE_SPLITS(attention_start_of(p.a) + token + 1);
    struct decode_tail own = {-INFINITY, 0};
    if (thread < JOIN_ROUND && thread < splits)
        own = simt_load(tails + thread);
    struct join_batch batch = load_batch(means, p.a.value_width, lane, splits);
    float gate = thread < PART ? tensor_gate(p.a, token, row % heads, column + thread) : 1;
    float largest = own.largest, total[4] = {0, 0, 0, 0};
    SIMT_ROLLED for (int64_t i = thread + JOIN_ROUND; i < splits; i += JOIN_THREADS) largest =
        fmaxf(largest, simt_load(tails + i).largest);
    largest = block_largest(partial, largest);
    float weight = split_weight(own, largest), sum = weight;
    SIMT_ROLLED for (int64_t i = thread + JOIN_ROUND; i < splits; i += JOIN_THREADS) sum +=
        split_weight(simt_load(tails + i), largest);
    float share = 1 / block_sum(partial.slice(JOIN_THREADS / 32, JOIN_THREADS / 32), sum);
    SIMT_ROLLED for (int64_t first = 0;;)
    {
        if (thread < JOIN_ROUND)
            shares.store(thread, weight * share);
        simt_sync_block();
        SIMT_UNROLL for (int i = 0; i < JOIN_BATCH; i++) SIMT_UNROLL for (int j = 0; j < 4; j++)
            total[j] = fmaf(shares.load(lane + i * JOIN_LANES),
                            simt_f32_from_bits(batch.mean[i].word[j]), total[j]);
        first += JOIN_ROUND;
        if (first >= splits)
            break;
        batch = load_batch(means, p.a.value_width, first + lane, splits);
        weight = 0;
        if (thread < JOIN_ROUND && first + thread < splits)
            weight = split_weight(simt_load(tails + first + thread), largest);
        simt_sync_block();
    }
    SIMT_UNROLL for (int j = 0; j < 4; j++) sums.store(lane * PART + d + j, total[j]);
    simt_sync_block();
    if (thread >= PART)
        return;
    float value = 0;
    SIMT_UNROLL for (int i = 0; i < JOIN_LANES; i++) value += sums.load(i * PART + thread);
    tensor_put(p.a, token, row % heads, column + thread, value * gate);
}

template <int value_parts>
static assay_status launch_decode(const struct decode_call &p, struct simt_launch *launch)
{
    return p.a.k.is_aligned && p.a.v.is_aligned
               ? SIMT_LAUNCH(launch, (attention_decode<value_parts, true>), p)
               : SIMT_LAUNCH(launch, (attention_decode<value_parts, false>), p);
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
                            tensor_factor(a->scale)};
    int64_t rows = p.a.tokens * p.a.group;
    if (rows == 0)
        return ASSAY_OK;
    p.tails = reinterpret_cast<struct decode_tail *>(p.means + p.a.tokens * p.a.heads * p.splits *
                                                                   p.a.value_width);
    /* Tiles of the same keys beside each other: L2 serves them. */
    launch->grid = {static_cast<unsigned>((rows + ROWS - 1) / ROWS),
                    static_cast<unsigned>(p.a.key_heads), static_cast<unsigned>(p.splits)};
    launch->block = {THREADS, 1, 1};
    launch->overlaps = true;
    launch->shared_bytes =
        sizeof(uint32_t) * static_cast<size_t>(RING_WORDS + p.key_parts * PART * ROWS);
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
