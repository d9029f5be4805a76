/* SPDX-License-Identifier: MIT
 *
 * linear_w8row's operands from x and w: the largest magnitude of each channel, their geometric
 * mean, then both images. Maxima are taken of magnitudes as words, whose order is that of the
 * numbers: an atomic maximum of integers does not care who comes first.
 *
 * Moves x three times (the second and third mostly through L2), the planes and both images once;
 * limited by that.
 */
#ifndef ASSAY_W8ROW_QUANTISE_CUH
#define ASSAY_W8ROW_QUANTISE_CUH

#include "ops/linear_grouped/grouped_planes.cuh"
#include "ops/linear_w8row/linear_w8row_routes.h"

#define W8ROW_FUNCTION SIMT_DEVICE
#include "ops/linear_w8row/w8row_geomean.h"

enum { W8ROW_THREADS = 256, W8ROW_MAX_BLOCKS = 1 << 16, W8ROW_INFINITY = 0x7f800000 };

struct w8row_call {
    struct row_view x, y;
    struct grouped_view w;
    struct w8row_image image;
    int64_t rows, columns, inner; /* T, N, K */
    float range;                  /* Q */
    bool equalise;
};

static inline struct w8row_call w8row_call_of(const struct assay_linear_w8row_args *a, void *memory,
                                              size_t library)
{
    struct w8row_call p = {};
    p.x = row_view_of(&a->x);
    p.y = row_view_of(&a->y);
    p.w = grouped_view_of(&a->w);
    (void)w8row_image_at(a, memory, library, &p.image);
    p.rows = a->x.extent[0];
    p.columns = a->w.rows;
    p.inner = a->w.columns;
    p.range = static_cast<float>(w8row_code_range(a->w.format));
    p.equalise = a->equalise;
    return p;
}

SIMT_DEVICE uint32_t w8row_magnitude(float value)
{
    return simt_f32_bits(value) & 0x7fffffffu;
}

SIMT_DEVICE uint32_t w8row_larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* ---- channels ------------------------------------------------------------------------------- */

SIMT_KERNEL(w8row_floors)(struct w8row_call p)
{
    int64_t k = static_cast<int64_t>(simt_block_index().x) * W8ROW_THREADS + simt_thread();
    if (k < p.image.pitch)
        simt_store(p.image.factor + k, W8ROW_FLOOR);
}

/* A thread has 8 columns of every gridDim.y-th row. */
SIMT_KERNEL(w8row_maxima)(struct w8row_call p)
{
    int64_t k =
        (static_cast<int64_t>(simt_block_index().x) * W8ROW_THREADS + simt_thread()) * ROW_CHUNK;
    if (k >= p.inner)
        return;
    uint32_t largest[ROW_CHUNK] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int64_t row = simt_block_index().y; row < p.rows; row += simt_grid_extent().y) {
        float x[ROW_CHUNK];
        row_load_chunk<true>(p.x, p.x.data + row * p.x.outer_stride, k, p.inner, x);
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
        {
            uint32_t word = w8row_magnitude(x[i]);
            largest[i] = word < W8ROW_INFINITY ? w8row_larger(word, largest[i]) : largest[i];
        }
    }
    uint32_t *maxima = reinterpret_cast<uint32_t *>(p.image.factor);
    SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
    {
        if (k + i < p.inner)
            simt_atomic_max(maxima + k + i, largest[i]);
    }
}

/* One block: lane l of [LINEARW8ROW-2] is thread l. */
SIMT_KERNEL(w8row_factors)(struct w8row_call p)
{
    SIMT_SHARED(double, significands, W8ROW_LANES);
    SIMT_SHARED(int64_t, exponents, W8ROW_LANES);
    const uint32_t *maxima = reinterpret_cast<const uint32_t *>(p.image.factor);
    int thread = simt_thread();
    struct w8row_product product = {1, 0};
    for (int64_t k = thread; k < p.inner && p.equalise; k += W8ROW_LANES)
        product = w8row_multiply(product, w8row_factor(simt_load(maxima + k)));
    for (int width = W8ROW_LANES / 2; width > 0; width /= 2) {
        significands.store(thread, product.p);
        exponents.store(thread, product.e);
        simt_sync_block();
        if (thread < width) {
            struct w8row_product right = {significands.load(thread + width),
                                          exponents.load(thread + width)};
            product = w8row_multiply(product, right);
        }
        simt_sync_block();
    }
    if (thread == 0)
        significands.store(0, w8row_root(product, p.inner));
    simt_sync_block();
    double geomean = significands.load(0);
    for (int64_t g = thread; g < p.image.pitch / W8ROW_GROUP_MIN; g += W8ROW_LANES) {
        float most = 0;
        for (int64_t k = g * W8ROW_GROUP_MIN; k < (g + 1) * W8ROW_GROUP_MIN; k++) {
            float factor =
                p.equalise ? w8row_channel_factor(simt_load(p.image.factor + k), geomean) : 1.0f;
            bool is_channel = k < p.inner;
            simt_store(p.image.factor + k, is_channel ? factor : 0.0f);
            simt_store(p.image.inverse + k, is_channel ? 1 / factor : 0.0f);
            most = is_channel && factor > most ? factor : most;
        }
        simt_store(p.image.most + g, most);
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The largest word of the block, in every thread. */
SIMT_DEVICE uint32_t w8row_block_maximum(struct simt_shared<uint32_t> partial, uint32_t word)
{
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) word =
        w8row_larger(word, simt_shuffle_xor(SIMT_ALL_LANES, word, bits));
    if (simt_lane() == 0)
        partial.store(simt_warp(), word);
    simt_sync_block();
    for (int i = 0; i < static_cast<int>(simt_block_extent().x) / 32; i++)
        word = w8row_larger(word, partial.load(i));
    simt_sync_block(); /* partial is free again */
    return word;
}

/* Eight factors of columns. */
SIMT_DEVICE void w8row_load_chunk(const float *from, float *values)
{
    struct simt_words low = simt_load16(from), high = simt_load16(from + 4);
    SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) values[i] =
        simt_f32_from_bits(i < 4 ? low.word[i] : high.word[i - 4]);
}

/* Codes of eight values into their place. */
SIMT_DEVICE void w8row_store_codes(int8_t *to, const float *values)
{
    uint32_t word[2] = {0, 0};
    SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
    {
        int code = static_cast<int>(rintf(values[i]));
        code = code > W8ROW_LARGEST ? W8ROW_LARGEST : code < -W8ROW_LARGEST ? -W8ROW_LARGEST : code;
        word[i / 4] |= (static_cast<uint32_t>(code) & 0xff) << 8 * (i % 4);
    }
    simt_store(reinterpret_cast<uint64_t *>(to), static_cast<uint64_t>(word[1]) << 32 | word[0]);
}

/* x' of a chunk. */
SIMT_DEVICE void w8row_scaled(const struct w8row_call &p, const unsigned char *row, int64_t k,
                              float *values)
{
    float inverse[ROW_CHUNK];
    row_load_chunk<true>(p.x, row, k, p.inner, values);
    w8row_load_chunk(p.image.inverse + k, inverse);
    SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) values[i] *= inverse[i];
}

/* [LINEARW8ROW-3], a block a row; rows from T on become zeros. */
SIMT_KERNEL(w8row_tokens)(struct w8row_call p)
{
    SIMT_SHARED(uint32_t, partial, W8ROW_THREADS / 32);
    int64_t step = static_cast<int64_t>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t row = simt_block_index().x; row < p.image.x_rows; row += simt_grid_extent().x) {
        const unsigned char *x = p.x.data + row * p.x.outer_stride;
        float values[ROW_CHUNK];
        uint32_t largest = simt_f32_bits(W8ROW_FLOOR);
        for (int64_t k = simt_thread() * ROW_CHUNK; k < p.inner && row < p.rows; k += step) {
            w8row_scaled(p, x, k, values);
            SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) largest =
                w8row_larger(largest, w8row_magnitude(values[i]));
        }
        largest = w8row_block_maximum(partial, largest);
        bool is_finite = largest < W8ROW_INFINITY, has_codes = is_finite && row < p.rows;
        float amax = simt_f32_from_bits(largest),
              inverse = static_cast<float>(W8ROW_LARGEST) / amax;
        if (simt_thread() == 0)
            simt_store(p.image.token + row, is_finite ? amax / static_cast<float>(W8ROW_LARGEST)
                                                      : simt_f32_from_bits(0x7fc00000u));
        for (int64_t k = simt_thread() * ROW_CHUNK; k < p.image.pitch; k += step) {
            SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) values[i] = 0;
            if (has_codes && k < p.inner)
                w8row_scaled(p, x, k, values);
            SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) values[i] *= has_codes ? inverse : 0;
            w8row_store_codes(p.image.x + row * p.image.pitch + k, values);
        }
    }
}

/* m of a row as a word, above infinity's where a scale is not finite; in every thread. */
SIMT_DEVICE uint32_t w8row_row_maximum(const struct w8row_call &p,
                                       struct simt_shared<uint32_t> partial, int64_t row)
{
    uint32_t largest = 0;
    for (int64_t g = simt_thread(); g * W8ROW_GROUP_MIN < p.inner && row < p.columns;
         g += simt_block_extent().x) {
        float scale =
            simt_f32_from_bits(w8row_magnitude(grouped_scale(p.w, row, g * W8ROW_GROUP_MIN)));
        float product = scale * simt_load(p.image.most + g);
        uint32_t infinite = W8ROW_INFINITY;
        largest = w8row_larger(largest, scale <= 65504.0f ? w8row_magnitude(product) : infinite);
    }
    return w8row_block_maximum(partial, largest);
}

/* [LINEARW8ROW-4], a block a row; rows from N on become zeros. */
SIMT_KERNEL(w8row_weights)(struct w8row_call p)
{
    SIMT_SHARED(uint32_t, partial, W8ROW_THREADS / 32);
    int64_t step = static_cast<int64_t>(simt_block_extent().x) * ROW_CHUNK;
    for (int64_t row = simt_block_index().x; row < p.image.w_rows; row += simt_grid_extent().x) {
        uint32_t largest = w8row_row_maximum(p, partial, row);
        bool is_finite = largest < W8ROW_INFINITY, has_codes = is_finite && row < p.columns;
        float scale = 1;
        if (largest > 0)
            scale = simt_f32_from_bits(largest) * p.range / static_cast<float>(W8ROW_LARGEST);
        float inverse = 1 / scale;
        if (simt_thread() == 0)
            simt_store(p.image.row + row, is_finite ? scale : simt_f32_from_bits(0x7fc00000u));
        for (int64_t k = simt_thread() * ROW_CHUNK; k < p.image.pitch; k += step) {
            float values[ROW_CHUNK] = {0, 0, 0, 0, 0, 0, 0, 0};
            if (has_codes && k < p.inner) {
                float factor[ROW_CHUNK], group = grouped_scale(p.w, row, k);
                grouped_codes(p.w, row, k, values);
                w8row_load_chunk(p.image.factor + k, factor);
                SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) values[i] =
                    values[i] * group * factor[i] * inverse;
            }
            w8row_store_codes(p.image.w + row * p.image.pitch + k, values);
        }
    }
}

/* ---- launches ------------------------------------------------------------------------------- */

static inline unsigned w8row_blocks(int64_t count)
{
    int64_t most = W8ROW_MAX_BLOCKS;
    return static_cast<unsigned>(count < most ? count : most);
}

static inline assay_status w8row_quantise_all(const struct w8row_call &p,
                                              struct simt_launch *launch)
{
    enum { ROW_SPLITS = 64 };
    int64_t splits = ROW_SPLITS, chunks = (p.inner + ROW_CHUNK - 1) / ROW_CHUNK;
    unsigned chunk_blocks = w8row_blocks((chunks + W8ROW_THREADS - 1) / W8ROW_THREADS);
    launch->block = {W8ROW_THREADS, 1, 1};
    launch->shared_bytes = 0;
    assay_status status = ASSAY_OK;
    if (p.equalise) {
        launch->grid = {w8row_blocks((p.image.pitch + W8ROW_THREADS - 1) / W8ROW_THREADS), 1, 1};
        status = SIMT_LAUNCH(launch, w8row_floors, p);
        launch->grid = {chunk_blocks, static_cast<unsigned>(p.rows < splits ? p.rows : splits), 1};
        if (status == ASSAY_OK)
            status = SIMT_LAUNCH(launch, w8row_maxima, p);
    }
    launch->grid = {1, 1, 1};
    if (status == ASSAY_OK)
        status = SIMT_LAUNCH(launch, w8row_factors, p);
    int64_t threads = W8ROW_THREADS, wanted = (p.image.pitch / ROW_CHUNK + 31) / 32 * 32;
    launch->block.x = static_cast<unsigned>(wanted < threads ? wanted : threads);
    launch->grid = {w8row_blocks(p.image.x_rows), 1, 1};
    if (status == ASSAY_OK)
        status = SIMT_LAUNCH(launch, w8row_tokens, p);
    launch->grid = {w8row_blocks(p.image.w_rows), 1, 1};
    return status == ASSAY_OK ? SIMT_LAUNCH(launch, w8row_weights, p) : status;
}

/* ---- y -------------------------------------------------------------------------------------- */

/* [LINEARW8ROW-5] */
SIMT_DEVICE float w8row_value(int sum, float row, float token)
{
    double scale = static_cast<double>(row) * static_cast<double>(token);
    return static_cast<float>(static_cast<double>(sum) * scale);
}

/* Columns `column`, an even one, and the next, as far as y has them. */
SIMT_DEVICE void w8row_put_pair(const struct w8row_call &p, int64_t row, int64_t column, int first,
                                int second)
{
    if (row >= p.rows || column >= p.columns)
        return;
    bool has_both = column + 1 < p.columns;
    float token = simt_load(p.image.token + row);
    float y[2] = {w8row_value(first, simt_load(p.image.row + column), token), 0};
    if (has_both)
        y[1] = w8row_value(second, simt_load(p.image.row + column + 1), token);
    unsigned char *to = p.y.data + row * p.y.outer_stride + column * (p.y.is_bf16 ? 2 : 4);
    if (has_both && p.y.is_aligned) {
        if (p.y.is_bf16)
            simt_store(reinterpret_cast<uint32_t *>(to), simt_bf16x2_from_f32(y[0], y[1]));
        else
            simt_store(reinterpret_cast<uint64_t *>(to),
                       static_cast<uint64_t>(simt_f32_bits(y[1])) << 32 | simt_f32_bits(y[0]));
        return;
    }
    for (int i = 0; i < (has_both ? 2 : 1); i++) {
        if (p.y.is_bf16)
            simt_store(reinterpret_cast<uint16_t *>(to) + i, simt_bf16_from_f32(y[i]));
        else
            simt_store(reinterpret_cast<float *>(to) + i, y[i]);
    }
}

#endif
