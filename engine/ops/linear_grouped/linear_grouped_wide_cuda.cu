/* SPDX-License-Identifier: MIT
 *
 * linear_grouped for up to 32 rows of x and many of w, by warpgroups: each takes 64 rows of w, a
 * block as many warpgroups as give each multiprocessor one block, so that x passes through L2 once
 * a multiprocessor. A warp copies and unpacks 16 rows of w, which are the operand in registers; x
 * is the other one, copied by the block and read by the tensor cores from shared memory. The two
 * bf16 parts of a binary32 x are columns of their own, added at the end.
 *
 * A row's sum has one order, whatever the rows beside it and the number of warpgroups.
 *
 * Profile a16x2 (bf16 x is exact: a16). Bound: linear_grouped_bound.md. Moves the planes once
 * through device memory; instructions limit it, five warps a scheduler.
 * sass: word stores, as the fragments lie.
 */
#include "ops/linear_grouped/grouped_rows.cuh"

/* Warpgroups of a block, by registers; multiprocessors of an H200. The executor's sweep shall reach
 * several blocks and warpgroups with few rows. */
#if defined(__CUDACC__)
enum { WIDE_BLOCKS = 132, WIDE_MOST_GROUPS = 5 };
#else
enum { WIDE_BLOCKS = 2, WIDE_MOST_GROUPS = 2 };
#endif

enum { WIDE_GROUP_WARPS = 4, WIDE_GROUP_ROWS = 64, WIDE_SLICES = 4, WIDE_MOST_STAGES = 4 };

/* columns: of the operand that x is. */
template <int bits_, int columns_> struct wide_shape : grouped_step<bits_, 16> {
    static const int rows = 16, w_tiles = 1, columns = columns_;
    static const int sums = columns / 2;             /* of a lane */
    static const int slice_x = columns * 32;         /* bytes: 16 columns of x */
    static const int unit_x = WIDE_SLICES * slice_x; /* 64 columns of x */
    static const int step_x = wide_shape::step_units * unit_x;
};

struct wide_call {
    struct rows_call rows;
    int warps, stages, stage_bytes; /* of a block; a stage: x, then the warps' rows of w */
};

/* ---- x -------------------------------------------------------------------------------------- */

/* x as [unit][slice][plane][tile of 8 rows][register of mma][lane] words, zeros beyond T and K. A
 * thread makes a lane's words of a unit: 16 columns of one row. */
template <int bits> SIMT_KERNEL(linear_grouped_order_wide)(struct mma_call p, unsigned char *to)
{
    int64_t items = p.units * p.x_tiles * MMA_LANES;
    int64_t i = static_cast<int64_t>(simt_block_index().x) * simt_block_extent().x + simt_thread();
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * simt_block_extent().x;
    for (; i < items; i += step) {
        int lane = static_cast<int>(i % MMA_LANES);
        int64_t tile = i / MMA_LANES % p.x_tiles, unit = i / MMA_LANES / p.x_tiles;
        uint16_t high[GROUPED_QUAD], low[GROUPED_QUAD];
        mma_split_quad<bits>(p, mma_row_at(p, 8 * tile + lane / 4), unit, lane, high, low);
        SIMT_UNROLL for (int word = 0; word < 8; word++)
        {
            int first = grouped_low_column<bits>(word / 4, word % 4),
                second = grouped_high_column<bits>(word / 4, word % 4);
            int64_t at = (unit * WIDE_SLICES + word / 2) * p.num_planes * p.x_tiles + tile;
            unsigned char *place = to + 4 * ((2 * at + word % 2) * MMA_LANES + lane);
            uint32_t low_pair = low[first] | static_cast<uint32_t>(low[second]) << 16;
            uint32_t high_pair = high[first] | static_cast<uint32_t>(high[second]) << 16;
            if (p.num_planes == 2) {
                simt_store(reinterpret_cast<uint32_t *>(place), low_pair);
                place += 8 * p.x_tiles * MMA_LANES;
            }
            simt_store(reinterpret_cast<uint32_t *>(place), high_pair);
        }
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

template <typename shape, bool is_whole>
SIMT_DEVICE void wide_stage(const struct wide_call &p, const struct grouped_memory &memory,
                            int stage, const struct rows_source &from, int step)
{
    const unsigned char *x =
        p.rows.call.ordered + int64_t{step} * shape::step_x + 16 * simt_thread();
    SIMT_ROLLED for (int i = 16 * simt_thread(); i < shape::step_x;
                     i += 16 * MMA_LANES * p.warps, x += 16 * MMA_LANES * p.warps)
        simt_copy_async<16>(memory.bytes.at(stage + i), x);
    rows_stage<shape, is_whole>(
        p.rows, memory, stage + shape::step_x + simt_warp() * shape::stage_bytes, from, step);
}

/* Codes of a unit, as the operand of each slice. */
template <typename shape>
SIMT_DEVICE void wide_codes(uint32_t magic, const struct grouped_memory &memory,
                            const struct grouped_lane &at, int unit, uint32_t (*a)[4])
{
    uint32_t codes[2][8];
    SIMT_UNROLL for (int i = 0; i < 2; i++)
        grouped_row_pairs<shape>(magic, memory, at, i, unit, codes[i]);
    SIMT_UNROLL for (int slice = 0; slice < WIDE_SLICES; slice++)
        SIMT_UNROLL for (int i = 0; i < 4; i++) a[slice][i] = codes[i % 2][2 * slice + i / 2];
}

/* Starts the products of a group of a unit. */
template <typename shape>
SIMT_DEVICE void wide_start(const struct grouped_memory &memory, int x_at, int group,
                            const uint32_t (*a)[4], float *partial)
{
    const bool is_one = shape::groups == 1;
    const int columns = shape::columns;
    simt_warpgroup_begin();
    if (is_one || group == 0) {
        simt_warpgroup_mma_bf16<columns, 0>(partial, a[0], memory.bytes.at(x_at), false);
        simt_warpgroup_mma_bf16<columns, 1>(partial, a[1], memory.bytes.at(x_at), true);
    }
    if (is_one || group == 1) {
        simt_warpgroup_mma_bf16<columns, 2>(partial, a[2], memory.bytes.at(x_at), is_one);
        simt_warpgroup_mma_bf16<columns, 3>(partial, a[3], memory.bytes.at(x_at), true);
    }
    simt_warpgroup_commit();
}

/* Waits for them and adds them by FMA with the scales of rows lane / 4 and 8 behind, which are the
 * lowest halves of `scales`; these move on to the next group. */
template <typename shape> SIMT_DEVICE void wide_add(uint64_t *scales, float *partial, float *sums)
{
    float scale[2];
    simt_warpgroup_wait_all<shape::sums>(partial);
    SIMT_UNROLL for (int i = 0; i < 2; i++)
    {
        scale[i] = simt_f16_to_f32(static_cast<uint16_t>(scales[i] & 0xffff));
        scales[i] >>= 16;
    }
    SIMT_UNROLL for (int c = 0; c < shape::sums; c++) sums[c] =
        fmaf(partial[c], scale[c / 2 % 2], sums[c]);
}

/* A step. The codes of a unit are unpacked while the tensor cores have the unit before; with 64
 * columns registers would not be enough for that. */
template <typename shape>
SIMT_DEVICE void wide_products(const struct wide_call &p, const struct grouped_memory &memory,
                               int stage, float *sums)
{
    const struct grouped_lane at =
        grouped_lane_of<shape>(stage + shape::step_x + simt_warp() * shape::stage_bytes);
    uint32_t magic = p.rows.call.magic, a[2][WIDE_SLICES][4];
    uint64_t scales[2];
    float partial[shape::sums];
    SIMT_UNROLL for (int i = 0; i < 2; i++) scales[i] =
        memory.pairs.load(at.scales + static_cast<unsigned>(8 * i));
    if constexpr (shape::columns == 64) {
        SIMT_ROLLED for (int unit = 0; unit < shape::step_units; unit++)
        {
            wide_codes<shape>(magic, memory, at, unit, a[0]);
            SIMT_UNROLL for (int group = 0; group < shape::groups; group++)
            {
                wide_start<shape>(memory, stage + unit * shape::unit_x, group, a[0], partial);
                wide_add<shape>(scales, partial, sums);
            }
        }
    } else {
        wide_codes<shape>(magic, memory, at, 0, a[0]);
        SIMT_UNROLL for (int unit = 0; unit < shape::step_units; unit++)
        {
            SIMT_UNROLL for (int group = 0; group < shape::groups; group++)
            {
                wide_start<shape>(memory, stage + unit * shape::unit_x, group, a[unit % 2],
                                  partial);
                if (group + 1 == shape::groups && unit + 1 < shape::step_units)
                    wide_codes<shape>(magic, memory, at, unit + 1, a[(unit + 1) % 2]);
                wide_add<shape>(scales, partial, sums);
            }
        }
    }
}

/* planes: low parts of x stand before the high ones. */
template <typename shape, int planes>
SIMT_DEVICE void wide_finish(const struct mma_call &p, int64_t first, const float *sums)
{
    const int tiles = shape::columns / 8 / planes;
    int left = linear_rows_left(p.columns, first);
    SIMT_UNROLL for (int i = 0; i < 4 * tiles; i++)
    {
        int row = mma_row_of(0, simt_lane(), i % 4);
        int64_t t = mma_x_row_of(i / 4, simt_lane(), i % 4);
        float sum = planes == 2 ? sums[i] + sums[(planes - 1) * 4 * tiles + i] : sums[i];
        if (row < left && t < p.rows)
            mma_store(p, t, first + row, sum);
    }
}

template <typename shape, bool is_whole>
SIMT_KERNEL_RESIDENT(linear_grouped_wide, WIDE_MOST_GROUPS *WIDE_GROUP_WARPS *MMA_LANES, 1)
(struct wide_call p)
{
    int total = p.stages * p.stage_bytes;
    SIMT_SHARED_DYNAMIC(unsigned char, bytes, 0, total);
    SIMT_SHARED_DYNAMIC(uint16_t, halves, 0, total / 2);
    SIMT_SHARED_DYNAMIC(uint32_t, words, 0, total / 4);
    SIMT_SHARED_DYNAMIC(uint64_t, pairs, 0, total / 8);
    const struct grouped_memory memory = {bytes, halves, words, pairs};
    int64_t first = (int64_t{simt_block_index().x} * p.warps + simt_warp()) * shape::rows;
    struct rows_source source = rows_source_of<shape>(p.rows, first);
    float sums[shape::sums];
    SIMT_UNROLL for (int c = 0; c < shape::sums; c++) sums[c] = 0;

    int next = 0;
    SIMT_ROLLED for (; next < p.stages - 1; next++)
    {
        if (next < p.rows.steps)
            wide_stage<shape, is_whole>(p, memory, next * p.stage_bytes, source, next);
        simt_copy_commit();
    }
    int stage = 0, free_stage = total - p.stage_bytes;
    SIMT_ROLLED for (int step = 0; step < p.rows.steps; step++, next++)
    {
        if (p.stages == 2)
            simt_copy_wait<0>();
        else if (p.stages == 3)
            simt_copy_wait<1>();
        else
            simt_copy_wait<2>();
        simt_warpgroup_share();
        simt_sync_block(); /* the step is there, all have read the one before */
        if (next < p.rows.steps)
            wide_stage<shape, is_whole>(p, memory, free_stage, source, next);
        simt_copy_commit();
        wide_products<shape>(p, memory, stage, sums);
        free_stage = stage;
        stage = stage + p.stage_bytes < total ? stage + p.stage_bytes : 0;
    }
    simt_copy_wait<0>();
    if (p.rows.call.num_planes == 2)
        wide_finish<shape, 2>(p.rows.call, first, sums);
    else
        wide_finish<shape, 1>(p.rows.call, first, sums);
}

/* ---- launch --------------------------------------------------------------------------------- */

/* Warpgroups of a block: those with which multiprocessors have the least to do, one block at a
 * time; among these most. */
static int wide_groups(int64_t columns)
{
    int64_t tiles = (columns + WIDE_GROUP_ROWS - 1) / WIDE_GROUP_ROWS, least = INT64_MAX;
    int best = 1;
    for (int groups = 1; groups <= WIDE_MOST_GROUPS; groups++) {
        int64_t blocks = (tiles + groups - 1) / groups;
        int64_t time = (blocks + WIDE_BLOCKS - 1) / WIDE_BLOCKS * groups;
        best = time <= least ? groups : best;
        least = time <= least ? time : least;
    }
    return best;
}

template <typename shape, bool is_whole>
static assay_status launch_shape(struct wide_call *p, struct simt_launch *launch)
{
    int groups = wide_groups(p->rows.call.columns);
    p->warps = WIDE_GROUP_WARPS * groups;
    p->stage_bytes = shape::step_x + p->warps * shape::stage_bytes;
    p->stages = MMA_SHARED / p->stage_bytes;
    p->stages = p->stages < WIDE_MOST_STAGES ? p->stages : static_cast<int>(WIDE_MOST_STAGES);
    int64_t rows = int64_t{WIDE_GROUP_ROWS} * groups;
    launch->grid = {static_cast<unsigned>((p->rows.call.columns + rows - 1) / rows), 1, 1};
    launch->block = {static_cast<unsigned>(MMA_LANES * p->warps), 1, 1};
    launch->shared_bytes = static_cast<size_t>(p->stages * p->stage_bytes);
    return SIMT_LAUNCH(launch, (linear_grouped_wide<shape, is_whole>), *p);
}

template <int bits>
static assay_status launch_bits(struct wide_call *p, int columns, struct simt_launch *launch)
{
    rows_set_sizes<bits>(&p->rows);
    if (!p->rows.call.is_whole)
        return launch_shape<wide_shape<bits, LINEAR_GROUPED_WIDE_COLUMNS>, false>(p, launch);
    switch (columns) {
    case 16:
        return launch_shape<wide_shape<bits, 16>, true>(p, launch);
    case 32:
        return launch_shape<wide_shape<bits, 32>, true>(p, launch);
    default:
        return launch_shape<wide_shape<bits, 64>, true>(p, launch);
    }
}

static assay_status order_x(struct mma_call *p, struct simt_launch *launch)
{
    enum { THREADS = 256, MAX_BLOCKS = 4096 };
    struct mma_call order = *p;
    order.units = static_cast<int>(linear_grouped_wide_units(p->inner));
    int64_t most = MAX_BLOCKS, items = order.units * p->x_tiles * MMA_LANES;
    int64_t blocks = (items + THREADS - 1) / THREADS;
    unsigned char *memory = static_cast<unsigned char *>(launch->workspace);
    p->ordered = memory;
    launch->grid = {static_cast<unsigned>(blocks < most ? blocks : most), 1, 1};
    launch->block = {THREADS, 1, 1};
    launch->shared_bytes = 0;
    if (p->w.bits == 8)
        return SIMT_LAUNCH(launch, linear_grouped_order_wide<8>, order, memory);
    if (p->w.bits == 4)
        return SIMT_LAUNCH(launch, linear_grouped_order_wide<4>, order, memory);
    return SIMT_LAUNCH(launch, linear_grouped_order_wide<5>, order, memory); /* and of q6g64 */
}

static assay_status wide_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_linear_grouped_args *a =
        static_cast<const struct assay_linear_grouped_args *>(args);
    if (a->x.extent[0] == 0)
        return ASSAY_OK;
    struct wide_call p = {};
    p.rows.call = mma_call_of(a, 1);
    int columns = LINEAR_GROUPED_WIDE_COLUMNS;
    if (p.rows.call.is_whole)
        columns = linear_grouped_wide_columns(a->x.extent[0], p.rows.call.num_planes);
    p.rows.call.x_tiles = columns / 8 / p.rows.call.num_planes;
    assay_status status = order_x(&p.rows.call, launch);
    if (status != ASSAY_OK)
        return status;
    switch (p.rows.call.w.bits) {
    case 4:
        return launch_bits<4>(&p, columns, launch);
    case 5:
        return launch_bits<5>(&p, columns, launch);
    case 6:
        return launch_bits<6>(&p, columns, launch);
    default:
        return launch_bits<8>(&p, columns, launch);
    }
}

DEVICE_ROUTE_RUN(linear_grouped_route_wide, &assay_op_linear_grouped, wide_launch)
