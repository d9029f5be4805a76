/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d in bounded binary64, from the contract [CONV1D-1] to [CONV1D-3] and qwen3_5.md
 * (F12).
 */
#include "causal_conv1d_oracle.h"

#include <math.h>

#include "real.h"
#include "words.h"

/* Row i of [state | x]. */
static double history(const struct assay_causal_conv1d_args *args, int64_t i, int64_t c)
{
    int64_t kept = args->state.extent[0], channels = args->w.extent[0];
    return i < kept ? oracle_get(&args->state, i * channels + c)
                    : oracle_get(&args->x, (i - kept) * channels + c);
}

void oracle_conv1d_window(const struct assay_causal_conv1d_args *args, int64_t t, int64_t c,
                          double *w, double *x)
{
    int64_t taps = args->w.extent[1];
    for (int64_t j = 0; j < taps; j++) {
        w[j] = oracle_get(&args->w, c * taps + j);
        x[j] = history(args, t + j, c);
    }
}

void oracle_conv1d_state(const struct assay_causal_conv1d_args *args, struct oracle_output *state)
{
    int64_t tokens = args->x.extent[0], channels = args->w.extent[0];
    for (int64_t i = 0; i < state->count; i++) {
        double kept = history(args, tokens + i / channels, i % channels);
        state->value[i] = oracle_round(kept, state->dtype);
        state->own[i] = 0;
    }
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_causal_conv1d_args *args = arguments;
    struct oracle_output *y = &outputs[0];
    int64_t channels = args->w.extent[0], taps = args->w.extent[1];
    for (int64_t i = 0; i < y->count; i++) {
        double w[ORACLE_CONV1D_MAX_TAPS], x[ORACLE_CONV1D_MAX_TAPS];
        oracle_conv1d_window(args, i / channels, i % channels, w, x);
        struct ball sum = oracle_dot(w, x, taps, &y->aux[CONV1D_AUX_MAGNITUDE][i]);
        y->aux[CONV1D_AUX_SUM][i] = sum.v;
        struct ball value = args->silu ? ball_silu(sum) : sum;
        y->value[i] = value.v;
        y->own[i] = value.e;
    }
    oracle_conv1d_state(args, &outputs[1]);
    return ASSAY_OK;
}

static double work(const void *arguments)
{
    const struct assay_causal_conv1d_args *args = arguments;
    return (double)assay_tensor_count(&args->x) * (double)args->w.extent[1];
}

const struct oracle_op oracle_op_causal_conv1d = {
    .name = "causal_conv1d",
    .num_outputs = 2,
    .outputs = {"y", "state"},
    .ref = ref,
    .mpfr = oracle_causal_conv1d_mpfr,
    .bound = oracle_causal_conv1d_bound,
    .work = work,
};
