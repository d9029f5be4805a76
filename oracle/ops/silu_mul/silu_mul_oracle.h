/* SPDX-License-Identifier: MIT
 *
 * The parts of silu_mul's oracle.
 */
#ifndef ORACLE_SILU_MUL_H
#define ORACLE_SILU_MUL_H

#include <assay/ops/silu_mul.h>

#include "oracle.h"

/* True where an infinite up makes the result infinite, with the sign of gate times up. */
bool oracle_silu_mul_infinite(double gate, double up);
assay_status oracle_silu_mul_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_silu_mul_bound(const void *args, const struct oracle_route *route,
                           struct oracle_output *outputs);

#endif
