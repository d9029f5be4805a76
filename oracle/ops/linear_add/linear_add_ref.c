/* SPDX-License-Identifier: MIT
 *
 * linear_add in bounded binary64, from the contract [LINEARADD-1]: the product's oracle, and r.
 */
#include "linear_add_oracle.h"

#include "real.h"
#include "words.h"

struct assay_linear_grouped_args oracle_linear_add_grouped(const struct assay_linear_add_args *a)
{
    return (struct assay_linear_grouped_args){.x = a->x, .w = a->w, .residual = a->r, .y = a->y};
}

struct assay_linear_args oracle_linear_add_product(const struct assay_linear_add_args *a)
{
    return (struct assay_linear_args){.x = a->x, .w = a->w.base, .y = a->y};
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_linear_add_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    if (a->w.format != ASSAY_WEIGHT_BF16) {
        struct assay_linear_grouped_args grouped = oracle_linear_add_grouped(a);
        return oracle_find("linear_grouped")->ref(&grouped, outputs);
    }
    struct assay_linear_args product = oracle_linear_add_product(a);
    assay_status status = oracle_find("linear")->ref(&product, outputs);
    for (int64_t i = 0; status == ASSAY_OK && i < y->count; i++) {
        struct ball sum = ball_make(y->value[i], y->own[i]);
        sum = ball_add(sum, ball_exact(oracle_get(&a->r, i)));
        y->value[i] = sum.v;
        y->own[i] = sum.e;
    }
    return status;
}

static double work(const void *arguments)
{
    const struct assay_linear_add_args *a = arguments;
    return (double)assay_tensor_count(&a->x) * (double)a->w.rows;
}

const struct oracle_op oracle_op_linear_add = {
    .name = "linear_add",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_linear_add_mpfr,
    .bound = oracle_linear_add_bound,
    .work = work,
};
