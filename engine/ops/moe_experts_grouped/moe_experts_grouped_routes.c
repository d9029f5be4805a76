/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped: argument checks, floor, and the route table.
 */
#include "ops/moe_experts_grouped/moe_experts_grouped_routes.h"

#include <assay/ops/moe_router.h>

#include "core/core.h"
#include "ops/linear_grouped/grouped_planes.h"
#include "ops/linear_grouped/linear_grouped_routes.h"

static assay_status check_banks(assay_context *context,
                                const struct assay_moe_experts_grouped_args *a)
{
    const char *op = "moe_experts_grouped";
    const int64_t hidden = a->x.extent[1];
    const struct assay_weights *gate_up = &a->gate_up, *down = &a->down;
    ASSAY_TRY(grouped_check(context, op, "gate_up", gate_up));
    ASSAY_TRY(grouped_check(context, op, "down", down));
    if (gate_up->columns != hidden)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "gate_up",
                            "must have %lld columns as x has, has %lld", (long long)hidden,
                            (long long)gate_up->columns);
    if (down->rows % hidden != 0 || down->rows / hidden > ASSAY_MOE_EXPERTS_MOST)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "down",
                            "must have %lld rows an expert for 1 to %d experts, has %lld",
                            (long long)hidden, ASSAY_MOE_EXPERTS_MOST, (long long)down->rows);
    const int64_t experts = down->rows / hidden;
    if (gate_up->rows % experts != 0 || gate_up->rows / experts != 2 * down->columns)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "gate_up",
                            "must have 2 * %lld rows for each of %lld experts, has %lld",
                            (long long)down->columns, (long long)experts, (long long)gate_up->rows);
    return ASSAY_OK;
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_moe_experts_grouped_args *a = arguments;
    const char *op = "moe_experts_grouped";
    const struct expert_call inputs = {.x = a->x, .ids = a->ids, .weights = a->weights};
    ASSAY_TRY(expert_check_inputs(context, op, &inputs));
    if (a->x.extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "x", "rows must have an element");
    ASSAY_TRY(check_banks(context, a));
    const struct expert_call call = grouped_call_of(a);
    ASSAY_TRY(expert_check_tokens(context, op, &call));
    ASSAY_TRY(grouped_check_alias(context, op, "y", &a->y, "gate_up", &a->gate_up));
    return grouped_check_alias(context, op, "y", &a->y, "down", &a->down);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_moe_experts_grouped_args *a = arguments;
    const struct expert_call call = grouped_call_of(a);
    return expert_floor(&call, 2 * (double)expert_width(&call) * grouped_row_bytes(&a->gate_up) +
                                   (double)expert_hidden(&call) * grouped_row_bytes(&a->down));
}

static size_t plain_workspace(const assay_context *context, const void *args)
{
    const struct expert_call call = grouped_call_of(args);
    (void)context;
    return experts_plain_workspace(&call);
}

#if defined(ASSAY_SIMD)
/* Chains of linear_grouped's products. */
static int64_t depth_avx2(int64_t inner_length)
{
    return 7 + (inner_length + 63) / 64 + 3;
}

static int64_t depth_avx512(int64_t inner_length)
{
    return 7 + (inner_length + 127) / 128 + 4;
}

static size_t vector_workspace(const assay_context *context, const void *args)
{
    const struct expert_call call = grouped_call_of(args);
    (void)context;
    return expert_memory_layout(&call, NULL, NULL);
}

static const struct assay_boundary boundaries_avx2[] = {{"H", 64}, {"F", 64}, {"T", 4}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {
    {"H", 128}, {"F", 128}, {"T", 4}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool has_short_rows(const void *args)
{
    const struct assay_moe_experts_grouped_args *a = args;
    return a->gate_up.columns <= LINEAR_GROUPED_GEMV_INNER &&
           a->down.columns <= LINEAR_GROUPED_GEMV_INNER;
}

static bool has_few_tokens(const void *args)
{
    const struct assay_moe_experts_grouped_args *a = args;
    return a->x.extent[0] <= EXPERTS_GROUPED_FEW && has_short_rows(args);
}

/* h, then d. */
static size_t gemv_workspace(const assay_context *context, const void *args)
{
    const struct expert_call call = grouped_call_of(args);
    (void)context;
    return expert_buffers_of(&call).list;
}

static size_t aligned(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Of an operand as mma takes it: two planes of bf16 for binary32, rows of whole units. */
static size_t ordered_bytes(int64_t places, int64_t columns, enum assay_dtype dtype)
{
    const int64_t units = (columns + LINEAR_GROUPED_UNIT - 1) / LINEAR_GROUPED_UNIT;
    return (size_t)(places * units * LINEAR_GROUPED_UNIT) * assay_dtype_bytes(dtype);
}

struct tiled_buffers tiled_buffers_of(const struct expert_call *call)
{
    const size_t pairs = (size_t)expert_pairs(call);
    const int64_t blocks = expert_most_blocks(call), places = blocks * expert_block_places(call);
    const int64_t hidden = expert_hidden(call), width = expert_width(call);
    struct tiled_buffers b = {.list = 0};
    b.starts = aligned(4 * pairs);
    b.rows_at = b.starts + aligned(4 * ((size_t)call->num_experts + 1));
    b.experts = b.rows_at + aligned(4 * (size_t)places);
    b.places = b.experts + aligned(4 * (size_t)blocks);
    b.sums = b.places + aligned(4 * pairs);
    b.h = b.sums + aligned(4 * (size_t)places * larger(2 * (size_t)width, (size_t)hidden));
    b.ordered = b.h + aligned(4 * pairs * (size_t)width);
    b.total = b.ordered + larger(ordered_bytes(places, hidden, call->x.dtype),
                                 ordered_bytes(places, width, ASSAY_F32));
    return b;
}

static size_t tiled_workspace(const assay_context *context, const void *args)
{
    const struct expert_call call = grouped_call_of(args);
    (void)context;
    return tiled_buffers_of(&call).total;
}

/* That of linear_grouped.tiled. */
static int64_t depth_tiled(int64_t inner_length)
{
    return 4 * 2 * 36 + (inner_length + 31) / 32 + 8;
}

static const struct assay_boundary boundaries_gemv[] = {
    {"H", 64}, {"H", 512}, {"F", 4}, {"F", 64}, {"T", EXPERTS_GROUPED_FEW}, {NULL, 0}};
static const struct assay_boundary boundaries_tiled[] = {{"H", 64}, {"H", 128}, {"F", 64},
                                                         {"T", 16}, {"T", 64},  {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("moe_experts_grouped.gemv", moe_experts_grouped_route_gemv,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "T <= 8, H and F <= 32768",
                 .accepts = has_few_tokens, .workspace = gemv_workspace,
                 .boundaries = boundaries_gemv, .depth = linear_grouped_depth_gemv),
    DEVICE_ROUTE("moe_experts_grouped.tiled", moe_experts_grouped_route_tiled,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "all calls", .workspace = tiled_workspace,
                 .boundaries = boundaries_tiled, .depth = depth_tiled),
    /* The first one again, for devices whose blocks lack the memory of tiled. */
    DEVICE_ROUTE("moe_experts_grouped.pairs", moe_experts_grouped_route_gemv,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "H and F <= 32768",
                 .accepts = has_short_rows, .workspace = gemv_workspace,
                 .boundaries = boundaries_gemv, .depth = linear_grouped_depth_gemv),
#endif
#if defined(ASSAY_SIMD)
    {.name = "moe_experts_grouped.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = moe_experts_grouped_route_avx512,
     .boundaries = boundaries_avx512,
     .depth = depth_avx512},
    {.name = "moe_experts_grouped.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = moe_experts_grouped_route_avx2,
     .boundaries = boundaries_avx2,
     .depth = depth_avx2},
#endif
    {.name = "moe_experts_grouped.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .workspace = plain_workspace,
     .run = moe_experts_grouped_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_moe_experts_grouped_args, x, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_moe_experts_grouped_args, ids, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_moe_experts_grouped_args, weights, ASSAY_INPUT),
    GROUPED_ARGUMENTS(struct assay_moe_experts_grouped_args, gate_up),
    GROUPED_ARGUMENTS(struct assay_moe_experts_grouped_args, down),
    ASSAY_ARGUMENT(struct assay_moe_experts_grouped_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {
    GROUPED_SCALARS(struct assay_moe_experts_grouped_args, gate_up),
    GROUPED_SCALARS(struct assay_moe_experts_grouped_args, down),
    {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_moe_experts_grouped = {
    .name = "moe_experts_grouped",
    .summary = "y = sum of weighted experts, each a SwiGLU MLP with codes and scales for weights",
    .args_bytes = sizeof(struct assay_moe_experts_grouped_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_moe_experts_grouped(assay_context *context,
                                       const struct assay_moe_experts_grouped_args *args)
{
    return assay_run_op(context, &assay_op_moe_experts_grouped, args);
}
