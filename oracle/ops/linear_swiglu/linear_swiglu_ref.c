/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu in bounded binary64, from the contract [LINEARSWIGLU-1] and qwen3_5.md (F18): the
 * sums by the products' oracles.
 */
#include "linear_swiglu_oracle.h"

#include <math.h>
#include <string.h>

#include "matrix_product_oracle.h"
#include "real.h"

/* Above what any profile's sum of this length is off by, relative to its magnitude: at most 4.5
 * roundings of 2^-24 a product, and 2^-17 for a split x (linear_bound.md). */
static bool is_open(double sum, double magnitude, int64_t inner)
{
    return fabs(sum) <= ((double)inner + 64) * 0x1p-21 * magnitude + (double)inner * 0x1p-130;
}

/* silu(-infinity) is NaN by the formula; the silu of a finite gate other than 0 is not 0. */
double oracle_swiglu_nonfinite(double gate, double gate_magnitude, double up, double up_magnitude,
                               int64_t inner)
{
    if (isnan(gate) || isnan(up) || gate == -INFINITY)
        return NAN;
    if ((isfinite(up) && is_open(up, up_magnitude, inner)) ||
        (isfinite(gate) && is_open(gate, gate_magnitude, inner)))
        return 0;
    return copysign(INFINITY, gate) * copysign(1, up);
}

static assay_status product(const struct assay_linear_swiglu_args *a, const struct assay_weights *w,
                            struct oracle_output *y, int aux, struct oracle_output *sum)
{
    if (!oracle_output_create(sum, "y", ASSAY_F32, y->count))
        return ASSAY_E_MEMORY;
    assay_status status = oracle_product_ref(&a->x, w, &a->y, sum);
    size_t bytes = (size_t)y->count * sizeof(double);
    memcpy(y->aux[aux], sum->value, bytes);
    for (int i = 0; i < ORACLE_PRODUCT_AUX; i++)
        memcpy(y->aux[aux + 1 + i], sum->aux[i], bytes);
    return status;
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_linear_swiglu_args *a = arguments;
    struct oracle_output *y = &outputs[0], gate = {.value = NULL}, up = {.value = NULL};
    assay_status status = product(a, &a->gate, y, LINEAR_SWIGLU_AUX_GATE, &gate);
    if (status == ASSAY_OK)
        status = product(a, &a->up, y, LINEAR_SWIGLU_AUX_UP, &up);
    for (int64_t i = 0; i < y->count && status == ASSAY_OK; i++) {
        if (!isfinite(gate.value[i]) || !isfinite(up.value[i])) {
            y->value[i] = oracle_swiglu_nonfinite(gate.value[i], gate.aux[0][i], up.value[i],
                                                  up.aux[0][i], a->gate.columns);
            y->own[i] = 0;
            continue;
        }
        struct ball value = ball_mul(ball_silu(ball_make(gate.value[i], gate.own[i])),
                                     ball_make(up.value[i], up.own[i]));
        y->value[i] = value.v;
        y->own[i] = value.e;
    }
    oracle_output_destroy(&gate);
    oracle_output_destroy(&up);
    return status;
}

static double work(const void *arguments)
{
    const struct assay_linear_swiglu_args *a = arguments;
    return 2 * (double)assay_tensor_count(&a->x) * (double)a->gate.rows;
}

const struct oracle_op oracle_op_linear_swiglu = {
    .name = "linear_swiglu",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_linear_swiglu_mpfr,
    .bound = oracle_linear_swiglu_bound,
    .work = work,
};
