/* SPDX-License-Identifier: MIT
 *
 * linear's forward-error bound. Derivation: linear_bound.md.
 */
#include "linear_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "bounds.h"
#include "real.h"
#include "words.h"

/* sum |w| of each row of w, for what a split loses beside the relative part. */
static double *row_magnitudes(const struct assay_tensor *w)
{
    int64_t rows = w->extent[0], inner = w->extent[1];
    double *row = malloc((size_t)inner * sizeof *row);
    double *sums = malloc((size_t)rows * sizeof *sums);
    for (int64_t n = 0; row != NULL && sums != NULL && n < rows; n++) {
        oracle_get_row(w, n, row);
        sums[n] = 0;
        for (int64_t k = 0; k < inner; k++)
            sums[n] += fabs(row[k]);
    }
    if (row == NULL) {
        free(sums);
        sums = NULL;
    }
    free(row);
    return sums;
}

/* Profiles a16 and a16x2: exact products; `depth` counts the truncations of mma as roundings. */
static void bound_tensor_cores(const struct assay_linear_args *a, int64_t depth,
                               struct oracle_output *y)
{
    double all = oracle_gamma((double)depth, ORACLE_U32), limit = oracle_max_finite(ASSAY_F32);
    double underflow = ORACLE_TINY32 * (double)depth * (1 + all);
    bool is_split = a->x.dtype == ASSAY_F32;
    double more = is_split ? 1 + 0x1p-6 : 1; /* |high| + |low| <= more |x| */
    double *weights = row_magnitudes(&a->w);
    for (int64_t i = 0; i < y->count; i++) {
        double magnitude = y->aux[LINEAR_AUX_MAGNITUDE][i];
        if (!isfinite(magnitude))
            continue;
        if (is_split) {
            double tiny = weights != NULL ? 0x1p-134 * weights[i % a->w.extent[0]] : INFINITY;
            y->term[ORACLE_TERM_INPUT][i] = 0x1p-17 * (1 + 0x1p-40) * magnitude + tiny;
        }
        y->term[ORACLE_TERM_ACCUMULATION][i] =
            magnitude * more * (1 + all) > limit ? INFINITY : all * more * magnitude + underflow;
    }
    free(weights);
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), 0); /* truncations share a sign */
}

void oracle_linear_bound(const void *args, const struct oracle_route *route,
                         struct oracle_output *outputs)
{
    const struct assay_linear_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t inner = a->w.extent[1], depth = oracle_depth(route, inner);
    if (route->profile == ASSAY_PROFILE_A16 || route->profile == ASSAY_PROFILE_A16X2) {
        bound_tensor_cores(a, depth, y);
        return;
    }
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32;
    double products = binary64 ? 0 : oracle_gamma(1, u); /* exact in binary64 */
    double all = oracle_gamma((double)depth + (binary64 ? 0 : 1), u);
    double underflow = binary64 ? 0 : 0.5 * ORACLE_TINY32 * (double)inner * (1 + all);
    double limit = oracle_max_finite(ASSAY_F32);
    for (int64_t i = 0; i < y->count; i++) {
        double magnitude = y->aux[LINEAR_AUX_MAGNITUDE][i];
        if (!isfinite(magnitude)) {
            continue; /* NaN and infinities are compared by their pattern */
        }
        y->term[ORACLE_TERM_PRODUCTS][i] = products * magnitude + underflow;
        y->term[ORACLE_TERM_ACCUMULATION][i] =
            !binary64 && magnitude * (1 + all) > limit ? INFINITY : (all - products) * magnitude;
    }
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), depth);
}
