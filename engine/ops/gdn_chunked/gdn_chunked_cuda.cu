/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked, in binary32 without tensor cores. Per head and chunk of n tokens:
 *
 *   chunk_matrices   a block a chunk and head: the decays between any two tokens, and with them
 *                      solve_ij = beta_i (k_i . k_j) decay_ij   (j < i)
 *                      mix_ij   = (scale q_i . k_j) decay_ij    (j <= i)      zero elsewhere
 *                    Chunks do not depend on each other here.
 *   chunk_columns    a block a head and 32 columns of its state, which do not see each other,
 * through the chunks in turn: the products of k and q with the start state, then for every 16
 * tokens the substitution inside them, a thread a column, and what they give to the later tokens'
 * deltas and outputs; at last the state's update.
 *
 * The matrices lie in the workspace: as many chunks at a time as fit into it, a pair of launches
 * each. Between chunks the state is in its tensor, so that it is rounded once a chunk.
 *
 * Profiles f32 and state16. Bound: gdn_chunked_bound.md. Exponents are sums over (j, i] in binary64
 * and exp is taken there, chains of additions are dk, or dk + n for the state. Operations a token
 * and head: 6 dk dv + 2 n (dk + dv), 2 n dk more for every value head that shares a key head. The
 * state moves twice a chunk, from L2. Limited by binary32 arithmetic and shared memory's loads.
 * Speed on a device: not measured.
 */
#include "ops/gdn_chunked/gdn_chunked_routes.h"
#include "ops/gdn_recurrent/gdn_device.cuh"

enum {
    CHUNK_THREADS = 256,
    SUB = GDN_CHUNKED_SUB, /* tokens that are substituted at a time */
    TILE = 64,             /* rows of a tile: tokens, or rows of the state */
    DEPTH = 32,            /* of a staged tile, along the sum */
    PITCH = TILE + 4,      /* of a staged tile: 16-byte rows, few bank conflicts */
    GRAM = 4,              /* a thread's tokens i, and tokens j, of the matrices */
    COLUMNS = 32           /* of the state a block */
};

/* The chunks of one pair of launches. */
struct chunk_wave {
    struct gdn_tensors p;
    float *workspace; /* [heads, chunks] of `floats` */
    int64_t first;    /* token */
    int chunks;
    int chunk;  /* tokens a chunk */
    int padded; /* that, rounded up to whole SUB */
    int64_t floats;
};

/* What chunk_matrices makes of one chunk and head. */
struct chunk_scratch {
    float *solve, *mix; /* [padded, padded] */
    float *decay;       /* [padded] what is left of the start state after token i */
    float *remain;      /* [padded] what is left of token i at the end of the chunk */
    int64_t first;      /* token */
    int rows;
};

SIMT_DEVICE struct chunk_scratch chunk_scratch_of(const struct chunk_wave &w, int64_t head,
                                                  int chunk)
{
    struct chunk_scratch c;
    int64_t matrix = static_cast<int64_t>(w.padded) * w.padded;
    c.solve = w.workspace + (head * w.chunks + chunk) * w.floats;
    c.mix = c.solve + matrix;
    c.decay = c.mix + matrix;
    c.remain = c.decay + w.padded;
    c.first = w.first + static_cast<int64_t>(chunk) * w.chunk;
    int64_t left = w.p.tokens - c.first;
    c.rows = left < w.chunk ? static_cast<int>(left) : w.chunk;
    return c;
}

SIMT_DEVICE float words_float(struct simt_words words, int i)
{
    return simt_f32_from_bits(words.word[i]);
}

/* Of `left` rows or elements, those in a tile of `most`. */
SIMT_DEVICE int part(int64_t left, int most)
{
    return left < most ? static_cast<int>(left) : most;
}

/* DEPTH elements of `count` rows of q or k, from element d0 of tokens token, token + 1, ..., so
 * that tile[d * PITCH + i] is element d0 + d of token i. Rows go on with zeros to a multiple of
 * GRAM, elements to one of ROW_CHUNK. scale: of the values, taken in binary64. */
SIMT_DEVICE void stage_transposed(const struct gdn_tensors &p, const struct row_view &v,
                                  int64_t token, int64_t key_head, int count, int64_t d0,
                                  double scale, struct simt_shared<float> tile)
{
    for (int item = simt_thread(); item < TILE * DEPTH / ROW_CHUNK; item += CHUNK_THREADS) {
        int i = item % TILE, d = item / TILE * ROW_CHUNK;
        float x[ROW_CHUNK] = {};
        if (i >= (count + GRAM - 1) / GRAM * GRAM || d0 + d >= p.key_dim)
            continue;
        if (i < count)
            row_load_chunk<true>(v, gdn_row(v, token + i, key_head), d0 + d, p.key_dim, x);
        SIMT_UNROLL for (int e = 0; e < ROW_CHUNK; e++)
            tile.store((d + e) * PITCH + i, scale == 1 ? x[e] : static_cast<float>(x[e] * scale));
    }
}

/* ---- matrices ------------------------------------------------------------------------------- */

/* A thread a token j, and one for the start: sums of g over (j, i], each formed from the one
 * before; never a difference of two sums, which would cancel, and be NaN for g = -inf. The decays
 * go to where mix will be. */
SIMT_DEVICE void find_decays(const struct chunk_wave &w, const struct chunk_scratch &c,
                             int64_t head)
{
    for (int j = simt_thread() - 1; j < c.rows; j += CHUNK_THREADS) {
        double exponent = 0;
        if (j >= 0)
            simt_store(c.mix + static_cast<int64_t>(j) * w.padded + j, 1.0f);
        for (int i = j + 1; i < c.rows; i++) {
            exponent += static_cast<double>(gdn_gate(w.p.g, c.first + i, head));
            float decay = static_cast<float>(exp(exponent));
            simt_store(j < 0 ? c.decay + i : c.mix + static_cast<int64_t>(i) * w.padded + j, decay);
        }
        if (j >= 0)
            simt_store(c.remain + j, static_cast<float>(exp(exponent)));
    }
}

struct gram_sums {
    float kk[GRAM][GRAM], qk[GRAM][GRAM];
};

SIMT_DEVICE void gram_tile(struct simt_shared<float> k_rows, struct simt_shared<float> q_rows,
                           struct simt_shared<float> k_columns, int i, int j, int depth,
                           struct gram_sums &sums)
{
    for (int d = 0; d < depth; d++) {
        struct simt_words k = k_rows.load16(d * PITCH + i), q = q_rows.load16(d * PITCH + i);
        struct simt_words column = k_columns.load16(d * PITCH + j);
        SIMT_UNROLL for (int m = 0; m < GRAM; m++) SIMT_UNROLL for (int n = 0; n < GRAM; n++)
        {
            sums.kk[m][n] = fmaf(words_float(k, m), words_float(column, n), sums.kk[m][n]);
            sums.qk[m][n] = fmaf(words_float(q, m), words_float(column, n), sums.qk[m][n]);
        }
    }
}

/* Rows i .. i + 3, columns j .. j + 3 of both matrices; mix holds the decays. */
SIMT_DEVICE void store_gram(const struct chunk_wave &w, const struct chunk_scratch &c, int64_t head,
                            int i, int j, const struct gram_sums &sums)
{
    SIMT_UNROLL for (int m = 0; m < GRAM; m++)
    {
        if (i + m >= w.padded || j >= w.padded)
            continue;
        int64_t at = static_cast<int64_t>(i + m) * w.padded + j;
        float beta = i + m < c.rows ? gdn_gate(w.p.beta, c.first + i + m, head) : 0;
        struct simt_words solve = {}, mix = {};
        SIMT_UNROLL for (int n = 0; n < GRAM; n++)
        {
            if (i + m >= c.rows || j + n > i + m)
                continue;
            float decay = simt_load(c.mix + at + n);
            mix.word[n] = simt_f32_bits(sums.qk[m][n] * decay);
            if (j + n < i + m)
                solve.word[n] = simt_f32_bits(beta * (sums.kk[m][n] * decay));
        }
        simt_store16(c.solve + at, solve);
        simt_store16(c.mix + at, mix);
    }
}

/* A block a chunk of a head. */
SIMT_KERNEL(chunk_matrices)(struct chunk_wave w)
{
    SIMT_SHARED(float, k_rows, DEPTH *PITCH);
    SIMT_SHARED(float, q_rows, DEPTH *PITCH);
    SIMT_SHARED(float, k_columns, DEPTH *PITCH);
    int64_t head = simt_block_index().x / static_cast<unsigned>(w.chunks);
    int64_t key_head = head / w.p.ratio;
    int chunk = static_cast<int>(simt_block_index().x) % w.chunks;
    struct chunk_scratch c = chunk_scratch_of(w, head, chunk);
    int i = simt_thread() / (TILE / GRAM) * GRAM, j = simt_thread() % (TILE / GRAM) * GRAM;
    find_decays(w, c, head);
    simt_sync_block();
    for (int i0 = 0; i0 < c.rows; i0 += TILE) {
        for (int j0 = 0; j0 <= i0; j0 += TILE) {
            struct gram_sums sums = {};
            for (int64_t d0 = 0; d0 < w.p.key_dim; d0 += DEPTH) {
                stage_transposed(w.p, w.p.k, c.first + i0, key_head, c.rows - i0, d0, 1, k_rows);
                stage_transposed(w.p, w.p.q, c.first + i0, key_head, c.rows - i0, d0, w.p.scale,
                                 q_rows);
                stage_transposed(w.p, w.p.k, c.first + j0, key_head, c.rows - j0, d0, 1, k_columns);
                simt_sync_block();
                if (i0 + i < c.rows && j0 + j < i0 + i + GRAM)
                    gram_tile(k_rows, q_rows, k_columns, i, j, part(w.p.key_dim - d0, DEPTH), sums);
                simt_sync_block();
            }
            store_gram(w, c, head, i0 + i, j0 + j, sums);
        }
    }
}

/* ---- columns -------------------------------------------------------------------------------- */

enum {
    OWN_COLUMNS = 4, /* a thread's columns of a tile, and rows */
    OWN_ROWS = TILE * COLUMNS / CHUNK_THREADS / OWN_COLUMNS,
    COLUMN_THREADS = COLUMNS / OWN_COLUMNS
};

/* Bytes of shared memory: deltas and outputs of a chunk by columns, and three staged tiles. */
static inline size_t columns_shared_bytes(int padded)
{
    return sizeof(float) * (2 * static_cast<size_t>(padded) * COLUMNS +
                            static_cast<size_t>(DEPTH) * (2 * PITCH + COLUMNS));
}

/* A block's place. */
struct column_block {
    int64_t head, key_head;
    int64_t column; /* the first */
    int columns;    /* whole groups of OWN_COLUMNS; those past the state's last are zeros */
    int row, own;   /* the thread's first row of a tile, and first column of the block */
    bool active;    /* own is in a group */
};

/* DEPTH rows of the state from d0 on. */
template <bool is_f16>
SIMT_DEVICE void stage_state(const struct gdn_tensors &p, const struct column_block &b, int64_t d0,
                             struct simt_shared<float> tile)
{
    for (int item = simt_thread(); item < DEPTH * COLUMNS; item += CHUNK_THREADS) {
        int64_t d = d0 + item / COLUMNS, column = b.column + item % COLUMNS;
        float value = 0;
        if (d >= p.key_dim || item % COLUMNS >= b.columns)
            continue;
        if (column < p.value_dim)
            value = gdn_state_element<is_f16>(gdn_row(p.state, b.head, d), column);
        tile.store(item, value);
    }
}

struct start_sums {
    float k[OWN_ROWS][OWN_COLUMNS], q[OWN_ROWS][OWN_COLUMNS];
};

SIMT_DEVICE void start_tile(struct simt_shared<float> k_tile, struct simt_shared<float> q_tile,
                            struct simt_shared<float> state, const struct column_block &b,
                            int depth, struct start_sums &sums)
{
    for (int d = 0; d < depth; d++) {
        struct simt_words s = state.load16(d * COLUMNS + b.own);
        SIMT_UNROLL for (int m = 0; m < OWN_ROWS; m++)
        {
            float k = k_tile.load(d * PITCH + b.row + m), q = q_tile.load(d * PITCH + b.row + m);
            SIMT_UNROLL for (int n = 0; n < OWN_COLUMNS; n++)
            {
                sums.k[m][n] = fmaf(k, words_float(s, n), sums.k[m][n]);
                sums.q[m][n] = fmaf(q, words_float(s, n), sums.q[m][n]);
            }
        }
    }
}

/* Token i of the chunk: what the start state gives to its delta's right side and its output; zeros
 * past the last token. */
SIMT_DEVICE void store_start(const struct gdn_tensors &p, const struct chunk_scratch &c,
                             const struct column_block &b, int i, const float *k_sum,
                             const float *q_sum, struct simt_shared<float> delta,
                             struct simt_shared<float> out)
{
    struct simt_words right = {}, start = {};
    if (i < c.rows) {
        const unsigned char *v = gdn_row(p.v, c.first + i, b.head);
        float beta = gdn_gate(p.beta, c.first + i, b.head), decay = simt_load(c.decay + i);
        SIMT_UNROLL for (int n = 0; n < OWN_COLUMNS; n++)
        {
            if (b.column + b.own + n >= p.value_dim)
                continue;
            float value = gdn_element<false>(p.v, v, b.column + b.own + n);
            right.word[n] = simt_f32_bits(beta * (value - decay * k_sum[n]));
            start.word[n] = simt_f32_bits(decay * q_sum[n]);
        }
    }
    delta.store16(i * COLUMNS + b.own, right);
    out.store16(i * COLUMNS + b.own, start);
}

template <bool is_f16>
SIMT_DEVICE void from_start(const struct gdn_tensors &p, const struct chunk_scratch &c,
                            const struct column_block &b, int padded,
                            struct simt_shared<float> delta, struct simt_shared<float> out,
                            struct simt_shared<float> stage)
{
    struct simt_shared<float> k_tile = stage.slice(0, DEPTH * PITCH);
    struct simt_shared<float> q_tile = stage.slice(DEPTH * PITCH, DEPTH * PITCH);
    struct simt_shared<float> state = stage.slice(2 * DEPTH * PITCH, DEPTH * COLUMNS);
    for (int i0 = 0; i0 < c.rows; i0 += TILE) {
        struct start_sums sums = {};
        for (int64_t d0 = 0; d0 < p.key_dim; d0 += DEPTH) {
            stage_transposed(p, p.k, c.first + i0, b.key_head, c.rows - i0, d0, 1, k_tile);
            stage_transposed(p, p.q, c.first + i0, b.key_head, c.rows - i0, d0, p.scale, q_tile);
            stage_state<is_f16>(p, b, d0, state);
            simt_sync_block();
            if (b.active && i0 + b.row < c.rows)
                start_tile(k_tile, q_tile, state, b, part(p.key_dim - d0, DEPTH), sums);
            simt_sync_block();
        }
        SIMT_UNROLL for (int m = 0; m < OWN_ROWS; m++)
        {
            if (b.active && i0 + b.row + m < padded)
                store_start(p, c, b, i0 + b.row + m, sums.k[m], sums.q[m], delta, out);
        }
    }
    simt_sync_block();
}

static_assert(SUB * SUB == CHUNK_THREADS, "a thread an element of a diagonal block");

/* The block of solve on its diagonal, for SUB tokens from s0 on. */
SIMT_DEVICE void stage_diagonal(const struct chunk_scratch &c, int padded, int s0,
                                struct simt_shared<float> tile)
{
    int64_t row = s0 + simt_thread() / SUB;
    if (s0 < c.rows)
        tile.store(simt_thread(), simt_load(c.solve + row * padded + s0 + simt_thread() % SUB));
}

/* The substitution inside SUB tokens from s0 on; the first warp, a thread a column. tile: of
 * stage_diagonal. */
SIMT_DEVICE void substitute(int columns, int s0, struct simt_shared<float> tile,
                            struct simt_shared<float> delta)
{
    if (simt_thread() >= columns)
        return;
    float x[SUB];
    SIMT_UNROLL for (int i = 0; i < SUB; i++) x[i] = delta.load((s0 + i) * COLUMNS + simt_thread());
    SIMT_UNROLL for (int i = 1; i < SUB; i++)
    {
        SIMT_UNROLL for (int j0 = 0; j0 < i; j0 += 4)
        {
            struct simt_words words = tile.load16(i * SUB + j0);
            SIMT_UNROLL for (int j = j0; j < j0 + 4 && j < i; j++) x[i] =
                fmaf(-words_float(words, j - j0), x[j], x[i]);
        }
        delta.store((s0 + i) * COLUMNS + simt_thread(), x[i]);
    }
}

/* What the deltas of SUB tokens from s0 on give to outputs from s0 on and to later right sides. A
 * warp takes a token, a lane a column. */
SIMT_DEVICE void spread(const struct chunk_scratch &c, int columns, int padded, int s0,
                        struct simt_shared<float> delta, struct simt_shared<float> out)
{
    if (simt_lane() >= columns)
        return;
    float x[SUB];
    SIMT_UNROLL for (int j = 0; j < SUB; j++) x[j] = delta.load((s0 + j) * COLUMNS + simt_lane());
    for (int i = s0 + simt_warp(); i < c.rows; i += CHUNK_THREADS / 32) {
        int64_t at = static_cast<int64_t>(i) * padded + s0;
        float right = 0, o = out.load(i * COLUMNS + simt_lane());
        bool later = i >= s0 + SUB;
        if (later)
            right = delta.load(i * COLUMNS + simt_lane());
        SIMT_UNROLL for (int j = 0; j < SUB; j += 4)
        {
            struct simt_words mix = simt_load16(c.mix + at + j);
            struct simt_words solve = simt_load16(c.solve + at + j);
            SIMT_UNROLL for (int n = 0; n < 4; n++)
            {
                o = fmaf(words_float(mix, n), x[j + n], o);
                right = fmaf(-words_float(solve, n), x[j + n], right);
            }
        }
        out.store(i * COLUMNS + simt_lane(), o);
        if (later)
            delta.store(i * COLUMNS + simt_lane(), right);
    }
}

/* Outputs to memory; and the deltas become what is left of them at the end of the chunk. o may be
 * v: all v of these tokens and columns have been read. */
SIMT_DEVICE void store_outputs(const struct gdn_tensors &p, const struct chunk_scratch &c,
                               const struct column_block &b, struct simt_shared<float> delta,
                               struct simt_shared<float> out)
{
    for (int item = simt_thread(); item < c.rows * COLUMNS; item += CHUNK_THREADS) {
        int i = item / COLUMNS;
        int64_t column = b.column + item % COLUMNS;
        if (column >= p.value_dim)
            continue;
        delta.store(item, simt_load(c.remain + i) * delta.load(item));
        gdn_store_element(p.o, gdn_row(p.o, c.first + i, b.head), column, out.load(item));
    }
}

/* tile[i * PITCH + d]: TILE elements from d0 on of DEPTH rows of k from token i0 of the chunk on.
 */
SIMT_DEVICE void stage_keys(const struct gdn_tensors &p, const struct chunk_scratch &c,
                            int64_t key_head, int i0, int64_t d0, struct simt_shared<float> tile)
{
    for (int item = simt_thread(); item < TILE * DEPTH / ROW_CHUNK; item += CHUNK_THREADS) {
        int d = item % (TILE / ROW_CHUNK) * ROW_CHUNK, i = item / (TILE / ROW_CHUNK);
        float x[ROW_CHUNK] = {};
        if (i0 + i >= c.rows || d0 + d >= p.key_dim)
            continue;
        row_load_chunk<true>(p.k, gdn_row(p.k, c.first + i0 + i, key_head), d0 + d, p.key_dim, x);
        SIMT_UNROLL for (int e = 0; e < ROW_CHUNK; e++) tile.store(i * PITCH + d + e, x[e]);
    }
}

/* Rows d0 + b.row + m of the state. An element is read and written by one thread. */
template <bool is_f16>
SIMT_DEVICE void update_rows(const struct gdn_tensors &p, const struct chunk_scratch &c,
                             const struct column_block &b, int64_t d0,
                             struct simt_shared<float> delta, struct simt_shared<float> tile)
{
    float s[OWN_ROWS][OWN_COLUMNS] = {};
    float decay = simt_load(c.decay + c.rows - 1);
    SIMT_UNROLL for (int m = 0; m < OWN_ROWS; m++) SIMT_UNROLL for (int n = 0; n < OWN_COLUMNS; n++)
    {
        int64_t d = d0 + b.row + m, column = b.column + b.own + n;
        if (d < p.key_dim && column < p.value_dim)
            s[m][n] = decay * gdn_state_element<is_f16>(gdn_row(p.state, b.head, d), column);
    }
    for (int i0 = 0; i0 < c.rows; i0 += DEPTH) {
        bool works = b.active && d0 + b.row < p.key_dim;
        int count = works ? part(c.rows - i0, DEPTH) : 0;
        stage_keys(p, c, b.key_head, i0, d0, tile);
        simt_sync_block();
        for (int i = 0; i < count; i++) {
            struct simt_words x = delta.load16((i0 + i) * COLUMNS + b.own);
            SIMT_UNROLL for (int m = 0; m < OWN_ROWS; m++)
            {
                float k = tile.load(i * PITCH + b.row + m);
                SIMT_UNROLL for (int n = 0; n < OWN_COLUMNS; n++) s[m][n] =
                    fmaf(k, words_float(x, n), s[m][n]);
            }
        }
        simt_sync_block();
    }
    SIMT_UNROLL for (int m = 0; m < OWN_ROWS; m++) SIMT_UNROLL for (int n = 0; n < OWN_COLUMNS; n++)
    {
        int64_t d = d0 + b.row + m, column = b.column + b.own + n;
        if (d < p.key_dim && column < p.value_dim)
            gdn_store_state_element<is_f16>(gdn_row(p.state, b.head, d), column, s[m][n]);
    }
}

/* A block COLUMNS columns of a head, whose columns are `strips` times as many, rounded up. */
template <bool is_f16> SIMT_KERNEL(chunk_columns)(struct chunk_wave w, unsigned strips)
{
    int cells = w.padded * COLUMNS;
    SIMT_SHARED_DYNAMIC(float, delta, 0, cells);
    SIMT_SHARED_DYNAMIC(float, out, cells * 4, cells);
    SIMT_SHARED_DYNAMIC(float, stage, cells * 8, DEPTH * (2 * PITCH + COLUMNS));
    int64_t head = simt_block_index().x / strips;
    struct column_block b = {head,
                             head / w.p.ratio,
                             static_cast<int64_t>(simt_block_index().x % strips) * COLUMNS,
                             0,
                             simt_thread() / COLUMN_THREADS * OWN_ROWS,
                             simt_thread() % COLUMN_THREADS * OWN_COLUMNS,
                             false};
    b.columns = part(w.p.value_dim - b.column + OWN_COLUMNS - 1, COLUMNS + OWN_COLUMNS - 1) /
                OWN_COLUMNS * OWN_COLUMNS;
    b.active = b.own < b.columns;
    for (int chunk = 0; chunk < w.chunks; chunk++) {
        struct chunk_scratch c = chunk_scratch_of(w, head, chunk);
        from_start<is_f16>(w.p, c, b, w.padded, delta, out, stage);
        stage_diagonal(c, w.padded, 0, stage);
        simt_sync_block();
        for (int s0 = 0; s0 < c.rows; s0 += SUB) {
            substitute(b.columns, s0, stage, delta);
            simt_sync_block();
            stage_diagonal(c, w.padded, s0 + SUB, stage);
            spread(c, b.columns, w.padded, s0, delta, out);
            simt_sync_block();
        }
        store_outputs(w.p, c, b, delta, out);
        simt_sync_block();
        for (int64_t d0 = 0; d0 < w.p.key_dim; d0 += TILE)
            update_rows<is_f16>(w.p, c, b, d0, delta, stage);
        simt_sync_block(); /* the next chunk's threads read what others have written here */
    }
}

/* ---- launch --------------------------------------------------------------------------------- */

template <bool is_f16>
static assay_status launch_waves(const struct assay_gdn_chunked_args *a, struct simt_launch *launch)
{
    struct chunk_wave w = {
        gdn_tensors_of(a), static_cast<float *>(launch->workspace), 0, 0, 0, 0, 0};
    if (w.p.tokens == 0)
        return ASSAY_OK;
    w.chunk = static_cast<int>(gdn_chunked_longest(a));
    w.padded = static_cast<int>(gdn_chunked_device_padded(a));
    w.floats = gdn_chunked_device_floats(a);
    int64_t chunks = (w.p.tokens + w.chunk - 1) / w.chunk, most = gdn_chunked_device_wave(a);
    int64_t strips = (w.p.value_dim + COLUMNS - 1) / COLUMNS;
    for (int64_t first = 0; first < chunks; first += most) {
        w.first = first * w.chunk;
        w.chunks = static_cast<int>(chunks - first < most ? chunks - first : most);
        launch->block = {CHUNK_THREADS, 1, 1};
        launch->grid = {static_cast<unsigned>(w.chunks * w.p.heads), 1, 1};
        launch->shared_bytes = 0;
        assay_status status = SIMT_LAUNCH(launch, chunk_matrices, w);
        if (status != ASSAY_OK)
            return status;
        launch->grid = {static_cast<unsigned>(strips * w.p.heads), 1, 1};
        launch->shared_bytes = columns_shared_bytes(w.padded);
        status = SIMT_LAUNCH(launch, chunk_columns<is_f16>, w, static_cast<unsigned>(strips));
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

static assay_status gdn_chunked_state32_launch(const void *args, struct simt_launch *launch)
{
    return launch_waves<false>(static_cast<const struct assay_gdn_chunked_args *>(args), launch);
}

static assay_status gdn_chunked_state16_launch(const void *args, struct simt_launch *launch)
{
    return launch_waves<true>(static_cast<const struct assay_gdn_chunked_args *>(args), launch);
}

DEVICE_ROUTE_RUN(gdn_chunked_route_state32, &assay_op_gdn_chunked, gdn_chunked_state32_launch)
DEVICE_ROUTE_RUN(gdn_chunked_route_state16, &assay_op_gdn_chunked, gdn_chunked_state16_launch)
