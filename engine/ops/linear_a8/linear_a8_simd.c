/* SPDX-License-Identifier: MIT
 *
 * linear_a8, vectorised: a lane is a row of w. A panel of SIMD_LANES rows has its codes of a group
 * unpacked once, pairs of columns side by side, for up to 32 rows of x; each of these then takes a
 * pair of its codes against a pair of every lane by one madd of 16-bit integers, whose sums of two
 * products and their sums are exact in 32 bits. Lanes never meet: no fold, and [LINEARA8-2] lane by
 * lane.
 *
 * Profile a8. Bound: linear_a8_bound.md, to the bit. Moves w once for each 32 rows of x; limited by
 * the madd, two products a lane.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/linear_a8/linear_a8_routes.h"

enum { TILE_T = LINEAR_A8_TILE_T, ROWS = 4 /* of x at a time */, PAIRS = A8_GROUP / 2 };

#if defined(ASSAY_PARANOID)
enum { RANGE_WORK = 1 };
#else
enum { RANGE_WORK = 256 * 1024 }; /* multiply-adds of a range of the thread pool */
#endif

struct product {
    const struct assay_linear_a8_args *a;
    struct a8_activations x;
};

/* A group of a panel: codes of columns 2 i, 2 i + 1 of lane l at pairs[i][l]. */
struct panel {
    int16_t pairs[PAIRS][SIMD_LANES][2];
    float scales[SIMD_LANES];
};

static inline vi vi_madd(vi a, vi b)
{
#if SIMD_WIDTH == 16
    return (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#else
    return (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#endif
}

static inline vf vf_from_vi(vi v)
{
#if SIMD_WIDTH == 16
    return (vf)_mm512_cvtepi32_ps((__m512i)v);
#else
    return (vf)_mm256_cvtepi32_ps((__m256i)v);
#endif
}

/* What `extra` bits a column of the high plane add; extra is a constant at every call. */
static inline __attribute__((always_inline)) void add_high(const uint8_t *high, const int extra,
                                                           int16_t codes[A8_GROUP])
{
    const int in_byte = 8 / extra;
    for (int i = 0; i < A8_GROUP / in_byte; i++)
        for (int j = 0; j < in_byte; j++)
            codes[in_byte * i + j] = (int16_t)(codes[in_byte * i + j] +
                                               ((high[i] >> extra * j & ((1 << extra) - 1)) << 4));
}

/* The codes of columns first .. first + row->group - 1. */
static void unpack(const struct grouped_row *row, int64_t first, int16_t codes[A8_GROUP])
{
    if (row->bits == 8) {
        for (int i = 0; i < row->group; i++)
            codes[i] = (int8_t)row->base[first + i];
        return;
    }
    const uint8_t *base = row->base + first / 2;
    int offset = 1 << (row->bits - 1);
    for (int i = 0; i < A8_GROUP / 2; i++) {
        codes[2 * i] = (int16_t)((base[i] & 15) - offset);
        codes[2 * i + 1] = (int16_t)((base[i] >> 4) - offset);
    }
    if (row->bits == 5)
        add_high(row->high + first / 8, 1, codes);
    else if (row->bits == 6)
        add_high(row->high + first / 4, 2, codes);
}

/* Lanes beyond the last row of w repeat it; their results go nowhere. */
static void pack(const struct grouped_row rows[SIMD_LANES], int64_t first, struct panel *to)
{
    for (int lane = 0; lane < SIMD_LANES; lane++) {
        int16_t codes[A8_GROUP];
        unpack(&rows[lane], first, codes);
        for (int i = 0; i < rows[lane].group / 2; i++)
            memcpy(to->pairs[i][lane], codes + 2 * i, sizeof to->pairs[i][lane]);
        to->scales[lane] = f16_to_f32(rows[lane].scales[first / rows[lane].group]);
    }
}

/* acc[0 .. count) of the rows whose codes start at x, pitch apart. count is a constant at every
 * call: the loops unroll and the sums stay in registers. */
static inline __attribute__((always_inline)) void multiply(const struct panel *w, int pairs,
                                                           const int16_t *x, int64_t pitch,
                                                           const float *scales, int64_t groups,
                                                           const int count, float acc[][SIMD_LANES])
{
    vi sum[ROWS];
#pragma GCC unroll 4
    for (int t = 0; t < count; t++)
        sum[t] = (vi){0};
    for (int i = 0; i < pairs; i++) {
        vi codes;
        memcpy(&codes, w->pairs[i], sizeof codes);
#pragma GCC unroll 4
        for (int t = 0; t < count; t++) {
            int32_t pair;
            memcpy(&pair, x + t * pitch + 2 * i, sizeof pair);
            sum[t] += vi_madd(codes, (vi){0} + pair);
        }
    }
    vf w_scales = vf_load(w->scales);
#pragma GCC unroll 4
    for (int t = 0; t < count; t++)
        vf_store(acc[t], vf_fma(vf_from_vi(sum[t]), w_scales * vf_set(scales[t * groups]),
                                vf_load(acc[t])));
}

/* Rows t .. t + count - 1 of x against a panel. */
static void accumulate(const struct product *p, const struct grouped_row rows[SIMD_LANES],
                       int64_t t, int64_t count, float acc[TILE_T][SIMD_LANES])
{
    struct panel panel;
    int group = rows[0].group;
    int64_t pitch = p->x.pitch, groups = p->x.groups;
    memset(acc, 0, (size_t)count * sizeof *acc);
    for (int64_t k = 0; k < p->a->w.columns; k += group) {
        pack(rows, k, &panel);
        const int16_t *x = p->x.codes + t * pitch + k;
        const float *scales = p->x.scales + t * groups + k / A8_GROUP;
        int64_t i = 0;
        for (; i + ROWS <= count; i += ROWS)
            multiply(&panel, group / 2, x + i * pitch, pitch, scales + i * groups, groups, ROWS,
                     acc + i);
        for (; i < count; i++)
            multiply(&panel, group / 2, x + i * pitch, pitch, scales + i * groups, groups, 1,
                     acc + i);
    }
}

static void store(const struct assay_linear_a8_args *a, int64_t t, int64_t n, int64_t count,
                  float acc[SIMD_LANES])
{
    if (a->residual.data != NULL) {
        const float *residual = (const float *)assay_tensor_row(&a->residual, t) + n;
        for (int64_t i = 0; i < count; i++)
            acc[i] += residual[i];
    }
    words_from_f32(acc, count,
                   (char *)assay_tensor_row(&a->y, t) + (size_t)n * assay_dtype_bytes(a->y.dtype),
                   a->y.dtype);
}

static void panels(void *argument, int64_t first, int64_t last)
{
    const struct product *p = argument;
    int64_t rows = p->a->x.extent[0], columns = p->a->w.rows;
    for (int64_t i = first; i < last; i++) {
        int64_t n = i * SIMD_LANES, left = columns - n < SIMD_LANES ? columns - n : SIMD_LANES;
        struct grouped_row w[SIMD_LANES];
        for (int64_t lane = 0; lane < SIMD_LANES; lane++)
            w[lane] = grouped_row_of(&p->a->w, n + (lane < left ? lane : left - 1));
        for (int64_t t = 0; t < rows; t += TILE_T) {
            float acc[TILE_T][SIMD_LANES];
            int64_t count = rows - t < TILE_T ? rows - t : TILE_T;
            accumulate(p, w, t, count, acc);
            for (int64_t row = 0; row < count; row++)
                store(p->a, t + row, n, left, acc[row]);
        }
    }
}

assay_status SIMD_NAME(linear_a8_route)(assay_context *context, const void *args, void *workspace)
{
    struct product p = {args, a8_activations_at(args, workspace)};
    a8_quantise(context, p.a, &p.x);
    int64_t rows = p.a->x.extent[0] > 0 ? p.a->x.extent[0] : 1;
    int64_t grain = RANGE_WORK / (SIMD_LANES * rows * p.a->w.columns) + 1;
    assay_parallel(context, (p.a->w.rows + SIMD_LANES - 1) / SIMD_LANES, grain, panels, &p);
    return ASSAY_OK;
}
