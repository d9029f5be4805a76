/* SPDX-License-Identifier: MIT
 *
 * l2norm in bounded binary64, from the contract [L2NORM-1] and qwen3_5.md (F3).
 */
#include "l2norm_oracle.h"

#include <stdlib.h>

#include "real.h"
#include "words.h"

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_l2norm_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    int64_t width = a->x.extent[a->x.rank - 1], rows = assay_tensor_rows(&a->x);
    double *x = malloc((size_t)width * sizeof *x);
    if (x == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t r = 0; r < rows; r++) {
        oracle_get_row(&a->x, r, x);
        struct ball sum = oracle_dot(x, x, width, NULL);
        struct ball root = ball_sqrt(ball_add(sum, ball_exact(a->eps)));
        for (int64_t i = 0; i < width; i++) {
            struct ball value = ball_div(ball_exact(x[i]), root);
            y->value[r * width + i] = value.v;
            y->own[r * width + i] = value.e;
        }
    }
    free(x);
    return ASSAY_OK;
}

static double work(const void *arguments)
{
    const struct assay_l2norm_args *a = arguments;
    return (double)assay_tensor_count(&a->x);
}

const struct oracle_op oracle_op_l2norm = {
    .name = "l2norm",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_l2norm_mpfr,
    .bound = oracle_l2norm_bound,
    .work = work,
};
