/* SPDX-License-Identifier: MIT
 *
 * linear for up to 32 rows of x, in tensor cores: w is the 16-row operand, x the 8-column one. A
 * block takes 16, 32 or 64 rows of w, its warps take chunks of 32 columns in turn and add their
 * sums in shared memory at the end, in the order of the warps.
 *
 * Neither operand is arranged: which k stands where in the fragments does not matter as long as
 * both agree, so each lane takes 16 bytes of a row, k = 8 q .. 8 q + 7 of the chunk (q = lane % 4),
 * as its share of two mma. What a lane copies, it reads itself: the ring in shared memory is a
 * queue of asynchronous copies without barriers, and without bank conflicts.
 *
 * Profile a16x2 (bf16 x is exact: a16). Bound: linear_bound.md. Moves w once through device memory
 * and x once a block through L2; limited by the former.
 */
#include "ops/linear/linear_split.cuh"

enum { SMALL_CHUNK = 32, SMALL_STAGES = 3, SLOT_WORDS = 4, LANES = 32 };

struct small_call {
    struct linear_call call;
    struct linear_planes planes;
};

/* Tiles: of w (16 rows each), of x (8 rows each) in a plane, planes. */
template <int w_tiles, int x_tiles, int num_planes> struct small_shape {
    static const int columns = x_tiles * num_planes;
    static const int slots = 2 * w_tiles + columns; /* 16-byte copies a lane and stage */
    static const int sums = 4 * w_tiles * columns;  /* a lane */
    static const int warp_words = SMALL_STAGES * slots * LANES * SLOT_WORDS;
};

template <int w_tiles, int x_tiles, int num_planes>
SIMT_DEVICE void small_stage(const struct small_call &p, struct simt_shared<uint32_t> ring,
                             int stage, int64_t chunk)
{
    typedef small_shape<w_tiles, x_tiles, num_planes> shape;
    int group = simt_lane() / 4;
    int64_t k = chunk * SMALL_CHUNK + simt_lane() % 4 * ROW_CHUNK;
    int64_t row = static_cast<int64_t>(simt_block_index().x) * 16 * w_tiles + group;
    int slot = (stage * shape::slots * LANES + simt_lane()) * SLOT_WORDS;
    int valid = linear_valid(k, p.call.inner), left = linear_rows_left(p.call.columns, row);
    const unsigned char *from = linear_row(p.call.w, row) + 2 * k;
    SIMT_UNROLL for (int i = 0; i < 2 * w_tiles; i++)
    {
        linear_stage(ring, slot, from, 8 * i < left ? valid : 0, p.call.w.is_aligned);
        from += 8 * p.call.w.outer_stride;
        slot += LANES * SLOT_WORDS;
    }
    valid = linear_valid(k, p.planes.inner);
    left = linear_rows_left(p.call.rows, group);
    SIMT_UNROLL for (int i = 0; i < shape::columns; i++)
    {
        if (i % x_tiles == 0)
            from = linear_row(p.planes.x, group) + 2 * k + i / x_tiles * p.planes.plane_bytes;
        linear_stage(ring, slot, from, i % x_tiles * 8 < left ? valid : 0, p.planes.x.is_aligned);
        from += 8 * p.planes.x.outer_stride;
        slot += LANES * SLOT_WORDS;
    }
}

/* Adds the products of one chunk. */
template <int w_tiles, int x_tiles, int num_planes>
SIMT_DEVICE void small_products(struct simt_shared<uint32_t> ring, int stage, float (*sums)[4])
{
    typedef small_shape<w_tiles, x_tiles, num_planes> shape;
    int slot = (stage * shape::slots * LANES + simt_lane()) * SLOT_WORDS;
    struct simt_words x[shape::columns];
    SIMT_UNROLL for (int i = 0; i < shape::columns; i++) x[i] =
        ring.load16(slot + (2 * w_tiles + i) * LANES * SLOT_WORDS);
    SIMT_UNROLL for (int tile = 0; tile < w_tiles; tile++)
    {
        struct simt_words upper = ring.load16(slot + 2 * tile * LANES * SLOT_WORDS);
        struct simt_words lower = ring.load16(slot + (2 * tile + 1) * LANES * SLOT_WORDS);
        SIMT_UNROLL for (int half = 0; half < 4; half += 2)
        {
            uint32_t a[4] = {upper.word[half], lower.word[half], upper.word[half + 1],
                             lower.word[half + 1]};
            SIMT_UNROLL for (int i = 0; i < shape::columns; i++)
            {
                uint32_t b[2] = {x[i].word[half], x[i].word[half + 1]};
                float *sum = sums[tile * shape::columns + i];
                simt_mma_bf16(sum, a, b, sum);
            }
        }
    }
}

/* Adds the warps' sums and, of two planes, low to high. Where high is not finite it is the result:
 * low then met an infinity, too, with any sign. */
template <int w_tiles, int x_tiles, int num_planes>
SIMT_DEVICE void small_finish(const struct small_call &p, struct simt_shared<uint32_t> sums)
{
    typedef small_shape<w_tiles, x_tiles, num_planes> shape;
    int threads = static_cast<int>(simt_block_extent().x), num_warps = threads / LANES;
    for (int i = simt_thread(); i < 4 * w_tiles * x_tiles * LANES; i += threads) {
        int lane = i % LANES, c = i / LANES % 4, x_tile = i / LANES / 4 % x_tiles;
        int w_tile = i / LANES / 4 / x_tiles;
        float part[num_planes];
        SIMT_UNROLL for (int plane = 0; plane < num_planes; plane++)
        {
            int at = (w_tile * shape::columns + plane * x_tiles + x_tile) * 4 + c;
            float sum = 0;
            for (int warp = 0; warp < num_warps; warp++)
                sum += simt_f32_from_bits(sums.load((warp * shape::sums + at) * LANES + lane));
            part[plane] = sum;
        }
        float value = part[num_planes - 1];
        if (num_planes > 1 && linear_is_finite(value))
            value += part[0];
        int64_t column = (static_cast<int64_t>(simt_block_index().x) * w_tiles + w_tile) * 16 +
                         lane / 4 + c / 2 * 8;
        int64_t row = x_tile * 8 + lane % 4 * 2 + c % 2;
        if (row < p.call.rows && column < p.call.columns)
            linear_store(p.call.y, row, column, value);
    }
}

template <int w_tiles, int x_tiles, int num_planes> SIMT_KERNEL(linear_small)(struct small_call p)
{
    typedef small_shape<w_tiles, x_tiles, num_planes> shape;
    int num_warps = static_cast<int>(simt_block_extent().x) / LANES, warp = simt_warp();
    SIMT_SHARED_DYNAMIC(uint32_t, memory, 0, num_warps * shape::warp_words);
    struct simt_shared<uint32_t> ring = memory.slice(warp * shape::warp_words, shape::warp_words);
    int64_t chunks = (p.call.inner + SMALL_CHUNK - 1) / SMALL_CHUNK;
    float sums[w_tiles * shape::columns][4];
    SIMT_UNROLL for (int i = 0; i < w_tiles * shape::columns; i++)
        SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][c] = 0;

    int64_t next = warp;
    SIMT_UNROLL for (int stage = 0; stage < SMALL_STAGES - 1; stage++)
    {
        if (next < chunks)
            small_stage<w_tiles, x_tiles, num_planes>(p, ring, stage, next);
        simt_copy_commit();
        next += num_warps;
    }
    int stage = 0, free_stage = SMALL_STAGES - 1;
    for (int64_t chunk = warp; chunk < chunks; chunk += num_warps, next += num_warps) {
        simt_copy_wait<SMALL_STAGES - 2>();
        if (next < chunks)
            small_stage<w_tiles, x_tiles, num_planes>(p, ring, free_stage, next);
        simt_copy_commit();
        small_products<w_tiles, x_tiles, num_planes>(ring, stage, sums);
        free_stage = stage;
        stage = stage + 1 < SMALL_STAGES ? stage + 1 : 0;
    }
    simt_copy_wait<0>();
    simt_sync_block(); /* all rings are read */
    SIMT_UNROLL for (int i = 0; i < shape::sums; i++) memory.store(
        (warp * shape::sums + i) * LANES + simt_lane(), simt_f32_bits(sums[i / 4][i % 4]));
    simt_sync_block();
    small_finish<w_tiles, x_tiles, num_planes>(p, memory);
}

template <int w_tiles, int x_tiles, int num_planes>
static assay_status launch_shape(const struct small_call &p, int num_warps,
                                 struct simt_launch *launch)
{
    typedef small_shape<w_tiles, x_tiles, num_planes> shape;
    int64_t blocks = (p.call.columns + 16 * w_tiles - 1) / (16 * w_tiles);
    launch->grid = {static_cast<unsigned>(blocks), 1, 1};
    launch->block = {static_cast<unsigned>(num_warps * LANES), 1, 1};
    launch->shared_bytes = static_cast<size_t>(num_warps) * shape::warp_words * sizeof(uint32_t);
    return SIMT_LAUNCH(launch, (linear_small<w_tiles, x_tiles, num_planes>), p);
}

/* More rows of w a block where there are enough for all multiprocessors: x is read less often. The
 * executor's sweep shall reach every shape with few rows. */
#if defined(__CUDACC__)
enum { WIDE_COLUMNS = 8448, MEDIUM_COLUMNS = 3168 };
#else
enum { WIDE_COLUMNS = 127, MEDIUM_COLUMNS = 33 };
#endif

template <int x_tiles, int num_planes>
static assay_status launch_columns(const struct small_call &p, struct simt_launch *launch)
{
    if (p.call.columns >= WIDE_COLUMNS && num_planes == 1)
        return launch_shape < num_planes == 1 ? 4 : 2, x_tiles,
               num_planes > (p, LINEAR_SMALL_WARPS, launch);
    if (p.call.columns >= MEDIUM_COLUMNS)
        return launch_shape<2, x_tiles, num_planes>(p, 2 * LINEAR_SMALL_WARPS, launch);
    return launch_shape<1, x_tiles, num_planes>(p, 2 * LINEAR_SMALL_WARPS, launch);
}

template <int num_planes>
static assay_status launch_rows(const struct small_call &p, struct simt_launch *launch)
{
    if (p.call.rows <= 8)
        return launch_columns<1, num_planes>(p, launch);
    if (p.call.rows <= 16)
        return launch_columns<2, num_planes>(p, launch);
    return launch_columns<4, num_planes>(p, launch);
}

static assay_status small_launch(const void *args, struct simt_launch *launch)
{
    struct small_call p;
    p.call = linear_call_of(args);
    if (p.call.rows == 0)
        return ASSAY_OK;
    assay_status status = linear_planes_of(&p.call, launch, &p.planes);
    if (status != ASSAY_OK)
        return status;
    return p.planes.count == 1 ? launch_rows<1>(p, launch) : launch_rows<2>(p, launch);
}

DEVICE_ROUTE_RUN(linear_route_small, &assay_op_linear, small_launch)
