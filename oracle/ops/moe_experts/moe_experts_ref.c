/* SPDX-License-Identifier: MIT
 *
 * moe_experts in bounded binary64, from the contract [MOEEXPERTS-1] and qwen3_5.md (F19): token
 * after token and slot after slot, h by linear_swiglu's oracle. Banks of any format, for
 * moe_experts_grouped.
 */
#include "moe_experts_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "linear_swiglu_oracle.h"
#include "matrix_product_oracle.h"
#include "real.h"
#include "words.h"

static void move(struct assay_tensor *plane, int64_t elements)
{
    if (plane->data != NULL)
        plane->data = (char *)plane->data + elements * (int64_t)assay_dtype_bytes(plane->dtype);
}

/* Rows first .. first + rows - 1 of expert e of a bank whose first matrix is `w`. */
static struct assay_weights matrix_of(struct assay_weights w, int64_t step, int64_t e,
                                      int64_t first, int64_t rows)
{
    const bool is_bf16 = w.format == ASSAY_WEIGHT_BF16;
    int64_t skipped = first + (is_bf16 ? 0 : e * step);
    move(&w.base, skipped * w.base.stride[0] + (is_bf16 ? e * step : 0));
    if (!is_bf16) {
        move(&w.high, skipped * w.high.stride[0]);
        move(&w.scales, skipped * w.scales.stride[0]);
    }
    w.rows = w.base.extent[0] = rows;
    w.high.extent[0] = w.scales.extent[0] = rows;
    return w;
}

/* The first matrix of a bank [E, rows, columns]. */
static struct assay_weights first_of(const struct assay_tensor *bank)
{
    struct assay_weights w = {
        .format = ASSAY_WEIGHT_BF16,
        .rows = bank->extent[1],
        .columns = bank->extent[2],
        .base = assay_tensor_2d(bank->data, bank->dtype, bank->extent[1], bank->extent[2])};
    w.base.stride[0] = bank->stride[1];
    return w;
}

struct moe_call oracle_moe_call(const struct assay_moe_experts_args *a)
{
    return (struct moe_call){.x = a->x,
                             .ids = a->ids,
                             .weights = a->weights,
                             .y = a->y,
                             .gate_up = first_of(&a->gate_up),
                             .down = first_of(&a->down),
                             .gate_up_step = a->gate_up.stride[0],
                             .down_step = a->down.stride[0],
                             .experts = a->gate_up.extent[0]};
}

struct moe_slot oracle_moe_slot(const struct moe_call *c, int64_t t, int64_t i)
{
    int64_t k = c->ids.extent[1], width = c->down.columns;
    int64_t id = oracle_get_int(&c->ids, t * k + i);
    struct moe_slot slot = {.expert = -1, .weight = oracle_get(&c->weights, t * k + i)};
    if (id < 0 || id >= c->experts)
        return slot;
    slot.expert = id;
    slot.down = matrix_of(c->down, c->down_step, id, 0, c->down.rows);
    slot.swiglu.x = c->x;
    slot.swiglu.x.data = assay_tensor_row(&c->x, t);
    slot.swiglu.x.extent[0] = 1;
    slot.swiglu.gate = matrix_of(c->gate_up, c->gate_up_step, id, 0, width);
    slot.swiglu.up = matrix_of(c->gate_up, c->gate_up_step, id, width, width);
    slot.swiglu.y = assay_tensor_2d(NULL, ASSAY_F32, 1, width);
    return slot;
}

assay_status oracle_moe_hidden(const struct moe_slot *slot, const struct oracle_route *route,
                               struct oracle_output *h)
{
    const struct oracle_op *swiglu = oracle_find("linear_swiglu");
    if (!oracle_output_create(h, "h", ASSAY_F32, slot->swiglu.y.extent[1]))
        return ASSAY_E_MEMORY;
    assay_status status = swiglu->ref(&slot->swiglu, h);
    if (status == ASSAY_OK && route != NULL)
        swiglu->bound(&slot->swiglu, route, h);
    return status;
}

/* An infinite sum met one that is zero within its error: linear_swiglu promises nothing. */
static bool is_open(const struct oracle_output *h)
{
    for (int64_t f = 0; f < h->count; f++)
        if (isfinite(h->value[f]) && (!isfinite(h->aux[LINEAR_SWIGLU_AUX_GATE][f]) ||
                                      !isfinite(h->aux[LINEAR_SWIGLU_AUX_UP][f])))
            return true;
    return false;
}

static bool has_infinity(const double *row, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (isinf(row[i]))
            return true;
    return false;
}

/* d[n]: the sum's own error, and what the errors of h add to it. */
static struct ball down_of(const struct oracle_output *h, const double *row)
{
    struct ball d = oracle_dot(h->value, row, h->count, NULL);
    double own = 0;
    for (int64_t f = 0; f < h->count; f++)
        own += fabs(row[f]) * h->own[f];
    return isfinite(d.v) ? ball_make(d.v, d.e + own * (1 + 0x1p-40)) : d;
}

/* y[t] += weight d; `sums` has the row so far. */
static assay_status add_slot(const struct moe_slot *slot, struct ball *sums, double *row,
                             double *open)
{
    struct oracle_output h = {.value = NULL};
    assay_status status = oracle_moe_hidden(slot, NULL, &h);
    bool all_open = status == ASSAY_OK && (is_open(&h) || isinf(slot->weight));
    for (int64_t n = 0; n < slot->down.rows && status == ASSAY_OK; n++) {
        oracle_product_row(&slot->down, n, row, NULL);
        sums[n] = ball_add(sums[n], ball_mul(ball_exact(slot->weight), down_of(&h, row)));
        if (all_open || has_infinity(row, h.count))
            open[n] = 1;
    }
    oracle_output_destroy(&h);
    return status;
}

static assay_status token(const struct moe_call *c, int64_t t, struct ball *sums, double *row,
                          struct oracle_output *y)
{
    int64_t columns = c->y.extent[1], k = c->ids.extent[1];
    double *open = y->aux[MOE_AUX_OPEN] + t * columns;
    bool has_expert = true;
    for (int64_t n = 0; n < columns; n++) {
        sums[n] = ball_exact(0);
        open[n] = 0;
    }
    for (int64_t i = 0; i < k; i++) {
        const struct moe_slot slot = oracle_moe_slot(c, t, i);
        assay_status status = ASSAY_OK;
        has_expert = has_expert && slot.expert >= 0;
        if (slot.expert >= 0)
            status = add_slot(&slot, sums, row, open);
        if (status != ASSAY_OK)
            return status;
    }
    for (int64_t n = 0; n < columns; n++) {
        if (!has_expert) /* whatever the other slots are */
            open[n] = 0;
        y->value[t * columns + n] = !has_expert ? NAN : open[n] != 0 ? 0 : sums[n].v;
        y->own[t * columns + n] = has_expert && open[n] == 0 ? sums[n].e : 0;
    }
    return ASSAY_OK;
}

assay_status oracle_moe_ref(const struct moe_call *c, struct oracle_output *outputs)
{
    struct ball *sums = malloc((size_t)c->y.extent[1] * sizeof *sums);
    double *row = malloc((size_t)c->down.columns * sizeof *row);
    assay_status status = sums == NULL || row == NULL ? ASSAY_E_MEMORY : ASSAY_OK;
    for (int64_t t = 0; t < c->x.extent[0] && status == ASSAY_OK; t++)
        status = token(c, t, sums, row, &outputs[0]);
    free(sums);
    free(row);
    return status;
}

double oracle_moe_work(const struct moe_call *c)
{
    return 3 * (double)assay_tensor_count(&c->ids) * (double)c->x.extent[1] *
           (double)c->down.columns;
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct moe_call c = oracle_moe_call(arguments);
    return oracle_moe_ref(&c, outputs);
}

static double work(const void *arguments)
{
    const struct moe_call c = oracle_moe_call(arguments);
    return oracle_moe_work(&c);
}

const struct oracle_op oracle_op_moe_experts = {
    .name = "moe_experts",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_moe_experts_mpfr,
    .bound = oracle_moe_experts_bound,
    .work = work,
};
