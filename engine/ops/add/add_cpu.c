/* SPDX-License-Identifier: MIT
 *
 * add, the plain route: one rounding of the exact sum. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/add/add_routes.h"

#include <math.h>

/* a + b rounded to odd in binary64: the neighbour with an odd last bit when the sum is not a
 * binary64 value. Rounding that again, to any format of at most 51 bits, equals rounding the exact
 * sum once (Boldo and Melquiond, 2008); plain binary64 addition would lose what decides a tie.
 * The error term is Knuth's exact two-sum; binary32 operands cannot overflow it. */
static double sum_to_odd(double a, double b)
{
    double sum = a + b;
    double part = sum - a;
    double error = (a - (sum - part)) + (b - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error == 0 || !isfinite(error) || (bits & 1) != 0)
        return sum;
    bits += (error > 0) == (sum > 0) ? 1 : UINT64_MAX; /* one step towards the exact sum */
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

void add_row_plain(const struct assay_add_args *args, int64_t r)
{
    const void *a = assay_tensor_row(&args->a, r), *b = assay_tensor_row(&args->b, r);
    void *y = assay_tensor_row(&args->y, r);
    for (int64_t i = 0; i < args->y.extent[1]; i++) { /* y may be a or b: read, then write */
        double x = word_to_f64(a, args->a.dtype, i), z = word_to_f64(b, args->b.dtype, i);
        word_from_f64(sum_to_odd(x, z), y, args->y.dtype, i);
    }
}

static void rows(void *argument, int64_t first, int64_t last)
{
    for (int64_t r = first; r < last; r++)
        add_row_plain(argument, r);
}

assay_status add_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_add_args *a = args;
    (void)workspace;
    assay_parallel(context, a->y.extent[0], add_grain(a), rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
