/* SPDX-License-Identifier: MIT
 *
 * moe_experts, the plain route: sums in binary64 in rising order, slot after slot, one rounding
 * into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/linear_swiglu/matrix_product.h"
#include "ops/moe_experts/expert_banks.h"
#include "ops/moe_experts/moe_experts_routes.h"
#include "ops/silu_mul/silu_f64.h"

#include <math.h>

struct call {
    const struct assay_moe_experts_args *args;
    double *hidden; /* [pairs, F] */
};

static struct assay_weights weights_of(struct assay_tensor matrix)
{
    return (struct assay_weights){.format = ASSAY_WEIGHT_BF16,
                                  .rows = matrix.extent[0],
                                  .columns = matrix.extent[1],
                                  .base = matrix};
}

/* h of pairs first .. last - 1. */
static void hidden(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    const struct assay_moe_experts_args *a = c->args;
    const int64_t k = a->ids.extent[1], width = expert_width(a);
    for (int64_t p = first; p < last; p++) {
        const int64_t t = p / k, e = expert_of(a, t, p % k);
        if (e < 0)
            continue;
        const struct assay_weights gate = weights_of(expert_gate(a, e));
        const struct assay_weights up = weights_of(expert_up(a, e));
        for (int64_t f = 0; f < width; f++)
            c->hidden[p * width + f] = silu_f64(matrix_product_plain(&a->x, t, &gate, f)) *
                                       matrix_product_plain(&a->x, t, &up, f);
    }
}

/* Element n of slot i's product: d[n]. */
static double down(const struct call *c, int64_t t, int64_t i, int64_t n)
{
    const struct assay_moe_experts_args *a = c->args;
    const int64_t width = expert_width(a), e = expert_of(a, t, i);
    if (e < 0)
        return (double)NAN;
    const struct assay_tensor matrix = expert_down(a, e);
    const void *row = assay_tensor_row(&matrix, n);
    const double *h = c->hidden + (t * a->ids.extent[1] + i) * width;
    double sum = 0;
    for (int64_t f = 0; f < width; f++)
        sum += word_to_f64(row, ASSAY_BF16, f) * h[f];
    return sum;
}

/* Columns first .. last - 1 of y. */
static void columns(void *argument, int64_t first, int64_t last)
{
    const struct call *c = argument;
    const struct assay_moe_experts_args *a = c->args;
    for (int64_t t = 0; t < a->y.extent[0]; t++) {
        const float *weights = assay_tensor_row(&a->weights, t);
        for (int64_t n = first; n < last; n++) {
            double sum = 0;
            for (int64_t i = 0; i < a->ids.extent[1]; i++)
                sum += (double)weights[i] * down(c, t, i, n);
            word_from_f64(sum, assay_tensor_row(&a->y, t), a->y.dtype, n);
        }
    }
}

size_t moe_experts_plain_workspace(const assay_context *context, const void *args)
{
    const struct assay_moe_experts_args *a = args;
    (void)context;
    return (size_t)(expert_pairs(a) * expert_width(a)) * sizeof(double);
}

assay_status moe_experts_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_moe_experts_args *a = args;
    struct call c = {.args = a, .hidden = workspace};
    if (a->x.extent[0] == 0)
        return ASSAY_OK;
    assay_parallel(context, expert_pairs(a), 1, hidden, &c);
    assay_parallel(context, a->y.extent[1], 16, columns, &c);
    return ASSAY_OK;
}
