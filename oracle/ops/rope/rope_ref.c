/* SPDX-License-Identifier: MIT
 *
 * rope in bounded binary64, from the contract [ROPE-1] to [ROPE-3] and qwen3_5.md (F7), (F8).
 */
#include "rope_oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

/* (F8): axis of a pair when there are three rows of positions. */
static int64_t axis_of(const struct assay_rope_args *a, int64_t pair)
{
    int64_t axis = pair % 3;
    bool own_axis = axis != 0 && pair < 3 * a->sections[axis];
    return a->positions.rank == 2 && own_axis ? axis : 0;
}

/* u cos + v sin into element `at`, and what the bound needs: the magnitude of the two products,
 * and how fast the sum changes with the angle. Both are 0 where a position of 0 makes the rotation
 * a copy. */
static void combine(struct ball cosine, struct ball sine, double u, double v, int64_t at,
                    struct oracle_output *y)
{
    struct ball sum = ball_add(ball_mul(ball_exact(u), cosine), ball_mul(ball_exact(v), sine));
    bool is_copy = sine.v == 0 && sine.e == 0;
    y->value[at] = sum.v;
    y->own[at] = sum.e;
    y->aux[0][at] = is_copy ? 0 : fabs(u * cosine.v) + fabs(v * sine.v);
    y->aux[1][at] = is_copy ? 0 : fabs(u * sine.v) + fabs(v * cosine.v);
}

/* One head: x is its row, `at` the row's first element in y. */
static void rotate(const struct assay_rope_args *a, const struct ball *cosine,
                   const struct ball *sine, const double *x, int64_t at, struct oracle_output *y)
{
    int64_t half = a->rotary_dim / 2;
    for (int64_t i = 0; i < half; i++) {
        combine(cosine[i], sine[i], x[i], -x[i + half], at + i, y);
        combine(cosine[i], sine[i], x[i + half], x[i], at + i + half, y);
    }
    for (int64_t i = a->rotary_dim; i < a->x.extent[2]; i++)
        y->value[at + i] = x[i];
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_rope_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    int64_t tokens = a->x.extent[0], heads = a->x.extent[1], width = a->x.extent[2];
    int64_t half = a->rotary_dim / 2;
    double *x = malloc((size_t)width * sizeof *x);
    struct ball *cosine = malloc((size_t)half * 2 * sizeof *cosine);
    if (x == NULL || cosine == NULL) {
        free(x);
        free(cosine);
        return ASSAY_E_MEMORY;
    }
    struct ball *sine = cosine + half;
    for (int64_t t = 0; t < tokens; t++) {
        for (int64_t i = 0; i < half; i++) {
            int64_t position = oracle_get_int(&a->positions, axis_of(a, i) * tokens + t);
            ball_rotation(position, a->theta, i, a->rotary_dim, &cosine[i], &sine[i]);
            if (sine[i].v == 0 && sine[i].e > 0) /* not 0, only too small: an infinity stays one */
                sine[i].v = DBL_TRUE_MIN;
        }
        for (int64_t row = t * heads; row < (t + 1) * heads; row++) {
            oracle_get_row(&a->x, row, x);
            rotate(a, cosine, sine, x, row * width, y);
        }
    }
    free(x);
    free(cosine);
    return ASSAY_OK;
}

static double work(const void *arguments)
{
    const struct assay_rope_args *a = arguments;
    return 2 * (double)assay_tensor_rows(&a->x) * (double)a->rotary_dim;
}

const struct oracle_op oracle_op_rope = {
    .name = "rope",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_rope_mpfr,
    .bound = oracle_rope_bound,
    .work = work,
};
