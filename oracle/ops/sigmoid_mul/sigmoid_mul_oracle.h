/* SPDX-License-Identifier: MIT
 *
 * The parts of sigmoid_mul's oracle.
 */
#ifndef ORACLE_SIGMOID_MUL_H
#define ORACLE_SIGMOID_MUL_H

#include <assay/ops/sigmoid_mul.h>

#include "oracle.h"

/* True where an infinite x makes the result infinite. */
bool oracle_sigmoid_mul_infinite(double gate, double x);
/* The gate of element `index` of y: its own, or its row's. */
double oracle_sigmoid_mul_gate(const struct assay_sigmoid_mul_args *args, int64_t index);
assay_status oracle_sigmoid_mul_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs);
void oracle_sigmoid_mul_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs);

#endif
