/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped on the host: the routes of moe_experts (moe_experts_cpu.c,
 * moe_experts_simd.c), which take banks of any format.
 */
#include "ops/moe_experts_grouped/moe_experts_grouped_routes.h"

assay_status moe_experts_grouped_route_plain(assay_context *context, const void *args,
                                             void *workspace)
{
    const struct expert_call call = grouped_call_of(args);
    return experts_run_plain(context, &call, workspace);
}

#if defined(ASSAY_SIMD)
assay_status moe_experts_grouped_route_avx2(assay_context *context, const void *args,
                                            void *workspace)
{
    const struct expert_call call = grouped_call_of(args);
    return experts_run_avx2(context, &call, workspace);
}

assay_status moe_experts_grouped_route_avx512(assay_context *context, const void *args,
                                              void *workspace)
{
    const struct expert_call call = grouped_call_of(args);
    return experts_run_avx512(context, &call, workspace);
}
#endif
