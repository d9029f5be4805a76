/* SPDX-License-Identifier: MIT
 *
 * linear for up to 32 rows of x, in tensor cores: w is the 16-row operand, x the 8-column one. A
 * block takes 16 to 160 rows of w and all of x. Steps of 128 or 256 columns of both come into
 * shared memory by a queue of asynchronous copies, so that x passes L2 once a block and not once a
 * warp; the warps share a step's rows of w and its slices of 16 columns. The sums of the 2 to 8
 * warps with the same rows are added at the end, in their order.
 *
 * A row of a panel (64 columns) is 128 bytes, a whole line of memory; the 16-byte pieces of row r
 * stand at places XOR r % 8, so that neither the copies nor ldmatrix meet in a bank.
 *
 * Profile a16x2 (bf16 x is exact: a16). Bound: linear_bound.md. Moves w once through device memory
 * and x once a block through L2; limited by the former up to 16 rows of binary32 x, then by tensor
 * cores and shared memory: each warp of the block reads x from there.
 */
#include "ops/linear/linear_split.cuh"

enum { PANEL = 64 /* columns */, LANES = 32 };

struct small_call {
    struct linear_call call;
    struct linear_planes planes;
};

/* w_tiles: of 16 rows of w, of a warp; warps_n warps have others, warps_k the same. x_tiles: of 8
 * rows of x in each of num_planes planes. A step has `panels` panels, the queue `stages` steps. */
template <int w_tiles_, int warps_n_, int warps_k_, int x_tiles_, int num_planes_, int panels_,
          int stages_>
struct small_shape {
    static const int w_tiles = w_tiles_, warps_n = warps_n_, warps_k = warps_k_;
    static const int x_tiles = x_tiles_, num_planes = num_planes_;
    static const int panels = panels_, stages = stages_;
    static const int columns = x_tiles * num_planes; /* tiles of x, all planes */
    static const int rows = 16 * w_tiles * warps_n, x_rows = 8 * columns;
    static const int warps = warps_n * warps_k, threads = warps * LANES;
    static const int slices = panels * (PANEL / 16) / warps_k; /* of a warp in a step */
    static const int copy_rows =
        threads / (PANEL / ROW_CHUNK); /* that all threads copy at a time */
    static const int w_copies = rows * panels / copy_rows;
    static const int x_copies = (x_rows * panels + copy_rows - 1) / copy_rows;
    static const int panel_halves = (rows + x_rows) * PANEL;
    static const int stage_halves = panels * panel_halves;
    static const int sums = 4 * w_tiles * columns; /* of a lane */
    static_assert(slices * warps_k == panels * (PANEL / 16), "warps share a step evenly");
    static_assert(w_copies * copy_rows == rows * panels && copy_rows % 8 == 0, "and its copies");
    static_assert(rows % copy_rows == 0 || copy_rows % rows == 0, "whole panels or parts of one");
    static_assert(stages * stage_halves / 2 >= warps * sums * LANES, "sums fit the queue");
};

/* What a thread copies of each step: piece thread % 8 of every copy_rows-th row. */
template <typename shape> struct small_source {
    const unsigned char *w, *x[shape::x_copies]; /* at its first column */
    int w_left;                                  /* rows of w from its first on */
    unsigned x_there;                            /* bit i: x[i] has a row */
};

/* Row `index` of a step, of `rows` in each panel, as halves from its operand's first panel on. */
template <typename shape> SIMT_DEVICE int place_of_row(int index, int rows)
{
    int piece = simt_thread() % 8, row = index % rows;
    return index / rows * shape::panel_halves + row * PANEL + (piece ^ row % 8) * ROW_CHUNK;
}

template <typename shape>
SIMT_DEVICE void source_of(const struct small_call &p, struct small_source<shape> *source)
{
    int row = simt_thread() / 8, piece = simt_thread() % 8;
    int64_t first = static_cast<int64_t>(simt_block_index().x) * shape::rows + row % shape::rows;
    source->w = linear_row(p.call.w, first) + 2 * (row / shape::rows * PANEL + piece * ROW_CHUNK);
    source->w_left = linear_rows_left(p.call.columns, first);
    source->x_there = 0;
    SIMT_UNROLL for (int i = 0; i < shape::x_copies; i++)
    {
        int index = row + i * shape::copy_rows, panel = index / shape::x_rows;
        int plane = index % shape::x_rows / (8 * shape::x_tiles), t = index % (8 * shape::x_tiles);
        source->x[i] = linear_row(p.planes.x, t) + plane * p.planes.plane_bytes +
                       2 * (panel * PANEL + piece * ROW_CHUNK);
        if (t < p.call.rows)
            source->x_there |= 1u << i;
    }
}

/* The step from column k on into its stage. */
template <typename shape>
SIMT_DEVICE void small_stage(const struct small_call &p, const struct small_source<shape> &source,
                             struct simt_shared<uint16_t> stage, int64_t k)
{
    int row = simt_thread() / 8, column = simt_thread() % 8 * ROW_CHUNK;
    int at = place_of_row<shape>(row, shape::rows);
    SIMT_UNROLL for (int i = 0; i < shape::w_copies; i++)
    {
        int skip = i * shape::copy_rows, panel = skip / shape::rows;
        int valid = linear_valid(k + (row / shape::rows + panel) * PANEL + column, p.call.inner);
        linear_stage(stage, at + panel * shape::panel_halves + skip % shape::rows * PANEL,
                     source.w + 2 * (k + panel * PANEL) +
                         skip % shape::rows * p.call.w.outer_stride,
                     skip % shape::rows < source.w_left ? valid : 0, p.call.w.is_aligned);
    }
    SIMT_UNROLL for (int i = 0; i < shape::x_copies; i++)
    {
        int index = row + i * shape::copy_rows, panel = index / shape::x_rows;
        if (shape::x_rows * shape::panels % shape::copy_rows != 0 &&
            index >= shape::x_rows * shape::panels)
            break;
        int valid = linear_valid(k + panel * PANEL + column, p.planes.inner);
        linear_stage(stage, shape::rows * PANEL + place_of_row<shape>(index, shape::x_rows),
                     source.x[i] + 2 * k, source.x_there >> i & 1 ? valid : 0,
                     p.planes.x.is_aligned);
    }
}

/* Adds the products of this warp's part of a step. */
template <typename shape>
SIMT_DEVICE void small_products(struct simt_shared<uint16_t> stage, float (*sums)[4])
{
    int lane = simt_lane(), row = lane % 8;
    int first = simt_warp() % shape::warps_n * shape::w_tiles * 16 + lane % 16;
    int at_w = first * PANEL + (lane / 16 ^ row) * ROW_CHUNK;
    int at_x = (shape::rows + lane / 16 * 8 + row) * PANEL + (lane / 8 % 2 ^ row) * ROW_CHUNK;
    SIMT_UNROLL for (int i = 0; i < shape::slices; i++)
    {
        int slice = simt_warp() / shape::warps_n + i * shape::warps_k;
        int panel = slice / 4 * shape::panel_halves, turn = slice % 4 * 16;
        uint32_t w[shape::w_tiles][4], x[shape::columns + 1][2];
        SIMT_UNROLL for (int tile = 0; tile < shape::w_tiles; tile++)
            simt_ldmatrix<4>(w[tile], stage.at(panel + (at_w ^ turn) + tile * 16 * PANEL));
        if (shape::columns == 1)
            simt_ldmatrix<2>(x[0], stage.at(panel + (at_x ^ turn) - lane / 16 * 8 * PANEL));
        else
            SIMT_UNROLL for (int j = 0; j < shape::columns; j += 2)
                simt_ldmatrix<4>(x[j], stage.at(panel + (at_x ^ turn) + j * 8 * PANEL));
        SIMT_UNROLL for (int tile = 0; tile < shape::w_tiles; tile++)
            SIMT_UNROLL for (int j = 0; j < shape::columns; j++)
        {
            float *sum = sums[tile * shape::columns + j];
            simt_mma_bf16(sum, w[tile], x[j], sum);
        }
    }
}

/* Adds the sums of the warps that share rows and, of two planes, low to high. Where high is not
 * finite it is the result: low then met an infinity, too, with any sign. */
template <typename shape>
SIMT_DEVICE void small_finish(const struct small_call &p, struct simt_shared<float> sums)
{
    for (int i = simt_thread(); i < shape::rows * 8 * shape::x_tiles; i += shape::threads) {
        int lane = i % LANES, c = i / LANES % 4, x_tile = i / LANES / 4 % shape::x_tiles;
        int w_tile = i / LANES / 4 / shape::x_tiles;
        float part[shape::num_planes];
        SIMT_UNROLL for (int plane = 0; plane < shape::num_planes; plane++)
        {
            int at = w_tile % shape::w_tiles * shape::columns + plane * shape::x_tiles + x_tile;
            float sum = 0;
            SIMT_UNROLL for (int j = 0; j < shape::warps_k; j++)
            {
                int warp = w_tile / shape::w_tiles + j * shape::warps_n;
                sum += sums.load((warp * shape::sums + at * 4 + c) * LANES + lane);
            }
            part[plane] = sum;
        }
        float value = part[shape::num_planes - 1];
        if (shape::num_planes > 1 && linear_is_finite(value))
            value += part[0];
        int64_t column = static_cast<int64_t>(simt_block_index().x) * shape::rows + w_tile * 16 +
                         lane / 4 + c / 2 * 8;
        int64_t row = x_tile * 8 + lane % 4 * 2 + c % 2;
        if (row < p.call.rows && column < p.call.columns)
            linear_store(p.call.y, row, column, value);
    }
}

template <typename shape> SIMT_KERNEL(linear_small)(struct small_call p)
{
    SIMT_SHARED_DYNAMIC(uint16_t, memory, 0, shape::stages * shape::stage_halves);
    SIMT_SHARED_DYNAMIC(float, all_sums, 0, shape::warps *shape::sums *LANES);
    struct small_source<shape> source;
    source_of<shape>(p, &source);
    float sums[shape::w_tiles * shape::columns][4];
    SIMT_UNROLL for (int i = 0; i < shape::w_tiles * shape::columns; i++)
        SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][c] = 0;

    const int64_t step = shape::panels * PANEL;
    int64_t next = 0;
    SIMT_UNROLL for (int i = 0; i < shape::stages - 1; i++, next += step)
    {
        if (next < p.call.inner)
            small_stage<shape>(p, source,
                               memory.slice(i * shape::stage_halves, shape::stage_halves), next);
        simt_copy_commit();
    }
    int stage = 0, free_stage = shape::stages - 1;
    for (int64_t k = 0; k < p.call.inner; k += step, next += step) {
        simt_copy_wait<shape::stages - 2>();
        simt_sync_block(); /* the step has come for all, all have read the one before */
        if (next < p.call.inner)
            small_stage<shape>(p, source,
                               memory.slice(free_stage * shape::stage_halves, shape::stage_halves),
                               next);
        simt_copy_commit();
        small_products<shape>(memory.slice(stage * shape::stage_halves, shape::stage_halves), sums);
        free_stage = stage;
        stage = stage + 1 < shape::stages ? stage + 1 : 0;
    }
    simt_copy_wait<0>();
    simt_sync_block(); /* all steps are read */
    SIMT_UNROLL for (int i = 0; i < shape::sums; i++)
        all_sums.store((simt_warp() * shape::sums + i) * LANES + simt_lane(), sums[i / 4][i % 4]);
    simt_sync_block();
    small_finish<shape>(p, all_sums);
}

template <typename shape>
static assay_status launch_shape(const struct small_call &p, struct simt_launch *launch)
{
    int64_t blocks = (p.call.columns + shape::rows - 1) / shape::rows;
    launch->grid = {static_cast<unsigned>(blocks), 1, 1};
    launch->block = {shape::threads, 1, 1};
    launch->shared_bytes = sizeof(uint16_t) * shape::stages * shape::stage_halves;
    return SIMT_LAUNCH(launch, linear_small<shape>, p);
}

/* As many rows of w a block as leave one block for each multiprocessor of an H200 (132): all end at
 * the same time, and x is read least often. The executor's sweep shall reach every shape with few
 * rows. */
#if defined(__CUDACC__)
enum { SMALL_BLOCKS = 132 };
#else
enum { SMALL_BLOCKS = 1 };
#endif

template <int x_tiles, int num_planes>
static assay_status launch_columns(const struct small_call &p, struct simt_launch *launch)
{
    int64_t rows = (p.call.columns + SMALL_BLOCKS - 1) / SMALL_BLOCKS;
    if (rows <= 16)
        return launch_shape<small_shape<1, 1, 8, x_tiles, num_planes, 4, 4>>(p, launch);
    if (rows <= 32)
        return launch_shape<small_shape<2, 1, 8, x_tiles, num_planes, 4, 3>>(p, launch);
    if (rows <= 48)
        return launch_shape<small_shape<1, 3, 4, x_tiles, num_planes, 2, 6>>(p, launch);
    if (rows <= 64)
        return launch_shape<small_shape<2, 2, 4, x_tiles, num_planes, 2, 4>>(p, launch);
    if (rows <= 96)
        return launch_shape<small_shape<2, 3, 4, x_tiles, num_planes, 2, 4>>(p, launch);
    return launch_shape<small_shape<2, 5, 2, x_tiles, num_planes, 2, 3>>(p, launch);
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
