/* SPDX-License-Identifier: MIT
 *
 * Rows of bf16 or f32 tensors as kernels see them: read and written in chunks of 8 elements, by
 * 16-byte accesses where the rows are aligned for them.
 */
#ifndef ASSAY_CUDA_ROWS_CUH
#define ASSAY_CUDA_ROWS_CUH

#include "cuda/simt.cuh"

enum { ROW_CHUNK = 8 };

struct row_view {
    unsigned char *data;
    int64_t inner, outer_stride, inner_stride; /* row r is (r / inner, r % inner); bytes */
    bool is_bf16;
    bool is_aligned; /* every row starts at a multiple of 16 bytes */
};

/* Of a tensor of rank 1 to 3. */
static inline struct row_view row_view_of(const struct assay_tensor *tensor)
{
    int64_t size = static_cast<int64_t>(assay_dtype_bytes(tensor->dtype));
    struct row_view v = {
        static_cast<unsigned char *>(tensor->data), 1, 0, 0, tensor->dtype == ASSAY_BF16, false};
    if (tensor->rank > 1)
        v.outer_stride = tensor->stride[0] * size;
    if (tensor->rank > 2) {
        v.inner = tensor->extent[1];
        v.inner_stride = tensor->stride[1] * size;
    }
    v.is_aligned = reinterpret_cast<uintptr_t>(v.data) % 16 == 0 && v.outer_stride % 16 == 0 &&
                   v.inner_stride % 16 == 0;
    return v;
}

SIMT_DEVICE unsigned char *row_address(struct row_view v, int64_t row)
{
    return v.data + row / v.inner * v.outer_stride + row % v.inner * v.inner_stride;
}

template <typename T, bool constant> SIMT_DEVICE T row_load(const T *p)
{
    return constant ? simt_load_constant(p) : simt_load(p);
}

template <bool constant> SIMT_DEVICE struct simt_words row_load16(const void *p)
{
    return constant ? simt_load16_constant(p) : simt_load16(p);
}

/* Elements first .. first + 7 of a row of `width`, zeros past its end. constant: nothing writes
 * the tensor during the launch. */
template <bool constant>
SIMT_DEVICE void row_load_chunk(struct row_view v, const unsigned char *row, int64_t first,
                                int64_t width, float *values)
{
    const uint16_t *halves = reinterpret_cast<const uint16_t *>(row) + first;
    const float *floats = reinterpret_cast<const float *>(row) + first;
    if (!v.is_aligned || first + ROW_CHUNK > width) {
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
        {
            values[i] = 0;
            if (first + i < width)
                values[i] = v.is_bf16 ? simt_bf16_to_f32(row_load<uint16_t, constant>(halves + i))
                                      : row_load<float, constant>(floats + i);
        }
    } else if (v.is_bf16) {
        struct simt_words words = row_load16<constant>(halves);
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) values[i] =
            simt_bf16_to_f32(static_cast<uint16_t>(words.word[i / 2] >> 16 * (i % 2) & 0xffff));
    } else {
        struct simt_words low = row_load16<constant>(floats);
        struct simt_words high = row_load16<constant>(floats + 4);
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) values[i] =
            simt_f32_from_bits(i < 4 ? low.word[i] : high.word[i - 4]);
    }
}

/* The counterpart: one rounding into the row's format, nothing past its end. */
SIMT_DEVICE void row_store_chunk(struct row_view v, unsigned char *row, int64_t first,
                                 int64_t width, const float *values)
{
    uint16_t *halves = reinterpret_cast<uint16_t *>(row) + first;
    float *floats = reinterpret_cast<float *>(row) + first;
    if (!v.is_aligned || first + ROW_CHUNK > width) {
        SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
        {
            if (first + i >= width)
                continue;
            if (v.is_bf16)
                simt_store(halves + i, simt_bf16_from_f32(values[i]));
            else
                simt_store(floats + i, values[i]);
        }
    } else if (v.is_bf16) {
        struct simt_words words;
        SIMT_UNROLL for (int i = 0; i < 4; i++) words.word[i] =
            simt_bf16x2_from_f32(values[2 * i], values[2 * i + 1]);
        simt_store16(halves, words);
    } else {
        struct simt_words low, high;
        SIMT_UNROLL for (int i = 0; i < 4; i++)
        {
            low.word[i] = simt_f32_bits(values[i]);
            high.word[i] = simt_f32_bits(values[i + 4]);
        }
        simt_store16(floats, low);
        simt_store16(floats + 4, high);
    }
}

/* The sum over the block, the same in every thread. partial: an element for each warp; it may be
 * used again after the next barrier. The block has whole warps. */
SIMT_DEVICE double row_block_sum(struct simt_shared<double> partial, double value)
{
    int num_warps = static_cast<int>(simt_block_extent().x) / 32;
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) value +=
        simt_shuffle_xor(SIMT_ALL_LANES, value, bits);
    if (num_warps == 1)
        return value;
    if (simt_lane() == 0)
        partial.store(simt_warp(), value);
    simt_sync_block();
    double sum = 0;
    for (int i = 0; i < num_warps; i++)
        sum += partial.load(i);
    return sum;
}

/* This thread's share of the sum of a row's squares, in binary64: binary32 values cannot overflow
 * it, and its rounding errors do not count. The block's threads take chunks in turn. */
SIMT_DEVICE double row_sum_of_squares(struct row_view v, const unsigned char *row, int64_t width)
{
    int step = static_cast<int>(simt_block_extent().x) * ROW_CHUNK;
    double sum = 0;
    for (int64_t i = simt_thread() * ROW_CHUNK; i < width; i += step) {
        float x[ROW_CHUNK];
        row_load_chunk<false>(v, row, i, width, x);
        SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) sum +=
            static_cast<double>(x[j]) * static_cast<double>(x[j]);
    }
    return sum;
}

enum { ROW_MAX_THREADS = 256, ROW_MAX_WARPS = ROW_MAX_THREADS / 32 };

#if defined(ASSAY_PARANOID)
enum { ROW_MAX_BLOCKS = 2 }; /* every block takes several rows */
#else
enum { ROW_MAX_BLOCKS = 1 << 16 };
#endif

/* Rows whose threads wait for one another: one chunk a thread for the 5120 elements of the 27B
 * model, so that a few rows wait for memory once; more threads would leave a kernel too few
 * registers. */
enum { ROW_NORM_THREADS = 640, ROW_NORM_WARPS = ROW_NORM_THREADS / 32 };

/* One block a row, a thread for each chunk up to max_threads. */
static inline void row_launch_shape(int64_t rows, int64_t width, struct simt_launch *launch,
                                    unsigned max_threads = ROW_MAX_THREADS)
{
    int64_t chunks = (width + ROW_CHUNK - 1) / ROW_CHUNK;
    unsigned threads = static_cast<unsigned>((chunks + 31) / 32 * 32);
    if (chunks > max_threads)
        threads = max_threads;
    int64_t blocks = rows < ROW_MAX_BLOCKS ? rows : static_cast<int64_t>(ROW_MAX_BLOCKS);
    launch->grid = {static_cast<unsigned>(blocks), 1, 1};
    launch->block = {threads, 1, 1};
}

#endif
