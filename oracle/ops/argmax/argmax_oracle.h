/* SPDX-License-Identifier: MIT
 *
 * The parts of argmax's oracle.
 */
#ifndef ORACLE_ARGMAX_H
#define ORACLE_ARGMAX_H

#include <assay/ops/argmax.h>

#include "oracle.h"

assay_status oracle_argmax_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_argmax_bound(const void *args, const struct oracle_route *route,
                         struct oracle_output *outputs);

#endif
