/* SPDX-License-Identifier: MIT
 *
 * embedding with ids outside the table where no check sees them [EMBEDDING-5]: their rows become
 * NaN, the others are the table's, and nothing beside y is written.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "unchecked.h"
#include "words.h"
#include <assay/ops/embedding.h>

enum { TOKENS = 8, ROWS = 5, MAX_WIDTH = 2049, GUARD = 16 };

static const int32_t legal_ids[TOKENS] = {0};
static const int32_t ids[TOKENS] = {0, ROWS, -1, ROWS - 1, INT32_MAX, INT32_MIN, ROWS + 7, 2};

static bool is_row(int32_t id)
{
    return id >= 0 && id < ROWS;
}

/* Small integers, which both formats hold; none is 0. */
static double entry(int64_t row, int64_t i)
{
    return (double)(1 + (row * 31 + i) % 100);
}

static void fill(void *words, enum assay_dtype dtype, int64_t width)
{
    struct assay_tensor table = assay_tensor_2d(words, dtype, ROWS, width);
    for (int64_t i = 0; i < ROWS * width; i++)
        oracle_put(&table, i, entry(i / width, i % width));
}

/* y, and GUARD elements behind it that still hold -1. */
static bool is_right(void *words, enum assay_dtype dtype, int64_t width)
{
    int64_t count = TOKENS * width;
    struct assay_tensor y = assay_tensor_1d(words, dtype, count + GUARD);
    for (int64_t i = 0; i < count + GUARD; i++) {
        double value = oracle_get(&y, i);
        int32_t id = i < count ? ids[i / width] : 0;
        bool good = i >= count   ? value == -1
                    : is_row(id) ? value == entry(id, i % width)
                                 : isnan(value);
        if (!good)
            return false;
    }
    return true;
}

/* What a route leaves that takes such an id for the nearest row, skips its token, or writes a row
 * too many: each must be seen. */
static void check_faults(struct unchecked *u)
{
    enum { WIDTH = 9, COUNT = TOKENS * WIDTH };
    static const char *const names[] = {"control", "nearest row", "skipped", "a row too many"};
    float y[COUNT + GUARD];
    struct assay_tensor view = assay_tensor_1d(y, ASSAY_F32, COUNT + GUARD);
    for (int fault = 0; fault < 4; fault++) {
        for (int i = 0; i < COUNT + GUARD; i++) {
            int32_t id = i < COUNT ? ids[i / WIDTH] : 0, nearest = id < 0 ? 0 : ROWS - 1;
            double value = i >= COUNT ? -1 : is_row(id) ? entry(id, i % WIDTH) : (double)NAN;
            if (fault == 1 && i < COUNT && !is_row(id))
                value = entry(nearest, i % WIDTH);
            if ((fault == 2 && isnan(value)) || (fault == 3 && i == COUNT))
                value = fault == 2 ? -1 : 1;
            oracle_put(&view, i, value);
        }
        unchecked_check(u, is_right(y, ASSAY_F32, WIDTH) == (fault == 0), "fault not seen: %s",
                        names[fault]);
    }
}

static void check_route(struct unchecked *u, const struct assay_route *route,
                        enum assay_dtype table, enum assay_dtype y, int64_t width)
{
    static float table_words[ROWS * MAX_WIDTH], y_words[TOKENS * MAX_WIDTH + GUARD];
    size_t table_bytes = (size_t)(ROWS * width) * assay_dtype_bytes(table);
    size_t y_bytes = (size_t)(TOKENS * width + GUARD) * assay_dtype_bytes(y);
    struct assay_tensor whole = assay_tensor_1d(y_words, y, TOKENS * width + GUARD);
    fill(table_words, table, width);
    for (int64_t i = 0; i < whole.extent[0]; i++)
        oracle_put(&whole, i, -1);
    void *to = unchecked_put(u, y_words, y_bytes);
    struct assay_embedding_args a = {
        .ids = assay_tensor_1d(unchecked_put(u, ids, sizeof ids), ASSAY_I32, TOKENS),
        .table = assay_tensor_2d(unchecked_put(u, table_words, table_bytes), table, ROWS, width),
        .y = assay_tensor_2d(to, y, TOKENS, width)};
    struct assay_embedding_args legal = a;
    legal.ids.data = unchecked_put(u, legal_ids, sizeof legal_ids);
    if (u->num_failed == 0 && unchecked_takes(u, route, &a) &&
        unchecked_run(u, &assay_op_embedding, route, &legal, &a) &&
        unchecked_get(u, y_words, to, y_bytes))
        unchecked_check(u, is_right(y_words, y, width), "%s: table %s, y %s, H=%d", route->name,
                        assay_dtype_name(table), assay_dtype_name(y), (int)width);
    unchecked_forget(u);
}

int main(int argc, char **argv)
{
    static const int64_t widths[] = {1, 8, 9, 300, MAX_WIDTH};
    static const enum assay_dtype formats[] = {ASSAY_BF16, ASSAY_F32};
    struct unchecked u;
    int status;
    if (!unchecked_open(&u, argc > 1 ? argv[1] : "simt", &status))
        return status;
    check_faults(&u);
    for (int r = 0; r < assay_op_num_routes(&assay_op_embedding); r++) {
        const struct assay_route *route = assay_op_route(&assay_op_embedding, r);
        for (size_t k = 0; k < 4 * sizeof widths / sizeof widths[0]; k++)
            check_route(&u, route, formats[k % 2], formats[k / 2 % 2], widths[k / 4]);
    }
    return unchecked_close(&u);
}
