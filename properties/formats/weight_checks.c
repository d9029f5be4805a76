/* SPDX-License-Identifier: MIT
 *
 * Checks of stored bytes, decoding, edges and memory. The choice of scales: weight_scale_checks.c.
 */
#include "weight_checks.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_formats.h"
#include "weight_planes_guarded.h"
#include "words.h"

const struct weight_check_row weight_checks[] = {
    {"bytes", weight_check_bytes},     {"edges", weight_check_edges},
    {"guards", weight_check_guards},   {"maxabs", weight_check_maxabs},
    {"clip25", weight_check_clip25},   {"idempotence", weight_check_idempotence},
    {"grouped", weight_check_grouped}, {"decode", weight_check_decode},
};
const int num_weight_checks = sizeof weight_checks / sizeof weight_checks[0];

/* Room behind the values of a row: a fault may read a whole group. */
enum { BEHIND = ORACLE_GROUP_MAX };

static const struct assay_encode_options maxabs = {.encoder = ASSAY_ENCODER_MAXABS};

const char *weight_check_says(const char *format, ...)
{
    static char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

/* ---- bytes by hand --------------------------------------------------------------------------- */

/* K = 70: columns 0 .. 7 as given, column 64 half of the smallest value that maxabs uses, zeros
 * elsewhere. Bytes that are not listed are `zero_base` and `zero_high`. */
struct by_hand {
    enum assay_weight_format format;
    float values[8];
    unsigned char base[8], high[2]; /* of columns 0 .. 7 */
    int base_bytes, high_bytes;     /* how many of them */
    unsigned char base_64, high_64; /* of column 64 and what shares its byte */
    unsigned char zero_base, zero_high;
    uint16_t scales[4];
};

static const struct by_hand by_hand[] = {
    {ASSAY_WEIGHT_Q4G64,
     {7, -7, 0, 1, -1, 2, -2, 3},
     {0x1f, 0x98, 0xa7, 0xb6},
     {0},
     4,
     0,
     0x81,
     0,
     0x88,
     0,
     {0x3c00, 0x3800}},
    {ASSAY_WEIGHT_Q5G64,
     {15, -15, 0, 1, -1, 2, -8, 8},
     {0x1f, 0x10, 0x2f, 0x88},
     {0xad},
     4,
     1,
     0x01,
     0xfe,
     0x00,
     0xff,
     {0x3c00, 0x3800}},
    {ASSAY_WEIGHT_Q6G64,
     {31, -31, 0, 1, -1, 16, -16, -17},
     {0x1f, 0x10, 0x0f, 0xf0},
     {0xa3, 0x1d},
     4,
     2,
     0x01,
     0xa8,
     0x00,
     0xaa,
     {0x3c00, 0x3800}},
    {ASSAY_WEIGHT_Q8G32,
     {127, -127, 0, 1, -1, 64, -64, 2},
     {0x7f, 0x81, 0x00, 0x01, 0xff, 0x40, 0xc0, 0x02},
     {0},
     8,
     0,
     0x81,
     0,
     0x00,
     0,
     {0x3c00, 0, 0x3800, 0}},
};

/* The planes' bytes, written as by_hand says. */
static void write_by_hand(const struct by_hand *hand, const struct guarded *planes)
{
    const struct assay_weights *w = &planes->weights;
    unsigned char *base = w->base.data, *high = w->high.data;
    memset(base, hand->zero_base, (size_t)w->base.extent[1]);
    memcpy(base, hand->base, (size_t)hand->base_bytes);
    base[8 * hand->base_bytes] = hand->base_64;
    if (high != NULL) {
        memset(high, hand->zero_high, (size_t)w->high.extent[1]);
        memcpy(high, hand->high, (size_t)hand->high_bytes);
        high[8 * hand->high_bytes] = hand->high_64;
    }
    for (int64_t group = 0; group < w->scales.extent[1]; group++)
        guarded_put_scale(planes, 0, group, hand->scales[group]);
}

const char *weight_check_bytes(const struct weight_codec *codec, bool quick)
{
    (void)quick;
    enum { K = 70 };
    const char *fault = NULL;
    for (size_t i = 0; i < sizeof by_hand / sizeof by_hand[0] && fault == NULL; i++) {
        const struct by_hand *hand = &by_hand[i];
        struct guarded expected, planes;
        guarded_create(hand->format, 1, K, 0, &expected);
        guarded_create(hand->format, 1, K, 0, &planes);
        write_by_hand(hand, &expected);
        float values[K + BEHIND] = {0}, decoded[K];
        memcpy(values, hand->values, sizeof hand->values);
        values[64] = -0.5f * (float)oracle_weight_format(hand->format).largest;
        const char *name = assay_weight_format_name(hand->format);
        codec->decode(&expected.weights, 0, decoded);
        for (int k = 0; k < K && fault == NULL; k++)
            if (decoded[k] != values[k])
                fault = weight_check_says("%s: bytes by hand, column %d is %g, not %g", name, k,
                                          (double)decoded[k], (double)values[k]);
        if (codec->encode(&planes.weights, 0, values, &maxabs, NULL) != ASSAY_OK)
            fault = weight_check_says("%s: encoding fails", name);
        if (fault == NULL && !guarded_equal(&planes, &expected))
            fault = weight_check_says("%s: not the bytes by hand", name);
        guarded_destroy(&expected);
        guarded_destroy(&planes);
    }
    return fault;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* Rows of WIDE columns; group g of the matrix has scale word `first` + g / parts, and its codes are
 * all codes in rotated order, or a part of them where a group is too short. */
static const char *decode_rows(const struct weight_codec *codec, enum assay_weight_format format,
                               int64_t groups, int stride)
{
    enum { WIDE = 1024 };
    const struct oracle_weight_format f = oracle_weight_format(format);
    const int codes = 1 << f.bits, parts = codes > f.group ? codes / f.group : 1;
    const int64_t per_row = WIDE / f.group, rows = groups / per_row;
    static float values[WIDE];
    const char *fault = NULL;
    struct guarded planes;
    guarded_create(format, 1, WIDE, 2, &planes);
    for (int64_t row = 0; row < rows && fault == NULL; row++) {
        for (int64_t g = 0; g < per_row; g++) {
            int64_t group = row * per_row + g;
            guarded_put_scale(&planes, 0, g, (uint16_t)(group / parts * stride));
            for (int k = 0; k < f.group; k++)
                guarded_put(&planes, 0, g * f.group + k,
                            (unsigned)((k + group * f.group + group / parts) % codes));
        }
        codec->decode(&planes.weights, 0, values);
        for (int64_t k = 0; k < WIDE && fault == NULL; k++) {
            double value = oracle_weight_value(&planes.weights, 0, k);
            if (isnan(value) ? !isnan(values[k])
                             : (double)values[k] != value ||
                                   (signbit(values[k]) != 0) != (signbit(value) != 0))
                fault = weight_check_says("%s: code %d, scale %04x: decodes to %a, not %a",
                                          assay_weight_format_name(format),
                                          oracle_weight_code(&planes.weights, 0, k),
                                          oracle_weight_scale_word(&planes.weights, 0, k / f.group),
                                          (double)values[k], value);
        }
    }
    guarded_destroy(&planes);
    return fault;
}

const char *weight_check_decode(const struct weight_codec *codec, bool quick)
{
    const int stride = quick ? 64 : 1;
    const char *fault = NULL;
    for (enum assay_weight_format format = ASSAY_WEIGHT_Q4G64;
         format < ASSAY_NUM_WEIGHT_FORMATS && fault == NULL; format++) {
        int parts = format == ASSAY_WEIGHT_Q8G32 ? 8 : 1;
        fault = decode_rows(codec, format, (int64_t)65536 / stride * parts, stride);
    }
    return fault;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static bool group_is(const struct assay_weights *weights, int64_t group, uint16_t scale, int code)
{
    int size = oracle_weight_format(weights->format).group;
    if (oracle_weight_scale_word(weights, 0, group) != scale)
        return false;
    for (int k = 0; k < size; k++)
        if (oracle_weight_code(weights, 0, group * size + k) != code)
            return false;
    return true;
}

/* One value that is not finite, in a row of ones: its group decodes to NaN, the others do not. */
static const char *not_finite(const struct weight_codec *codec, struct guarded *planes,
                              const struct assay_encode_options *options, float value, int64_t at)
{
    enum { K = 200 };
    const struct assay_weights *w = &planes->weights;
    const int size = oracle_weight_format(w->format).group;
    float values[K + BEHIND] = {0}, decoded[K];
    for (int k = 0; k < K; k++)
        values[k] = 1;
    /* Nor does a magnitude beyond binary16 matter then. */
    values[at % size == 0 ? at + 1 : at - 1] = FLT_MAX;
    values[at] = value;
    if (codec->encode(w, 0, values, options, NULL) != ASSAY_OK)
        return weight_check_says("a row with %g is refused", (double)value);
    if (!group_is(w, at / size, 0x7e00, 0))
        return weight_check_says("%g at column %d: not a NaN scale and codes of zero",
                                 (double)value, (int)at);
    codec->decode(w, 0, decoded);
    for (int k = 0; k < K; k++)
        if (isnan(decoded[k]) != (k / size == at / size))
            return weight_check_says("%g at column %d: column %d decodes to %g", (double)value,
                                     (int)at, k, (double)decoded[k]);
    return NULL;
}

/* Magnitudes about the largest that a scale holds. 65520 and above round to infinity. */
static const char *overflow(const struct weight_codec *codec, struct guarded *planes,
                            const struct assay_encode_options *options, int64_t at)
{
    enum { K = 200 };
    const struct assay_weights *w = &planes->weights;
    const float limit = 65520.0f * (float)oracle_weight_format(w->format).largest;
    const float beyond[] = {limit, -limit, nextafterf(limit, INFINITY), FLT_MAX};
    float values[K + BEHIND] = {0};
    values[at] = nextafterf(limit, 0);
    if (codec->encode(w, 0, values, options, NULL) != ASSAY_OK)
        return weight_check_says("%a is refused", (double)values[at]);
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        struct assay_error error = {0};
        char expected[32];
        snprintf(expected, sizeof expected, "column %d", (int)at);
        values[at] = beyond[i];
        assay_status status = codec->encode(w, 0, values, options, &error);
        if (status != ASSAY_E_ARG || strcmp(error.what, expected) != 0)
            return weight_check_says("%a at %s: %s, %s", (double)beyond[i], expected,
                                     assay_status_name(status), error.what);
    }
    return NULL;
}

/* Groups of zeros of both signs; groups whose scale would be zero. */
static const char *small_scales(const struct weight_codec *codec, struct guarded *planes,
                                const struct assay_encode_options *options)
{
    enum { K = 200 };
    const struct assay_weights *w = &planes->weights;
    const float largest = (float)oracle_weight_format(w->format).largest;
    float values[K + BEHIND] = {0};
    for (int k = 0; k < K; k += 3)
        values[k] = -0.0f;
    if (codec->encode(w, 0, values, options, NULL) != ASSAY_OK || !group_is(w, 0, 0, 0))
        return "zeros: not scale +0 and codes of zero";
    const float tiny[] = {FLT_TRUE_MIN, FLT_MIN, 0x1p-26f * largest, 0x1p-25f * largest};
    for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; i++) {
        values[5] = -tiny[i];
        if (codec->encode(w, 0, values, options, NULL) != ASSAY_OK ||
            oracle_weight_scale_word(w, 0, 0) != 0x0001)
            return weight_check_says("%a: the scale is %04x, not 0001", (double)tiny[i],
                                     oracle_weight_scale_word(w, 0, 0));
    }
    return NULL;
}

/* Where the scale is subnormal its rounding is coarse, and maxabs of a decoded row need not be the
 * row: the largest of 7 units of 1.5 * 2^-24 gives a scale of 2 units (a tie, to even) and code 5;
 * from 10 units it gives 1 unit and, cut, code 7. */
static const char *subnormal_scale(const struct weight_codec *codec)
{
    struct guarded planes;
    guarded_create(ASSAY_WEIGHT_Q4G64, 1, 64, 0, &planes);
    float values[64] = {10.5f * 0x1p-24f};
    const char *fault = NULL;
    const int scale[2] = {2, 1}, code[2] = {5, 7};
    for (int i = 0; i < 2 && fault == NULL; i++) {
        if (codec->encode(&planes.weights, 0, values, &maxabs, NULL) != ASSAY_OK ||
            oracle_weight_scale_word(&planes.weights, 0, 0) != scale[i] ||
            oracle_weight_code(&planes.weights, 0, 0) != code[i])
            fault = weight_check_says("subnormal scale, pass %d: %04x, code %d", i,
                                      oracle_weight_scale_word(&planes.weights, 0, 0),
                                      oracle_weight_code(&planes.weights, 0, 0));
        codec->decode(&planes.weights, 0, values);
    }
    guarded_destroy(&planes);
    return fault;
}

const char *weight_check_edges(const struct weight_codec *codec, bool quick)
{
    static const int64_t places[] = {0, 1, 31, 32, 63, 64, 127, 128, 199};
    const int num_places = quick ? 3 : (int)(sizeof places / sizeof places[0]);
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    const char *fault = subnormal_scale(codec);
    for (enum assay_weight_format format = ASSAY_WEIGHT_Q4G64;
         format < ASSAY_NUM_WEIGHT_FORMATS && fault == NULL; format++) {
        struct guarded planes;
        guarded_create(format, 1, 200, 0, &planes);
        for (int e = 0; e < ASSAY_NUM_WEIGHT_ENCODERS && fault == NULL; e++) {
            const struct assay_encode_options options = {.encoder = (enum assay_weight_encoder)e};
            if (e != ASSAY_ENCODER_GROUPED) /* which may find a better scale than the smallest */
                fault = small_scales(codec, &planes, &options);
            for (int i = 0; i < num_places && fault == NULL; i++) {
                for (int b = 0; b < 4 && fault == NULL; b++)
                    fault = not_finite(codec, &planes, &options, bad[b], places[i]);
                if (fault == NULL)
                    fault = overflow(codec, &planes, &options, places[i]);
            }
        }
        guarded_destroy(&planes);
    }
    return fault;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Row 1 of three, with NaN behind its values; then all rows, and one through a view. */
static const char *one_row(const struct weight_codec *codec, enum assay_weight_format format,
                           int64_t columns, int64_t gap)
{
    enum { MOST = 400 };
    struct guarded planes, dense;
    float values[MOST + BEHIND], decoded[MOST + BEHIND], again[MOST + BEHIND];
    const char *fault = NULL;
    int64_t row, column;
    guarded_create(format, 3, columns, gap, &planes);
    guarded_create(format, 3, columns, 0, &dense);
    row_fill(0, (uint64_t)columns, format, values, columns);
    for (int k = 0; k < BEHIND; k++)
        values[columns + k] = decoded[columns + k] = NAN;
    if (codec->encode(&planes.weights, 1, values, &maxabs, NULL) != ASSAY_OK)
        fault = "a row is refused";
    if (fault == NULL && !guarded_intact(&planes, 1))
        fault = "encoding writes outside its row";
    for (int64_t r = 0; r < 3; r++)
        if (codec->encode(&planes.weights, r, values, &maxabs, NULL) != ASSAY_OK ||
            codec->encode(&dense.weights, r, values, &maxabs, NULL) != ASSAY_OK)
            fault = "a row is refused";
    if (fault == NULL && (!guarded_intact(&planes, -1) || !guarded_equal(&planes, &dense)))
        fault = "strided rows are not the dense ones";
    if (fault == NULL)
        fault = oracle_weights_fault(&planes.weights, false, &row, &column);
    codec->decode(&planes.weights, 2, decoded);
    for (int k = 0; k < BEHIND && fault == NULL; k++)
        if (!isnan(decoded[columns + k]))
            fault = "decoding writes behind the row";
    for (int64_t k = 0; k < columns && fault == NULL; k++)
        if (isnan(decoded[k]))
            fault = "values behind the row reach it";
    struct assay_weights view;
    if (fault == NULL && assay_weights_rows(&planes.weights, 2, 1, &view, NULL) == ASSAY_OK) {
        codec->decode(&view, 0, again);
        if (memcmp(again, decoded, (size_t)columns * sizeof *again) != 0)
            fault = "a view's row is not the matrix's";
    }
    guarded_destroy(&planes);
    guarded_destroy(&dense);
    return fault != NULL
               ? weight_check_says("%s [3, %d], gap %d: %s", assay_weight_format_name(format),
                                   (int)columns, (int)gap, fault)
               : NULL;
}

const char *weight_check_guards(const struct weight_codec *codec, bool quick)
{
    const char *fault = NULL;
    for (enum assay_weight_format format = 0; format < ASSAY_NUM_WEIGHT_FORMATS; format++)
        for (int64_t columns = quick ? 61 : 1; columns <= 400 && fault == NULL;
             columns += quick           ? 67
                        : columns < 140 ? 1
                                        : 13)
            for (int64_t gap = 0; gap <= 6 && fault == NULL; gap += 6)
                fault = one_row(codec, format, columns, gap);
    return fault;
}
