/* SPDX-License-Identifier: MIT
 *
 * The parts of rope's oracle.
 */
#ifndef ORACLE_ROPE_H
#define ORACLE_ROPE_H

#include <assay/ops/rope.h>

#include "oracle.h"

assay_status oracle_rope_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_rope_bound(const void *args, const struct oracle_route *route,
                       struct oracle_output *outputs);

#endif
