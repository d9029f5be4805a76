/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped's laws and its bad calls. Clauses tested here or by the sweep
 * (embedding_grouped.route.cpu): [EMBEDDINGGROUPED-1] all_scales and sweep; [EMBEDDINGGROUPED-2]
 * sweep (formats, strides) and errors; [EMBEDDINGGROUPED-3] all_scales; [EMBEDDINGGROUPED-4] sweep
 * (guards, inputs unchanged, padding of any bytes) and errors; [EMBEDDINGGROUPED-5] range and
 * errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "oracle_formats.h"
#include "words.h"
#include <assay/ops/embedding_grouped.h>

/* Every binary16 word as a scale, under codes that between them are all of the format: f32 holds
 * the product, bf16 its rounding [EMBEDDINGGROUPED-1] [EMBEDDINGGROUPED-3]. */
static void check_table(assay_context *context, const char *route,
                        const struct assay_weights *table, const int32_t *ids, void *memory)
{
    int64_t rows = table->rows, width = table->columns;
    for (int format = 0; format < 2; format++) {
        struct assay_embedding_grouped_args a = {
            .ids = assay_tensor_1d((void *)(uintptr_t)ids, ASSAY_I32, rows),
            .table = *table,
            .y = assay_tensor_2d(memory, format == 0 ? ASSAY_F32 : ASSAY_BF16, rows, width)};
        cr_assert_eq(assay_embedding_grouped(context, &a), ASSAY_OK);
        for (int64_t i = 0; i < rows * width; i++) {
            double value = oracle_weight_value(table, ids[i / width], i % width);
            double expected = oracle_round(value, a.y.dtype), got = oracle_get(&a.y, i);
            cr_assert(isnan(expected) ? isnan(got)
                                      : got == expected && !signbit(got) == !signbit(expected),
                      "%s, %s: %g, not %g", route, assay_weight_format_name(table->format), got,
                      expected);
        }
    }
}

static void all_scales_body(assay_context *context, const char *route)
{
    enum { WIDTH = 256 };
    for (int f = ASSAY_WEIGHT_Q4G64; f < ASSAY_NUM_WEIGHT_FORMATS; f++) {
        enum assay_weight_format format = (enum assay_weight_format)f;
        int64_t rows = 65536 * assay_weight_group(format) / WIDTH / 8; /* an eighth of the words */
        struct assay_weight_layout layout;
        struct assay_weights table;
        cr_assert_eq(assay_weight_layout_of(format, rows, WIDTH, &layout, NULL), ASSAY_OK);
        uint8_t *planes = malloc(layout.total);
        int32_t *ids = malloc((size_t)rows * sizeof *ids);
        float *y = malloc((size_t)(rows * WIDTH) * sizeof *y);
        cr_assert(planes != NULL && ids != NULL && y != NULL);
        for (size_t i = 0; i < layout.total; i++)
            planes[i] = (uint8_t)(i * 37 + i / 256);
        cr_assert_eq(assay_weights_at(planes, format, rows, WIDTH, &table, NULL), ASSAY_OK);
        for (int64_t i = 0; i < assay_tensor_count(&table.scales); i++)
            ((uint16_t *)table.scales.data)[i] = (uint16_t)(8 * i + i % 7);
        for (int64_t t = 0; t < rows; t++)
            ids[t] = (int32_t)(rows - 1 - t);
        check_table(context, route, &table, ids, y);
        free(planes);
        free(ids);
        free(y);
    }
}

Test(embedding_grouped, all_scales)
{
    each_route(&assay_op_embedding_grouped, all_scales_body);
}

/* A bad id is named with its position [EMBEDDINGGROUPED-5]. */
Test(embedding_grouped, range)
{
    assay_context *context = new_context(0);
    int32_t ids[4] = {0, 2, 7, 1};
    uint16_t planes[512] = {0};
    float y[8];
    struct assay_embedding_grouped_args a = {.ids = assay_tensor_1d(ids, ASSAY_I32, 4),
                                             .y = assay_tensor_2d(y, ASSAY_F32, 4, 2)};
    cr_assert_eq(assay_weights_at(planes, ASSAY_WEIGHT_Q4G64, 3, 2, &a.table, NULL), ASSAY_OK);
    cr_assert_eq(assay_embedding_grouped(context, &a), ASSAY_E_RANGE);
    const char *message = assay_context_error(context)->message;
    cr_assert(strstr(message, "ids[2] is 7") != NULL, "%s", message);
    assay_context_destroy(context);
}

/* Every documented error [EMBEDDINGGROUPED-2] [EMBEDDINGGROUPED-4] [EMBEDDINGGROUPED-5]. */
Test(embedding_grouped, errors)
{
    enum { T = 3, V = 5, H = 8 };
    int32_t ids[T] = {4, 0, 2};
    uint16_t planes[1024] = {0};
    float y[512];
    struct assay_embedding_grouped_args good = {.ids = assay_tensor_1d(ids, ASSAY_I32, T),
                                                .y = assay_tensor_2d(y, ASSAY_F32, T, H)};
    cr_assert_eq(assay_weights_at(planes, ASSAY_WEIGHT_Q6G64, V, H, &good.table, NULL), ASSAY_OK);
    struct bad_calls *calls = bad_calls_new(&assay_op_embedding_grouped, &good, y, sizeof y);
#define BAD(status, argument, change)                   \
    do {                                                \
        struct assay_embedding_grouped_args a = good;   \
        int32_t other[T] = {4, 0, 2};                   \
        a.ids.data = other;                             \
        change;                                         \
        bad_call(calls, &a, status, argument, #change); \
    } while (0)
    BAD(ASSAY_E_ARG, "ids", a.ids.data = NULL);
    BAD(ASSAY_E_ARG, "table.base", a.table.base.data = NULL);
    BAD(ASSAY_E_ARG, "table.high", a.table.high.data = NULL);
    BAD(ASSAY_E_ARG, "table.scales", a.table.scales.data = NULL);
    BAD(ASSAY_E_ARG, "table.high", a.table.format = ASSAY_WEIGHT_Q4G64);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.rank = 2);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "table", a.table.rows = 0);
    BAD(ASSAY_E_SHAPE, "table", a.table.columns = 0);
    BAD(ASSAY_E_SHAPE, "table.base", a.table.base.rank = 1);
    BAD(ASSAY_E_SHAPE, "table.base", a.table.rows = V + 1);
    BAD(ASSAY_E_SHAPE, "table.high", a.table.format = ASSAY_WEIGHT_Q5G64);
    BAD(ASSAY_E_SHAPE, "table.scales", a.table.scales.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.rank = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = H - 1);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_I64);
    BAD(ASSAY_E_FORMAT, "table", a.table.format = ASSAY_WEIGHT_BF16);
    BAD(ASSAY_E_FORMAT, "table", a.table.format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "table.scales", a.table.scales.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_I32);
    BAD(ASSAY_E_LAYOUT, "ids", a.ids.stride[0] = 2);
    BAD(ASSAY_E_LAYOUT, "table.base", a.table.base.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "table.high", a.table.high.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = H - 1);
    BAD(ASSAY_E_ALIAS, "y", a.table.base.data = y);
    BAD(ASSAY_E_ALIAS, "y", a.table.high.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.table.scales.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.ids.data = y + 4);
    BAD(ASSAY_E_RANGE, "ids", other[0] = V);
    BAD(ASSAY_E_RANGE, "ids", other[1] = -1);
    BAD(ASSAY_E_RANGE, "ids", other[T - 1] = INT32_MAX);
    BAD(ASSAY_E_RANGE, "ids", other[T - 1] = INT32_MIN);
#undef BAD
    bad_calls_finish(calls);
}
