/* SPDX-License-Identifier: MIT
 *
 * linear's operands as its kernels see them. Rows of bf16 come in chunks of 8, 16 bytes at a time
 * where every row is aligned for that, one by one elsewhere.
 */
#ifndef ASSAY_LINEAR_DEVICE_CUH
#define ASSAY_LINEAR_DEVICE_CUH

#include "cuda/rows.cuh"
#include "ops/linear/linear_routes.h"

struct linear_call {
    struct row_view x, w, y;
    int64_t rows, columns, inner; /* T, N, K */
};

static inline struct linear_call linear_call_of(const void *args)
{
    const struct assay_linear_args *a = static_cast<const struct assay_linear_args *>(args);
    return {row_view_of(&a->x), row_view_of(&a->w), row_view_of(&a->y),
            a->x.extent[0],     a->w.extent[0],     a->w.extent[1]};
}

/* Of a tensor of rank 2: row_address without its divisions. */
SIMT_DEVICE unsigned char *linear_row(struct row_view v, int64_t row)
{
    return v.data + row * v.outer_stride;
}

/* Elements k .. k + 7 of a bf16 row one by one, zeros from `inner` on. */
SIMT_DEVICE struct simt_words linear_gather(const unsigned char *row, int64_t k, int64_t inner)
{
    const uint16_t *from = reinterpret_cast<const uint16_t *>(row) + k;
    struct simt_words words = {{0, 0, 0, 0}};
    SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
    {
        if (k + i < inner)
            words.word[i / 2] |= static_cast<uint32_t>(simt_load_constant(from + i))
                                 << 16 * (i % 2);
    }
    return words;
}

/* How many elements of the chunk from k on a row has. */
SIMT_DEVICE int linear_valid(int64_t k, int64_t inner)
{
    int64_t left = inner - k;
    return left >= ROW_CHUNK ? ROW_CHUNK : left > 0 ? static_cast<int>(left) : 0;
}

/* Brings the first `valid` elements of a chunk into shared memory, and zeros for the others: by an
 * asynchronous copy, or at once where rows are not aligned. */
template <typename T>
SIMT_DEVICE void linear_stage(struct simt_shared<T> to, int at, const unsigned char *chunk,
                              int valid, bool is_aligned)
{
    if (is_aligned)
        simt_copy_async_part<16>(to.at(at), chunk, 2 * valid);
    else
        to.store16(at, linear_gather(chunk, 0, valid));
}

/* Rows from `row` on as an int: what lies in a block. */
SIMT_DEVICE int linear_rows_left(int64_t rows, int64_t row)
{
    int64_t left = rows - row, most = 1 << 20;
    return static_cast<int>(left < most ? left : most);
}

SIMT_DEVICE void linear_store(struct row_view y, int64_t row, int64_t column, float value)
{
    unsigned char *to = linear_row(y, row);
    if (y.is_bf16)
        simt_store(reinterpret_cast<uint16_t *>(to) + column, simt_bf16_from_f32(value));
    else
        simt_store(reinterpret_cast<float *>(to) + column, value);
}

SIMT_DEVICE bool linear_is_finite(float value)
{
    return (simt_f32_bits(value) & 0x7f800000u) != 0x7f800000u;
}

#endif
