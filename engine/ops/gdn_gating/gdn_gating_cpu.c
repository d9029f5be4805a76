/* SPDX-License-Identifier: MIT
 *
 * gdn_gating, the plain route: the formulas in binary64, one rounding into g and beta.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/gdn_gating/gdn_gating_routes.h"

#include <float.h>
#include <math.h>

/* Below -40, softplus(x) is exp(x) to the last bit of binary64, and one exponential of the sum
 * neither underflows nor overflows before the product does. Elsewhere softplus is at least
 * exp(-41), and exp(a_log) is applied as the square of exp(a_log / 2): each factor stays in range
 * whenever the product does. */
double gdn_gating_decay(double a, double dt_bias, double a_log)
{
    double x = a + dt_bias;
    if (x < -40)
        return -exp(a_log + x);
    if (isinf(x))
        return a_log >= -DBL_MAX ? -x : NAN; /* exp(-inf) times infinity; or NaN itself */
    double softplus = x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); /* NaN passes */
    double half = exp(a_log / 2);
    return -(half * softplus * half);
}

double gdn_gating_beta(double b)
{
    if (b < 0) {
        double t = exp(b);
        return t / (1 + t);
    }
    return 1 / (1 + exp(-b));
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_gdn_gating_args *a = argument;
    int64_t heads = a->a_log.extent[0];
    for (int64_t t = first; t < last; t++) {
        const void *pa = assay_tensor_row(&a->a, t), *pb = assay_tensor_row(&a->b, t);
        float *g = assay_tensor_row(&a->g, t), *beta = assay_tensor_row(&a->beta, t);
        for (int64_t h = 0; h < heads; h++) { /* g may be a, beta may be b */
            g[h] = (float)gdn_gating_decay(word_to_f64(pa, a->a.dtype, h),
                                           word_to_f64(a->dt_bias.data, a->dt_bias.dtype, h),
                                           word_to_f64(a->a_log.data, a->a_log.dtype, h));
            beta[h] = (float)gdn_gating_beta(word_to_f64(pb, a->b.dtype, h));
        }
    }
}

assay_status gdn_gating_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_gdn_gating_args *a = args;
    (void)workspace;
    assay_parallel(context, a->a.extent[0], 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
