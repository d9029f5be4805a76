/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped in MPFR: moe_experts' sums of exact products, of codes times scales.
 */
#include "moe_experts_grouped_oracle.h"

assay_status oracle_moe_experts_grouped_mpfr(const void *args, long precision,
                                             struct oracle_output *outputs)
{
    const struct moe_call c = oracle_moe_grouped_call(args);
    return oracle_moe_mpfr(&c, precision, outputs);
}
