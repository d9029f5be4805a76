/* SPDX-License-Identifier: MIT
 *
 * linear_grouped in bounded binary64, from the contract [LINEARGROUPED-1]; the planes are read by
 * the oracle's own decoder.
 */
#include "linear_grouped_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "oracle_formats.h"
#include "real.h"
#include "words.h"

/* Row n: the weights, and the largest magnitude that a code or a weight has in any order of the
 * factors. */
static void read_row(const struct assay_weights *w, int64_t n, double *weight, double *reach)
{
    int group = oracle_weight_format(w->format).group;
    for (int64_t k = 0; k < w->columns; k++) {
        double scale = oracle_weight_scale(w, n, k / group);
        int code = oracle_weight_code(w, n, k);
        weight[k] = code * scale;
        reach[k] = abs(code) * fmax(1, fabs(scale));
    }
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_linear_grouped_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    int64_t rows = a->x.extent[0], columns = a->w.rows, inner = a->w.columns;
    double *w = malloc(2 * (size_t)inner * sizeof *w), *x = oracle_get_all(&a->x);
    if (w == NULL || (x == NULL && rows > 0)) {
        free(w);
        free(x);
        return ASSAY_E_MEMORY;
    }
    for (int64_t n = 0; n < columns; n++) {
        read_row(&a->w, n, w, w + inner);
        for (int64_t t = 0; t < rows; t++) {
            int64_t at = t * columns + n;
            oracle_dot(&x[t * inner], w + inner, inner, &y->aux[LINEAR_GROUPED_AUX_REACH][at]);
            struct ball sum =
                oracle_dot(&x[t * inner], w, inner, &y->aux[LINEAR_GROUPED_AUX_MAGNITUDE][at]);
            if (a->residual.data != NULL)
                sum = ball_add(sum, ball_exact(oracle_get(&a->residual, at)));
            y->value[at] = sum.v;
            y->own[at] = sum.e;
        }
    }
    free(w);
    free(x);
    return ASSAY_OK;
}

static double work(const void *arguments)
{
    const struct assay_linear_grouped_args *a = arguments;
    return (double)assay_tensor_count(&a->x) * (double)a->w.rows;
}

const struct oracle_op oracle_op_linear_grouped = {
    .name = "linear_grouped",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_linear_grouped_mpfr,
    .bound = oracle_linear_grouped_bound,
    .work = work,
};
