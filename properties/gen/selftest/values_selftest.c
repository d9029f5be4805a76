/* SPDX-License-Identifier: MIT
 *
 * Each distribution has the property it is named for, with a minimum yield: a generator that has
 * silently become harmless makes every test that rests on it worthless.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"
#include "words.h"

enum { INNER = 64, COUNT = 64 * INNER, SEEDS = 5 };

static const enum assay_dtype formats[] = {ASSAY_F32, ASSAY_BF16, ASSAY_F16};
enum { NUM_FORMATS = 3 };

/* What a tensor of the format holds after drawing. */
static void fill(double v[COUNT], enum case_dist dist, enum assay_dtype dtype, uint64_t seed)
{
    struct values values = {.dist = dist, .scale = 1};
    for (int64_t i = 0; i < COUNT; i++)
        v[i] = oracle_round(values_draw(values, dtype, seed, "x", i, COUNT, INNER), dtype);
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

static double mean_square(const double *v, int64_t count, int64_t stride)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += v[i * stride] * v[i * stride];
    return sum / (double)count;
}

static void check_normal(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        sum += v[i];
        cr_assert(fabs(v[i]) <= 3.47);
    }
    cr_assert(fabs(sum / COUNT) < 0.1, "mean %g", sum / COUNT);
    double variance = mean_square(v, COUNT, 1);
    cr_assert(variance > 0.9 && variance < 1.1, "variance %g", variance);
}

static void check_uniform(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    for (int i = 0; i < COUNT; i++)
        cr_assert(fabs(v[i]) <= 1);
    double variance = mean_square(v, COUNT, 1);
    cr_assert(variance > 0.30 && variance < 0.37, "variance %g", variance);
}

static void check_outliers(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    qsort(v, COUNT, sizeof *v, by_size);
    double median = fabs(v[COUNT / 2]);
    cr_assert(fabs(v[COUNT - 1]) > 100 * median, "largest %g, median %g", v[COUNT - 1], median);
    cr_assert(fabs(v[COUNT - 1 - COUNT / 500]) > 40 * median, "one in 500 is no outlier");
    cr_assert(fabs(v[COUNT - 1 - COUNT / 10]) < 30 * median, "one in ten is an outlier");
}

static void check_massive(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    int massive = 0;
    for (int c = 0; c < INNER; c++) {
        double size = sqrt(mean_square(v + c, COUNT / INNER, INNER));
        massive += size > 500;
        cr_assert(size > 500 || size < 2, "channel %d: %g", c, size);
    }
    cr_assert_eq(massive, 1, "%d massive channels", massive);
}

static void check_constant(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    for (int i = 0; i < COUNT; i++)
        cr_assert(v[i] == v[0] && v[i] >= 0.5);
}

static void check_alternating(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    for (int i = 0; i < COUNT; i++)
        cr_assert(v[i] == (i % 2 == 0 ? v[0] : -v[0]) && fabs(v[i]) >= 0.5);
}

static void check_subnormal(double v[COUNT], enum assay_dtype dtype)
{
    int subnormal = 0, normal = 0;
    for (int i = 0; i < COUNT; i++) {
        subnormal += v[i] != 0 && fabs(v[i]) < oracle_min_normal(dtype);
        normal += fabs(v[i]) >= oracle_min_normal(dtype);
    }
    cr_assert(subnormal > COUNT * 2 / 5, "%d subnormal of %d", subnormal, COUNT);
    cr_assert(normal > COUNT / 20, "%d normal of %d", normal, COUNT);
}

static void check_zeros(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    int negative = 0;
    for (int i = 0; i < COUNT; i++) {
        cr_assert(v[i] == 0);
        negative += signbit(v[i]) != 0;
    }
    cr_assert(negative > COUNT / 3 && negative < COUNT * 2 / 3, "%d negative zeros", negative);
}

static void check_large(double v[COUNT], enum assay_dtype dtype)
{
    double largest = 0;
    for (int i = 0; i < COUNT; i++)
        largest = fmax(largest, fabs(v[i]));
    double top = oracle_max_finite(dtype);
    cr_assert(largest > 0.24 * top && largest <= 0.251 * top, "largest is %g of %g", largest, top);
}

static void check_cancel(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    for (int r = 0; r < COUNT / INNER; r++) {
        double sum = 0, sizes = 0;
        for (int c = 0; c < INNER; c++) {
            sum += v[r * INNER + c];
            sizes += fabs(v[r * INNER + c]);
        }
        cr_assert(sizes > 100 * fabs(sum), "row %d: condition %g", r, sizes / fabs(sum));
    }
}

/* binary32 values whose lower half is exactly the half of a bf16 step. */
static void check_ties(double v[COUNT], enum assay_dtype dtype)
{
    int negative = 0, even = 0;
    for (int i = 0; i < COUNT && dtype == ASSAY_F32; i++) {
        float value = (float)v[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        cr_assert_eq(bits & 0xffffu, 0x8000u, "%a is no tie", v[i]);
        negative += v[i] < 0;
        even += (bits >> 16 & 1) == 0;
    }
    if (dtype == ASSAY_F32) {
        cr_assert(negative > COUNT / 3 && negative < COUNT * 2 / 3);
        cr_assert(even > COUNT / 3 && even < COUNT * 2 / 3, "%d round down", even);
    }
}

static void check_exact(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    int seen[9] = {0};
    for (int i = 0; i < COUNT; i++) {
        cr_assert(v[i] == rint(v[i]) && fabs(v[i]) <= 4);
        seen[(int)v[i] + 4]++;
    }
    for (int k = 0; k < 9; k++)
        cr_assert(seen[k] > COUNT / 20, "%d comes %d times", k - 4, seen[k]);
}

static void check_nonfinite(double v[COUNT], enum assay_dtype dtype)
{
    (void)dtype;
    int nan = 0, up = 0, down = 0;
    for (int i = 0; i < COUNT; i++) {
        nan += isnan(v[i]) != 0;
        up += v[i] == INFINITY;
        down += v[i] == -INFINITY;
    }
    cr_assert(nan + up + down >= 2 && nan <= 1 && up <= 1 && down <= 1, "%d %d %d", nan, up, down);
}

Test(values, distributions)
{
    static void (*const checks[CASE_NUM_DISTS])(double *, enum assay_dtype) = {
        [CASE_DIST_NORMAL] = check_normal,       [CASE_DIST_UNIFORM] = check_uniform,
        [CASE_DIST_OUTLIERS] = check_outliers,   [CASE_DIST_MASSIVE] = check_massive,
        [CASE_DIST_CONSTANT] = check_constant,   [CASE_DIST_ALTERNATING] = check_alternating,
        [CASE_DIST_SUBNORMAL] = check_subnormal, [CASE_DIST_ZEROS] = check_zeros,
        [CASE_DIST_LARGE] = check_large,         [CASE_DIST_CANCEL] = check_cancel,
        [CASE_DIST_TIES] = check_ties,           [CASE_DIST_EXACT] = check_exact,
        [CASE_DIST_NONFINITE] = check_nonfinite};
    static double v[COUNT];
    for (int dist = 0; dist < CASE_NUM_DISTS; dist++) {
        cr_assert_not_null(checks[dist], "%s has no check", case_dist_name((enum case_dist)dist));
        for (int f = 0; f < NUM_FORMATS; f++) {
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                fill(v, (enum case_dist)dist, formats[f], seed);
                checks[dist](v, formats[f]);
            }
        }
    }
}

/* However small the tensor, nonfinite has one; over the seeds each kind comes first somewhere. */
Test(values, nonfinite_in_small_tensors)
{
    struct values values = {.dist = CASE_DIST_NONFINITE, .scale = 3, .shift = 1};
    for (int64_t count = 1; count < 40; count++) {
        int kinds = 0;
        for (uint64_t seed = 1; seed <= 6; seed++) {
            int special = 0;
            for (int64_t i = 0; i < count; i++) {
                double x = values_draw(values, ASSAY_F32, seed, "x", i, count, count);
                special += !isfinite(x);
                kinds |= isnan(x) ? 1 : x == INFINITY ? 2 : x == -INFINITY ? 4 : 0;
            }
            cr_assert(special >= 1 && special <= 3, "%d of %lld", special, (long long)count);
        }
        cr_assert_eq(kinds, 7, "count %lld: kinds %d", (long long)count, kinds);
    }
}

Test(values, scale_shift_and_streams)
{
    for (int dist = 0; dist < CASE_NUM_DISTS; dist++) {
        struct values one = {.dist = (enum case_dist)dist, .scale = 1};
        struct values two = {.dist = (enum case_dist)dist, .scale = 2, .shift = 0.5};
        int by_seed = 0, by_stream = 0;
        for (int64_t i = 0; i < 256; i++) {
            double x = values_draw(one, ASSAY_F32, 5, "x", i, 256, 16);
            double again = values_draw(one, ASSAY_F32, 5, "x", i, 256, 16);
            cr_assert(memcmp(&x, &again, sizeof x) == 0, "same seed, other bits");
            double moved = values_draw(two, ASSAY_F32, 5, "x", i, 256, 16);
            cr_assert(isnan(x) ? isnan(moved) : moved == 2 * x + 0.5);
            double seed = values_draw(one, ASSAY_F32, 6, "x", i, 256, 16);
            double stream = values_draw(one, ASSAY_F32, 5, "w", i, 256, 16);
            by_seed += memcmp(&x, &seed, sizeof x) != 0;
            by_stream += memcmp(&x, &stream, sizeof x) != 0;
        }
        cr_assert(by_seed > 100 && by_stream > 100, "%s: %d %d differ",
                  case_dist_name((enum case_dist)dist), by_seed, by_stream);
    }
}
