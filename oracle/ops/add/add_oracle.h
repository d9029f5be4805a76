/* SPDX-License-Identifier: MIT
 *
 * The parts of add's oracle.
 */
#ifndef ORACLE_ADD_H
#define ORACLE_ADD_H

#include <assay/ops/add.h>

#include "oracle.h"

assay_status oracle_add_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_add_bound(const void *args, const struct oracle_route *route,
                      struct oracle_output *outputs);

#endif
