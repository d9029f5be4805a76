/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm in bounded binary64, from the contract [GRMSNORM-1] and qwen3_5.md (F16).
 */
#include "gated_rmsnorm_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

struct buffers {
    double *x, *z, *w;
};

static void ref_row(const struct assay_gated_rmsnorm_args *a, int64_t r, struct buffers b,
                    struct oracle_output *y)
{
    int64_t width = a->w.extent[0];
    oracle_get_row(&a->x, r, b.x);
    oracle_get_row(&a->z, r, b.z);
    struct ball mean = ball_div(oracle_dot(b.x, b.x, width, NULL), ball_exact((double)width));
    struct ball root = ball_sqrt(ball_add(mean, ball_exact(a->eps)));
    for (int64_t i = 0; i < width; i++) {
        int64_t at = r * width + i;
        struct ball normed = ball_div(ball_mul(ball_exact(b.x[i]), ball_exact(b.w[i])), root);
        struct ball value = ball_mul(normed, ball_silu(ball_exact(b.z[i])));
        /* silu is 0 at 0 and -infinity alone, however far below the range of any format it is */
        if (isinf(normed.v) && isfinite(b.z[i]) && b.z[i] != 0)
            value = ball_exact(normed.v * b.z[i]);
        y->value[at] = value.v;
        y->own[at] = value.e;
        y->aux[GATED_RMSNORM_AUX_NORMED][at] = fabs(normed.v);
    }
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_gated_rmsnorm_args *a = arguments;
    size_t bytes = (size_t)a->w.extent[0] * sizeof(double);
    struct buffers b = {malloc(bytes), malloc(bytes), oracle_get_all(&a->w)};
    assay_status status = ASSAY_E_MEMORY;
    if (b.x != NULL && b.z != NULL && b.w != NULL) {
        for (int64_t r = 0; r < assay_tensor_rows(&a->x); r++)
            ref_row(a, r, b, &outputs[0]);
        status = ASSAY_OK;
    }
    free(b.x);
    free(b.z);
    free(b.w);
    return status;
}

static double work(const void *arguments)
{
    const struct assay_gated_rmsnorm_args *a = arguments;
    return (double)assay_tensor_count(&a->x);
}

const struct oracle_op oracle_op_gated_rmsnorm = {
    .name = "gated_rmsnorm",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_gated_rmsnorm_mpfr,
    .bound = oracle_gated_rmsnorm_bound,
    .work = work,
};
