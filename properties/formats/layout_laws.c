/* SPDX-License-Identifier: MIT
 *
 * Sizes and views of grouped weights: against exact arithmetic in 128 bits, at the limits of 64,
 * and calls that must be refused.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "oracle_formats.h"
#include "weight_planes_guarded.h"

__extension__ typedef unsigned __int128 wide;

/* Bytes of a plane of `bits` bits a column in the padded row. */
static wide plane_bits(int64_t rows, int64_t columns, int bits, int group)
{
    wide padded = ((wide)columns + 127) / 128 * 128;
    return (wide)rows * (group > 0 ? padded / (unsigned)group * 2 : padded * (unsigned)bits / 8);
}

static wide next_plane(wide offset)
{
    return (offset + 255) / 256 * 256;
}

static void expect_layout(enum assay_weight_format format, int64_t rows, int64_t columns)
{
    struct oracle_weight_format f = oracle_weight_format(format);
    wide base = f.bits == 16  ? (wide)rows * (wide)columns * 2
                : f.bits == 8 ? plane_bits(rows, columns, 8, 0)
                              : plane_bits(rows, columns, 4, 0);
    wide high = f.bits == 5 || f.bits == 6 ? plane_bits(rows, columns, f.bits - 4, 0) : 0;
    wide scales = f.group > 0 ? plane_bits(rows, columns, 0, f.group) : 0;
    wide high_offset = high > 0 ? next_plane(base) : 0;
    wide scales_offset = scales > 0 ? next_plane(high > 0 ? high_offset + high : base) : 0;
    wide total = scales > 0 ? scales_offset + scales : base;
    struct assay_weight_layout layout;
    struct assay_error error = {0};
    assay_status status = assay_weight_layout_of(format, rows, columns, &layout, &error);
    if (total > SIZE_MAX / 2) {
        cr_assert_eq(status, ASSAY_E_SHAPE, "[%lld, %lld] is accepted", (long long)rows,
                     (long long)columns);
        return;
    }
    if (status != ASSAY_OK) {
        /* Refused early: by an upper bound of all planes, or a row that cannot exist. */
        wide bound = (wide)rows * (((wide)columns + 127) / 128 * 256 + 512);
        cr_assert(status == ASSAY_E_SHAPE && (bound > SIZE_MAX / 2 || columns > INT64_MAX / 4),
                  "[%lld, %lld]: %s", (long long)rows, (long long)columns, error.message);
        return;
    }
    cr_assert(layout.base_offset == 0 && layout.base_bytes == base);
    cr_assert(layout.high_offset == high_offset && layout.high_bytes == high);
    cr_assert(layout.scales_offset == scales_offset && layout.scales_bytes == scales);
    cr_assert(layout.total == total, "%s [%lld, %lld]: %zu bytes", assay_weight_format_name(format),
              (long long)rows, (long long)columns, layout.total);
}

Test(layout, sizes)
{
    static const int64_t extents[] = {0,
                                      1,
                                      2,
                                      63,
                                      64,
                                      127,
                                      128,
                                      129,
                                      5120,
                                      248320,
                                      INT32_MAX,
                                      (int64_t)UINT32_MAX + 1,
                                      INT64_C(1) << 40,
                                      INT64_C(1) << 54,
                                      INT64_C(1) << 55,
                                      INT64_C(1) << 61,
                                      INT64_C(1) << 62,
                                      INT64_MAX - 127,
                                      INT64_MAX - 1,
                                      INT64_MAX};
    enum { COUNT = sizeof extents / sizeof extents[0] };
    for (enum assay_weight_format format = 0; format < ASSAY_NUM_WEIGHT_FORMATS; format++)
        for (int i = 0; i < COUNT; i++)
            for (int j = 0; j < COUNT; j++)
                expect_layout(format, extents[i], extents[j]);
    /* Products about SIZE_MAX, which wrap to small numbers in 64 bits. */
    for (enum assay_weight_format format = 0; format < ASSAY_NUM_WEIGHT_FORMATS; format++)
        for (int64_t step = -300; step <= 300; step++)
            for (int bit = 8; bit < 56; bit += 4)
                expect_layout(format, (INT64_C(1) << bit) + step, INT64_C(1) << (63 - bit));
    struct assay_weight_layout layout;
    cr_assert_eq(assay_weight_layout_of(ASSAY_WEIGHT_Q4G64, -1, 64, &layout, NULL), ASSAY_E_SHAPE);
    cr_assert_eq(assay_weight_layout_of(ASSAY_WEIGHT_Q4G64, 1, -64, &layout, NULL), ASSAY_E_SHAPE);
    cr_assert_eq(assay_weight_layout_of(ASSAY_NUM_WEIGHT_FORMATS, 1, 64, &layout, NULL),
                 ASSAY_E_ARG);
}

Test(layout, names)
{
    for (enum assay_weight_format format = 0; format < ASSAY_NUM_WEIGHT_FORMATS; format++) {
        struct oracle_weight_format f = oracle_weight_format(format);
        cr_assert_eq(assay_weight_format_from_name(assay_weight_format_name(format)), format);
        cr_assert_eq(assay_weight_bits(format), f.bits);
        cr_assert_eq(assay_weight_largest(format), f.largest);
        cr_assert_eq(assay_weight_group(format), f.group > 0 ? f.group : 1);
        cr_assert(strlen(assay_weight_format_meaning(format)) > 5);
    }
    const enum assay_weight_format none = ASSAY_NUM_WEIGHT_FORMATS;
    cr_assert_eq(assay_weight_format_from_name("q4"), none);
    cr_assert_str_eq(assay_weight_format_name(none), "?");
    cr_assert_str_eq(assay_weight_format_meaning(none), "?");
    cr_assert(assay_weight_group(none) == 0 && assay_weight_bits(none) == 0 &&
              assay_weight_largest(none) == 0);
    for (int e = 0; e < ASSAY_NUM_WEIGHT_ENCODERS; e++)
        cr_assert_eq(
            assay_weight_encoder_from_name(assay_weight_encoder_name((enum assay_weight_encoder)e)),
            (enum assay_weight_encoder)e);
    cr_assert_eq(assay_weight_encoder_from_name(""), ASSAY_NUM_WEIGHT_ENCODERS);
    cr_assert_str_eq(assay_weight_encoder_name(ASSAY_NUM_WEIGHT_ENCODERS), "?");
}

/* Rows through views and views of views are the matrix's. */
static void expect_views(enum assay_weight_format format)
{
    enum { ROWS = 7, K = 200 };
    struct guarded planes;
    struct assay_weights view, inner;
    float values[K], whole[K], part[K];
    guarded_create(format, ROWS, K, 10, &planes);
    for (int64_t row = 0; row < ROWS; row++) {
        row_fill(0, (uint64_t)row, format, values, K);
        cr_assert_eq(assay_weights_encode_row(&planes.weights, row, values,
                                              &(struct assay_encode_options){0}, NULL),
                     ASSAY_OK);
    }
    for (int64_t first = 0; first <= ROWS; first++)
        for (int64_t count = 0; count <= ROWS - first; count++) {
            cr_assert_eq(assay_weights_rows(&planes.weights, first, count, &view, NULL), ASSAY_OK);
            cr_assert_eq(assay_weights_check(&view, NULL), ASSAY_OK);
            cr_assert(view.rows == count && view.columns == K && view.format == format);
            for (int64_t row = 0; row < count; row++) {
                assay_weights_decode_row(&planes.weights, first + row, whole);
                cr_assert_eq(assay_weights_rows(&view, row, 1, &inner, NULL), ASSAY_OK);
                assay_weights_decode_row(&inner, 0, part);
                cr_assert(memcmp(whole, part, sizeof whole) == 0);
            }
        }
    static const int64_t bad[][2] = {{-1, 1},        {0, 8},         {7, 1},
                                     {8, 0},         {1, -1},        {3, 5},
                                     {1, INT64_MAX}, {INT64_MAX, 1}, {INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_eq(assay_weights_rows(&planes.weights, bad[i][0], bad[i][1], &view, NULL),
                     ASSAY_E_SHAPE);
    guarded_destroy(&planes);
}

Test(layout, views)
{
    for (enum assay_weight_format format = 0; format < ASSAY_NUM_WEIGHT_FORMATS; format++) {
        expect_views(format);
        /* Planes in one buffer, and shapes with none. */
        static _Alignas(256) unsigned char memory[65536];
        struct assay_weight_layout layout;
        struct assay_weights w;
        cr_assert_eq(assay_weight_layout_of(format, 5, 300, &layout, NULL), ASSAY_OK);
        cr_assert_eq(assay_weights_at(memory, format, 5, 300, &w, NULL), ASSAY_OK);
        cr_assert_eq(assay_weights_check(&w, NULL), ASSAY_OK);
        cr_assert_eq(w.base.data, memory + layout.base_offset);
        if (layout.high_bytes > 0)
            cr_assert_eq(w.high.data, memory + layout.high_offset);
        else
            cr_assert_null(w.high.data);
        if (layout.scales_bytes > 0)
            cr_assert_eq(w.scales.data, memory + layout.scales_offset);
        else
            cr_assert_null(w.scales.data);
        cr_assert_eq(assay_weights_at(NULL, format, 5, 300, &w, NULL), ASSAY_OK);
        cr_assert_null(w.base.data);
        cr_assert_null(w.scales.data);
        cr_assert_eq(w.base.extent[0], 5);
        struct assay_weights view;
        cr_assert_eq(assay_weights_rows(&w, 2, 3, &view, NULL), ASSAY_OK);
        cr_assert_null(view.base.data);
        cr_assert_eq(assay_weights_check(&w, NULL), ASSAY_E_ARG);
        cr_assert_eq(assay_weights_at(NULL, format, 0, 0, &w, NULL), ASSAY_OK);
        cr_assert_eq(assay_weights_check(&w, NULL), ASSAY_OK);
        cr_assert_eq(assay_weights_at(NULL, format, INT64_MAX, INT64_MAX, &w, NULL), ASSAY_E_SHAPE);
    }
}

/* One field wrong at a time. */
static assay_status check_with(int change, enum assay_weight_format format)
{
    static _Alignas(256) unsigned char memory[65536];
    struct assay_weights w;
    cr_assert_eq(assay_weights_at(memory, format, 4, 300, &w, NULL), ASSAY_OK);
    switch (change) {
    case 0:
        w.base.data = NULL;
        break;
    case 1:
        w.base.dtype = ASSAY_I32;
        break;
    case 2:
        w.base.extent[1]--;
        break;
    case 3:
        w.base.extent[0]++;
        break;
    case 4:
        w.base.stride[1] = 2;
        break;
    case 5:
        w.base.stride[0] = w.base.extent[1] - 1;
        break;
    case 6:
        w.scales.dtype = ASSAY_BF16;
        break;
    case 7:
        w.scales.extent[1]++;
        break;
    case 8: /* present where it should not be, absent where it should be */
        w.high.data = w.high.data != NULL ? NULL : memory;
        break;
    case 9:
        w.columns = 600;
        break;
    default:
        w.rows = -1;
        break;
    }
    return assay_weights_check(&w, NULL);
}

Test(layout, refused)
{
    static const assay_status expected[] = {ASSAY_E_ARG,    ASSAY_E_FORMAT, ASSAY_E_SHAPE,
                                            ASSAY_E_SHAPE,  ASSAY_E_LAYOUT, ASSAY_E_LAYOUT,
                                            ASSAY_E_FORMAT, ASSAY_E_SHAPE,  ASSAY_E_ARG,
                                            ASSAY_E_SHAPE,  ASSAY_E_SHAPE};
    for (enum assay_weight_format format = 0; format < ASSAY_NUM_WEIGHT_FORMATS; format++)
        for (int change = 0; change <= 10; change++)
            if (format != ASSAY_WEIGHT_BF16 || (change != 6 && change != 7))
                cr_assert_eq(check_with(change, format), expected[change], "%s, change %d",
                             assay_weight_format_name(format), change);
    enum { K = 70 };
    float values[K] = {1}, importance[K] = {0};
    struct guarded planes;
    guarded_create(ASSAY_WEIGHT_Q5G64, 2, K, 0, &planes);
    struct assay_encode_options options = {.encoder = ASSAY_ENCODER_GROUPED,
                                           .importance = importance};
    cr_assert_eq(assay_weights_encode_row(&planes.weights, 0, values, &options, NULL), ASSAY_OK);
    cr_assert_eq(assay_weights_encode_row(&planes.weights, 2, values, &options, NULL),
                 ASSAY_E_SHAPE);
    cr_assert_eq(assay_weights_encode_row(&planes.weights, -1, values, &options, NULL),
                 ASSAY_E_SHAPE);
    const float bad[] = {-1, NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 4; i++) {
        struct assay_error error = {0};
        importance[K - 1] = bad[i];
        options.encoder = ASSAY_ENCODER_GROUPED;
        cr_assert_eq(assay_weights_encode_row(&planes.weights, 0, values, &options, &error),
                     ASSAY_E_ARG);
        cr_assert(strstr(error.message, "column 69") != NULL, "%s", error.message);
        options.encoder = ASSAY_ENCODER_CLIP25; /* does not look at them */
        cr_assert_eq(assay_weights_encode_row(&planes.weights, 0, values, &options, NULL),
                     ASSAY_OK);
    }
    options.encoder = ASSAY_NUM_WEIGHT_ENCODERS;
    cr_assert_eq(assay_weights_encode_row(&planes.weights, 0, values, &options, NULL), ASSAY_E_ARG);
    guarded_destroy(&planes);
}
