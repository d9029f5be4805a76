/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul in bounded binary64, from the contract [SIGMUL-1] and qwen3_5.md (F10), (F19).
 */
#include "sigmoid_mul_oracle.h"

#include <math.h>

#include "real.h"
#include "words.h"

/* The sigmoid is 0 at -infinity alone, however far below the range of any format it is. */
bool oracle_sigmoid_mul_infinite(double gate, double x)
{
    return isinf(x) && gate > -INFINITY;
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_sigmoid_mul_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    for (int64_t i = 0; i < y->count; i++) {
        double gate = oracle_sigmoid_mul_gate(a, i), x = oracle_get(&a->x, i);
        struct ball value = ball_mul(ball_sigmoid(ball_exact(gate)), ball_exact(x));
        if (oracle_sigmoid_mul_infinite(gate, x))
            value = ball_exact(x);
        y->value[i] = value.v;
        y->own[i] = value.e;
    }
    return ASSAY_OK;
}

double oracle_sigmoid_mul_gate(const struct assay_sigmoid_mul_args *args, int64_t index)
{
    bool one_gate = args->gate.extent[1] == 1;
    return oracle_get(&args->gate, one_gate ? index / args->x.extent[1] : index);
}

static double work(const void *arguments)
{
    const struct assay_sigmoid_mul_args *a = arguments;
    return (double)assay_tensor_count(&a->y);
}

const struct oracle_op oracle_op_sigmoid_mul = {
    .name = "sigmoid_mul",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_sigmoid_mul_mpfr,
    .bound = oracle_sigmoid_mul_bound,
    .work = work,
};
