/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped with ids outside the table where no check sees them [EMBEDDINGGROUPED-5]: their
 * rows become NaN, the others are the table's, and nothing beside y is written.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "oracle_formats.h"
#include "unchecked.h"
#include "words.h"
#include <assay/ops/embedding_grouped.h>

enum { TOKENS = 8, ROWS = 5, MAX_WIDTH = 2049, GUARD = 16, PLANE_BYTES = ROWS * 2304 };

static const int32_t legal_ids[TOKENS] = {0};
static const int32_t ids[TOKENS] = {0, ROWS, -1, ROWS - 1, INT32_MAX, INT32_MIN, ROWS + 7, 2};

static bool is_row(int32_t id)
{
    return id >= 0 && id < ROWS;
}

/* Small integers, which every format holds with a scale of 1; none is 0. */
static double entry(int64_t row, int64_t i)
{
    return (double)(1 + (row * 31 + i) % 7);
}

struct planes {
    uint8_t base[PLANE_BYTES], high[PLANE_BYTES];
    uint16_t scales[PLANE_BYTES / 32];
    struct assay_weights view;
};

/* Written bit by bit, as docs/formats.md has them. */
static void fill(struct planes *p, enum assay_weight_format format, int64_t width)
{
    int bits = assay_weight_bits(format), low = bits == 8 ? 8 : 4, extra = bits - low;
    int64_t padded = (width + 127) / 128 * 128;
    memset(p, 0, sizeof *p);
    p->view = (struct assay_weights){.format = format, .rows = ROWS, .columns = width};
    p->view.base = assay_tensor_2d(p->base, ASSAY_U8, ROWS, padded * low / 8);
    p->view.scales =
        assay_tensor_2d(p->scales, ASSAY_F16, ROWS, padded / assay_weight_group(format));
    if (extra > 0)
        p->view.high = assay_tensor_2d(p->high, ASSAY_U8, ROWS, padded * extra / 8);
    for (int64_t i = 0; i < assay_tensor_count(&p->view.scales); i++)
        oracle_put(&p->view.scales, i, 1);
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t i = 0; i < width; i++) {
            int u = (int)entry(row, i) + (bits == 8 ? 0 : 1 << (bits - 1));
            uint8_t *base = p->base + row * p->view.base.stride[0] + low * i / 8;
            *base = (uint8_t)(*base | (u & ((1 << low) - 1)) << low * i % 8);
            uint8_t *high = p->high + row * padded * extra / 8 + extra * i / 8;
            *high = (uint8_t)(*high | (u >> low) << extra * i % 8);
        }
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
 * too many: each must be seen. And the planes hold what they should. */
static void check_faults(struct unchecked *u)
{
    enum { WIDTH = 9, COUNT = TOKENS * WIDTH };
    static const char *const names[] = {"control", "nearest row", "skipped", "a row too many"};
    static struct planes planes;
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
    for (int f = ASSAY_WEIGHT_Q4G64; f < ASSAY_NUM_WEIGHT_FORMATS; f++) {
        fill(&planes, (enum assay_weight_format)f, 130);
        for (int64_t i = 0; i < ROWS * 130; i++)
            unchecked_check(
                u, oracle_weight_value(&planes.view, i / 130, i % 130) == entry(i / 130, i % 130),
                "%s: planes", assay_weight_format_name((enum assay_weight_format)f));
    }
}

static void check_route(struct unchecked *u, const struct assay_route *route,
                        enum assay_weight_format format, enum assay_dtype y, int64_t width)
{
    static struct planes planes;
    static float y_words[TOKENS * MAX_WIDTH + GUARD];
    size_t y_bytes = (size_t)(TOKENS * width + GUARD) * assay_dtype_bytes(y);
    struct assay_tensor whole = assay_tensor_1d(y_words, y, TOKENS * width + GUARD);
    fill(&planes, format, width);
    for (int64_t i = 0; i < whole.extent[0]; i++)
        oracle_put(&whole, i, -1);
    void *to = unchecked_put(u, y_words, y_bytes);
    struct assay_embedding_grouped_args a = {
        .ids = assay_tensor_1d(unchecked_put(u, ids, sizeof ids), ASSAY_I32, TOKENS),
        .table = planes.view,
        .y = assay_tensor_2d(to, y, TOKENS, width)};
    a.table.base.data = unchecked_put(u, planes.base, sizeof planes.base);
    if (planes.view.high.data != NULL)
        a.table.high.data = unchecked_put(u, planes.high, sizeof planes.high);
    a.table.scales.data = unchecked_put(u, planes.scales, sizeof planes.scales);
    struct assay_embedding_grouped_args legal = a;
    legal.ids.data = unchecked_put(u, legal_ids, sizeof legal_ids);
    if (u->num_failed == 0 && unchecked_takes(u, route, &a) &&
        unchecked_run(u, &assay_op_embedding_grouped, route, &legal, &a) &&
        unchecked_get(u, y_words, to, y_bytes))
        unchecked_check(u, is_right(y_words, y, width), "%s: table %s, y %s, H=%d", route->name,
                        assay_weight_format_name(format), assay_dtype_name(y), (int)width);
    unchecked_forget(u);
}

int main(int argc, char **argv)
{
    static const int64_t widths[] = {1, 8, 9, 300, MAX_WIDTH};
    struct unchecked u;
    int status;
    if (!unchecked_open(&u, argc > 1 ? argv[1] : "simt", &status))
        return status;
    check_faults(&u);
    for (int r = 0; r < assay_op_num_routes(&assay_op_embedding_grouped); r++) {
        const struct assay_route *route = assay_op_route(&assay_op_embedding_grouped, r);
        for (size_t k = 0; k < 4 * sizeof widths / sizeof widths[0]; k++)
            check_route(&u, route, (enum assay_weight_format)(ASSAY_WEIGHT_Q4G64 + k % 4),
                        k / 4 % 2 == 0 ? ASSAY_F32 : ASSAY_BF16, widths[k / 4]);
    }
    return unchecked_close(&u);
}
