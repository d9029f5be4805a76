/* SPDX-License-Identifier: MIT
 *
 * linear_w8row, vectorised: 8-bit codes are widened to 16 bits on their way into a register and
 * multiplied and added in pairs, exactly; sums of integers have no order. A range of rows of w is
 * quantised in panels that stay in cache while all rows of x pass.
 *
 * Profile w8row, to the bit. Moves the planes and y once, x8 once for each panel; limited by the
 * multiplications, at few rows of x by quantising w.
 */
#include <math.h>

#include "core/core.h"
#include "numeric/simd.h"
#include "ops/linear_grouped/grouped_planes.h"
#include "ops/linear_w8row/linear_w8row_routes.h"

enum {
    TILE_T = 4,
    TILE_N = 4,
    STEP = 2 * SIMD_LANES, /* columns of a vector of 16-bit codes; divides the pitch */
    SLICE = 1024           /* columns that are decoded at a time */
};

#if defined(ASSAY_PARANOID)
enum { PANEL_BYTES = 1, RANGE_ROWS = TILE_N };
#else
enum { PANEL_BYTES = 256 * 1024, RANGE_ROWS = 32 };
#endif

struct product {
    const struct assay_linear_w8row_args *a;
    struct w8row_image image;
};

/* ---- operands ------------------------------------------------------------------------------- */

/* clamp(round(v)) of SIMD_LANES values, to bytes. */
static inline void store_codes(int8_t *to, vf v)
{
    vf most = vf_set(W8ROW_LARGEST);
    v = vf_nearest(v);
    v = vf_select((vi)(v > most), most, v);
    v = vf_select((vi)(v < -most), -most, v);
    vi codes = vi_from_vf(v);
#if SIMD_WIDTH == 16
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8((__m512i)codes));
#else
    __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)codes),
                                     _mm256_extracti128_si256((__m256i)codes, 1));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_packs_epi16(halves, halves));
#endif
}

static inline vf load(const void *row, enum assay_dtype dtype, int64_t k, int64_t inner)
{
    return k + SIMD_LANES <= inner ? vf_load_any(row, dtype, k)
                                   : vf_load_tail(row, dtype, k, inner - k);
}

/* x' of SIMD_LANES columns, 0 behind column K. */
static inline vf scaled(const struct product *p, const char *x, int64_t k)
{
    int64_t inner = p->a->w.columns;
    return load(x, p->a->x.dtype, k, inner) * load(p->image.inverse, ASSAY_F32, k, inner);
}

/* [LINEARW8ROW-3]. Of magnitudes as words NaN and infinities are the largest. */
static void tokens(void *argument, int64_t first, int64_t last)
{
    const struct product *p = argument;
    const struct w8row_image *image = &p->image;
    int64_t inner = p->a->w.columns;
    for (int64_t t = first; t < last; t++) {
        const char *x = assay_tensor_row(&p->a->x, t);
        int8_t *codes = image->x + t * image->pitch;
        vi largest = (vi)vf_set(W8ROW_FLOOR);
        int64_t k = 0;
        for (; k < inner; k += SIMD_LANES) {
            vi word = (vi)vf_abs(scaled(p, x, k));
            vi above = word > largest;
            largest = (word & above) | (largest & ~above);
        }
        uint32_t word = 0;
        for (int i = 0; i < SIMD_LANES; i++)
            word = (uint32_t)largest[i] > word ? (uint32_t)largest[i] : word;
        float amax = f32_from_bits(word);
        memset(codes, 0, (size_t)image->pitch);
        image->token[t] = word < 0x7f800000u ? amax / W8ROW_LARGEST : NAN;
        if (word >= 0x7f800000u)
            continue;
        vf inverse = vf_set(W8ROW_LARGEST / amax);
        for (k = 0; k < inner; k += SIMD_LANES)
            store_codes(codes + k, scaled(p, x, k) * inverse);
    }
}

/* Columns k .. k + count - 1 of row n, k a multiple of ASSAY_WEIGHT_PADDING. */
static void decode(const struct assay_weights *w, int64_t n, int64_t k, int64_t count,
                   float *values)
{
    struct grouped_row row = grouped_row_of(w, n);
    struct assay_weights part = *w;
    part.rows = 1;
    part.columns = count;
    part.base.data = (void *)(uintptr_t)(row.base + (row.bits == 8 ? k : k / 2));
    if (row.high != NULL)
        part.high.data = (void *)(uintptr_t)(row.high + k / 8 * (row.bits - 4));
    part.scales.data = (void *)(uintptr_t)(row.scales + k / row.group);
    assay_weights_decode_row(&part, 0, values);
}

/* [LINEARW8ROW-4] */
static void quantise_row(const struct product *p, int64_t n)
{
    const struct w8row_image *image = &p->image;
    int64_t inner = p->a->w.columns;
    int8_t *codes = image->w + n * image->pitch;
    float scale = w8row_row_scale(p->a, image, n);
    image->row[n] = scale;
    memset(codes, 0, (size_t)image->pitch);
    if (isnan(scale))
        return;
    vf inverse = vf_set(1 / scale);
    for (int64_t k = 0; k < inner; k += SLICE) {
        int64_t count = inner - k < SLICE ? inner - k : SLICE;
        float values[SLICE];
        decode(&p->a->w, n, k, count, values);
        for (int64_t i = 0; i < count; i += SIMD_LANES) {
            vf w = load(values, ASSAY_F32, i, count);
            vf s = load(image->factor, ASSAY_F32, k + i, inner);
            store_codes(codes + k + i, w * s * inverse);
        }
    }
}

/* ---- the product ---------------------------------------------------------------------------- */

static inline vi load_widened(const int8_t *p)
{
#if SIMD_WIDTH == 16
    return (vi)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
#else
    return (vi)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
#endif
}

static inline vi multiply_pairs(vi a, vi b)
{
#if SIMD_WIDTH == 16
    return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#else
    return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#endif
}

static inline int32_t add_lanes(vi v)
{
#if SIMD_WIDTH == 16
    return _mm512_reduce_add_epi32((__m512i)v);
#else
    int32_t sum = 0;
    for (int i = 0; i < SIMD_LANES; i++)
        sum += v[i];
    return sum;
#endif
}

/* num_rows is a constant at every call: the sums stay in registers. w: TILE_N rows. */
static inline __attribute__((always_inline)) void multiply(const int8_t *const *x,
                                                           const int8_t *const *w, int64_t pitch,
                                                           const int num_rows,
                                                           int32_t sums[TILE_T][TILE_N])
{
    vi sum[TILE_T][TILE_N];
#pragma GCC unroll 4
    for (int t = 0; t < num_rows; t++)
#pragma GCC unroll 4
        for (int n = 0; n < TILE_N; n++)
            sum[t][n] = (vi)vf_set(0.0f);
    for (int64_t k = 0; k < pitch; k += STEP) {
        vi rows[TILE_N];
#pragma GCC unroll 4
        for (int n = 0; n < TILE_N; n++)
            rows[n] = load_widened(w[n] + k);
#pragma GCC unroll 4
        for (int t = 0; t < num_rows; t++) {
            vi row = load_widened(x[t] + k);
#pragma GCC unroll 4
            for (int n = 0; n < TILE_N; n++)
                sum[t][n] += multiply_pairs(row, rows[n]);
        }
    }
#pragma GCC unroll 4
    for (int t = 0; t < num_rows; t++)
#pragma GCC unroll 4
        for (int n = 0; n < TILE_N; n++)
            sums[t][n] = add_lanes(sum[t][n]);
}

/* Rows t .. of y, columns n ..; past the last one the last is taken again and not stored. */
static void tile(const struct product *p, int64_t t, int64_t t_end, int64_t n, int64_t n_end)
{
    const struct w8row_image *image = &p->image;
    int64_t last_t = t_end - 1, last_n = n_end - 1;
    const int8_t *x[TILE_T], *w[TILE_N];
    int32_t sums[TILE_T][TILE_N];
    for (int64_t i = 0; i < TILE_T; i++)
        x[i] = image->x + (t + i < last_t ? t + i : last_t) * image->pitch;
    for (int64_t i = 0; i < TILE_N; i++)
        w[i] = image->w + (n + i < last_n ? n + i : last_n) * image->pitch;
    if (t == last_t)
        multiply(x, w, image->pitch, 1, sums);
    else
        multiply(x, w, image->pitch, TILE_T, sums);
    for (int64_t i = 0; i < TILE_T && t + i < t_end; i++)
        for (int64_t j = 0; j < TILE_N && n + j < n_end; j++)
            w8row_store(p->a, image, t + i, n + j, sums[i][j]);
}

static void columns(void *argument, int64_t first, int64_t last)
{
    const struct product *p = argument;
    int64_t rows = p->a->x.extent[0], panel = PANEL_BYTES / p->image.pitch / TILE_N * TILE_N;
    panel = panel < TILE_N ? TILE_N : panel;
    for (int64_t n = first; n < last; n += panel) {
        int64_t end = last - n < panel ? last : n + panel;
        for (int64_t i = n; i < end; i++)
            quantise_row(p, i);
        for (int64_t t = 0; t < rows; t += TILE_T)
            for (int64_t i = n; i < end; i += TILE_N)
                tile(p, t, rows - t < TILE_T ? rows : t + TILE_T, i, end);
    }
}

assay_status SIMD_NAME(linear_w8row_route)(assay_context *context, const void *args,
                                           void *workspace)
{
    struct product p = {.a = args};
    (void)w8row_image_at(args, workspace, 0, &p.image);
    w8row_channels(context, p.a, &p.image);
    assay_parallel(context, p.a->x.extent[0], 4, tokens, &p);
    assay_parallel(context, p.a->w.rows, RANGE_ROWS, columns, &p);
    return ASSAY_OK;
}
