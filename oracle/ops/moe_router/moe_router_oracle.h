/* SPDX-License-Identifier: MIT
 *
 * The parts of moe_router's oracle.
 */
#ifndef ORACLE_MOE_ROUTER_H
#define ORACLE_MOE_ROUTER_H

#include <assay/ops/moe_router.h>

#include "oracle.h"

/* The outputs, in order. */
enum { ROUTER_IDS, ROUTER_WEIGHTS };

/* Fills ids[k] for logits[count] by [MOEROUTER-1] and [MOEROUTER-4]. False: the weights are NaN. */
bool oracle_moe_router_select(const double *logits, int64_t count, int64_t k, int64_t *ids);
assay_status oracle_moe_router_mpfr(const void *args, long precision,
                                    struct oracle_output *outputs);
void oracle_moe_router_bound(const void *args, const struct oracle_route *route,
                             struct oracle_output *outputs);

#endif
