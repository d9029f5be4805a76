/* SPDX-License-Identifier: MIT
 *
 * add in bounded binary64, from the contract [ADD-1].
 */
#include "add_oracle.h"

#include "real.h"
#include "words.h"

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_add_args *args = arguments;
    struct oracle_output *y = &outputs[0];
    for (int64_t i = 0; i < y->count; i++) {
        struct ball sum =
            ball_add(ball_exact(oracle_get(&args->a, i)), ball_exact(oracle_get(&args->b, i)));
        y->value[i] = sum.v;
        y->own[i] = sum.e;
    }
    return ASSAY_OK;
}

static double work(const void *arguments)
{
    const struct assay_add_args *args = arguments;
    return (double)assay_tensor_count(&args->y);
}

const struct oracle_op oracle_op_add = {
    .name = "add",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_add_mpfr,
    .bound = oracle_add_bound,
    .work = work,
};
