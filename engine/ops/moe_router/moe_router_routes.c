/* SPDX-License-Identifier: MIT
 *
 * moe_router: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/moe_router/moe_router_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_moe_router_args *a = arguments;
    const char *op = "moe_router";
    ASSAY_TRY(
        assay_check_tensor(context, op, "logits", &a->logits, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "ids", &a->ids, 2, 2, ASSAY_FORMAT(ASSAY_I32), true));
    ASSAY_TRY(assay_check_tensor(context, op, "weights", &a->weights, 2, 2, ASSAY_FORMAT(ASSAY_F32),
                                 true));
    int64_t experts = a->logits.extent[1], k = a->ids.extent[1];
    if (experts < 1 || experts > ASSAY_MOE_EXPERTS_MOST)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "logits",
                            "must have a column an expert, 1 to %d, has %lld",
                            ASSAY_MOE_EXPERTS_MOST, (long long)experts);
    ASSAY_TRY(assay_check_extent(context, op, "ids", &a->ids, 0, a->logits.extent[0]));
    if (k < 1 || k > experts || k > ASSAY_MOE_MOST)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "ids",
                            "must have 1 to %lld columns, experts a token, has %lld",
                            (long long)(experts < ASSAY_MOE_MOST ? experts : ASSAY_MOE_MOST),
                            (long long)k);
    ASSAY_TRY(assay_check_shape(context, op, "weights", &a->weights, "ids", &a->ids));
    ASSAY_TRY(assay_check_alias(context, op, "ids", &a->ids, "logits", &a->logits, false));
    ASSAY_TRY(assay_check_alias(context, op, "weights", &a->weights, "logits", &a->logits, false));
    return assay_check_alias(context, op, "weights", &a->weights, "ids", &a->ids, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_moe_router_args *a = arguments;
    double count = (double)assay_tensor_count(&a->logits),
           taken = (double)assay_tensor_count(&a->ids);
    return (struct assay_floor){
        .bytes_read = count * (double)assay_dtype_bytes(a->logits.dtype),
        .bytes_written = taken * 8,
        .operations = count + 4 * taken, /* a comparison; difference, exp, sum, quotient */
    };
}

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static const struct assay_boundary boundaries_warp[] = {
    {"E", 32}, {"E", 256}, {"k", 32}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("moe_router.warp", moe_router_route_warp,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls", .boundaries = boundaries_warp),
#endif
    {.name = "moe_router.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = moe_router_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_moe_router_args, logits, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_moe_router_args, ids, ASSAY_OUTPUT),
    ASSAY_ARGUMENT(struct assay_moe_router_args, weights, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

const struct assay_op assay_op_moe_router = {
    .name = "moe_router",
    .summary = "ids = k largest logits; weights = softmax over them",
    .args_bytes = sizeof(struct assay_moe_router_args),
    .arguments = arguments,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_moe_router(assay_context *context, const struct assay_moe_router_args *args)
{
    return assay_run_op(context, &assay_op_moe_router, args);
}
