/* SPDX-License-Identifier: MIT
 *
 * linear_grouped, vectorised. Codes are multiplied as integers in binary32, and a partial sum is
 * scaled once: x code for the 8 vectors of a block by FMA, then sum += partial * scale by FMA, at
 * the end the lanes as a balanced tree. Every tile shape keeps that one order, so a row's bits do
 * not depend on how many rows come with it [LINEARGROUPED-5].
 *
 * Formats of 4 to 6 bits: a block is 8 L columns for L lanes, lane l has columns 8 l .. 8 l + 7,
 * which are one 32-bit word of the base plane; vector i takes the i-th code of every word. x is
 * brought into that order first, zeros behind column K: unpacking needs no permutation. A lane's
 * columns lie in one group. q8g32: vectors of L neighbouring columns; the four groups of 128
 * columns are summed before they join the sum.
 *
 * Profile f32. Bound: linear_grouped_bound.md. Moves the planes and y once, x once for each panel
 * of rows of w; the planes limit it at T = 1.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/linear_grouped/linear_grouped_routes.h"

/* Rows of x times rows of w in registers: several rows of w share the loads of x, which at T = 1 is
 * what counts. */
enum { BLOCK = 8 * SIMD_LANES, BYTE_GROUP = 32, TILE_T = LINEAR_GROUPED_TILE_T };
#if SIMD_WIDTH == 16
enum { TILE_N = LINEAR_GROUPED_TILE_N_AVX512, TILE_N_MANY_ROWS = 2 };
#else
enum { TILE_N = LINEAR_GROUPED_TILE_N_AVX2, TILE_N_MANY_ROWS = 1 };
#endif

/* Rows of w of a tile with num_rows rows of x. */
static inline int tile_columns(int num_rows)
{
    return num_rows == 1 ? TILE_N : TILE_N_MANY_ROWS;
}

/* PANEL_BYTES: of w, what stays in the second-level cache while x passes. A range of the thread
 * pool has RANGE_WORK multiply-adds and at least RANGE_ROWS rows of w. */
#if defined(ASSAY_PARANOID)
enum { PANEL_BYTES = 1, RANGE_WORK = 1, RANGE_ROWS = TILE_N };
#else
enum { PANEL_BYTES = 256 * 1024, RANGE_WORK = 512 * 1024, RANGE_ROWS = 16 };
#endif

#define LOCAL static inline __attribute__((always_inline))

/* One output tile: rows x[0 .. TILE_T) as prepared, rows of w. */
struct tile {
    const float *x[TILE_T];
    struct grouped_row w[TILE_N];
    int64_t groups; /* that hold columns below K */
    int64_t ahead;  /* bytes to the same row of the next tile in the base plane */
};

/* Asks for the next tile's bytes of the base plane where w comes from memory: the rows of a tile
 * are several streams, which the processor does not foresee well. Past the last row of w that names
 * memory which is not there, and does nothing. */
LOCAL void prefetch(const struct tile *tile, const int num_rows, const int num_columns,
                    int64_t first, const int bytes)
{
    if (num_rows > 1)
        return;
#pragma GCC unroll 8
    for (int n = 0; n < num_columns; n++)
#pragma GCC unroll 8
        for (int line = 0; line < bytes; line += 64)
            __builtin_prefetch((const void *)((uintptr_t)tile->w[n].base +
                                              (uintptr_t)(tile->ahead + first + line)),
                               0, 2);
}

/* ---- codes of 4 to 6 bits ------------------------------------------------------------------- */

/* A block's words of the base plane, and each lane's bits of the high plane. The top bit of every
 * code is inverted where the code is then read as two's complement. */
struct packed {
    vu low, high;
};

LOCAL vu load_widened(const uint8_t *p, const int bytes)
{
#if SIMD_WIDTH == 16
    if (bytes == 1)
        return (vu)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    return (vu)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
#else
    if (bytes == 1)
        return (vu)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
    return (vu)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
#endif
}

/* True where a table gives the codes. */
LOCAL bool by_table(const int bits)
{
    return SIMD_WIDTH == 16 && bits < 6;
}

LOCAL struct packed load_packed(const struct grouped_row *w, int64_t block, const int bits)
{
    struct packed p = {.high = (vu)vf_set(0.0f)};
    memcpy(&p.low, w->base + block * (BLOCK / 2), sizeof p.low);
    if (bits > 4)
        p.high = load_widened(w->high + block * (BLOCK / 8 * (bits - 4)), bits - 4);
    if (!by_table(bits)) {
        if (bits == 4)
            p.low ^= 0x88888888u;
        else
            p.high ^= bits == 5 ? 0xffu : 0xaaaau;
    }
    return p;
}

LOCAL vu shifted(vu v, const int left)
{
    return left >= 0 ? v << left : v >> -left;
}

/* mask ? a : b, bit by bit */
LOCAL vu merged(const uint32_t mask, vu a, vu b)
{
#if SIMD_WIDTH == 16
    return (vu)_mm512_ternarylogic_epi32(_mm512_set1_epi32((int)mask), (__m512i)a, (__m512i)b,
                                         0xca);
#else
    return (a & mask) | (b & ~mask);
#endif
}

/* Code i, 0 <= i < 8, of every lane. */
LOCAL vf codes(struct packed p, const int bits, const int i)
{
#if SIMD_WIDTH == 16
    const __m512 negative16 =
        _mm512_setr_ps(-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1);
    const __m512 from_zero = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 from_minus8 =
        _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    if (bits == 4) /* the index's upper bits do not count */
        return (vf)_mm512_permutexvar_ps((__m512i)(p.low >> 4 * i), from_minus8);
    if (bits == 5) {
        vu index = merged(15, p.low >> 4 * i, shifted(p.high, 4 - i));
        return (vf)_mm512_permutex2var_ps(negative16, (__m512i)index, from_zero);
    }
#endif
    /* The code comes to the top of its lane, and is shifted down with its sign. */
    const int place = 32 - bits;
    vu top = shifted(p.low, place - 4 * i);
    if (bits > 4)
        top = merged(15u << place, top, p.high << (place + 4 - (bits - 4) * i));
    return __builtin_convertvector((vi)top >> place, vf);
}

/* Each lane's scale; a group of padding counts as 0 whatever stands there [LINEARGROUPED-7]. */
LOCAL vf block_scales(const uint16_t *scales, int64_t block, int64_t groups)
{
#if SIMD_WIDTH == 16
    uint32_t pair;
    memcpy(&pair, scales + 2 * block, sizeof pair);
    if (2 * block + 1 >= groups)
        pair &= 0xffff;
    const __m256i halves =
        _mm256_setr_epi16(0x0100, 0x0100, 0x0100, 0x0100, 0x0100, 0x0100, 0x0100, 0x0100, 0x0302,
                          0x0302, 0x0302, 0x0302, 0x0302, 0x0302, 0x0302, 0x0302);
    return (vf)_mm512_cvtph_ps(_mm256_shuffle_epi8(_mm256_set1_epi32((int)pair), halves));
#else
    (void)groups;
    return (vf)_mm256_cvtph_ps(_mm_set1_epi16((short)scales[block]));
#endif
}

LOCAL void multiply_packed(const struct tile *tile, const int num_rows, const int num_columns,
                           const int bits, vf sum[TILE_T][TILE_N])
{
    int64_t blocks = (tile->groups * 64 + BLOCK - 1) / BLOCK;
    for (int64_t block = 0; block < blocks; block++) {
        struct packed w[TILE_N];
        vf partial[TILE_T][TILE_N];
#pragma GCC unroll 8
        for (int n = 0; n < num_columns; n++)
            w[n] = load_packed(&tile->w[n], block, bits);
        prefetch(tile, num_rows, num_columns, block * (BLOCK / 2), BLOCK / 2);
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
#pragma GCC unroll 8
            for (int n = 0; n < num_columns; n++) {
                vf code = codes(w[n], bits, i);
#pragma GCC unroll 8
                for (int t = 0; t < num_rows; t++) {
                    vf x = vf_load(tile->x[t] + block * BLOCK + i * SIMD_LANES);
                    partial[t][n] = i == 0 ? x * code : vf_fma(x, code, partial[t][n]);
                }
            }
        }
#pragma GCC unroll 8
        for (int n = 0; n < num_columns; n++) {
            vf scale = block_scales(tile->w[n].scales, block, tile->groups);
#pragma GCC unroll 8
            for (int t = 0; t < num_rows; t++)
                sum[t][n] = vf_fma(partial[t][n], scale, sum[t][n]);
        }
    }
}

/* ---- codes of 8 bits ------------------------------------------------------------------------- */

LOCAL vf byte_codes(const uint8_t *p)
{
#if SIMD_WIDTH == 16
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    return (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
#else
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return (vf)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
#endif
}

LOCAL vf one_scale(uint16_t word)
{
#if SIMD_WIDTH == 16
    return (vf)_mm512_cvtph_ps(_mm256_set1_epi16((short)word));
#else
    return (vf)_mm256_cvtph_ps(_mm_set1_epi16((short)word));
#endif
}

/* total += the products of one group */
LOCAL void multiply_group(const struct tile *tile, const int num_rows, const int num_columns,
                          int64_t group, vf total[TILE_T][TILE_N])
{
    int64_t first = group * BYTE_GROUP;
#pragma GCC unroll 8
    for (int n = 0; n < num_columns; n++) {
        vf partial[TILE_T];
#pragma GCC unroll 8
        for (int i = 0; i < BYTE_GROUP; i += SIMD_LANES) {
            vf code = byte_codes(tile->w[n].base + first + i);
#pragma GCC unroll 8
            for (int t = 0; t < num_rows; t++) {
                vf x = vf_load(tile->x[t] + first + i);
                partial[t] = i == 0 ? x * code : vf_fma(x, code, partial[t]);
            }
        }
        vf scale = one_scale(tile->w[n].scales[group]);
#pragma GCC unroll 8
        for (int t = 0; t < num_rows; t++)
            total[t][n] = vf_fma(partial[t], scale, total[t][n]);
    }
}

LOCAL void clear(const int num_rows, const int num_columns, vf sum[TILE_T][TILE_N])
{
#pragma GCC unroll 8
    for (int t = 0; t < num_rows; t++)
#pragma GCC unroll 8
        for (int n = 0; n < num_columns; n++)
            sum[t][n] = vf_set(0.0f);
}

LOCAL void multiply_bytes(const struct tile *tile, const int num_rows, const int num_columns,
                          vf sum[TILE_T][TILE_N])
{
    const int groups_of_padding = ASSAY_WEIGHT_PADDING / BYTE_GROUP;
    for (int64_t group = 0; group < tile->groups; group += groups_of_padding) {
        int64_t last = group + groups_of_padding;
        vf total[TILE_T][TILE_N];
        clear(num_rows, num_columns, total);
        for (int64_t g = group; g < last && g < tile->groups; g++)
            multiply_group(tile, num_rows, num_columns, g, total);
        prefetch(tile, num_rows, num_columns, group * BYTE_GROUP, ASSAY_WEIGHT_PADDING);
#pragma GCC unroll 8
        for (int t = 0; t < num_rows; t++)
#pragma GCC unroll 8
            for (int n = 0; n < num_columns; n++)
                sum[t][n] += total[t][n];
    }
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* The sum of the lanes as vf_sum takes it. */
LOCAL float fold(vf v)
{
#if SIMD_WIDTH == 16
    __m256 half =
        _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1));
#else
    __m256 half = (__m256)v;
#endif
    __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
}

/* num_rows, num_columns and bits are constants at every call: the loops unroll and the sums stay in
 * registers.
 */
LOCAL void multiply(const struct tile *tile, const int num_rows, const int num_columns,
                    const int bits, float sums[TILE_T][TILE_N])
{
    vf sum[TILE_T][TILE_N];
    clear(num_rows, num_columns, sum);
    if (bits == 8)
        multiply_bytes(tile, num_rows, num_columns, sum);
    else
        multiply_packed(tile, num_rows, num_columns, bits, sum);
#pragma GCC unroll 8
    for (int t = 0; t < num_rows; t++)
#pragma GCC unroll 8
        for (int n = 0; n < num_columns; n++)
            sums[t][n] = fold(sum[t][n]);
}

#define MULTIPLY(bits, rows)                                                                   \
    static __attribute__((noinline)) void multiply_##bits##_##rows(const struct tile *tile,    \
                                                                   float sums[TILE_T][TILE_N]) \
    {                                                                                          \
        multiply(tile, rows, rows == 1 ? TILE_N : TILE_N_MANY_ROWS, bits, sums);               \
    }
#define MULTIPLY_ROWS(bits) \
    MULTIPLY(bits, 1)       \
    MULTIPLY(bits, 2)       \
    MULTIPLY(bits, 3)       \
    MULTIPLY(bits, 4)
MULTIPLY_ROWS(4)
MULTIPLY_ROWS(5)
MULTIPLY_ROWS(6)
MULTIPLY_ROWS(8)

typedef void multiply_function(const struct tile *tile, float sums[TILE_T][TILE_N]);
#define ROW_OF(bits)                                                               \
    [bits] = {NULL, multiply_##bits##_1, multiply_##bits##_2, multiply_##bits##_3, \
              multiply_##bits##_4}
static multiply_function *const multiply_tile[9][TILE_T + 1] = {ROW_OF(4), ROW_OF(5), ROW_OF(6),
                                                                ROW_OF(8)};

/* ---- the call -------------------------------------------------------------------------------- */

struct call {
    const struct assay_linear_grouped_args *a;
    const float *x; /* prepared: [T, padded] */
    int64_t padded;
    float *prepared; /* where it is written */
};

/* Elements first .. first + count - 1 of a row, in binary32. */
static void widen(const struct assay_tensor *x, int64_t row, int64_t first, int64_t count,
                  float *values)
{
    const char *words = assay_tensor_row(x, row);
    words_to_f32(words + first * (int64_t)assay_dtype_bytes(x->dtype), x->dtype, count, values);
}

/* Rows first .. last - 1 of x in the order of the codes. */
static void prepare(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    int64_t inner = c->a->w.columns;
    bool is_packed = c->a->w.format != ASSAY_WEIGHT_Q8G32;
    for (int64_t t = first; t < last; t++) {
        for (int64_t k = 0; k < c->padded; k += BLOCK) {
            float *to = c->prepared + t * c->padded + k, values[BLOCK] = {0};
            int64_t count = inner - k < BLOCK ? inner - k : BLOCK;
            if (count > 0)
                widen(&c->a->x, t, k, count, values);
            for (int i = 0; i < 8; i++)
                for (int l = 0; l < SIMD_LANES; l++)
                    to[i * SIMD_LANES + l] = values[is_packed ? 8 * l + i : i * SIMD_LANES + l];
        }
    }
}

/* One rounding into y: the sum alone, or with the residual's element. */
static void store(const struct assay_linear_grouped_args *a, int64_t t, int64_t n, int64_t count,
                  const float *sums)
{
    const float *residual = a->residual.data;
    char *y = (char *)a->y.data + t * a->y.stride[0] * (a->y.dtype == ASSAY_F32 ? 4 : 2);
    if (residual != NULL)
        residual += t * a->residual.stride[0];
    for (int64_t i = n; i < n + count; i++) {
        float value = sums[i - n];
        if (residual != NULL)
            value += residual[i];
        if (a->y.dtype == ASSAY_F32)
            ((float *)y)[i] = value;
        else
            ((uint16_t *)y)[i] = bf16_from_f32(value);
    }
}

/* Rows t .. t + num_rows - 1 of y, columns first .. last - 1. Past the last column the tile reads
 * the last row of w again and the sums are dropped. */
static void tile_row(const struct call *c, int64_t t, int num_rows, int64_t first, int64_t last)
{
    const struct assay_linear_grouped_args *a = c->a;
    int64_t group = assay_weight_group(a->w.format);
    multiply_function *multiply_these = multiply_tile[assay_weight_bits(a->w.format)][num_rows];
    int64_t tile_n = tile_columns(num_rows);
    struct tile tile = {.groups = (a->w.columns + group - 1) / group,
                        .ahead = tile_n * a->w.base.stride[0]};
    for (int i = 0; i < num_rows; i++)
        tile.x[i] = c->x + (t + i) * c->padded;
    for (int64_t n = first; n < last; n += tile_n) {
        float sums[TILE_T][TILE_N];
        int64_t count = last - n < tile_n ? last - n : tile_n;
        for (int64_t i = 0; i < tile_n; i++)
            tile.w[i] = grouped_row_of(&a->w, n + (i < count ? i : count - 1));
        multiply_these(&tile, sums);
        for (int i = 0; i < num_rows; i++)
            store(a, t + i, n, count, sums[i]);
    }
}

/* Columns first .. last - 1 of y: in panels of w that stay in cache while all rows of x pass. */
static void panels(const struct call *c, int64_t first, int64_t last)
{
    int64_t rows = c->a->x.extent[0];
    int64_t panel = PANEL_BYTES / (int64_t)grouped_row_bytes(&c->a->w) / TILE_N * TILE_N;
    if (panel < TILE_N)
        panel = TILE_N;
    for (int64_t n = first; n < last; n += panel) {
        int64_t end = last - n < panel ? last : n + panel;
        for (int64_t t = 0; t < rows; t += TILE_T)
            tile_row(c, t, rows - t < TILE_T ? (int)(rows - t) : TILE_T, n, end);
    }
}

static void columns(void *argument, int64_t first, int64_t last)
{
    panels(argument, first, last);
}

void SIMD_NAME(linear_grouped_prepare)(assay_context *context,
                                       const struct assay_linear_grouped_args *args, float *x)
{
    struct call c = {.a = args, .prepared = x, .padded = linear_grouped_padded(args->w.columns)};
    assay_parallel(context, args->x.extent[0], 1 + RANGE_WORK / 8 / c.padded, prepare, &c);
}

void SIMD_NAME(linear_grouped_columns)(const struct assay_linear_grouped_args *args, const float *x,
                                       int64_t first, int64_t last)
{
    const struct call c = {.a = args, .x = x, .padded = linear_grouped_padded(args->w.columns)};
    panels(&c, first, last);
}

assay_status SIMD_NAME(linear_grouped_route)(assay_context *context, const void *args,
                                             void *workspace)
{
    struct call c = {.a = args, .x = workspace};
    int64_t rows = c.a->x.extent[0];
    if (rows == 0)
        return ASSAY_OK;
    c.padded = linear_grouped_padded(c.a->w.columns);
    SIMD_NAME(linear_grouped_prepare)(context, c.a, workspace);
    int64_t grain = RANGE_WORK / (c.padded * rows) / TILE_N * TILE_N;
    assay_parallel(context, c.a->w.rows, grain < RANGE_ROWS ? RANGE_ROWS : grain, columns, &c);
    return ASSAY_OK;
}
