/* SPDX-License-Identifier: MIT
 *
 * moe_experts: argument checks, floor, and the route table.
 */
#include <assay/ops/moe_router.h>

#include "core/core.h"
#include "ops/moe_experts/expert_banks.h"
#include "ops/moe_experts/moe_experts_routes.h"

static assay_status check_banks(assay_context *context, const struct assay_moe_experts_args *a)
{
    const char *op = "moe_experts";
    const unsigned bf16 = ASSAY_FORMAT(ASSAY_BF16);
    ASSAY_TRY(assay_check_tensor(context, op, "gate_up", &a->gate_up, 3, 3, bf16, false));
    ASSAY_TRY(assay_check_tensor(context, op, "down", &a->down, 3, 3, bf16, false));
    const int64_t experts = a->gate_up.extent[0], width = a->down.extent[2];
    if (experts < 1 || experts > ASSAY_MOE_EXPERTS_MOST)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "gate_up",
                            "must have 1 to %d experts, has %lld", ASSAY_MOE_EXPERTS_MOST,
                            (long long)experts);
    if (width < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "down", "rows must have an element");
    ASSAY_TRY(assay_check_extent(context, op, "gate_up", &a->gate_up, 1, 2 * width));
    ASSAY_TRY(assay_check_extent(context, op, "gate_up", &a->gate_up, 2, a->x.extent[1]));
    ASSAY_TRY(assay_check_extent(context, op, "down", &a->down, 0, experts));
    return assay_check_extent(context, op, "down", &a->down, 1, a->x.extent[1]);
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_moe_experts_args *a = arguments;
    const char *op = "moe_experts";
    const struct expert_call call = expert_call_of(a);
    ASSAY_TRY(expert_check_inputs(context, op, &call));
    ASSAY_TRY(check_banks(context, a));
    ASSAY_TRY(expert_check_tokens(context, op, &call));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "gate_up", &a->gate_up, false));
    return assay_check_alias(context, op, "y", &a->y, "down", &a->down, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct expert_call call = expert_call_of(arguments);
    return expert_floor(&call, 2 * 3 * (double)expert_hidden(&call) * (double)expert_width(&call));
}

#if defined(ASSAY_SIMD)
/* Chains of linear's products. */
static int64_t depth_avx2(int64_t inner_length)
{
    return (inner_length + 7) / 8 + 3;
}

static int64_t depth_avx512(int64_t inner_length)
{
    return (inner_length + 15) / 16 + 4;
}

static size_t vector_workspace(const assay_context *context, const void *args)
{
    const struct expert_call call = expert_call_of(args);
    (void)context;
    return expert_memory_layout(&call, NULL, NULL);
}

static const struct assay_boundary boundaries_avx2[] = {{"H", 8},  {"H", 64}, {"F", 8},
                                                        {"F", 64}, {"T", 3},  {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"H", 16}, {"H", 64}, {"F", 16},
                                                          {"F", 64}, {"T", 6},  {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* Every 32nd chunk of 8 a lane, then five levels of a tree. */
static int64_t depth_pair(int64_t inner_length)
{
    return (inner_length + 255) / 256 * 8 + 5;
}

static bool has_few_tokens(const void *args)
{
    return ((const struct assay_moe_experts_args *)args)->x.extent[0] <= MOE_EXPERTS_FEW;
}

static size_t pairs_workspace(const assay_context *context, const void *args)
{
    const struct expert_call call = expert_call_of(args);
    (void)context;
    return 4 * (size_t)expert_pairs(&call) * (size_t)expert_width(&call);
}

static size_t grouped_workspace(const assay_context *context, const void *args)
{
    const struct expert_call call = expert_call_of(args);
    (void)context;
    return expert_buffers_of(&call).total;
}

static const struct assay_boundary boundaries_pairs[] = {
    {"H", 8}, {"H", 256}, {"F", 8}, {"T", MOE_EXPERTS_FEW}, {NULL, 0}};
static const struct assay_boundary boundaries_grouped[] = {
    {"H", 8}, {"F", 8}, {"F", 256}, {"T", MOE_EXPERTS_FEW}, {"T", 32}, {NULL, 0}};
#endif

static size_t plain_workspace(const assay_context *context, const void *args)
{
    const struct expert_call call = expert_call_of(args);
    (void)context;
    return experts_plain_workspace(&call);
}

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("moe_experts.pairs", moe_experts_route_pairs,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "T <= 8", .accepts = has_few_tokens,
                 .workspace = pairs_workspace, .boundaries = boundaries_pairs, .depth = depth_pair),
    DEVICE_ROUTE("moe_experts.grouped", moe_experts_route_grouped,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls", .workspace = grouped_workspace,
                 .boundaries = boundaries_grouped, .depth = depth_pair),
#endif
#if defined(ASSAY_SIMD)
    {.name = "moe_experts.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = moe_experts_route_avx512,
     .boundaries = boundaries_avx512,
     .depth = depth_avx512},
    {.name = "moe_experts.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = moe_experts_route_avx2,
     .boundaries = boundaries_avx2,
     .depth = depth_avx2},
#endif
    {.name = "moe_experts.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .workspace = plain_workspace,
     .run = moe_experts_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_moe_experts_args, x, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_moe_experts_args, ids, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_moe_experts_args, weights, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_moe_experts_args, gate_up, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_moe_experts_args, down, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_moe_experts_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

const struct assay_op assay_op_moe_experts = {
    .name = "moe_experts",
    .summary = "y = sum of weighted experts, each a SwiGLU MLP",
    .args_bytes = sizeof(struct assay_moe_experts_args),
    .arguments = arguments,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_moe_experts(assay_context *context, const struct assay_moe_experts_args *args)
{
    return assay_run_op(context, &assay_op_moe_experts, args);
}
