/* SPDX-License-Identifier: MIT
 *
 * The parts of moe_experts_grouped's oracle: those of moe_experts' with banks that the oracle's own
 * decoder reads.
 */
#ifndef ORACLE_MOE_EXPERTS_GROUPED_H
#define ORACLE_MOE_EXPERTS_GROUPED_H

#include <assay/ops/moe_experts_grouped.h>

#include "moe_experts_oracle.h"

struct moe_call oracle_moe_grouped_call(const struct assay_moe_experts_grouped_args *a);

assay_status oracle_moe_experts_grouped_mpfr(const void *args, long precision,
                                             struct oracle_output *outputs);
void oracle_moe_experts_grouped_bound(const void *args, const struct oracle_route *route,
                                      struct oracle_output *outputs);

#endif
