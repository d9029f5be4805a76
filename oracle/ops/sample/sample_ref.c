/* SPDX-License-Identifier: MIT
 *
 * sample in bounded binary64, from the contract. Weights are exp((l_i - max) / temperature) with a
 * proven error each; what follows is sample_choice.c.
 */
#include "sample_oracle.h"

#include <math.h>

#include "real.h"

static struct two weight(const struct assay_sample_args *args, struct two logit, struct two maximum,
                         void *arithmetic, double *error)
{
    (void)arithmetic;
    if (isinf(maximum.high)) /* [SAMPLE-8]: infinite logits share alike */
        return (struct two){logit.high == maximum.high ? 1 : 0, 0};
    if (isinf(logit.high))
        return (struct two){0, 0};
    struct ball l = ball_make(logit.high, fabs(logit.low));
    struct ball top = ball_make(maximum.high, fabs(maximum.low));
    if (logit.high == maximum.high && logit.low == maximum.low)
        return (struct two){1, 0};
    struct ball w = ball_exp(ball_div(ball_sub(l, top), ball_exact(args->temperature)));
    *error += w.e * (1 + 0x1p-50);
    return (struct two){w.v, 0};
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    return oracle_sample_rows(arguments, weight, NULL, &outputs[0]);
}

const struct oracle_op oracle_op_sample = {
    .name = "sample",
    .num_outputs = 1,
    .outputs = {"ids"},
    .ref = ref,
    .mpfr = oracle_sample_mpfr,
    .bound = oracle_sample_bound,
};
