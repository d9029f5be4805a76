/* SPDX-License-Identifier: MIT
 *
 * embedding's laws and its bad calls. Clauses tested here or by the sweep (embedding.route.cpu):
 * [EMBEDDING-1] all_words and sweep; [EMBEDDING-2] sweep (formats, strides) and errors;
 * [EMBEDDING-3] all_words; [EMBEDDING-4] sweep (guards, inputs unchanged) and errors; [EMBEDDING-5]
 * range and errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "words.h"
#include <assay/ops/embedding.h>

/* A table of all 65,536 bf16 words, read backwards: to bf16 the same bits, to f32 the same value;
 * and a table of binary32 values around every word, rounded to bf16 as the definition says
 * [EMBEDDING-1] [EMBEDDING-3]. */
static void all_words_body(assay_context *context, const char *route)
{
    enum { ROWS = 256, WIDTH = 256, COUNT = ROWS * WIDTH };
    static uint16_t words[COUNT], y16[COUNT];
    static float values[COUNT], y32[COUNT];
    int32_t ids[ROWS];
    for (int i = 0; i < COUNT; i++) {
        words[i] = (uint16_t)i;
        /* a tie, or one step beside */
        uint32_t bits = ((uint32_t)i << 16) + 0x7fffu + (uint32_t)i % 3;
        memcpy(&values[i], &bits, sizeof bits);
    }
    for (int t = 0; t < ROWS; t++)
        ids[t] = ROWS - 1 - t;
    struct assay_embedding_args a = {.ids = assay_tensor_1d(ids, ASSAY_I32, ROWS),
                                     .table = assay_tensor_2d(words, ASSAY_BF16, ROWS, WIDTH),
                                     .y = assay_tensor_2d(y16, ASSAY_BF16, ROWS, WIDTH)};
    cr_assert_eq(assay_embedding(context, &a), ASSAY_OK);
    a.y = assay_tensor_2d(y32, ASSAY_F32, ROWS, WIDTH);
    cr_assert_eq(assay_embedding(context, &a), ASSAY_OK);
    for (int i = 0; i < COUNT; i++) {
        uint16_t word = words[(ROWS - 1 - i / WIDTH) * WIDTH + i % WIDTH];
        double value = oracle_bf16_value(word);
        if (isnan(value)) {
            cr_assert(isnan(y32[i]) && isnan(oracle_bf16_value(y16[i])), "%s: %04x", route, word);
            continue;
        }
        cr_assert(y16[i] == word, "%s: %04x", route, word);
        cr_assert((double)y32[i] == value && !signbit(y32[i]) == !signbit(value), "%s: %04x", route,
                  word);
    }
    a.table = assay_tensor_2d(values, ASSAY_F32, ROWS, WIDTH);
    a.y = assay_tensor_2d(y16, ASSAY_BF16, ROWS, WIDTH);
    cr_assert_eq(assay_embedding(context, &a), ASSAY_OK);
    for (int i = 0; i < COUNT; i++) {
        double value = (double)values[(ROWS - 1 - i / WIDTH) * WIDTH + i % WIDTH];
        if (isnan(value))
            cr_assert(isnan(oracle_bf16_value(y16[i])), "%s", route);
        else
            cr_assert(y16[i] == oracle_bf16_word(value), "%s: %a", route, value);
    }
}

Test(embedding, all_words)
{
    each_route(&assay_op_embedding, all_words_body);
}

/* A bad id is named with its position [EMBEDDING-5]. */
Test(embedding, range)
{
    assay_context *context = new_context(0);
    int32_t ids[4] = {0, 2, 7, 1};
    float table[6] = {0}, y[8];
    struct assay_embedding_args a = {.ids = assay_tensor_1d(ids, ASSAY_I32, 4),
                                     .table = assay_tensor_2d(table, ASSAY_F32, 3, 2),
                                     .y = assay_tensor_2d(y, ASSAY_F32, 4, 2)};
    cr_assert_eq(assay_embedding(context, &a), ASSAY_E_RANGE);
    const char *message = assay_context_error(context)->message;
    cr_assert(strstr(message, "ids[2] is 7") != NULL, "%s", message);
    assay_context_destroy(context);
}

/* Every documented error [EMBEDDING-2] [EMBEDDING-4] [EMBEDDING-5]. */
Test(embedding, errors)
{
    enum { T = 3, V = 5, H = 8 };
    int32_t ids[T] = {4, 0, 2};
    float table[V * H] = {0}, y[T * H + 8];
    const struct assay_embedding_args good = {.ids = assay_tensor_1d(ids, ASSAY_I32, T),
                                              .table = assay_tensor_2d(table, ASSAY_F32, V, H),
                                              .y = assay_tensor_2d(y, ASSAY_F32, T, H)};
    struct bad_calls *calls = bad_calls_new(&assay_op_embedding, &good, y, sizeof y);
#define BAD(status, argument, change)                   \
    do {                                                \
        struct assay_embedding_args a = good;           \
        int32_t other[T] = {4, 0, 2};                   \
        a.ids.data = other;                             \
        change;                                         \
        bad_call(calls, &a, status, argument, #change); \
    } while (0)
    BAD(ASSAY_E_ARG, "ids", a.ids.data = NULL);
    BAD(ASSAY_E_ARG, "table", a.table.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.rank = 2);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "table", a.table.rank = 1);
    BAD(ASSAY_E_SHAPE, "table", a.table.extent[0] = 0);
    BAD(ASSAY_E_SHAPE, "table", a.table.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "y", a.y.rank = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = H - 1);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_I64);
    BAD(ASSAY_E_FORMAT, "table", a.table.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_I32);
    BAD(ASSAY_E_LAYOUT, "ids", a.ids.stride[0] = 2);
    BAD(ASSAY_E_LAYOUT, "table", a.table.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "table", a.table.stride[0] = -H);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = H - 1);
    BAD(ASSAY_E_LAYOUT, "table", a.table.data = (char *)table + 2);
    BAD(ASSAY_E_ALIAS, "y", a.table.data = y);
    BAD(ASSAY_E_ALIAS, "y", a.ids.data = y + 4);
    BAD(ASSAY_E_RANGE, "ids", other[0] = V);
    BAD(ASSAY_E_RANGE, "ids", other[1] = -1);
    BAD(ASSAY_E_RANGE, "ids", other[T - 1] = INT32_MAX);
    BAD(ASSAY_E_RANGE, "ids", other[T - 1] = INT32_MIN);
#undef BAD
    bad_calls_finish(calls);
}
