/* SPDX-License-Identifier: MIT
 *
 * silu_mul in bounded binary64, from the contract [SILUMUL-1] and qwen3_5.md (F18).
 */
#include "silu_mul_oracle.h"

#include <math.h>

#include "real.h"
#include "words.h"

/* silu is 0 at 0 and -infinity alone, however far below the range of any format it is. */
bool oracle_silu_mul_infinite(double gate, double up)
{
    return isinf(up) && isfinite(gate) && gate != 0;
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_silu_mul_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    for (int64_t i = 0; i < y->count; i++) {
        double gate = oracle_get(&a->gate, i), up = oracle_get(&a->up, i);
        struct ball value = ball_mul(ball_silu(ball_exact(gate)), ball_exact(up));
        if (oracle_silu_mul_infinite(gate, up))
            value = ball_exact(gate * up);
        y->value[i] = value.v;
        y->own[i] = value.e;
    }
    return ASSAY_OK;
}

static double work(const void *arguments)
{
    const struct assay_silu_mul_args *a = arguments;
    return (double)assay_tensor_count(&a->y);
}

const struct oracle_op oracle_op_silu_mul = {
    .name = "silu_mul",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_silu_mul_mpfr,
    .bound = oracle_silu_mul_bound,
    .work = work,
};
