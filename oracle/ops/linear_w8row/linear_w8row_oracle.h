/* SPDX-License-Identifier: MIT
 *
 * The parts of linear_w8row's oracle: the exact product, and the steps in which a route may have
 * rounded both operands of it.
 */
#ifndef ORACLE_LINEAR_W8ROW_H
#define ORACLE_LINEAR_W8ROW_H

#include <assay/ops/linear_w8row.h>

#include "oracle.h"

/* Both operands widened, and what is not a number by contract [LINEARW8ROW-7]. */
struct oracle_w8row_operands {
    int64_t rows, columns, inner; /* T, N, K */
    double *x, *w;                /* [T][K], [N][K]; rows that are no numbers hold zeros */
    bool *x_is_nan, *w_is_nan;    /* [T], [N] */
};
/* False when out of memory. Destroy in any case. */
bool oracle_w8row_operands_create(struct oracle_w8row_operands *o,
                                  const struct assay_linear_w8row_args *a);
void oracle_w8row_operands_destroy(struct oracle_w8row_operands *o);

/* The same quantities as a route's, as real numbers: theirs are within 2^-21 of them. */
struct oracle_w8row_steps {
    double *channel; /* s [K] */
    double *token;   /* step of x / s [T] */
    double *row;     /* step of w * s [N] */
};
bool oracle_w8row_steps_create(struct oracle_w8row_steps *s, const struct oracle_w8row_operands *o,
                               const struct assay_linear_w8row_args *a);
void oracle_w8row_steps_destroy(struct oracle_w8row_steps *s);

assay_status oracle_linear_w8row_mpfr(const void *args, long precision,
                                      struct oracle_output *outputs);
void oracle_linear_w8row_bound(const void *args, const struct oracle_route *route,
                               struct oracle_output *outputs);

#endif
