/* SPDX-License-Identifier: MIT
 *
 * linear_a8 for many rows of x, in integer tensor cores: a block takes a tile of y, its warps take
 * parts of it; codes of x, packed codes of w and both scales of 128 columns at a time come into
 * shared memory by a queue of asynchronous copies. w is unpacked in registers. Of a group two mma
 * m16n8k32 (q8g32: one) make the integer sums, which three operations of binary32 a sum add to y.
 *
 * Rows of x are 128 bytes of a stage, rows of w 64 or 128; their 16-byte pieces stand at places XOR
 * a part of the row, so that neither the copies nor the loads meet in a bank.
 *
 * Profile a8. Bound: linear_a8_bound.md, to the bit. 2 T N K operations. On an H200 it issues
 * instructions in 6 of 10 cycles: 12 of binary32 stand beside 2 mma for a group and tile of 16
 * times 8, and a warp waits some 30 cycles from its last mma to the first of them.
 * sass: word stores, as the fragments lie.
 */
#include "ops/linear_a8/a8_tiles.cuh"

/* A tile of y and its warps; m, n: a warp's part in tiles of mma. */
template <int bits_, int tile_t_, int tile_n_, int warps_t_, int warps_n_, int stages_, int blocks_>
struct tile_shape : tile_layout<bits_, tile_t_, tile_n_, 32 * warps_t_ * warps_n_, stages_> {
    static const int warps_n = warps_n_;
    static const int blocks = blocks_; /* of a multiprocessor */
    static const int m = tile_t_ / warps_t_ / 16, n = tile_n_ / warps_n / 8;
};

/* ---- products ------------------------------------------------------------------------------- */

/* What a warp needs of w for a group: codes [slice][half], and scales of this lane's two columns,
 * for each group of w. */
template <typename shape> struct tile_weights {
    uint32_t codes[shape::n][2][2];
    float scales[shape::n][shape::parts][2];
};

template <typename shape>
SIMT_DEVICE void load_weights(const struct tile_memory &memory, int stage, int group,
                              struct tile_weights<shape> &w)
{
    struct tile_lane at = lane_of<shape>(stage, group, simt_warp() % shape::warps_n * shape::n * 8);
    SIMT_UNROLL for (int j = 0; j < shape::n; j++)
    {
        load_codes<shape>(memory, at, j, w.codes[j]);
        SIMT_UNROLL for (int part = 0; part < shape::parts; part++)
            SIMT_UNROLL for (int c = 0; c < 2; c++) w.scales[j][part][c] =
            simt_f16_to_f32(memory.halves.load(at.scales + shape::w_groups * (8 * j + c) + part));
    }
}

/* The step of [LINEARA8-2] for this lane's four elements of a tile. */
SIMT_DEVICE void add_scaled(const int *d, const float *w_scales, const float *x_scales, float *sums)
{
    SIMT_UNROLL for (int c = 0; c < 4; c++) sums[c] =
        fmaf(a8_sum(d[c]), w_scales[c % 2] * x_scales[c / 2], sums[c]);
}

/* Adds the products of a group of 64 columns. */
template <typename shape>
SIMT_DEVICE void add_group(const struct tile_memory &memory, int stage, int group,
                           float (*sums)[shape::n][4])
{
    const int magic[4] = {A8_MAGIC, A8_MAGIC, A8_MAGIC, A8_MAGIC};
    int lane = simt_lane(), first = simt_warp() / shape::warps_n * shape::m * 16;
    int at_scales = ((stage + shape::x_scales_at) >> 2) + group * shape::tile_t + first + lane / 4;
    int at_codes[2];
    SIMT_UNROLL for (int slice = 0; slice < 2; slice++) at_codes[slice] =
        stage + piece_at<shape, TILE_X>(lane % 8, 4 * group + 2 * slice + lane / 16,
                                        first + lane / 8 % 2 * 8);
    struct tile_weights<shape> w;
    load_weights<shape>(memory, stage, group, w);
    SIMT_UNROLL for (int i = 0; i < shape::m; i++)
    {
        uint32_t a[2][4];
        SIMT_UNROLL for (int slice = 0; slice < 2; slice++)
            simt_ldmatrix<4>(a[slice], memory.bytes.at(at_codes[slice] + 16 * i * TILE_K));
        float x_scales[2] = {memory.floats.load(at_scales + 16 * i),
                             memory.floats.load(at_scales + 16 * i + 8)};
        SIMT_UNROLL for (int part = 0; part < shape::parts; part++)
        {
            int d[shape::n][4]; /* independent mma follow each other: one takes 30 cycles */
            SIMT_UNROLL for (int j = 0; j < shape::n; j++)
                simt_mma_s8(d[j], a[part], w.codes[j][part], magic);
            SIMT_UNROLL for (int j = 0; j < shape::n; j++)
            {
                if (shape::parts == 1)
                    simt_mma_s8(d[j], a[1], w.codes[j][1], d[j]);
            }
            SIMT_UNROLL for (int j = 0; j < shape::n; j++)
                add_scaled(d[j], w.scales[j][part], x_scales, sums[i][j]);
        }
    }
}

/* ---- the kernel ----------------------------------------------------------------------------- */

template <typename shape>
SIMT_DEVICE void tiled_finish(const struct a8_call &p, struct tile_place place,
                              const float (*sums)[shape::n][4])
{
    int lane = simt_lane();
    int64_t first_t = place.t + simt_warp() / shape::warps_n * shape::m * 16 + lane / 4;
    int64_t first_n = place.n + simt_warp() % shape::warps_n * shape::n * 8 + lane % 4 * 2;
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
        SIMT_UNROLL for (int half = 0; half < 2; half++)
            a8_store_pair(p, first_t + 16 * i + 8 * half, first_n + 8 * j, sums[i][j][2 * half],
                          sums[i][j][2 * half + 1]);
}

/* All threads have read a stage before the barrier of the next step, after which it takes copies
 * again. */
template <typename shape>
SIMT_KERNEL_RESIDENT(a8_tiled, shape::threads, shape::blocks)
(struct tiled_call p)
{
    const int total = shape::stages * shape::stage_bytes;
    SIMT_SHARED_DYNAMIC(unsigned char, bytes, 0, total);
    SIMT_SHARED_DYNAMIC(uint16_t, halves, 0, total / 2);
    SIMT_SHARED_DYNAMIC(uint32_t, words, 0, total / 4);
    SIMT_SHARED_DYNAMIC(uint64_t, pairs, 0, total / 8);
    SIMT_SHARED_DYNAMIC(float, floats, 0, total / 4);
    const struct tile_memory memory = {bytes, halves, words, pairs, floats};
    struct tile_place place = tile_place_of<shape>(p, simt_block_index().x);
    float sums[shape::m][shape::n][4];
    SIMT_UNROLL for (int i = 0; i < shape::m; i++) SIMT_UNROLL for (int j = 0; j < shape::n; j++)
        SIMT_UNROLL for (int c = 0; c < 4; c++) sums[i][j][c] = 0;

    int steps = static_cast<int>(p.call.padded / TILE_K);
    for (int i = 0; i < shape::stages - 1; i++) {
        if (i < steps)
            copy_step<shape>(p.call, place, memory, i * shape::stage_bytes, i);
        simt_copy_commit();
    }
    int stage = 0;
    for (int step = 0; step < steps; step++) {
        simt_copy_wait<shape::stages - 2>();
        simt_sync_block();
        int before = (stage > 0 ? stage : total) - shape::stage_bytes;
        if (step + shape::stages - 1 < steps)
            copy_step<shape>(p.call, place, memory, before, step + shape::stages - 1);
        simt_copy_commit();
        SIMT_ROLLED for (int group = 0; group < TILE_GROUPS; group++)
            add_group<shape>(memory, stage, group, sums);
        stage = stage + shape::stage_bytes < total ? stage + shape::stage_bytes : 0;
    }
    tiled_finish<shape>(p.call, tile_place_of<shape>(p, simt_block_index().x), sums);
}

template <typename shape>
static assay_status launch_tiles(const struct a8_call &call, struct simt_launch *launch)
{
    struct tiled_call p = {call, (call.rows + shape::tile_t - 1) / shape::tile_t,
                           (call.columns + shape::tile_n - 1) / shape::tile_n};
    launch->grid = {static_cast<unsigned>(p.tiles_t * p.tiles_n), 1, 1};
    launch->block = {shape::threads, 1, 1};
    launch->shared_bytes = shape::stages * shape::stage_bytes;
    return SIMT_LAUNCH(launch, a8_tiled<shape>, p);
}

/* One block a multiprocessor, of as many warps as have registers enough. */
template <int bits> struct tiles {
    typedef tile_shape<bits, 128, 144, 2, 6, 4, 1> shape;
};

template <> struct tiles<8> {
    typedef tile_shape<8, 128, 128, 2, 4, 4, 1> shape;
};

static assay_status tiled_launch(const void *args, struct simt_launch *launch)
{
    struct a8_call p = a8_call_of(args, launch, A8_LARGE_TILE);
    if (p.rows == 0)
        return ASSAY_OK;
    if (!a8_is_regular(p))
        return a8_generic_launch(p, launch);
    assay_status status = a8_quantise_launch<A8_ROWS>(p, launch);
    if (status != ASSAY_OK)
        return status;
    return p.bits == 4   ? launch_tiles<tiles<4>::shape>(p, launch)
           : p.bits == 5 ? launch_tiles<tiles<5>::shape>(p, launch)
           : p.bits == 6 ? launch_tiles<tiles<6>::shape>(p, launch)
                         : launch_tiles<tiles<8>::shape>(p, launch);
}

DEVICE_ROUTE_RUN(linear_a8_route_tiled, &assay_op_linear_a8, tiled_launch)
