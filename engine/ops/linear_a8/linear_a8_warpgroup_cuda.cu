/* SPDX-License-Identifier: MIT
 *
 * linear_a8 for many rows of x, by warpgroups: a block takes 128 rows of x and 128 of w, each of
 * its two warpgroups 64 of the latter. w is the operand in registers, unpacked there once for 128
 * rows of x, whose codes the tensor cores read from shared memory. They make the products of the
 * scales as well, in binary16: of 16 groups of columns all but one have a zero in w's place, so
 * that wscale * s is exact. What is left to a sum of a group are a conversion and an FMA.
 *
 * The sums of a group come in two halves of 64 rows of x: while those of one are under way, those
 * of the other are added to y.
 *
 * A NaN among the scales of x reaches 16 groups, which changes nothing: all of its row is NaN
 * [LINEARA8-6].
 *
 * Profile a8. Bound: linear_a8_bound.md, to the bit. 2 T N K operations. For a group of columns a
 * warp has some 235 instructions beside 192 cycles of tensor cores; on an H200 it issues them in 55
 * of 100 cycles, the two warps of a scheduler are not enough to hide how long results take.
 * sass: word stores, as the fragments lie.
 */
#include "ops/linear_a8/a8_tiles.cuh"

enum {
    HALF_ROWS = 64,
    HALF_SUMS = 32,
    HALVES = 2,
    SCALE_GROUPS = 16,
    SCALE_STEPS = SCALE_GROUPS / TILE_GROUPS,
    SCALE_HALF = HALF_ROWS * SCALE_GROUPS * 2, /* bytes of scales of 64 rows of x */
    SCALE_BLOCK = HALVES * SCALE_HALF
};

/* Blocks of scales stand before the stages; two, and the copies of one come while the other is
 * read: a step is at most SCALE_STEPS - 1 ahead. */
template <int bits_, int stages_> struct group_shape : tile_layout<bits_, 128, 128, 256, stages_> {
    typedef tile_layout<bits_, 128, 128, 256, stages_> layout;
    static const int first_stage = 2 * SCALE_BLOCK;
    static const int shared_bytes = first_stage + stages_ * layout::stage_bytes;
    static const int base_pieces = layout::base_row / 16; /* of a row */
    static const int base_rows =
        layout::threads / base_pieces; /* that all threads copy at a time */
    static const int base_copies = layout::tile_n / base_rows;
    static const int x_rows = layout::threads * 16 / TILE_K, x_copies = layout::tile_t / x_rows;
    static const int high_pieces = layout::high_row / 16 + (layout::high_row == 0);
    static_assert(stages_ <= SCALE_STEPS && base_rows % 8 == 0, "see above; rows have one rest");
};

/* ---- copies --------------------------------------------------------------------------------- */

/* Where a thread's copies come from, at the step that is copied next. Rows of w from N on are the
 * last one, what they give is not stored. */
template <typename shape> struct group_source {
    const unsigned char *x, *base, *high, *scales, *x_scales;
    int rows[shape::base_copies]; /* of the base plane, from the first: bytes */
};

template <typename shape>
SIMT_DEVICE struct group_source<shape> group_source_of(const struct a8_call &p,
                                                       struct tile_place place) {
    int thread = simt_thread(), last = rows_left(p.columns, place.n) - 1;
    struct group_source<shape> from;
    from.x = p.codes + (place.t + thread / 8) * p.padded + thread % 8 * 16;
    from.x_scales = reinterpret_cast<const unsigned char *>(p.x_scales) +
                    place.t * (2 * SCALE_GROUPS) + 16 * thread;
    from.base = p.base.data + place.n * p.base.stride + thread % shape::base_pieces * 16;
    SIMT_UNROLL for (int i = 0; i < shape::base_copies; i++)
    {
        int row = thread / shape::base_pieces + i * shape::base_rows;
        from.rows[i] = (row < last ? row : last) * static_cast<int>(p.base.stride);
    }
    int row = thread / shape::high_pieces < last ? thread / shape::high_pieces : last;
    from.high = p.high.data + (place.n + row) * p.high.stride + thread % shape::high_pieces * 16;
    from.scales = p.scales.data + (place.n + (thread < last ? thread : last)) * p.scales.stride;
    return from;
}

/* A step of 128 columns into the stage at `stage`; columns beyond K of scales count as zero. */
template <typename shape>
SIMT_DEVICE void copy_group(const struct a8_call &p, const struct tile_memory &memory, int stage,
                            int step, struct group_source<shape> &from)
{
    int thread = simt_thread();
    int x_at = stage + piece_at<shape, TILE_X>(thread / 8 % 8, thread % 8, thread / 64 * 8);
    SIMT_UNROLL for (int i = 0; i < shape::x_copies; i++) simt_copy_async<16>(
        memory.bytes.at(x_at + i * shape::x_rows * TILE_K), from.x + i * shape::x_rows * p.padded);
    int row = thread / shape::base_pieces;
    int base_at =
        stage + piece_at<shape, TILE_BASE>(row % 8, thread % shape::base_pieces, row / 8 * 8);
    SIMT_UNROLL for (int i = 0; i < shape::base_copies; i++)
        simt_copy_async<16>(memory.bytes.at(base_at + i * shape::base_rows * shape::base_row),
                            from.base + from.rows[i]);
    int high_row = thread / shape::high_pieces;
    if (shape::high_row > 0 && high_row < shape::tile_n)
        simt_copy_async<16>(memory.bytes.at(stage + piece_at<shape, TILE_HIGH>(
                                                        high_row % 8, thread % shape::high_pieces,
                                                        high_row / 8 * 8)),
                            from.high);
    const int bytes = 2 * shape::w_groups;
    int valid = (static_cast<int>(p.groups) - step * shape::w_groups) * 2;
    if (thread < shape::tile_n)
        simt_copy_async_part<bytes>(memory.bytes.at(stage + shape::scales_at + bytes * thread),
                                    from.scales, valid < bytes ? valid : bytes);
    if (step % SCALE_STEPS == 0) {
        simt_copy_async<16>(memory.bytes.at(step / SCALE_STEPS % 2 * SCALE_BLOCK + 16 * thread),
                            from.x_scales);
        from.x_scales += p.pitch * (2 * SCALE_GROUPS);
    }
    from.x += TILE_K;
    from.base += shape::base_row;
    from.high += shape::high_row;
    from.scales += bytes;
}

/* ---- products ------------------------------------------------------------------------------- */

/* What a lane needs of w for a group of 64 columns: codes of its rows lane / 4 and 8 behind of the
 * warp's 16, and their scales as operands: the scale in the place of its group, else zeros. */
template <typename shape> struct group_weights {
    uint32_t a[2][4], scales[shape::parts][4];
};

template <typename shape>
SIMT_DEVICE void load_weights(const struct tile_memory &memory, int stage, int step, int group,
                              struct group_weights<shape> &w)
{
    int before = 16 * simt_warp();
    bool is_mine = simt_lane() % 4 == step % 4, is_far = step % SCALE_STEPS >= 4;
    struct tile_lane at = lane_of<shape>(stage, group, before);
    int at_scales = ((stage + shape::scales_at) >> 1) +
                    shape::w_groups * (before + simt_lane() / 4) + shape::parts * group;
    SIMT_UNROLL for (int j = 0; j < 2; j++)
    {
        uint32_t codes[2][2];
        load_codes<shape>(memory, at, j, codes);
        SIMT_UNROLL for (int slice = 0; slice < 2; slice++)
            SIMT_UNROLL for (int half = 0; half < 2; half++)
                w.a[slice][2 * half + j] = codes[slice][half];
        SIMT_UNROLL for (int part = 0; part < shape::parts; part++)
        {
            uint32_t scale = static_cast<uint32_t>(
                                 memory.halves.load(at_scales + shape::w_groups * 8 * j + part))
                             << 16 * group;
            w.scales[part][j] = is_mine && !is_far ? scale : 0;
            w.scales[part][2 + j] = is_mine && is_far ? scale : 0;
        }
    }
}

/* Integer sums of a group of w and half of the rows of x, and the products of their scales. */
struct half_sums {
    int d[HALF_SUMS];
    float scales[HALF_SUMS];
};

template <typename shape>
SIMT_DEVICE void start_sums(const struct tile_memory &memory, int stage, int step, int i, int half,
                            const struct group_weights<shape> &w, struct half_sums &sums)
{
    int at = stage + half * HALF_ROWS * TILE_K + i * (A8_GROUP / shape::parts);
    int at_scales = step / SCALE_STEPS % 2 * SCALE_BLOCK + half * SCALE_HALF;
    simt_warpgroup_begin();
    simt_warpgroup_mma_s8(sums.d, w.a[i % shape::parts], memory.bytes.at(at), false);
    if (shape::parts == 1)
        simt_warpgroup_mma_s8(sums.d, w.a[1], memory.bytes.at(at + 32), true);
    simt_warpgroup_mma_f16(sums.scales, w.scales[i % shape::parts], memory.bytes.at(at_scales));
    simt_warpgroup_commit();
}

/* The step of [LINEARA8-2]. */
SIMT_DEVICE void add_sums(const struct half_sums &sums, float *y)
{
    SIMT_UNROLL for (int i = 0; i < HALF_SUMS; i++) y[i] =
        fmaf(static_cast<float>(sums.d[i]), sums.scales[i], y[i]);
}

/* The groups of a step. No product is under way after it. */
template <typename shape>
SIMT_DEVICE void add_step(const struct tile_memory &memory, int stage, int step,
                          struct half_sums *sums, float (*y)[HALF_SUMS])
{
    struct group_weights<shape> w[TILE_GROUPS];
    load_weights<shape>(memory, stage, step, 0, w[0]);
    start_sums<shape>(memory, stage, step, 0, 0, w[0], sums[0]);
    SIMT_UNROLL for (int i = 0; i < shape::w_groups; i++)
    {
        const int group = i / shape::parts, next = (i + 1) / shape::parts;
        start_sums<shape>(memory, stage, step, i, 1, w[group], sums[1]);
        if (i + 1 < shape::w_groups && next > group)
            load_weights<shape>(memory, stage, step, next % TILE_GROUPS, w[next % TILE_GROUPS]);
        simt_warpgroup_wait<1>(sums[0].d, sums[0].scales);
        add_sums(sums[0], y[0]);
        if (i + 1 < shape::w_groups) {
            start_sums<shape>(memory, stage, step, i + 1, 0, w[next % TILE_GROUPS], sums[0]);
            simt_warpgroup_wait<1>(sums[1].d, sums[1].scales);
        } else {
            simt_warpgroup_wait<0>(sums[1].d, sums[1].scales);
        }
        add_sums(sums[1], y[1]);
    }
}

/* ---- the kernel ----------------------------------------------------------------------------- */

SIMT_DEVICE void group_finish(const struct a8_call &p, struct tile_place place,
                              const float (*y)[HALF_SUMS])
{
    int lane = simt_lane();
    int64_t t = place.t + lane % 4 * 2, n = place.n + 16 * simt_warp() + lane / 4;
    SIMT_UNROLL for (int half = 0; half < HALVES; half++)
        SIMT_UNROLL for (int i = 0; i < HALF_SUMS; i++)
    {
        int64_t row = t + half * HALF_ROWS + i / 4 * 8 + i % 2, column = n + i % 4 / 2 * 8;
        if (row < p.rows && column < p.columns)
            a8_store(p, row, column, y[half][i]);
    }
}

template <typename shape> SIMT_KERNEL_RESIDENT(a8_warpgroup, shape::threads, 1)(struct tiled_call p)
{
    const int total = shape::shared_bytes;
    SIMT_SHARED_DYNAMIC(unsigned char, bytes, 0, total);
    SIMT_SHARED_DYNAMIC(uint16_t, halves, 0, total / 2);
    SIMT_SHARED_DYNAMIC(uint32_t, words, 0, total / 4);
    SIMT_SHARED_DYNAMIC(uint64_t, pairs, 0, total / 8);
    SIMT_SHARED_DYNAMIC(float, floats, 0, total / 4);
    const struct tile_memory memory = {bytes, halves, words, pairs, floats};
    struct tile_place place = tile_place_of<shape>(p, simt_block_index().x);
    struct group_source<shape> source = group_source_of<shape>(p.call, place);
    struct half_sums sums[HALVES];
    float y[HALVES][HALF_SUMS];
    SIMT_UNROLL for (int i = 0; i < HALF_SUMS; i++) y[0][i] = y[1][i] = 0;

    int steps = static_cast<int>(p.call.padded / TILE_K), ahead = shape::stages - 1;
    SIMT_ROLLED for (int i = 0; i < ahead; i++)
    {
        if (i < steps)
            copy_group<shape>(p.call, memory, shape::first_stage + i * shape::stage_bytes, i,
                              source);
        simt_copy_commit();
    }
    int stage = shape::first_stage, free_stage = total - shape::stage_bytes;
    SIMT_ROLLED for (int step = 0; step < steps; step++)
    {
        simt_copy_wait<shape::stages - 2>();
        simt_warpgroup_share();
        simt_sync_block(); /* the step is there, all have read the one before */
        if (step + ahead < steps)
            copy_group<shape>(p.call, memory, free_stage, step + ahead, source);
        simt_copy_commit();
        add_step<shape>(memory, stage, step, sums, y);
        free_stage = stage;
        stage = stage + shape::stage_bytes < total ? stage + shape::stage_bytes
                                                   : static_cast<int>(shape::first_stage);
    }
    group_finish(p.call, tile_place_of<shape>(p, simt_block_index().x), y);
}

template <int bits, int stages>
static assay_status launch_groups(const struct a8_call &call, struct simt_launch *launch)
{
    typedef group_shape<bits, stages> shape;
    struct tiled_call p = {call, (call.rows + shape::tile_t - 1) / shape::tile_t,
                           (call.columns + shape::tile_n - 1) / shape::tile_n};
    launch->grid = {static_cast<unsigned>(p.tiles_t * p.tiles_n), 1, 1};
    launch->block = {shape::threads, 1, 1};
    launch->shared_bytes = shape::shared_bytes;
    return SIMT_LAUNCH(launch, a8_warpgroup<shape>, p);
}

static assay_status warpgroup_launch(const void *args, struct simt_launch *launch)
{
    struct a8_call p = a8_call_of(args, launch, A8_LARGE_TILE);
    if (p.rows == 0)
        return ASSAY_OK;
    if (!a8_is_regular(p))
        return a8_generic_launch(p, launch);
    assay_status status = a8_quantise_launch<A8_BLOCKS>(p, launch);
    if (status != ASSAY_OK)
        return status;
    return p.bits == 4   ? launch_groups<4, 6>(p, launch)
           : p.bits == 5 ? launch_groups<5, 6>(p, launch)
           : p.bits == 6 ? launch_groups<6, 6>(p, launch)
                         : launch_groups<8, 5>(p, launch);
}

DEVICE_ROUTE_RUN(linear_a8_route_warpgroup, &assay_op_linear_a8, warpgroup_launch)
