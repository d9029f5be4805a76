/* SPDX-License-Identifier: MIT
 *
 * The oracle's decoders and encoders: all words, all rounding boundaries against MPFR.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "../../real/selftest/test_draw.h"
#include "words.h"

/* A format as MPFR sees it: precision, and exponents of significands in [1/2, 1). */
struct reference {
    enum assay_dtype dtype;
    mpfr_prec_t precision;
    mpfr_exp_t least, greatest;
};

static const struct reference references[] = {
    {ASSAY_BF16, 8, -132, 128},
    {ASSAY_F16, 11, -23, 16},
    {ASSAY_F32, 24, -148, 128},
};

/* value rounded by MPFR with the format's precision, exponent range and gradual underflow. */
static double reference_round(const struct reference *reference, double value)
{
    mpfr_exp_t least = mpfr_get_emin();
    mpfr_exp_t greatest = mpfr_get_emax();
    mpfr_t x;
    mpfr_init2(x, reference->precision);
    mpfr_set_emin(reference->least);
    mpfr_set_emax(reference->greatest);
    int inexact = mpfr_set_d(x, value, MPFR_RNDN);
    mpfr_subnormalize(x, inexact, MPFR_RNDN);
    mpfr_set_emin(least);
    mpfr_set_emax(greatest);
    double rounded = mpfr_get_d(x, MPFR_RNDN);
    mpfr_clear(x);
    return rounded;
}

static void check_round(const struct reference *reference, double value)
{
    double got = oracle_round(value, reference->dtype);
    double expected = reference_round(reference, value);
    cr_assert(memcmp(&got, &expected, sizeof got) == 0, "%s: %a rounds to %a, expected %a",
              assay_dtype_name(reference->dtype), value, got, expected);
}

static double word_value(enum assay_dtype dtype, unsigned word)
{
    return dtype == ASSAY_BF16 ? oracle_bf16_value((uint16_t)word)
                               : oracle_f16_value((uint16_t)word);
}

static unsigned value_word(enum assay_dtype dtype, double value)
{
    return dtype == ASSAY_BF16 ? oracle_bf16_word(value) : oracle_f16_word(value);
}

Test(words, every_word_round_trips)
{
    for (int r = 0; r < 2; r++) {
        enum assay_dtype dtype = references[r].dtype;
        unsigned infinity = dtype == ASSAY_BF16 ? 0x7f80 : 0x7c00;
        unsigned quiet = dtype == ASSAY_BF16 ? 0x0040 : 0x0200;
        for (unsigned word = 0; word < 0x10000; word++) {
            double value = word_value(dtype, word);
            unsigned back = value_word(dtype, value);
            if ((word & 0x7fff) > infinity) {
                cr_assert(isnan(value), "%04x", word);
                cr_assert((back & infinity) == infinity && (back & quiet) != 0, "%04x", back);
                continue;
            }
            cr_assert_eq(back, word, "%s: %04x came back as %04x", assay_dtype_name(dtype), word,
                         back);
            cr_assert_eq(signbit(value) != 0, word >> 15, "%04x", word);
            if (word != 0 && word <= infinity) {
                cr_assert_gt(value, word_value(dtype, word - 1), "%04x", word);
                cr_assert_eq(word_value(dtype, word | 0x8000), -value, "%04x", word);
            }
        }
    }
    for (uint32_t word = 0; word < 0x10000; word++) { /* bf16 is the high half of binary32 */
        uint32_t bits = word << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        double got = oracle_bf16_value((uint16_t)word);
        cr_assert(isnan(value) ? isnan(got) : got == (double)value, "%04x", word);
    }
    cr_assert_eq(oracle_f16_value(0x3c00), 1.0);
    cr_assert_eq(oracle_f16_value(0xc100), -2.5);
    cr_assert_eq(oracle_f16_value(0x7bff), 65504.0);
    cr_assert_eq(oracle_f16_value(0x0400), 0x1p-14);
    cr_assert_eq(oracle_f16_value(0x03ff), 0x1.ff8p-15);
    cr_assert_eq(oracle_f16_value(0x0001), 0x1p-24);
    cr_assert_eq(oracle_f16_value(0x7c00), INFINITY);
}

/* Every midpoint between neighbours, the last one being the overflow threshold, and the binary64
 * values next to it; half an ulp is attained there and infinite from the threshold on. */
Test(words, every_boundary_rounds_as_mpfr_does)
{
    for (int r = 0; r < 2; r++) {
        const struct reference *reference = &references[r];
        enum assay_dtype dtype = reference->dtype;
        unsigned infinity = dtype == ASSAY_BF16 ? 0x7f80 : 0x7c00;
        for (unsigned word = 0; word < infinity; word++) {
            double low = word_value(dtype, word);
            double next = word + 1 < infinity ? word_value(dtype, word + 1)
                                              : ldexp(1.0, (int)reference->greatest);
            double middle = low + (next - low) / 2; /* exact */
            double nearby[] = {middle, nextafter(middle, 0), nextafter(middle, INFINITY), low,
                               nextafter(low, INFINITY)};
            for (size_t i = 0; i < sizeof nearby / sizeof *nearby; i++) {
                check_round(reference, nearby[i]);
                check_round(reference, -nearby[i]);
            }
            double half = oracle_half_ulp(middle, dtype);
            if (word + 1 == infinity) {
                cr_assert_eq(half, INFINITY);
                cr_assert_eq(oracle_half_ulp(nextafter(middle, 0), dtype), next - middle);
            } else {
                cr_assert_eq(half, fabs(oracle_round(middle, dtype) - middle), "%04x", word);
            }
        }
    }
}

Test(words, random_values_round_as_mpfr_does)
{
    uint64_t state = 1;
    for (size_t r = 0; r < sizeof references / sizeof *references; r++) {
        const struct reference *reference = &references[r];
        for (int i = 0; i < 200000; i++) {
            double v = i % 4 == 0 ? draw_scaled(&state, -1080, 1023)
                                  : draw_scaled(&state, (int)reference->least - 4,
                                                (int)reference->greatest);
            check_round(reference, v);
            double half = oracle_half_ulp(v, reference->dtype);
            double less = v * draw_unit(&state);
            cr_assert(fabs(oracle_round(v, reference->dtype) - v) <= half, "%a", v);
            cr_assert(fabs(oracle_round(less, reference->dtype) - less) <= half, "%a", less);
        }
    }
    /* Through binary32 first these would round twice: to a tie, then to even. */
    cr_assert_eq(oracle_bf16_word(0x1.01p0 + 0x1p-30), 0x3f81);
    cr_assert_eq(oracle_f16_word(0x1.002p0 + 0x1p-30), 0x3c01);
    cr_assert_eq(oracle_f16_word(0x1p-25 + 0x1p-60), 0x0001);
    double specials[] = {
        0.0, -0.0, INFINITY, -INFINITY, 0x1p-1074, -0x1p-1022, 0x1.fffffffffffffp1023};
    for (size_t r = 0; r < sizeof references / sizeof *references; r++) {
        for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
            check_round(&references[r], specials[i]);
        }
        cr_assert(isnan(oracle_round(NAN, references[r].dtype)));
        cr_assert_eq(oracle_half_ulp(NAN, references[r].dtype), INFINITY);
        cr_assert_eq(oracle_half_ulp(0, references[r].dtype), 0);
    }
}

Test(words, constants_of_the_formats)
{
    cr_assert_eq(oracle_max_finite(ASSAY_F32), 0x1.fffffep127);
    cr_assert_eq(oracle_max_finite(ASSAY_BF16), 0x1.fep127);
    cr_assert_eq(oracle_max_finite(ASSAY_F16), 65504);
    cr_assert_eq(oracle_max_finite(ASSAY_F64), 0x1.fffffffffffffp1023);
    cr_assert_eq(oracle_max_finite(ASSAY_I32), 2147483647);
    cr_assert_eq(oracle_max_finite(ASSAY_U8), 255);
    cr_assert_eq(oracle_min_normal(ASSAY_F32), 0x1p-126);
    cr_assert_eq(oracle_min_normal(ASSAY_BF16), 0x1p-126);
    cr_assert_eq(oracle_min_normal(ASSAY_F16), 0x1p-14);
    cr_assert_eq(oracle_min_subnormal(ASSAY_F32), 0x1p-149);
    cr_assert_eq(oracle_min_subnormal(ASSAY_BF16), 0x1p-133);
    cr_assert_eq(oracle_min_subnormal(ASSAY_F16), 0x1p-24);
    cr_assert_eq(oracle_min_subnormal(ASSAY_F64), 0x1p-1074);
    cr_assert_eq(oracle_unit_roundoff(ASSAY_F32), 0x1p-24);
    cr_assert_eq(oracle_unit_roundoff(ASSAY_BF16), 0x1p-8);
    cr_assert_eq(oracle_unit_roundoff(ASSAY_F16), 0x1p-11);
    cr_assert_eq(oracle_unit_roundoff(ASSAY_I32), 0);
    cr_assert_eq(oracle_half_ulp(5, ASSAY_I64), 0);
    cr_assert_eq(oracle_half_ulp(1.5, ASSAY_F64), 0x1p-53);
    cr_assert_eq(oracle_half_ulp(1.5, ASSAY_F32), 0x1p-24);
}

/* Extents 2 x 3 x 5 in a buffer with gaps, at an odd address; gaps must stay as they are. */
static void check_strides(enum assay_dtype dtype)
{
    size_t bytes = assay_dtype_bytes(dtype);
    unsigned char memory[64 * 8 + 1];
    memset(memory, 0xa5, sizeof memory);
    struct assay_tensor tensor = {memory + 1, dtype, 3, {2, 3, 5}, {29, 8, 1}};
    for (int64_t i = 0; i < 30; i++) {
        oracle_put(&tensor, i, (double)(i * 3 % 31));
    }
    double row[5];
    double *all = oracle_get_all(&tensor);
    cr_assert_not_null(all);
    for (int64_t i = 0; i < 30; i++) {
        double expected = (double)(i * 3 % 31);
        cr_assert_eq(oracle_get(&tensor, i), expected);
        cr_assert_eq(all[i], expected);
        oracle_get_row(&tensor, i / 5, row);
        cr_assert_eq(row[i % 5], expected);
        bool integer = dtype == ASSAY_I32 || dtype == ASSAY_I64 || dtype == ASSAY_U8;
        cr_assert_eq(oracle_get_int(&tensor, i), integer ? i * 3 % 31 : INT64_MIN);
    }
    free(all);
    int64_t holes = 0;
    for (int64_t at = 0; at < 64; at++) {
        int64_t inner = at % 29 % 8;
        bool used = at < 58 && at % 29 / 8 < 3 && inner < 5;
        for (size_t b = 0; b < bytes && !used; b++) {
            cr_assert_eq(memory[1 + (size_t)at * bytes + b], 0xa5);
            holes++;
        }
    }
    cr_assert_eq(holes, (int64_t)bytes * 34);
    oracle_put_int(&tensor, 29, 77);
    cr_assert_eq(oracle_get(&tensor, 29), 77);
}

Test(words, tensors_with_strides)
{
    for (int dtype = 0; dtype < ASSAY_NUM_DTYPES; dtype++) {
        check_strides((enum assay_dtype)dtype);
    }
    /* A contiguous innermost dimension of one element may have any stride. */
    float values[4] = {1, 2, 3, 4};
    struct assay_tensor column = {values, ASSAY_F32, 2, {2, 1}, {2, 9}};
    cr_assert_eq(oracle_get(&column, 1), 3);
    struct assay_tensor vector = {values, ASSAY_F32, 1, {4}, {1}};
    cr_assert_eq(oracle_get(&vector, 3), 4);
    struct assay_tensor empty = {values, ASSAY_F32, 2, {3, 0}, {0, 1}};
    double *none = oracle_get_all(&empty);
    cr_assert_not_null(none);
    free(none);
    int64_t wide = INT64_MAX;
    struct assay_tensor integer = {&wide, ASSAY_I64, 1, {1}, {1}};
    cr_assert_eq(oracle_get_int(&integer, 0), INT64_MAX);
}
