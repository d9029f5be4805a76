/* SPDX-License-Identifier: MIT
 *
 * rope, the plain route: the formula in binary64, one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/rope/rope_routes.h"

struct work {
    const struct assay_rope_args *a;
    const double *frequency; /* of each pair */
};

void rope_row_plain(const struct assay_rope_args *a, const double *frequency, int64_t t,
                    const void *x, void *y)
{
    int64_t half = a->rotary_dim / 2;
    for (int64_t i = 0; i < half; i++) { /* y may be x: a pair is read, then written */
        double phi = rope_angle(a, frequency, t, i), c = cos(phi), s = sin(phi);
        double first = word_to_f64(x, a->x.dtype, i);
        double second = word_to_f64(x, a->x.dtype, i + half);
        word_from_f64(first * c - second * s, y, a->y.dtype, i);
        word_from_f64(second * c + first * s, y, a->y.dtype, i + half);
    }
    for (int64_t i = a->rotary_dim; i < a->x.extent[2]; i++)
        word_from_f64(word_to_f64(x, a->x.dtype, i), y, a->y.dtype, i);
}

static void tokens(void *argument, int64_t first, int64_t last)
{
    const struct work *work = argument;
    const struct assay_rope_args *a = work->a;
    int64_t heads = a->x.extent[1];
    for (int64_t t = first; t < last; t++)
        for (int64_t row = t * heads; row < (t + 1) * heads; row++)
            rope_row_plain(a, work->frequency, t, assay_tensor_row(&a->x, row),
                           assay_tensor_row(&a->y, row));
}

assay_status rope_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_rope_args *a = args;
    struct work work = {.a = a, .frequency = workspace};
    rope_frequencies(a, workspace);
    assay_parallel(context, a->x.extent[0], 1, tokens, &work);
    return ASSAY_OK;
}
