/* SPDX-License-Identifier: MIT
 *
 * linear_grouped for up to 32 rows of x, in tensor cores (linear_grouped_mma.cuh): a block takes 16
 * or 32 rows of w and all of x, its warps take the steps of 128 bytes of the base plane in turn,
 * each through its own queue of asynchronous copies: until the sums are added no warp waits for
 * another. x, in the order of mma, comes through L1, which the warps of a multiprocessor share.
 *
 * Profile a16x2 (bf16 x is exact: a16). Bound: linear_grouped_bound.md. Moves the planes once
 * through device memory and x at least once a multiprocessor through L2, both twice for more
 * than 16 rows of binary32 x; limited by how long warps wait for x.
 */
#include "ops/linear_grouped/grouped_rows.cuh"

/* Rows of w from which on a block takes 32 (96 for each multiprocessor of an H200), and the warps
 * of a block then and before: they decide about the order of a sum, which is the same for all T.
 * The executor's sweep shall reach both with few rows. */
#if defined(__CUDACC__)
enum { SMALL_MANY_ROWS = 96 * 132 };
#else
enum { SMALL_MANY_ROWS = 40 };
#endif

enum { SMALL_STAGES = 2, SMALL_MANY_PARTS = 4, SMALL_FEW_PARTS = 8 };

template <int bits_, int planes_, int w_tiles_, int x_tiles_>
struct small_shape : grouped_step<bits_, 16 * w_tiles_> {
    static const int planes = planes_, w_tiles = w_tiles_, x_tiles = x_tiles_;
    static const int rows = 16 * w_tiles, sums = w_tiles * x_tiles * 4;    /* of a lane */
    static const int tile_bytes = planes * MMA_FRAGMENT * 4;               /* of x, in a unit */
    static const int ring_bytes = SMALL_STAGES * small_shape::stage_bytes; /* of a warp */
    static_assert(ring_bytes >= sums * MMA_LANES * 4, "sums of a warp fit in its stages");
};

/* Products of a unit with a tile of x: of each group by mma, low plane first, then by FMA with the
 * scale. scales: those of the step, of rows 8 i + lane / 4. */
template <typename shape>
SIMT_DEVICE void small_tile(const unsigned char *x, int unit, const uint32_t (*codes)[8],
                            const uint64_t *scales, float (*sums)[4])
{
    const int slices = 4 / shape::groups;
    SIMT_UNROLL for (int g = 0; g < shape::groups; g++)
    {
        float partial[shape::w_tiles][4];
        SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++) SIMT_UNROLL for (int c = 0; c < 4; c++)
            partial[i][c] = 0;
        SIMT_UNROLL for (int plane = 0; plane < shape::planes; plane++)
        {
            struct simt_words columns = {{0, 0, 0, 0}}; /* two slices */
            SIMT_UNROLL for (int s = 0; s < slices; s++)
            {
                int slice = g * slices + s;
                if (slice % 2 == 0)
                    columns =
                        simt_load16(x + 4 * (plane * MMA_FRAGMENT + slice / 2 * MMA_LANES * 4));
                SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++)
                {
                    uint32_t a[4] = {codes[2 * i][2 * slice], codes[2 * i + 1][2 * slice],
                                     codes[2 * i][2 * slice + 1], codes[2 * i + 1][2 * slice + 1]};
                    simt_mma_bf16(partial[i], a, columns.word + slice % 2 * 2, partial[i]);
                }
            }
        }
        int place = 16 * (unit * shape::groups + g);
        SIMT_UNROLL for (int i = 0; i < shape::w_tiles; i++) SIMT_UNROLL for (int c = 0; c < 4;
                                                                              c++) sums[i][c] =
            fmaf(partial[i][c],
                 simt_f16_to_f32(static_cast<uint16_t>(scales[2 * i + c / 2] >> place & 0xffff)),
                 sums[i][c]);
    }
}

template <typename shape>
SIMT_DEVICE void small_unit(const struct mma_call &p, const struct grouped_memory &memory,
                            const struct grouped_lane &at, const unsigned char *x, int unit,
                            const uint64_t *scales, float (*sums)[shape::w_tiles][4])
{
    uint32_t codes[2 * shape::w_tiles][8];
    SIMT_UNROLL for (int i = 0; i < 2 * shape::w_tiles; i++)
        grouped_row_pairs<shape>(p.magic, memory, at, i, unit, codes[i]);
    SIMT_UNROLL for (int j = 0; j < shape::x_tiles; j++) small_tile<shape>(
        x + (unit * shape::x_tiles + j) * shape::tile_bytes, unit, codes, scales, sums[j]);
}

/* With four tiles of x units do not overlap: registers would not be enough. */
template <typename shape>
SIMT_DEVICE void small_products(const struct rows_call &p, const struct grouped_memory &memory,
                                int stage, int step, float (*sums)[shape::w_tiles][4])
{
    int left = p.call.units - step * shape::step_units;
    const unsigned char *x =
        p.call.ordered + 16 * simt_lane() +
        int64_t{step} * (shape::step_units * shape::x_tiles * shape::tile_bytes);
    const struct grouped_lane at = grouped_lane_of<shape>(stage);
    uint64_t scales[2 * shape::w_tiles];
    SIMT_UNROLL for (int i = 0; i < 2 * shape::w_tiles; i++) scales[i] =
        memory.pairs.load(at.scales + static_cast<unsigned>(8 * i));
    if constexpr (shape::x_tiles == 4) {
        SIMT_ROLLED for (int unit = 0; unit < shape::step_units && unit < left; unit++)
            small_unit<shape>(p.call, memory, at, x, unit, scales, sums);
    } else {
        SIMT_UNROLL for (int unit = 0; unit < shape::step_units; unit++)
        {
            if (unit >= left)
                break;
            small_unit<shape>(p.call, memory, at, x, unit, scales, sums);
        }
    }
}

/* Adds the sums of the warps, in their order. */
template <typename shape>
SIMT_DEVICE void small_finish(const struct mma_call &p, struct simt_shared<float> all,
                              const float (*sums)[shape::w_tiles][4])
{
    int64_t first_row = static_cast<int64_t>(simt_block_index().x) * shape::rows;
    int threads = static_cast<int>(simt_block_extent().x), warps = threads / MMA_LANES;
    SIMT_UNROLL for (int i = 0; i < shape::sums; i++)
        all.store((simt_warp() * shape::sums + i) * MMA_LANES + simt_lane(),
                  sums[i / 4 / shape::w_tiles][i / 4 % shape::w_tiles][i % 4]);
    simt_sync_block();
    SIMT_ROLLED for (int i = simt_thread(); i < shape::sums * MMA_LANES; i += threads)
    {
        int lane = i % MMA_LANES, c = i / MMA_LANES % 4, tile = i / MMA_LANES / 4;
        int64_t n = first_row + mma_row_of(tile % shape::w_tiles, lane, c);
        int64_t t = mma_x_row_of(tile / shape::w_tiles, lane, c);
        float sum = 0;
        for (int j = 0; j < warps; j++)
            sum += all.load(i + j * shape::sums * MMA_LANES);
        if (n < p.columns && t < p.rows)
            mma_store(p, t, n, sum);
    }
}

template <typename shape, bool is_whole> SIMT_KERNEL(linear_grouped_small)(struct rows_call p)
{
    int warps = static_cast<int>(simt_block_extent().x) / MMA_LANES;
    int total = warps * shape::ring_bytes;
    SIMT_SHARED_DYNAMIC(unsigned char, bytes, 0, total);
    SIMT_SHARED_DYNAMIC(uint16_t, halves, 0, total / 2);
    SIMT_SHARED_DYNAMIC(uint32_t, words, 0, total / 4);
    SIMT_SHARED_DYNAMIC(uint64_t, pairs, 0, total / 8);
    SIMT_SHARED_DYNAMIC(float, floats, 0, total / 4);
    const struct grouped_memory memory = {bytes, halves, words, pairs};
    int ring = simt_warp() * shape::ring_bytes, ring_end = ring + shape::ring_bytes;
    struct rows_source source =
        rows_source_of<shape>(p, static_cast<int64_t>(simt_block_index().x) * shape::rows);
    float sums[shape::x_tiles][shape::w_tiles][4];
    SIMT_UNROLL for (int i = 0; i < shape::sums; i++)
        sums[i / 4 / shape::w_tiles][i / 4 % shape::w_tiles][i % 4] = 0;

    int next = simt_warp();
    SIMT_UNROLL for (int i = 0; i < SMALL_STAGES - 1; i++, next += warps)
    {
        if (next < p.steps)
            rows_stage<shape, is_whole>(p, memory, ring + i * shape::stage_bytes, source, next);
        simt_copy_commit();
    }
    int stage = ring, free_stage = ring_end - shape::stage_bytes;
    SIMT_ROLLED for (int step = simt_warp(); step < p.steps; step += warps, next += warps)
    {
        simt_copy_wait<SMALL_STAGES - 2>();
        simt_sync_warp(SIMT_ALL_LANES); /* the step is there, all have read the one before */
        if (next < p.steps)
            rows_stage<shape, is_whole>(p, memory, free_stage, source, next);
        simt_copy_commit();
        small_products<shape>(p, memory, stage, step, sums);
        free_stage = stage;
        stage = stage + shape::stage_bytes < ring_end ? stage + shape::stage_bytes : ring;
    }
    simt_copy_wait<0>();
    simt_sync_block(); /* all steps are read */
    small_finish<shape>(p.call, floats, sums);
}

template <typename shape>
static assay_status launch_shape(const struct rows_call &p, int warps, struct simt_launch *launch)
{
    int64_t blocks = (p.call.columns + shape::rows - 1) / shape::rows;
    launch->grid = {static_cast<unsigned>(blocks), 1, 1};
    launch->block = {static_cast<unsigned>(MMA_LANES * warps), 1, 1};
    launch->shared_bytes = static_cast<size_t>(warps * shape::ring_bytes);
    if (p.call.is_whole)
        return SIMT_LAUNCH(launch, (linear_grouped_small<shape, true>), p);
    return SIMT_LAUNCH(launch, (linear_grouped_small<shape, false>), p);
}

template <int bits, int planes, int x_tiles>
static assay_status launch_rows(const struct rows_call &p, struct simt_launch *launch)
{
    if (p.call.columns >= SMALL_MANY_ROWS)
        return launch_shape<small_shape<bits, planes, 2, x_tiles>>(p, SMALL_MANY_PARTS, launch);
    return launch_shape<small_shape<bits, planes, 1, x_tiles>>(p, SMALL_FEW_PARTS, launch);
}

template <int bits> static assay_status launch_bits(struct rows_call *p, struct simt_launch *launch)
{
    rows_set_sizes<bits>(p);
    bool is_bf16 = p->call.num_planes == 1;
    switch (p->call.x_tiles) {
    case 1:
        return is_bf16 ? launch_rows<bits, 1, 1>(*p, launch) : launch_rows<bits, 2, 1>(*p, launch);
    case 2:
        return is_bf16 ? launch_rows<bits, 1, 2>(*p, launch) : launch_rows<bits, 2, 2>(*p, launch);
    default:
        return launch_rows<bits, 1, 4>(*p, launch);
    }
}

static assay_status launch_part(const struct assay_linear_grouped_args *a,
                                struct simt_launch *launch)
{
    int64_t rows = a->x.extent[0];
    struct rows_call p = {};
    p.call = mma_call_of(a, rows <= 8 ? 1 : rows <= 16 ? 2 : 4);
    assay_status status = mma_order_x(&p.call, launch);
    if (status != ASSAY_OK)
        return status;
    switch (p.call.w.bits) {
    case 4:
        return launch_bits<4>(&p, launch);
    case 5:
        return launch_bits<5>(&p, launch);
    case 6:
        return launch_bits<6>(&p, launch);
    default:
        return launch_bits<8>(&p, launch);
    }
}

static void *row_of(const struct assay_tensor &tensor, int64_t row)
{
    return static_cast<unsigned char *>(tensor.data) +
           row * tensor.stride[0] * static_cast<int64_t>(assay_dtype_bytes(tensor.dtype));
}

/* Of binary32 x 16 rows at a time: twice the planes take less time than L1 with 32. */
static assay_status small_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_linear_grouped_args *a =
        static_cast<const struct assay_linear_grouped_args *>(args);
    int64_t rows = a->x.extent[0], most = a->x.dtype == ASSAY_BF16 ? 32 : 16;
    assay_status status = ASSAY_OK;
    for (int64_t first = 0; first < rows && status == ASSAY_OK; first += most) {
        struct assay_linear_grouped_args part = *a;
        int64_t count = rows - first < most ? rows - first : most;
        part.x.data = row_of(a->x, first);
        part.y.data = row_of(a->y, first);
        part.x.extent[0] = part.y.extent[0] = count;
        if (a->residual.data != NULL) {
            part.residual.data = row_of(a->residual, first);
            part.residual.extent[0] = count;
        }
        status = launch_part(&part, launch);
    }
    return status;
}

DEVICE_ROUTE_RUN(linear_grouped_route_small, &assay_op_linear_grouped, small_launch)
