/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d, the plain route: the formula in binary64, one rounding into y.
 *
 * A channel's last `taps` inputs travel in a window. It starts with the state and ends as the
 * state, so that calls shorter than the state need no case of their own, and y may be x.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/causal_conv1d/causal_conv1d_routes.h"

#include <math.h>

static void channel(const struct assay_causal_conv1d_args *a, int64_t c)
{
    int64_t taps = a->w.extent[1], tokens = a->x.extent[0];
    const void *w = assay_tensor_row(&a->w, c);
    double window[CAUSAL_CONV1D_MAX_TAPS];
    for (int64_t j = 0; j < taps - 1; j++)
        window[j] = word_to_f64(assay_tensor_row(&a->state, j), a->state.dtype, c);
    for (int64_t t = 0; t < tokens; t++) {
        window[taps - 1] = word_to_f64(assay_tensor_row(&a->x, t), a->x.dtype, c);
        double sum = 0;
        for (int64_t j = 0; j < taps; j++)
            sum += word_to_f64(w, a->w.dtype, j) * window[j];
        double y = a->silu ? sum / (1 + exp(-sum)) : sum;
        word_from_f64(y, assay_tensor_row(&a->y, t), a->y.dtype, c);
        for (int64_t j = 0; j < taps - 1; j++)
            window[j] = window[j + 1];
    }
    for (int64_t j = 0; j < taps - 1; j++)
        word_from_f64(window[j], assay_tensor_row(&a->state, j), a->state.dtype, c);
}

static void channels(void *argument, int64_t first, int64_t last)
{
    for (int64_t c = first; c < last; c++)
        channel(argument, c);
}

assay_status causal_conv1d_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_causal_conv1d_args *a = args;
    (void)workspace;
    assay_parallel(context, a->w.extent[0], 256, channels, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
