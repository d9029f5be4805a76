/* SPDX-License-Identifier: MIT
 *
 * gdn_gating in bounded binary64, from the contract [GDNGATE-1] [GDNGATE-2] and qwen3_5.md (F13).
 */
#include "gdn_gating_oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

/* exp(a_log) softplus(x) for x and a_log anything but NaN. In the lower tail the product is one
 * exponential, since its factors may leave the range of binary64 though it does not; elsewhere
 * exp(a_log) is applied as a square for the same reason. */
static struct ball rate(double a_log, struct ball x, struct oracle_output *g, int64_t at)
{
    if (isinf(x.v) || isinf(a_log)) {
        /* limits: softplus(inf) = inf, softplus(-inf) = 0, and 0 times inf is NaN */
        double decay = isinf(a_log) ? (a_log > 0 ? INFINITY : 0) : 1;
        double softplus = isinf(x.v) ? (x.v > 0 ? INFINITY : 0) : 1;
        return ball_exact(decay * softplus);
    }
    g->aux[GDN_GATING_AUX_X][at] = fabs(x.v);
    if (x.v < GDN_GATING_TAIL) {
        struct ball exponent = ball_add(ball_exact(a_log), x), y = ball_exp(exponent);
        if (exponent.v + exponent.e < -800) /* huge arguments: their rounding does not matter */
            y = ball_make(0, DBL_TRUE_MIN);
        g->aux[GDN_GATING_AUX_EXPONENT][at] = fabs(exponent.v);
        g->aux[GDN_GATING_AUX_SOFTPLUS][at] = exp(x.v);
        return ball_make(y.v, y.e + 0x1p-57 * y.v);
    }
    struct ball softplus = ball_softplus(x), half = ball_exp(ball_exact(a_log / 2));
    g->aux[GDN_GATING_AUX_SOFTPLUS][at] = softplus.v;
    return ball_mul(ball_mul(half, softplus), half);
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_gdn_gating_args *args = arguments;
    int64_t count = assay_tensor_count(&args->a), heads = args->a_log.extent[0];
    for (int64_t i = 0; i < count; i++) {
        double a_log = oracle_get(&args->a_log, i % heads);
        struct ball x = ball_add(ball_exact(oracle_get(&args->a, i)),
                                 ball_exact(oracle_get(&args->dt_bias, i % heads)));
        struct ball g =
            isnan(x.v) || isnan(a_log) ? ball_exact(NAN) : rate(a_log, x, &outputs[0], i);
        outputs[0].value[i] = -g.v;
        outputs[0].own[i] = g.e;
        struct ball beta = ball_sigmoid(ball_exact(oracle_get(&args->b, i)));
        outputs[1].value[i] = beta.v;
        outputs[1].own[i] = beta.e;
    }
    return ASSAY_OK;
}

static double work(const void *arguments)
{
    const struct assay_gdn_gating_args *args = arguments;
    return (double)assay_tensor_count(&args->a);
}

const struct oracle_op oracle_op_gdn_gating = {
    .name = "gdn_gating",
    .num_outputs = 2,
    .outputs = {"g", "beta"},
    .ref = ref,
    .mpfr = oracle_gdn_gating_mpfr,
    .bound = oracle_gdn_gating_bound,
    .work = work,
};
