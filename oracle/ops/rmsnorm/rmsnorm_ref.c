/* SPDX-License-Identifier: MIT
 *
 * rmsnorm in bounded binary64, from the contract [RMSNORM-1] and qwen3_5.md (F1), (F2).
 */
#include "rmsnorm_oracle.h"

#include <stdlib.h>

#include "real.h"
#include "words.h"

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_rmsnorm_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    int64_t width = a->w.extent[0], rows = assay_tensor_rows(&a->x);
    double *x = malloc((size_t)width * sizeof *x), *w = oracle_get_all(&a->w);
    if (x == NULL || w == NULL) {
        free(x);
        free(w);
        return ASSAY_E_MEMORY;
    }
    for (int64_t r = 0; r < rows; r++) {
        oracle_get_row(&a->x, r, x);
        struct ball mean = ball_div(oracle_dot(x, x, width, NULL), ball_exact((double)width));
        struct ball root = ball_sqrt(ball_add(mean, ball_exact(a->eps)));
        for (int64_t i = 0; i < width; i++) {
            struct ball gain = ball_exact(w[i]);
            if (a->unit_offset)
                gain = ball_add(ball_exact(1), gain);
            struct ball value = ball_div(ball_mul(ball_exact(x[i]), gain), root);
            y->value[r * width + i] = value.v;
            y->own[r * width + i] = value.e;
        }
    }
    free(x);
    free(w);
    return ASSAY_OK;
}

static double work(const void *arguments)
{
    const struct assay_rmsnorm_args *a = arguments;
    return (double)assay_tensor_count(&a->x);
}

const struct oracle_op oracle_op_rmsnorm = {
    .name = "rmsnorm",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_rmsnorm_mpfr,
    .bound = oracle_rmsnorm_bound,
    .work = work,
};
