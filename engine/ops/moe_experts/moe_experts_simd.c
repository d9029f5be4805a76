/* SPDX-License-Identifier: MIT
 *
 * moe_experts and moe_experts_grouped, vectorised: the rows of x of each expert that is in use come
 * together, so that its weights are read once; the products are linear's or linear_grouped's tiles,
 * whose sums have one order whatever the number of rows [MOEEXPERTS-5]; slots are added by FMA in
 * their order. A grouped bank has its operand in the order of the codes: x is brought into it once
 * a token.
 *
 * Profile f32. Bounds: moe_experts_bound.md, moe_experts_grouped_bound.md. Moves the weights of the
 * experts in use once, and each pair's x, g, u, h and d through the workspace.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/linear_swiglu/matrix_product_simd.h"
#include "ops/moe_experts/expert_banks.h"
#include "ops/moe_experts/moe_experts_routes.h"
#include "ops/silu_mul/silu_simd.h"

#include <math.h>

#if defined(ASSAY_PARANOID)
enum { TILE = 4 };
#else
enum { TILE = 64 }; /* columns that a thread takes at a time */
#endif

struct vector_call {
    const struct expert_call *call;
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
    const struct vector_call *v = argument;
    const struct expert_memory *m = &v->memory;
    const bool is_grouped = v->call->gate_up.matrix.format != ASSAY_WEIGHT_BF16;
    for (int64_t p = first; p < last; p++) {
        const int64_t t = p / v->call->ids.extent[1];
        const void *row = is_grouped ? (char *)m->ordered + (size_t)t * m->x_row_bytes
                                     : assay_tensor_row(&v->call->x, t);
        if (m->place[p] >= 0)
            memcpy(m->x + (size_t)m->place[p] * m->x_row_bytes, row, m->x_row_bytes);
    }
}

/* A group's rows of a buffer [pairs, width]. */
static struct assay_tensor group_rows(const struct expert_group *group, void *buffer,
                                      enum assay_dtype dtype, int64_t width)
{
    struct assay_tensor rows = assay_tensor_2d(buffer, dtype, group->count, width);
    rows.data = (char *)buffer + group->first * width * (int64_t)assay_dtype_bytes(dtype);
    return rows;
}

/* The product of a group's rows with a matrix: `x` as it is, or those of `ordered`. */
static struct product_part part_of(const struct expert_group *group, struct assay_tensor x,
                                   float *ordered, const struct assay_weights *w,
                                   struct assay_tensor y)
{
    struct product_part part = {.is_grouped = w->format != ASSAY_WEIGHT_BF16};
    if (!part.is_grouped) {
        part.bf16 = (struct assay_linear_args){x, w->base, y};
        return part;
    }
    part.grouped = (struct assay_linear_grouped_args){.x = x, .w = *w, .y = y};
    part.prepared = ordered + group->first * linear_grouped_padded(w->columns);
    return part;
}

/* Columns n .. end - 1 of h of a group. */
static void hidden_tile(const struct vector_call *v, const struct expert_group *group, int64_t n,
                        int64_t end)
{
    const struct expert_call *c = v->call;
    const struct expert_memory *m = &v->memory;
    const int64_t width = expert_width(c);
    const struct assay_weights of_gate = expert_gate(c, group->expert);
    const struct assay_weights of_up = expert_up(c, group->expert);
    const struct assay_tensor x = group_rows(group, m->x, c->x.dtype, c->x.extent[1]);
    const struct assay_tensor g_rows = group_rows(group, m->gate, ASSAY_F32, width);
    const struct assay_tensor u_rows = group_rows(group, m->up, ASSAY_F32, width);
    float *const ordered = (float *)(void *)m->x;
    const struct product_part gate = part_of(group, x, ordered, &of_gate, g_rows);
    const struct product_part up = part_of(group, x, ordered, &of_up, u_rows);
    product_part_columns(&gate, n, end);
    product_part_columns(&up, n, end);
    for (int64_t r = 0; r < group->count; r++) {
        float *g = assay_tensor_row(&g_rows, r);
        const float *u = assay_tensor_row(&u_rows, r);
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
    const struct vector_call *v = argument;
    const int64_t width = expert_width(v->call), tiles = tiles_of(width);
    for (int64_t i = first; i < last; i++) {
        const int64_t n = i % tiles * TILE;
        hidden_tile(v, &v->memory.groups[i / tiles], n, at_most(n + TILE, width));
    }
}

/* Tiles of d. */
static void down(void *argument, int64_t first, int64_t last)
{
    const struct vector_call *v = argument;
    const struct expert_memory *m = &v->memory;
    const int64_t columns = v->call->y.extent[1], tiles = tiles_of(columns);
    for (int64_t i = first; i < last; i++) {
        const struct expert_group *group = &m->groups[i / tiles];
        const struct assay_weights matrix = expert_down(v->call, group->expert);
        const int64_t n = i % tiles * TILE;
        const struct product_part part =
            part_of(group, group_rows(group, m->gate, ASSAY_F32, matrix.columns), m->ordered_h,
                    &matrix, group_rows(group, m->down, ASSAY_F32, columns));
        product_part_columns(&part, n, at_most(n + TILE, columns));
    }
}

/* Up to a vector of y[t], `count` elements from n on. */
static vf combined(const struct vector_call *v, int64_t t, int64_t n, int64_t count)
{
    const float *weights = assay_tensor_row(&v->call->weights, t);
    const int64_t k = v->call->ids.extent[1], columns = v->call->y.extent[1];
    vf sum = vf_set(0);
    for (int64_t i = 0; i < k; i++) {
        const int64_t place = v->memory.place[t * k + i];
        if (place < 0)
            return vf_set(NAN);
        const float *row = v->memory.down + place * columns;
        vf d = count < SIMD_LANES ? vf_load_tail(row, ASSAY_F32, n, count) : vf_load(row + n);
        sum = vf_fma(vf_set(weights[i]), d, sum);
    }
    return sum;
}

static void combine(void *argument, int64_t first, int64_t last)
{
    const struct vector_call *v = argument;
    const struct assay_tensor *y = &v->call->y;
    const int64_t columns = y->extent[1];
    for (int64_t t = first; t < last; t++) {
        void *row = assay_tensor_row(y, t);
        int64_t n = 0;
        for (; n + SIMD_LANES <= columns; n += SIMD_LANES)
            vf_store_any(row, y->dtype, n, combined(v, t, n, SIMD_LANES));
        if (n < columns)
            vf_store_tail(row, y->dtype, n, columns - n, combined(v, t, n, columns - n));
    }
}

/* The rows of x in the order of w's codes; nothing for bf16. */
static void put_in_order(assay_context *context, struct assay_tensor x,
                         const struct assay_weights *w, float *ordered)
{
    const struct assay_linear_grouped_args args = {.x = x, .w = *w};
    if (w->format != ASSAY_WEIGHT_BF16)
        SIMD_NAME(linear_grouped_prepare)(context, &args, ordered);
}

assay_status SIMD_NAME(experts_run)(assay_context *context, const struct expert_call *call,
                                    void *workspace)
{
    struct vector_call v = {.call = call};
    struct expert_memory *m = &v.memory;
    const int64_t width = expert_width(call);
    if (call->x.extent[0] == 0)
        return ASSAY_OK;
    (void)expert_memory_layout(call, workspace, m);
    expert_memory_group(call, m);
    put_in_order(context, call->x, &call->gate_up.matrix, m->ordered);
    assay_parallel(context, expert_pairs(call), 16, gather, &v);
    assay_parallel(context, m->num_groups * tiles_of(width), 1, hidden, &v);
    put_in_order(context, assay_tensor_2d(m->gate, ASSAY_F32, m->num_places, width),
                 &call->down.matrix, m->ordered_h);
    assay_parallel(context, m->num_groups * tiles_of(call->y.extent[1]), 1, down, &v);
    assay_parallel(context, call->y.extent[0], 1, combine, &v);
    return ASSAY_OK;
}

assay_status SIMD_NAME(moe_experts_route)(assay_context *context, const void *args, void *workspace)
{
    const struct expert_call call = expert_call_of(args);
    return SIMD_NAME(experts_run)(context, &call, workspace);
}
