/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm from its contract: the sum is one number, rounding included; the norm of that number
 * in bounded binary64 [ADDNORM-1] [ADDNORM-3], qwen3_5.md (F4), (F1), (F2).
 */
#include "add_rmsnorm_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"
#include "words.h"

/* a + b rounded once into the format. Where the binary64 sum is not exact, the exact sum lies
 * strictly between it and a neighbour. Of the two the one with an odd last bit is taken: values and
 * midpoints of formats of 24 bits and less have even ones, so both lie on the same side of every
 * midpoint. */
static double rounded_sum(double a, double b, enum assay_dtype dtype)
{
    double sum = a + b;
    double larger = fabs(a) >= fabs(b) ? a : b, smaller = fabs(a) >= fabs(b) ? b : a;
    double error = smaller - (sum - larger); /* exact: the larger operand comes first */
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (isfinite(sum) && error != 0 && bits % 2 == 0)
        sum = nextafter(sum, error > 0 ? INFINITY : -INFINITY);
    return oracle_round(sum, dtype);
}

/* Row r: x becomes the stored sum. */
static void add_row(const struct assay_add_rmsnorm_args *a, int64_t r, const double *residual,
                    double *x, struct oracle_output *s)
{
    int64_t width = a->w.extent[0];
    for (int64_t i = 0; i < width; i++) {
        x[i] = rounded_sum(residual[i], x[i], a->s.dtype);
        s->value[r * width + i] = x[i];
        s->own[r * width + i] = 0;
    }
}

static void norm_row(const struct assay_add_rmsnorm_args *a, int64_t r, const double *x,
                     const double *w, struct oracle_output *y)
{
    int64_t width = a->w.extent[0];
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

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_add_rmsnorm_args *a = arguments;
    int64_t width = a->w.extent[0];
    double *residual = malloc((size_t)width * sizeof *residual);
    double *x = malloc((size_t)width * sizeof *x), *w = oracle_get_all(&a->w);
    bool enough = residual != NULL && x != NULL && w != NULL;
    for (int64_t r = 0; enough && r < a->s.extent[0]; r++) {
        oracle_get_row(&a->residual, r, residual);
        oracle_get_row(&a->x, r, x);
        add_row(a, r, residual, x, &outputs[0]);
        norm_row(a, r, x, w, &outputs[1]);
    }
    free(residual);
    free(x);
    free(w);
    return enough ? ASSAY_OK : ASSAY_E_MEMORY;
}

static double work(const void *arguments)
{
    const struct assay_add_rmsnorm_args *a = arguments;
    return (double)assay_tensor_count(&a->y);
}

const struct oracle_op oracle_op_add_rmsnorm = {
    .name = "add_rmsnorm",
    .num_outputs = 2,
    .outputs = {"s", "y"},
    .ref = ref,
    .mpfr = oracle_add_rmsnorm_mpfr,
    .bound = oracle_add_rmsnorm_bound,
    .work = work,
};
