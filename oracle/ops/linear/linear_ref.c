/* SPDX-License-Identifier: MIT
 *
 * linear in bounded binary64, from the contract [LINEAR-1].
 */
#include "linear_oracle.h"

#include <stdlib.h>

#include "real.h"
#include "words.h"

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_linear_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    int64_t rows = a->x.extent[0], columns = a->w.extent[0], inner = a->w.extent[1];
    double *w = malloc((size_t)inner * sizeof *w), *x = oracle_get_all(&a->x);
    if (w == NULL || (x == NULL && rows > 0)) {
        free(w);
        free(x);
        return ASSAY_E_MEMORY;
    }
    for (int64_t n = 0; n < columns; n++) {
        oracle_get_row(&a->w, n, w);
        for (int64_t t = 0; t < rows; t++) {
            int64_t at = t * columns + n;
            struct ball sum =
                oracle_dot(&x[t * inner], w, inner, &y->aux[LINEAR_AUX_MAGNITUDE][at]);
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
    const struct assay_linear_args *a = arguments;
    return (double)assay_tensor_count(&a->x) * (double)a->w.extent[0];
}

const struct oracle_op oracle_op_linear = {
    .name = "linear",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_linear_mpfr,
    .bound = oracle_linear_bound,
    .work = work,
};
