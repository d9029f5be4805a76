/* SPDX-License-Identifier: MIT
 *
 * linear_a8, the plain route: the contract line by line. Written to be read.
 */
#include <math.h>

#include "core/core.h"
#include "ops/linear_a8/linear_a8_routes.h"

struct product {
    const struct assay_linear_a8_args *a;
    struct a8_activations x;
};

/* acc of [LINEARA8-2]. Codes of x are zero where w has padding. */
static float accumulate(const struct grouped_row *w, const int16_t *codes, const float *scales,
                        int64_t inner)
{
    float acc = 0;
    for (int64_t k = 0; k < inner; k += w->group) {
        int32_t sum = 0;
        for (int64_t i = k; i < k + w->group; i++)
            sum += codes[i] * grouped_code(w, i);
        acc = fmaf((float)sum, f16_to_f32(w->scales[k / w->group]) * scales[k / A8_GROUP], acc);
    }
    return acc;
}

static void columns(void *argument, int64_t first, int64_t last)
{
    const struct product *p = argument;
    const struct assay_linear_a8_args *a = p->a;
    for (int64_t n = first; n < last; n++) {
        struct grouped_row w = grouped_row_of(&a->w, n);
        for (int64_t t = 0; t < a->x.extent[0]; t++) {
            float acc = accumulate(&w, p->x.codes + t * p->x.pitch, p->x.scales + t * p->x.groups,
                                   a->w.columns);
            if (a->residual.data != NULL)
                acc += ((const float *)assay_tensor_row(&a->residual, t))[n];
            words_from_f32(&acc, 1,
                           (char *)assay_tensor_row(&a->y, t) +
                               (size_t)n * assay_dtype_bytes(a->y.dtype),
                           a->y.dtype);
        }
    }
}

assay_status linear_a8_route_plain(assay_context *context, const void *args, void *workspace)
{
    struct product p = {args, a8_activations_at(args, workspace)};
    a8_quantise(context, p.a, &p.x);
    assay_parallel(context, p.a->w.rows, 16, columns, &p);
    return ASSAY_OK;
}
