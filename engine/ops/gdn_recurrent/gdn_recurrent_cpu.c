/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent, the plain route: the recurrence as it is written, each token in binary64. The
 * state is rounded to its format after every token, so the profile is that of the state's format
 * and not f64.
 *
 * Columns of a head's state do not see each other: one column runs through all tokens.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/gdn_recurrent/gdn_recurrent_routes.h"

#include <math.h>

static void step(const struct assay_gdn_recurrent_args *a, int64_t t, int64_t head, int64_t column)
{
    int64_t key_heads = a->q.extent[1], heads = a->v.extent[1], key_dim = a->q.extent[2];
    int64_t key_row = t * key_heads + head / (heads / key_heads), row = t * heads + head;
    const void *q = assay_tensor_row(&a->q, key_row), *k = assay_tensor_row(&a->k, key_row);
    const void *g = assay_tensor_row(&a->g, t), *beta = assay_tensor_row(&a->beta, t);
    double alpha = exp(word_to_f64(g, ASSAY_F32, head));
    double prediction = 0;
    for (int64_t i = 0; i < key_dim; i++) {
        const void *s = assay_tensor_row(&a->state, head * key_dim + i);
        prediction +=
            alpha * word_to_f64(s, a->state.dtype, column) * word_to_f64(k, a->k.dtype, i);
    }
    double v = word_to_f64(assay_tensor_row(&a->v, row), a->v.dtype, column);
    double delta = word_to_f64(beta, ASSAY_F32, head) * (v - prediction);
    double o = 0;
    for (int64_t i = 0; i < key_dim; i++) {
        void *s = assay_tensor_row(&a->state, head * key_dim + i);
        double updated =
            alpha * word_to_f64(s, a->state.dtype, column) + word_to_f64(k, a->k.dtype, i) * delta;
        o += updated * (a->scale * word_to_f64(q, a->q.dtype, i));
        word_from_f64(updated, s, a->state.dtype, column);
    }
    word_from_f64(o, assay_tensor_row(&a->o, row), a->o.dtype, column);
}

static void columns(void *argument, int64_t first, int64_t last)
{
    const struct assay_gdn_recurrent_args *a = argument;
    int64_t value_dim = a->v.extent[2];
    for (int64_t i = first; i < last; i++)
        for (int64_t t = 0; t < a->q.extent[0]; t++)
            step(a, t, i / value_dim, i % value_dim);
}

assay_status gdn_recurrent_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_gdn_recurrent_args *a = args;
    (void)workspace;
    assay_parallel(context, a->v.extent[1] * a->v.extent[2], a->v.extent[2], columns,
                   (void *)(uintptr_t)args);
    return ASSAY_OK;
}
