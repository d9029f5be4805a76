/* SPDX-License-Identifier: MIT
 *
 * moe_experts in bounded binary64, from the contract [MOEEXPERTS-1] and qwen3_5.md (F19): token
 * after token and slot after slot, h by linear_swiglu's oracle.
 */
#include "moe_experts_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "linear_swiglu_oracle.h"
#include "real.h"
#include "words.h"

/* Rows first .. first + rows - 1 of matrix e of a bank. */
static struct assay_tensor matrix_of(const struct assay_tensor *bank, int64_t e, int64_t first,
                                     int64_t rows)
{
    struct assay_tensor m = assay_tensor_2d(NULL, bank->dtype, rows, bank->extent[2]);
    int64_t at = e * bank->stride[0] + first * bank->stride[1];
    m.stride[0] = bank->stride[1];
    m.data = (char *)bank->data + at * (int64_t)assay_dtype_bytes(bank->dtype);
    return m;
}

static struct assay_weights weights_of(struct assay_tensor matrix)
{
    return (struct assay_weights){.format = ASSAY_WEIGHT_BF16,
                                  .rows = matrix.extent[0],
                                  .columns = matrix.extent[1],
                                  .base = matrix};
}

struct moe_slot oracle_moe_slot(const struct assay_moe_experts_args *a, int64_t t, int64_t i)
{
    int64_t k = a->ids.extent[1], width = a->down.extent[2];
    int64_t id = oracle_get_int(&a->ids, t * k + i);
    struct moe_slot slot = {.expert = -1, .weight = oracle_get(&a->weights, t * k + i)};
    if (id < 0 || id >= a->gate_up.extent[0])
        return slot;
    slot.expert = id;
    slot.down = matrix_of(&a->down, id, 0, a->down.extent[1]);
    slot.swiglu.x = a->x;
    slot.swiglu.x.data = assay_tensor_row(&a->x, t);
    slot.swiglu.x.extent[0] = 1;
    slot.swiglu.gate = weights_of(matrix_of(&a->gate_up, id, 0, width));
    slot.swiglu.up = weights_of(matrix_of(&a->gate_up, id, width, width));
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
    for (int64_t n = 0; n < slot->down.extent[0] && status == ASSAY_OK; n++) {
        oracle_get_row(&slot->down, n, row);
        sums[n] = ball_add(sums[n], ball_mul(ball_exact(slot->weight), down_of(&h, row)));
        if (all_open || has_infinity(row, h.count))
            open[n] = 1;
    }
    oracle_output_destroy(&h);
    return status;
}

static assay_status token(const struct assay_moe_experts_args *a, int64_t t, struct ball *sums,
                          double *row, struct oracle_output *y)
{
    int64_t columns = a->y.extent[1], k = a->ids.extent[1];
    double *open = y->aux[MOE_AUX_OPEN] + t * columns;
    bool has_expert = true;
    for (int64_t n = 0; n < columns; n++) {
        sums[n] = ball_exact(0);
        open[n] = 0;
    }
    for (int64_t i = 0; i < k; i++) {
        const struct moe_slot slot = oracle_moe_slot(a, t, i);
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

assay_status oracle_moe_experts_ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_moe_experts_args *a = arguments;
    struct ball *sums = malloc((size_t)a->y.extent[1] * sizeof *sums);
    double *row = malloc((size_t)a->down.extent[2] * sizeof *row);
    assay_status status = sums == NULL || row == NULL ? ASSAY_E_MEMORY : ASSAY_OK;
    for (int64_t t = 0; t < a->x.extent[0] && status == ASSAY_OK; t++)
        status = token(a, t, sums, row, &outputs[0]);
    free(sums);
    free(row);
    return status;
}

static double work(const void *arguments)
{
    const struct assay_moe_experts_args *a = arguments;
    return 3 * (double)assay_tensor_count(&a->ids) * (double)a->x.extent[1] *
           (double)a->down.extent[2];
}

const struct oracle_op oracle_op_moe_experts = {
    .name = "moe_experts",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = oracle_moe_experts_ref,
    .mpfr = oracle_moe_experts_mpfr,
    .bound = oracle_moe_experts_bound,
    .work = work,
};
