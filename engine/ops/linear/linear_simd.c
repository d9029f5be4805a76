/* SPDX-License-Identifier: MIT
 *
 * linear, vectorised. Lane l of an output's accumulator takes the products k = l, l + SIMD_LANES,
 * ... by FMA, in rising order; the lanes are then folded as a balanced tree. Every tile shape keeps
 * that one order, so a row's bits do not depend on how many rows come with it [LINEAR-5]. Both
 * operands are contiguous along k: nothing is packed, bf16 is widened on its way into a register.
 *
 * Profile f32. Bound: linear_bound.md. Moves w and y once, x once for each panel of w.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/linear/linear_routes.h"

#if SIMD_WIDTH == 16
enum { TILE_T = LINEAR_TILE_T_AVX512 };
#else
enum { TILE_T = LINEAR_TILE_T_AVX2 };
#endif
enum { TILE_N = LINEAR_TILE_N };

/* PANEL_BYTES: of w, what stays in the second-level cache while x passes. A range of the thread
 * pool has RANGE_WORK multiply-adds, long against the cost of handing it out, and RANGE_ROWS rows
 * of w, so that reading x for it costs little beside the arithmetic. */
#if defined(ASSAY_PARANOID)
enum { PANEL_BYTES = 1, RANGE_WORK = 1, RANGE_ROWS = TILE_N };
#else
enum { PANEL_BYTES = 512 * 1024, RANGE_WORK = 256 * 1024, RANGE_ROWS = 32 };
#endif

/* One output tile: rows x[0 .. TILE_T), w[0 .. TILE_N). */
struct tile {
    const void *x[TILE_T];
    const uint16_t *w[TILE_N];
    int64_t inner;
};

/* The sums of the lanes of a, b, c and d, each folded as vf_sum folds. */
static inline __m128 fold4(vf a, vf b, vf c, vf d)
{
    const vf all[4] = {a, b, c, d};
    __m128 quarter[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
#if SIMD_WIDTH == 16
        __m512 v = (__m512)all[i];
        __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
#else
        __m256 half = (__m256)all[i];
#endif
        quarter[i] = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    }
    __m128 ab = _mm_add_ps(_mm_unpacklo_ps(quarter[0], quarter[1]),
                           _mm_unpackhi_ps(quarter[0], quarter[1])); /* a02 b02 a13 b13 */
    __m128 cd = _mm_add_ps(_mm_unpacklo_ps(quarter[2], quarter[3]),
                           _mm_unpackhi_ps(quarter[2], quarter[3]));
    return _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
}

/* num_rows and x_type are constants at every call: the loops unroll and the accumulators stay in
 * registers. */
static inline __attribute__((always_inline)) void multiply(const struct tile *tile,
                                                           const int num_rows,
                                                           const enum assay_dtype x_type,
                                                           float sums[TILE_T][TILE_N])
{
    vf sum[TILE_T][TILE_N];
#pragma GCC unroll 8
    for (int t = 0; t < num_rows; t++)
#pragma GCC unroll 8
        for (int n = 0; n < TILE_N; n++)
            sum[t][n] = vf_set(0.0f);
    /* Prefetch the weights two tiles on, in the order of their addresses: four rows at once are
     * four streams, which memory serves a third more slowly than one. Past the last row of w that
     * names memory which is not there, and does nothing. */
    uintptr_t ahead = (uintptr_t)tile->w[0] + 2 * TILE_N * 2 * (uintptr_t)tile->inner;
    int64_t k = 0;
    for (; k + SIMD_LANES <= tile->inner; k += SIMD_LANES) {
        vf x[TILE_T];
#pragma GCC unroll 8
        for (uintptr_t line = 0; line < TILE_N * 2 * SIMD_LANES; line += 64)
            __builtin_prefetch((const void *)(ahead + 2 * TILE_N * (uintptr_t)k + line), 0, 2);
#pragma GCC unroll 8
        for (int t = 0; t < num_rows; t++)
            x[t] = vf_load_any(tile->x[t], x_type, k);
#pragma GCC unroll 8
        for (int n = 0; n < TILE_N; n++) {
            vf w = vf_load_bf16(tile->w[n] + k);
#pragma GCC unroll 8
            for (int t = 0; t < num_rows; t++)
                sum[t][n] = vf_fma(x[t], w, sum[t][n]);
        }
    }
    if (k < tile->inner) { /* missing lanes add 0 * 0 */
        int64_t count = tile->inner - k;
        vf x[TILE_T];
#pragma GCC unroll 8
        for (int t = 0; t < num_rows; t++)
            x[t] = vf_load_tail(tile->x[t], x_type, k, count);
#pragma GCC unroll 8
        for (int n = 0; n < TILE_N; n++) {
            vf w = vf_load_tail(tile->w[n], ASSAY_BF16, k, count);
#pragma GCC unroll 8
            for (int t = 0; t < num_rows; t++)
                sum[t][n] = vf_fma(x[t], w, sum[t][n]);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < num_rows; t++)
        _mm_storeu_ps(sums[t], fold4(sum[t][0], sum[t][1], sum[t][2], sum[t][3]));
}

#define MULTIPLY_ROWS(rows)                                                           \
    static __attribute__((noinline)) void multiply_##rows(                            \
        const struct tile *tile, enum assay_dtype x_type, float sums[TILE_T][TILE_N]) \
    {                                                                                 \
        if (x_type == ASSAY_F32)                                                      \
            multiply(tile, rows, ASSAY_F32, sums);                                    \
        else                                                                          \
            multiply(tile, rows, ASSAY_BF16, sums);                                   \
    }
MULTIPLY_ROWS(1)
MULTIPLY_ROWS(2)
MULTIPLY_ROWS(3)
#if SIMD_WIDTH == 16
MULTIPLY_ROWS(4)
MULTIPLY_ROWS(5)
MULTIPLY_ROWS(6)
#endif

typedef void multiply_function(const struct tile *tile, enum assay_dtype x_type,
                               float sums[TILE_T][TILE_N]);
static multiply_function *const multiply_rows[TILE_T + 1] = {
    NULL,       multiply_1, multiply_2, multiply_3,
#if SIMD_WIDTH == 16
    multiply_4, multiply_5, multiply_6,
#endif
};

/* assay_tensor_row of a rank 2 tensor, inline: it is called for each tile. */
static inline char *row_of(const struct assay_tensor *tensor, int64_t row)
{
    int64_t bytes = tensor->dtype == ASSAY_F32 ? 4 : 2;
    return (char *)tensor->data + row * tensor->stride[0] * bytes;
}

static inline void store(char *row, enum assay_dtype dtype, int64_t n, int64_t count,
                         const float sums[TILE_N])
{
    if (dtype == ASSAY_BF16)
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)row)[n + i] = bf16_from_f32(sums[i]);
    else if (count == TILE_N)
        memcpy((float *)row + n, sums, TILE_N * sizeof *sums);
    else
        memcpy((float *)row + n, sums, (size_t)count * sizeof *sums);
}

/* Rows t .. t + num_rows - 1 of y, columns first .. last - 1. Past the last column the tile reads
 * the last row of w again and the sums are dropped. */
static void tile_row(const struct assay_linear_args *a, int64_t t, int num_rows, int64_t first,
                     int64_t last)
{
    struct tile tile = {.inner = a->x.extent[1]};
    char *y[TILE_T];
    for (int i = 0; i < num_rows; i++) {
        tile.x[i] = row_of(&a->x, t + i);
        y[i] = row_of(&a->y, t + i);
    }
    for (int64_t n = first; n < last; n += TILE_N) {
        float sums[TILE_T][TILE_N];
        int64_t count = last - n < TILE_N ? last - n : TILE_N;
        for (int64_t i = 0; i < TILE_N; i++)
            tile.w[i] = (const uint16_t *)row_of(&a->w, n + (i < count ? i : count - 1));
        multiply_rows[num_rows](&tile, a->x.dtype, sums);
        for (int i = 0; i < num_rows; i++)
            store(y[i], a->y.dtype, n, count, sums[i]);
    }
}

/* Columns first .. last - 1 of y: in panels of w that stay in cache while all rows of x pass. */
void SIMD_NAME(linear_columns)(const struct assay_linear_args *a, int64_t first, int64_t last)
{
    int64_t rows = a->x.extent[0];
    int64_t panel = PANEL_BYTES / (2 * a->x.extent[1]) / TILE_N * TILE_N;
    if (panel < TILE_N)
        panel = TILE_N;
    for (int64_t n = first; n < last; n += panel) {
        int64_t end = last - n < panel ? last : n + panel;
        for (int64_t t = 0; t < rows; t += TILE_T) {
            int num_rows = rows - t < TILE_T ? (int)(rows - t) : TILE_T;
            tile_row(a, t, num_rows, n, end);
        }
    }
}

static void columns(void *argument, int64_t first, int64_t last)
{
    SIMD_NAME(linear_columns)(argument, first, last);
}

assay_status SIMD_NAME(linear_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_args *a = args;
    (void)workspace;
    int64_t work = a->x.extent[1] * (a->x.extent[0] > 0 ? a->x.extent[0] : 1); /* of one row of w */
    int64_t grain = RANGE_WORK / work / TILE_N * TILE_N;
    if (grain < RANGE_ROWS)
        grain = RANGE_ROWS;
    assay_parallel(context, a->w.extent[0], grain, columns, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
