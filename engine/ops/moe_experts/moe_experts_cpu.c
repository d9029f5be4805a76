/* SPDX-License-Identifier: MIT
 *
 * moe_experts and moe_experts_grouped, the plain route: sums in binary64 in rising order, slot
 * after slot, one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/linear_swiglu/matrix_product.h"
#include "ops/moe_experts/expert_banks.h"
#include "ops/moe_experts/moe_experts_routes.h"
#include "ops/silu_mul/silu_f64.h"

#include <math.h>

struct plain_call {
    const struct expert_call *call;
    double *hidden; /* [pairs, F] */
};

/* h of pairs first .. last - 1. */
static void hidden(void *argument, int64_t first, int64_t last)
{
    const struct plain_call *p = argument;
    const struct expert_call *c = p->call;
    const int64_t k = c->ids.extent[1], width = expert_width(c);
    for (int64_t pair = first; pair < last; pair++) {
        const int64_t t = pair / k, e = expert_of(c, t, pair % k);
        if (e < 0)
            continue;
        const struct assay_weights gate = expert_gate(c, e), up = expert_up(c, e);
        for (int64_t f = 0; f < width; f++)
            p->hidden[pair * width + f] = silu_f64(matrix_product_plain(&c->x, t, &gate, f)) *
                                          matrix_product_plain(&c->x, t, &up, f);
    }
}

/* Element n of slot i's product: d[n]. */
static double down(const struct plain_call *p, int64_t t, int64_t i, int64_t n)
{
    const struct expert_call *c = p->call;
    const int64_t width = expert_width(c), e = expert_of(c, t, i);
    if (e < 0)
        return (double)NAN;
    const struct assay_weights matrix = expert_down(c, e);
    return matrix_row_plain(&matrix, n, p->hidden + (t * c->ids.extent[1] + i) * width);
}

/* Columns first .. last - 1 of y. */
static void columns(void *argument, int64_t first, int64_t last)
{
    const struct plain_call *p = argument;
    const struct expert_call *c = p->call;
    for (int64_t t = 0; t < c->y.extent[0]; t++) {
        const float *weights = assay_tensor_row(&c->weights, t);
        for (int64_t n = first; n < last; n++) {
            double sum = 0;
            for (int64_t i = 0; i < c->ids.extent[1]; i++)
                sum += (double)weights[i] * down(p, t, i, n);
            word_from_f64(sum, assay_tensor_row(&c->y, t), c->y.dtype, n);
        }
    }
}

size_t experts_plain_workspace(const struct expert_call *call)
{
    return (size_t)(expert_pairs(call) * expert_width(call)) * sizeof(double);
}

assay_status experts_run_plain(assay_context *context, const struct expert_call *call,
                               void *workspace)
{
    struct plain_call p = {.call = call, .hidden = workspace};
    if (call->x.extent[0] == 0)
        return ASSAY_OK;
    assay_parallel(context, expert_pairs(call), 1, hidden, &p);
    assay_parallel(context, call->y.extent[1], 16, columns, &p);
    return ASSAY_OK;
}

assay_status moe_experts_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct expert_call call = expert_call_of(args);
    return experts_run_plain(context, &call, workspace);
}
