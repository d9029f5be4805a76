/* SPDX-License-Identifier: MIT
 *
 * The parts of linear_swiglu's oracle.
 */
#ifndef ORACLE_LINEAR_SWIGLU_H
#define ORACLE_LINEAR_SWIGLU_H

#include <assay/ops/linear_swiglu.h>

#include "oracle.h"

/* aux of y: each sum, and what its product's ref leaves (matrix_product_oracle.h) behind it. */
enum { LINEAR_SWIGLU_AUX_GATE = 0, LINEAR_SWIGLU_AUX_UP = 3 };

/* The result where a sum is not finite: NaN, or an infinity of the formula's sign. Zero where one
 * is infinite and the other zero within its rounding (magnitude: sum |x w|), which is not promised.
 */
double oracle_swiglu_nonfinite(double gate, double gate_magnitude, double up, double up_magnitude,
                               int64_t inner);
assay_status oracle_linear_swiglu_mpfr(const void *args, long precision,
                                       struct oracle_output *outputs);
void oracle_linear_swiglu_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs);

#endif
