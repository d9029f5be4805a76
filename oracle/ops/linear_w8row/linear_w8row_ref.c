/* SPDX-License-Identifier: MIT
 *
 * linear_w8row in bounded binary64: sum_k x w, what the quantised product stands for.
 */
#include "linear_w8row_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_formats.h"
#include "real.h"
#include "words.h"

static bool is_finite(const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static void clear_unless(bool keep, double *values, int64_t count)
{
    for (int64_t i = 0; !keep && i < count; i++)
        values[i] = 0;
}

bool oracle_w8row_operands_create(struct oracle_w8row_operands *o,
                                  const struct assay_linear_w8row_args *a)
{
    *o = (struct oracle_w8row_operands){
        .rows = a->x.extent[0], .columns = a->w.rows, .inner = a->w.columns};
    size_t rows = (size_t)o->rows, columns = (size_t)o->columns, inner = (size_t)o->inner;
    o->x = calloc(rows * inner + 1, sizeof *o->x);
    o->w = calloc(columns * inner, sizeof *o->w);
    o->x_is_nan = calloc(rows + 1, sizeof *o->x_is_nan);
    o->w_is_nan = calloc(columns, sizeof *o->w_is_nan);
    if (o->x == NULL || o->w == NULL || o->x_is_nan == NULL || o->w_is_nan == NULL)
        return false;
    for (int64_t t = 0; t < o->rows; t++) {
        double *x = o->x + t * o->inner;
        oracle_get_row(&a->x, t, x);
        o->x_is_nan[t] = !is_finite(x, o->inner);
        clear_unless(!o->x_is_nan[t], x, o->inner);
    }
    int group = oracle_weight_format(a->w.format).group;
    for (int64_t n = 0; n < o->columns; n++) {
        double *w = o->w + n * o->inner;
        for (int64_t g = 0; g * group < o->inner; g++)
            o->w_is_nan[n] = o->w_is_nan[n] || !isfinite(oracle_weight_scale(&a->w, n, g));
        oracle_weight_row(&a->w, n, w);
        clear_unless(!o->w_is_nan[n], w, o->inner);
    }
    return true;
}

void oracle_w8row_operands_destroy(struct oracle_w8row_operands *o)
{
    free(o->x);
    free(o->w);
    free(o->x_is_nan);
    free(o->w_is_nan);
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    struct oracle_output *y = &outputs[0];
    struct oracle_w8row_operands o;
    bool good = oracle_w8row_operands_create(&o, arguments);
    for (int64_t at = 0; good && at < y->count; at++) {
        int64_t t = at / o.columns, n = at % o.columns;
        struct ball sum = oracle_dot(o.x + t * o.inner, o.w + n * o.inner, o.inner, NULL);
        bool is_nan = o.x_is_nan[t] || o.w_is_nan[n];
        y->value[at] = is_nan ? NAN : sum.v;
        y->own[at] = is_nan ? 0 : sum.e;
    }
    oracle_w8row_operands_destroy(&o);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}

static double work(const void *arguments)
{
    const struct assay_linear_w8row_args *a = arguments;
    return (double)assay_tensor_count(&a->x) * (double)a->w.rows;
}

/* Where a few channels leave no digits to the others and nothing is equalised the error is larger
 * than the result, and no fault of the route. */
static double ceiling(const void *arguments, enum assay_profile profile)
{
    (void)arguments;
    (void)profile;
    return INFINITY;
}

const struct oracle_op oracle_op_linear_w8row = {
    .name = "linear_w8row",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_linear_w8row_mpfr,
    .bound = oracle_linear_w8row_bound,
    .ceiling = ceiling,
    .work = work,
};
