/* SPDX-License-Identifier: MIT
 *
 * moe_experts, vectorised: the rows of x of each expert that is in use come together, so that its
 * weights are read once; the products are linear's tiles, whose sums have one order whatever the
 * number of rows [MOEEXPERTS-5]; slots are added by FMA in their order.
 *
 * Profile f32. Bound: moe_experts_bound.md. Moves the weights of the experts in use once, and each
 * pair's x, g, u, h and d through the workspace.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/linear/linear_routes.h"
#include "ops/moe_experts/expert_banks.h"
#include "ops/moe_experts/moe_experts_routes.h"
#include "ops/silu_mul/silu_simd.h"

#include <math.h>

#if defined(ASSAY_PARANOID)
enum { TILE = 4 };
#else
enum { TILE = 64 }; /* columns that a thread takes at a time */
#endif

struct call {
    const struct assay_moe_experts_args *args;
    struct expert_memory memory;
};

static int64_t tiles_of(int64_t columns)
{
    return (columns + TILE - 1) / TILE;
}

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

/* Rows of x to their places. */
static void gather(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    const struct assay_tensor *x = &c->args->x;
    const size_t bytes = (size_t)x->extent[1] * assay_dtype_bytes(x->dtype);
    for (int64_t p = first; p < last; p++)
        if (c->memory.place[p] >= 0)
            memcpy(c->memory.x + (size_t)c->memory.place[p] * bytes,
                   assay_tensor_row(x, p / c->args->ids.extent[1]), bytes);
}

/* A group's rows of a buffer [pairs, width]. */
static struct assay_tensor group_rows(const struct expert_group *group, void *buffer,
                                      enum assay_dtype dtype, int64_t width)
{
    struct assay_tensor rows = assay_tensor_2d(buffer, dtype, group->count, width);
    rows.data = (char *)buffer + group->first * width * (int64_t)assay_dtype_bytes(dtype);
    return rows;
}

/* Columns n .. end - 1 of h of a group. */
static void hidden_tile(const struct call *c, const struct expert_group *group, int64_t n,
                        int64_t end)
{
    const struct assay_moe_experts_args *a = c->args;
    const int64_t width = expert_width(a);
    const struct assay_tensor x = group_rows(group, c->memory.x, a->x.dtype, a->x.extent[1]);
    const struct assay_linear_args gate = {x, expert_gate(a, group->expert),
                                           group_rows(group, c->memory.gate, ASSAY_F32, width)};
    const struct assay_linear_args up = {x, expert_up(a, group->expert),
                                         group_rows(group, c->memory.up, ASSAY_F32, width)};
    SIMD_NAME(linear_columns)(&gate, n, end);
    SIMD_NAME(linear_columns)(&up, n, end);
    for (int64_t r = 0; r < group->count; r++) {
        float *g = assay_tensor_row(&gate.y, r);
        const float *u = assay_tensor_row(&up.y, r);
        int64_t f = n;
        for (; f + SIMD_LANES <= end; f += SIMD_LANES)
            vf_store(g + f, silu_times(vf_load(g + f), vf_load(u + f)));
        if (f < end)
            vf_store_tail(g, ASSAY_F32, f, end - f,
                          silu_times(vf_load_tail(g, ASSAY_F32, f, end - f),
                                     vf_load_tail(u, ASSAY_F32, f, end - f)));
    }
}

/* Tiles of h, counted group by group. */
static void hidden(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    const int64_t width = expert_width(c->args), tiles = tiles_of(width);
    for (int64_t i = first; i < last; i++) {
        const int64_t n = i % tiles * TILE;
        hidden_tile(c, &c->memory.groups[i / tiles], n, at_most(n + TILE, width));
    }
}

/* Tiles of d. */
static void down(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    const struct assay_moe_experts_args *a = c->args;
    const int64_t columns = a->y.extent[1], tiles = tiles_of(columns);
    for (int64_t i = first; i < last; i++) {
        const struct expert_group *group = &c->memory.groups[i / tiles];
        const int64_t n = i % tiles * TILE;
        const struct assay_linear_args args = {
            group_rows(group, c->memory.gate, ASSAY_F32, expert_width(a)),
            expert_down(a, group->expert), group_rows(group, c->memory.down, ASSAY_F32, columns)};
        SIMD_NAME(linear_columns)(&args, n, at_most(n + TILE, columns));
    }
}

/* Up to a vector of y[t], `count` elements from n on. */
static vf combined(const struct call *c, int64_t t, int64_t n, int64_t count)
{
    const struct assay_moe_experts_args *a = c->args;
    const float *weights = assay_tensor_row(&a->weights, t);
    const int64_t k = a->ids.extent[1], columns = a->y.extent[1];
    vf sum = vf_set(0);
    for (int64_t i = 0; i < k; i++) {
        const int64_t place = c->memory.place[t * k + i];
        if (place < 0)
            return vf_set(NAN);
        const float *row = c->memory.down + place * columns;
        vf d = count < SIMD_LANES ? vf_load_tail(row, ASSAY_F32, n, count) : vf_load(row + n);
        sum = vf_fma(vf_set(weights[i]), d, sum);
    }
    return sum;
}

static void combine(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    const struct assay_tensor *y = &c->args->y;
    const int64_t columns = y->extent[1];
    for (int64_t t = first; t < last; t++) {
        void *row = assay_tensor_row(y, t);
        int64_t n = 0;
        for (; n + SIMD_LANES <= columns; n += SIMD_LANES)
            vf_store_any(row, y->dtype, n, combined(c, t, n, SIMD_LANES));
        if (n < columns)
            vf_store_tail(row, y->dtype, n, columns - n, combined(c, t, n, columns - n));
    }
}

assay_status SIMD_NAME(moe_experts_route)(assay_context *context, const void *args, void *workspace)
{
    struct call c = {.args = args};
    const struct assay_moe_experts_args *a = args;
    if (a->x.extent[0] == 0)
        return ASSAY_OK;
    (void)expert_memory_layout(a, workspace, &c.memory);
    expert_memory_group(a, &c.memory);
    assay_parallel(context, expert_pairs(a), 16, gather, &c);
    assay_parallel(context, c.memory.num_groups * tiles_of(expert_width(a)), 1, hidden, &c);
    assay_parallel(context, c.memory.num_groups * tiles_of(a->y.extent[1]), 1, down, &c);
    assay_parallel(context, a->y.extent[0], 1, combine, &c);
    return ASSAY_OK;
}
