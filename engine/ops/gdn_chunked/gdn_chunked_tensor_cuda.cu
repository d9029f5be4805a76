/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked on tensor cores, for heads of dk = 128 and chunks of at most 64 tokens. The chunk
 * form of gdn_chunked_cuda.cu; all sums but the substitution inside 16 tokens are products of 16 x
 * 16 tiles whose operands are binary32 numbers in two parts (gdn_split.cuh).
 *
 *   chunk_tiles    three blocks a chunk and key head: k, scale q and the transposed k in two parts.
 *   chunk_grams    a block a chunk and value head: of these the products k k^T and q k^T, and
 *                    solve_ij = -beta_i (k_i . k_j) decay_ij   (j < i)
 *                    mix_ij   = (scale q_i . k_j) decay_ij     (j <= i)
 *   chunk_states   a block a head and 32 columns of its state, through the chunks in turn. Warp w
 *                  keeps rows 16 w, ... of the state in registers; of a chunk, warp b < 4 keeps the
 *                  right sides of tokens 16 b, ..., and warp 4 + b their outputs. Four times: warp
 * b substitutes, a thread a column; then the others take the new deltas into the later right sides
 * and outputs. At last the deltas go into the state.
 *
 * Chunks do not depend on each other in the first two. Operands lie in the workspace as the
 * fragments that a lane loads, 16 bytes each. As many chunks at a time as fit into it, three
 * launches each; the state is in its tensor between them.
 *
 * Profile a16x2. Bound: gdn_chunked_bound.md. Operations a token and head: 6 dk dv + 2 n (dk + dv)
 * times three. Bytes a block of states and chunk: 96 KB of key operands and 20 KB of the head's,
 * from L2. Limited by the latency of the four substitutions and what lies between them.
 */
#include "ops/gdn_chunked/gdn_chunked_routes.h"
#include "ops/gdn_chunked/gdn_split.cuh"
#include "ops/gdn_recurrent/gdn_device.cuh"

enum {
    TENSOR_THREADS = 256,
    DIM = GDN_TENSOR_DIM,   /* dk */
    ROWS = GDN_TENSOR_ROWS, /* tokens a chunk; those past its last are zeros */
    TILE = 16,
    TILES = ROWS / TILE,
    DEPTHS = DIM / TILE,
    COLUMNS = 32, /* of the state a block */
    GROUPS = COLUMNS / 8,
    PITCH = COLUMNS / 2 + 4, /* words of a plane: rows 80 bytes apart have no bank conflicts */
    RIGHT_PITCH = COLUMNS + 4,
};

/* Tiles of a chunk and key head: row tile m, tile k along the sum. */
enum {
    K_TILES = 0,
    Q_TILES = TILES * DEPTHS,
    TRANSPOSED_TILES = 2 * Q_TILES,
    KEY_TILES = 3 * Q_TILES
};
/* Tiles of a chunk and value head, lower triangles; then solve's diagonal tiles in binary32,
 * transposed, and two rows of ROWS. */
enum {
    MIX_TILES = 0,
    SOLVE_TILES = TILES * (TILES + 1) / 2,
    HEAD_TILES = TILES * TILES,
    DIAGONAL_BYTES = TILES * TILE * TILE * 4,
};
static_assert(KEY_TILES * SPLIT_TILE_BYTES == GDN_TENSOR_KEY_BYTES, "the workspace");
static_assert(HEAD_TILES * SPLIT_TILE_BYTES + DIAGONAL_BYTES + 2 * ROWS * 4 ==
                  GDN_TENSOR_HEAD_BYTES,
              "the workspace");

/* The chunks of one round of launches. */
struct tensor_wave {
    struct gdn_tensors p;
    unsigned char *keys;  /* [key heads, chunks] of GDN_TENSOR_KEY_BYTES */
    unsigned char *heads; /* [heads, chunks] of GDN_TENSOR_HEAD_BYTES */
    int64_t first;        /* token */
    int chunks;
    int chunk; /* tokens a chunk */
};

/* What chunk_tiles and chunk_grams make of one chunk. */
struct tensor_chunk {
    unsigned char *keys, *tiles;
    int64_t first; /* token */
    int rows;
};

SIMT_DEVICE int rows_from(const struct tensor_wave &w, int64_t first)
{
    int64_t left = w.p.tokens - first;
    return left < w.chunk ? static_cast<int>(left) : w.chunk;
}

SIMT_DEVICE struct tensor_chunk tensor_chunk_of(const struct tensor_wave &w, int64_t head,
                                                int chunk)
{
    struct tensor_chunk c;
    c.keys = w.keys + (head / w.p.ratio * w.chunks + chunk) * GDN_TENSOR_KEY_BYTES;
    c.tiles = w.heads + (head * w.chunks + chunk) * GDN_TENSOR_HEAD_BYTES;
    c.first = w.first + static_cast<int64_t>(chunk) * w.chunk;
    c.rows = rows_from(w, c.first);
    return c;
}

/* The head's chunk after this. */
SIMT_DEVICE struct tensor_chunk tensor_chunk_after(const struct tensor_wave &w,
                                                   const struct tensor_chunk &c)
{
    return {c.keys + GDN_TENSOR_KEY_BYTES, c.tiles + GDN_TENSOR_HEAD_BYTES, c.first + w.chunk,
            rows_from(w, c.first + w.chunk)};
}

/* [TILES, TILE, TILE] of solve's diagonal, transposed; [ROWS] what is left of the start state after
 * token i, and [ROWS] what is left of token i at the end of the chunk. */
SIMT_DEVICE float *diagonal_of(const struct tensor_chunk &c)
{
    return reinterpret_cast<float *>(c.tiles + HEAD_TILES * SPLIT_TILE_BYTES);
}

SIMT_DEVICE float *decay_of(const struct tensor_chunk &c)
{
    return diagonal_of(c) + DIAGONAL_BYTES / 4;
}

SIMT_DEVICE float *remain_of(const struct tensor_chunk &c)
{
    return decay_of(c) + ROWS;
}

SIMT_DEVICE int mix_tile(int row, int column)
{
    return MIX_TILES + row * (row + 1) / 2 + column;
}

SIMT_DEVICE int solve_tile(int row, int column)
{
    return SOLVE_TILES + row * (row - 1) / 2 + column;
}

/* Where a lane's elements of fragments are (PTX ISA): its row of the first 8, and its first column.
 */
SIMT_DEVICE int lane_row()
{
    return simt_lane() / 4;
}

SIMT_DEVICE int lane_column()
{
    return simt_lane() % 4 * 2;
}

/* ---- operands ------------------------------------------------------------------------------- */

/* Element d of token i of the chunk; zeros past the last token. */
SIMT_DEVICE float key_element(const struct row_view &v, const struct tensor_chunk &c,
                              int64_t key_head, int i, int d)
{
    return i < c.rows ? gdn_element<true>(v, gdn_row(v, c.first + i, key_head), d) : 0.0f;
}

/* Tile `tile` of k or q, as the first operand of a product. */
SIMT_DEVICE struct split_tile row_tile(const struct row_view &v, const struct tensor_chunk &c,
                                       int64_t key_head, int tile, double scale)
{
    struct split_tile t;
    SIMT_UNROLL for (int r = 0; r < 4; r++)
    {
        int i = tile / DEPTHS * TILE + lane_row() + r % 2 * 8;
        int d = tile % DEPTHS * TILE + lane_column() + r / 2 * 8;
        float x[2];
        SIMT_UNROLL for (int e = 0; e < 2; e++)
        {
            x[e] = key_element(v, c, key_head, i, d + e);
            if (scale != 1)
                x[e] = static_cast<float>(x[e] * scale);
        }
        struct split_pair pair = split_of(x[0], x[1]);
        t.high.word[r] = pair.high;
        t.low.word[r] = pair.low;
    }
    return t;
}

/* The same of the transposed k: rows are its elements, columns its tokens. */
SIMT_DEVICE struct split_tile transposed_tile(const struct row_view &v,
                                              const struct tensor_chunk &c, int64_t key_head,
                                              int tile)
{
    struct split_tile t;
    SIMT_UNROLL for (int r = 0; r < 4; r++)
    {
        int d = tile / TILES * TILE + lane_row() + r % 2 * 8;
        int i = tile % TILES * TILE + lane_column() + r / 2 * 8;
        struct split_pair pair =
            split_of(key_element(v, c, key_head, i, d), key_element(v, c, key_head, i + 1, d));
        t.high.word[r] = pair.high;
        t.low.word[r] = pair.low;
    }
    return t;
}

/* A block a chunk, key head and kind of tiles. */
SIMT_KERNEL(chunk_tiles)(struct tensor_wave w)
{
    int kind = static_cast<int>(simt_block_index().x % 3);
    int64_t index = simt_block_index().x / 3;
    int64_t key_head = index / w.chunks;
    int chunk = static_cast<int>(index % w.chunks);
    struct tensor_chunk c = tensor_chunk_of(w, key_head * w.p.ratio, chunk);
    for (int tile = simt_warp(); tile < Q_TILES; tile += TENSOR_THREADS / 32) {
        if (kind == 0)
            split_store(c.keys, K_TILES + tile, row_tile(w.p.k, c, key_head, tile, 1));
        else if (kind == 1)
            split_store(c.keys, Q_TILES + tile, row_tile(w.p.q, c, key_head, tile, w.p.scale));
        else
            split_store(c.keys, TRANSPOSED_TILES + tile, transposed_tile(w.p.k, c, key_head, tile));
    }
}

/* ---- matrices ------------------------------------------------------------------------------- */

/* A tile of k k^T or q k^T. */
struct gram_job {
    int row, column; /* of the tile, column <= row */
    bool is_mix;
};

enum { GRAM_JOBS = 2 * SOLVE_TILES };

SIMT_DEVICE struct gram_job gram_job_of(int index)
{
    int tile = index / 2, row = tile < 1 ? 0 : tile < 3 ? 1 : tile < 6 ? 2 : 3;
    return {row, tile - row * (row + 1) / 2, index % 2 != 0};
}

/* sum[2 n + ...]: columns 8 n, ... of the tile. A tile of k as the first operand is, by halves,
 * also the transposed second one. */
SIMT_DEVICE void gram_tile(const unsigned char *keys, struct gram_job job, float (*sum)[4])
{
    SIMT_UNROLL for (int n = 0; n < 2; n++) SIMT_UNROLL for (int e = 0; e < 4; e++) sum[n][e] = 0;
    const int rows = (job.is_mix ? Q_TILES : K_TILES) + job.row * DEPTHS;
    const int columns = K_TILES + job.column * DEPTHS;
    enum { AHEAD = 4 }; /* loads of each operand under way */
    for (int k0 = 0; k0 < DEPTHS; k0 += AHEAD) {
        struct split_tile a[AHEAD], b[AHEAD];
        SIMT_UNROLL for (int k = 0; k < AHEAD; k++)
        {
            a[k] = split_load(keys, rows + k0 + k);
            b[k] = split_load(keys, columns + k0 + k);
        }
        SIMT_UNROLL for (int k = 0; k < AHEAD; k++)
        {
            const struct simt_words &h = b[k].high, &l = b[k].low;
            uint32_t high[] = {h.word[0], h.word[2], h.word[1], h.word[3]};
            uint32_t low[] = {l.word[0], l.word[2], l.word[1], l.word[3]};
            split_mma<2>(sum, a[k].low, high);
            split_mma<2>(sum, a[k].high, high);
            split_mma<2>(sum, a[k].high, low);
        }
    }
}

/* A block's shared memory: gates of one value head, and the sums of its g over (j, i] for all
 * pairs, j = -1 at column 0. */
enum { EXPONENT_PITCH = ROWS + 4 };
struct decay_tables {
    struct simt_shared<float> g, beta, exponent;
};

SIMT_DEVICE void load_gates(const struct gdn_tensors &p, const struct tensor_chunk &c, int64_t head,
                            const struct decay_tables &t)
{
    int i = simt_thread();
    if (i >= ROWS)
        return;
    t.g.store(i, i < c.rows ? gdn_gate(p.g, c.first + i, head) : 0.0f);
    t.beta.store(i, i < c.rows ? gdn_gate(p.beta, c.first + i, head) : 0.0f);
}

/* A thread a token j, and one for the start. Each sum is formed from the one before, never as a
 * difference of two, which would cancel, and be NaN for g = -inf. */
SIMT_DEVICE void sum_gates(const struct decay_tables &t)
{
    int j = simt_thread() - 1;
    if (j >= ROWS)
        return;
    double exponent = 0;
    SIMT_UNROLL for (int i = 0; i < ROWS; i++)
    {
        double g = static_cast<double>(t.g.load(i));
        exponent = i > j ? exponent + g : 0;
        if (i >= j)
            t.exponent.store(i * EXPONENT_PITCH + j + 1, static_cast<float>(exponent));
    }
}

/* Both elements of register r of a job's tile, as first operand; solve: negative. */
SIMT_DEVICE void decayed(const struct tensor_chunk &c, struct gram_job job,
                         const struct decay_tables &t, const float (*sum)[4], int r, float *x)
{
    int i = job.row * TILE + lane_row() + r % 2 * 8;
    SIMT_UNROLL for (int e = 0; e < 2; e++)
    {
        int j = job.column * TILE + lane_column() + r / 2 * 8 + e;
        x[e] = 0;
        if (i >= c.rows || j > i || (j == i && !job.is_mix))
            continue;
        float decay = expf(t.exponent.load(i * EXPONENT_PITCH + j + 1));
        x[e] = sum[r / 2][r % 2 * 2 + e] * decay;
        if (!job.is_mix)
            x[e] = -(t.beta.load(i) * x[e]);
    }
}

SIMT_DEVICE void store_gram(const struct tensor_chunk &c, struct gram_job job,
                            const struct decay_tables &t, const float (*sum)[4])
{
    struct split_tile tile;
    bool is_diagonal = job.row == job.column && !job.is_mix;
    SIMT_UNROLL for (int r = 0; r < 4; r++)
    {
        float x[2];
        decayed(c, job, t, sum, r, x);
        if (is_diagonal) {
            float *at = diagonal_of(c) + job.row * TILE * TILE + lane_row() + r % 2 * 8;
            simt_store(at + (lane_column() + r / 2 * 8) * TILE, x[0]);
            simt_store(at + (lane_column() + r / 2 * 8 + 1) * TILE, x[1]);
        }
        struct split_pair pair = split_of(x[0], x[1]);
        tile.high.word[r] = pair.high;
        tile.low.word[r] = pair.low;
    }
    if (!is_diagonal)
        split_store(c.tiles,
                    job.is_mix ? mix_tile(job.row, job.column) : solve_tile(job.row, job.column),
                    tile);
}

/* A block a chunk of a value head. */
SIMT_KERNEL(chunk_grams)(struct tensor_wave w)
{
    SIMT_SHARED(float, g, ROWS);
    SIMT_SHARED(float, beta, ROWS);
    SIMT_SHARED(float, exponent, ROWS *EXPONENT_PITCH);
    const struct decay_tables t = {g, beta, exponent};
    int64_t head = simt_block_index().x / static_cast<unsigned>(w.chunks);
    int chunk = static_cast<int>(simt_block_index().x % static_cast<unsigned>(w.chunks));
    struct tensor_chunk c = tensor_chunk_of(w, head, chunk);
    load_gates(w.p, c, head, t);
    simt_sync_block();
    sum_gates(t);
    simt_sync_block();
    for (int job = simt_warp(); job < GRAM_JOBS; job += TENSOR_THREADS / 32) {
        float sum[2][4];
        gram_tile(c.keys, gram_job_of(job), sum);
        store_gram(c, gram_job_of(job), t, sum);
    }
    int i = simt_thread();
    if (i < ROWS) {
        simt_store(decay_of(c) + i, expf(exponent.load(i * EXPONENT_PITCH)));
        simt_store(remain_of(c) + i, expf(exponent.load((ROWS - 1) * EXPONENT_PITCH + i + 1)));
    }
}

/* ---- states --------------------------------------------------------------------------------- */

/* A matrix of COLUMNS columns in two parts, for second operands; words are two neighbours. */
struct split_plane {
    struct simt_shared<uint32_t> high, low;
};

/* sums += a times rows 16 k, ... of the plane. */
SIMT_DEVICE void plane_mma(float (*sums)[4], const struct split_tile &a,
                           const struct split_plane &plane, int k)
{
    uint32_t high[2 * GROUPS], low[2 * GROUPS];
    int at = (k * TILE + simt_lane() % 16) * PITCH + simt_lane() / 16 * 4;
    SIMT_UNROLL for (int n = 0; n < GROUPS; n += 2)
        simt_ldmatrix_transposed<4>(high + 2 * n, plane.high.at(at + n * 4));
    split_mma<GROUPS>(sums, a.low, high);
    split_mma<GROUPS>(sums, a.high, high);
    SIMT_UNROLL for (int n = 0; n < GROUPS; n += 2)
        simt_ldmatrix_transposed<4>(low + 2 * n, plane.low.at(at + n * 4));
    split_mma<GROUPS>(sums, a.high, low);
}

/* A block's shared memory. */
struct state_memory {
    struct split_plane state;           /* [DIM] at the chunk's start */
    struct split_plane delta;           /* [ROWS] */
    struct split_plane left;            /* [ROWS] what is left of the deltas at the end */
    struct simt_shared<float> right;    /* [TILE, RIGHT_PITCH] of the substitution */
    struct simt_shared<float> diagonal; /* [TILES, TILE, TILE] */
    struct simt_shared<float> beta, decay, remain; /* [ROWS] */
};

/* A block's place, and the thread's column of the first of GROUPS groups. */
struct state_block {
    int64_t head, column;
};

/* A thread's elements 0 .. 3 of a group of 8 columns are two of row lane_row() and two 8 rows on.
 */
SIMT_DEVICE int64_t column_of(const struct state_block &b, int group, int e)
{
    return b.column + group * 8 + e % 2;
}

SIMT_DEVICE void store_plane(const struct split_plane &plane, int row, int column, float first,
                             float second)
{
    struct split_pair pair = split_of(first, second);
    plane.high.store(row * PITCH + column / 2, pair.high);
    plane.low.store(row * PITCH + column / 2, pair.low);
}

/* The thread's elements of rows 16 w + lane_row(), + 8 of the state. */
SIMT_DEVICE void load_state(const struct gdn_tensors &p, const struct state_block &b, float (*s)[4])
{
    SIMT_UNROLL for (int n = 0; n < GROUPS; n++) SIMT_UNROLL for (int e = 0; e < 4; e++)
    {
        const unsigned char *row =
            gdn_row(p.state, b.head, simt_warp() * TILE + lane_row() + e / 2 * 8);
        int64_t column = column_of(b, n, e);
        s[n][e] = column < p.value_dim ? gdn_state_element<false>(row, column) : 0;
    }
}

SIMT_DEVICE void save_state(const struct gdn_tensors &p, const struct state_block &b,
                            const float (*s)[4])
{
    SIMT_UNROLL for (int n = 0; n < GROUPS; n++) SIMT_UNROLL for (int e = 0; e < 4; e++)
    {
        unsigned char *row = gdn_row(p.state, b.head, simt_warp() * TILE + lane_row() + e / 2 * 8);
        int64_t column = column_of(b, n, e);
        if (column < p.value_dim)
            gdn_store_state_element<false>(row, column, s[n][e]);
    }
}

/* The chunk's small tables on their way to where all warps read them. No thread may read those of
 * the chunk before any more. */
SIMT_DEVICE void copy_tables(const struct gdn_tensors &p, const struct tensor_chunk &c,
                             const struct state_block &b, const struct state_memory &m)
{
    static_assert(TENSOR_THREADS * 16 == DIAGONAL_BYTES, "16 bytes a thread");
    int token = simt_thread();
    simt_copy_async<16>(m.diagonal.at(4 * token), diagonal_of(c) + 4 * token);
    if (token < ROWS) {
        const float *beta = reinterpret_cast<const float *>(gdn_row(p.beta, c.first + token, 0));
        simt_copy_async_part<4>(m.beta.at(token), beta + b.head, token < c.rows ? 4 : 0);
        simt_copy_async<4>(m.decay.at(token), decay_of(c) + token);
        simt_copy_async<4>(m.remain.at(token), remain_of(c) + token);
    }
    simt_copy_commit();
}

/* v of a warp b < TILES: tokens 16 b + lane_row(), + 8. */
SIMT_DEVICE void load_values(const struct gdn_tensors &p, const struct tensor_chunk &c,
                             const struct state_block &b, float (*v)[4])
{
    SIMT_UNROLL for (int half = 0; half < 2; half++)
    {
        int i = simt_warp() * TILE + lane_row() + half * 8;
        int64_t columns = i < c.rows ? p.value_dim : 0;
        const unsigned char *row = gdn_row(p.v, c.first + i, b.head);
        SIMT_UNROLL for (int n = 0; n < GROUPS; n++) SIMT_UNROLL for (int e = 0; e < 2; e++)
        {
            int64_t column = column_of(b, n, e);
            v[n][2 * half + e] = column < columns ? gdn_element<false>(p.v, row, column) : 0;
        }
    }
}

/* The state in two parts to where all warps read it. */
SIMT_DEVICE void stage_state(const float (*s)[4], const struct state_memory &m)
{
    SIMT_UNROLL for (int n = 0; n < GROUPS; n++) SIMT_UNROLL for (int e = 0; e < 4; e += 2)
        store_plane(m.state, simt_warp() * TILE + lane_row() + e / 2 * 8, n * 8 + lane_column(),
                    s[n][e], s[n][e + 1]);
}

/* sums += `count` tiles from `tile` on times the plane's rows, each tile under way while the one
 * before it is at work; first: the first of them. */
template <int count>
SIMT_DEVICE void plane_product(float (*sums)[4], struct split_tile first,
                               const unsigned char *tiles, int tile,
                               const struct split_plane &plane)
{
    struct split_tile a = first;
    SIMT_ROLLED for (int k = 0; k < count; k++)
    {
        struct split_tile next = a;
        if (k + 1 < count)
            next = split_load(tiles, tile + k + 1);
        plane_mma(sums, a, plane, k);
        a = next;
    }
}

/* The first of a warp's tiles of k or q, and of the transposed k. */
SIMT_DEVICE int row_tiles()
{
    return (simt_warp() < TILES ? K_TILES : Q_TILES) + simt_warp() % TILES * DEPTHS;
}

SIMT_DEVICE int transposed_tiles()
{
    return TRANSPOSED_TILES + simt_warp() * TILES;
}

/* What the start state gives: right sides (warps b < TILES) and outputs. */
SIMT_DEVICE void from_state(const struct tensor_chunk &c, const struct state_memory &m,
                            struct split_tile first, const float (*v)[4], float (*sums)[4])
{
    bool is_right = simt_warp() < TILES;
    SIMT_UNROLL for (int n = 0; n < GROUPS; n++) SIMT_UNROLL for (int e = 0; e < 4; e++)
        sums[n][e] = 0;
    plane_product<DEPTHS>(sums, first, c.keys, row_tiles(), m.state);
    SIMT_UNROLL for (int e = 0; e < 4; e++)
    {
        int i = simt_warp() % TILES * TILE + lane_row() + e / 2 * 8;
        float decay = m.decay.load(i), beta = m.beta.load(i);
        SIMT_UNROLL for (int n = 0; n < GROUPS; n++)
        {
            float start = decay * sums[n][e];
            sums[n][e] = is_right ? beta * (v[n][e] - start) : start;
            if (i >= c.rows) /* not 0 times an infinity */
                sums[n][e] = 0;
        }
    }
}

/* The substitution inside tokens 16 b, ..., by warp b; a thread a column. Each delta goes into all
 * later right sides before the next is taken: 15 steps, not 120. */
SIMT_DEVICE void substitute(const struct state_memory &m, const float (*sums)[4])
{
    int tile = simt_warp() * TILE * TILE;
    float x[TILE];
    SIMT_UNROLL for (int n = 0; n < GROUPS; n++) SIMT_UNROLL for (int e = 0; e < 4; e++)
        m.right.store((lane_row() + e / 2 * 8) * RIGHT_PITCH + n * 8 + lane_column() + e % 2,
                      sums[n][e]);
    simt_sync_warp(SIMT_ALL_LANES);
    SIMT_UNROLL for (int i = 0; i < TILE; i++) x[i] = m.right.load(i * RIGHT_PITCH + simt_lane());
    SIMT_UNROLL for (int j = 0; j < TILE - 1; j++)
    {
        SIMT_UNROLL for (int i0 = j / 4 * 4; i0 < TILE; i0 += 4)
        {
            struct simt_words words = m.diagonal.load16(tile + j * TILE + i0);
            SIMT_UNROLL for (int i = i0; i < i0 + 4; i++)
            {
                if (i > j)
                    x[i] = fmaf(simt_f32_from_bits(words.word[i - i0]), x[j], x[i]);
            }
        }
    }
    SIMT_UNROLL for (int i = 1; i < TILE; i++) m.right.store(i * RIGHT_PITCH + simt_lane(), x[i]);
}

/* The deltas of tokens first, ..., and what is left of them at the end, to planes; by all threads.
 */
SIMT_DEVICE void spread_deltas(const struct state_memory &m, int first)
{
    static_assert(TENSOR_THREADS * 2 == TILE * COLUMNS, "a pair a thread");
    int i = simt_thread() / (COLUMNS / 2), column = simt_thread() % (COLUMNS / 2) * 2;
    float remain = m.remain.load(first + i);
    float x = m.right.load(i * RIGHT_PITCH + column);
    float y = m.right.load(i * RIGHT_PITCH + column + 1);
    store_plane(m.delta, first + i, column, x, y);
    store_plane(m.left, first + i, column, remain * x, remain * y);
}

SIMT_DEVICE void store_outputs(const struct gdn_tensors &p, const struct tensor_chunk &c,
                               const struct state_block &b, const float (*o)[4])
{
    SIMT_UNROLL for (int n = 0; n < GROUPS; n++) SIMT_UNROLL for (int e = 0; e < 4; e++)
    {
        int i = simt_warp() % TILES * TILE + lane_row() + e / 2 * 8;
        int64_t column = column_of(b, n, e);
        if (i < c.rows && column < p.value_dim)
            gdn_store_element(p.o, gdn_row(p.o, c.first + i, b.head), column, o[n][e]);
    }
}

/* Right sides become deltas, tile by tile, and these go into later right sides and outputs. o may
 * be v: all v of these tokens and columns have been read before the first barrier. */
SIMT_DEVICE void solve_chunk(const struct gdn_tensors &p, const struct tensor_chunk &c,
                             const struct state_block &b, const struct state_memory &m,
                             float (*sums)[4])
{
    bool is_right = simt_warp() < TILES;
    int tile = simt_warp() % TILES;
    for (int t = 0; t < TILES; t++) {
        bool takes = is_right ? tile > t : tile >= t;
        struct split_tile a = {};
        if (takes) /* under way while the others substitute */
            a = split_load(c.tiles, is_right ? solve_tile(tile, t) : mix_tile(tile, t));
        if (is_right && tile == t)
            substitute(m, sums);
        simt_sync_block();
        spread_deltas(m, t * TILE);
        simt_sync_block();
        if (takes)
            plane_mma(sums, a, m.delta, t);
    }
    if (!is_right)
        store_outputs(p, c, b, sums);
}

/* decay: of the whole chunk. */
SIMT_DEVICE void update_state(const struct tensor_chunk &c, const struct state_memory &m,
                              struct split_tile first, float decay, float (*s)[4])
{
    SIMT_UNROLL for (int n = 0; n < GROUPS; n++) SIMT_UNROLL for (int e = 0; e < 4; e++) s[n][e] =
        decay * s[n][e];
    plane_product<TILES>(s, first, c.keys, transposed_tiles(), m.left);
}

/* A block COLUMNS columns of a head, whose columns are `strips` times as many, rounded up. */
SIMT_KERNEL_RESIDENT(chunk_states, TENSOR_THREADS, 2)(struct tensor_wave w, unsigned strips)
{
    SIMT_SHARED(uint32_t, state, 2 * DIM * PITCH);
    SIMT_SHARED(uint32_t, delta, 4 * ROWS * PITCH);
    SIMT_SHARED(float, right, TILE *RIGHT_PITCH);
    SIMT_SHARED(float, diagonal, TILES *TILE *TILE);
    SIMT_SHARED(float, gates, 3 * ROWS);
    enum { PLANE = ROWS * PITCH };
    const struct state_memory m = {
        {state.slice(0, DIM * PITCH), state.slice(DIM * PITCH, DIM * PITCH)},
        {delta.slice(0, PLANE), delta.slice(PLANE, PLANE)},
        {delta.slice(2 * PLANE, PLANE), delta.slice(3 * PLANE, PLANE)},
        right,
        diagonal,
        gates.slice(0, ROWS),
        gates.slice(ROWS, ROWS),
        gates.slice(2 * ROWS, ROWS)};
    int64_t strip = simt_block_index().x % strips;
    const struct state_block b = {simt_block_index().x / strips, strip * COLUMNS + lane_column()};
    float s[GROUPS][4], sums[GROUPS][4], v[GROUPS][4] = {};
    bool is_right = simt_warp() < TILES;
    struct tensor_chunk c = tensor_chunk_of(w, b.head, 0);
    copy_tables(w.p, c, b, m);
    load_state(w.p, b, s);
    if (is_right)
        load_values(w.p, c, b, v);
    for (int chunk = 0; chunk < w.chunks; chunk++) {
        struct split_tile tile = split_load(c.keys, row_tiles());
        stage_state(s, m);
        simt_copy_wait<0>();
        simt_sync_block();
        float decay = m.decay.load(c.rows - 1);
        from_state(c, m, tile, v, sums);
        solve_chunk(w.p, c, b, m, sums);
        tile = split_load(c.keys, transposed_tiles());
        if (chunk + 1 < w.chunks) {
            struct tensor_chunk next = tensor_chunk_after(w, c);
            copy_tables(w.p, next, b, m);
            if (is_right)
                load_values(w.p, next, b, v);
        }
        update_state(c, m, tile, decay, s);
        c = tensor_chunk_after(w, c);
    }
    save_state(w.p, b, s);
}

/* ---- launch --------------------------------------------------------------------------------- */

static assay_status launch_round(const struct tensor_wave &w, struct simt_launch *launch)
{
    int64_t strips = (w.p.value_dim + COLUMNS - 1) / COLUMNS;
    launch->block = {TENSOR_THREADS, 1, 1};
    launch->grid = {static_cast<unsigned>(3 * w.chunks * (w.p.heads / w.p.ratio)), 1, 1};
    assay_status status = SIMT_LAUNCH(launch, chunk_tiles, w);
    if (status != ASSAY_OK)
        return status;
    launch->grid = {static_cast<unsigned>(w.chunks * w.p.heads), 1, 1};
    status = SIMT_LAUNCH(launch, chunk_grams, w);
    if (status != ASSAY_OK)
        return status;
    launch->grid = {static_cast<unsigned>(strips * w.p.heads), 1, 1};
    return SIMT_LAUNCH(launch, chunk_states, w, static_cast<unsigned>(strips));
}

static assay_status gdn_chunked_tensor_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_gdn_chunked_args *a =
        static_cast<const struct assay_gdn_chunked_args *>(args);
    struct tensor_wave w = {gdn_tensors_of(a), nullptr, nullptr, 0, 0, 0};
    if (w.p.tokens == 0)
        return ASSAY_OK;
    w.chunk = static_cast<int>(gdn_chunked_longest(a));
    int64_t chunks = (w.p.tokens + w.chunk - 1) / w.chunk, most = gdn_chunked_tensor_wave(a);
    w.keys = static_cast<unsigned char *>(launch->workspace);
    w.heads = w.keys + most * (w.p.heads / w.p.ratio) * GDN_TENSOR_KEY_BYTES;
    for (int64_t first = 0; first < chunks; first += most) {
        w.first = first * w.chunk;
        w.chunks = static_cast<int>(chunks - first < most ? chunks - first : most);
        assay_status status = launch_round(w, launch);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

DEVICE_ROUTE_RUN(gdn_chunked_route_tensor, &assay_op_gdn_chunked, gdn_chunked_tensor_launch)
