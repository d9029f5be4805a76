/* SPDX-License-Identifier: MIT
 *
 * gdn_gating: argument checks, floor, and the route table.
 */
#include "ops/gdn_gating/gdn_gating_routes.h"
#include "core/core.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_gdn_gating_args *a = arguments;
    const char *op = "gdn_gating";
    const unsigned f32 = ASSAY_FORMAT(ASSAY_F32);
    ASSAY_TRY(assay_check_tensor(context, op, "a", &a->a, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "b", &a->b, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(
        assay_check_tensor(context, op, "a_log", &a->a_log, 1, 1, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(
        assay_check_tensor(context, op, "dt_bias", &a->dt_bias, 1, 1, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "g", &a->g, 2, 2, f32, true));
    ASSAY_TRY(assay_check_tensor(context, op, "beta", &a->beta, 2, 2, f32, true));
    int64_t heads = a->a_log.extent[0];
    if (heads < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "a_log", "must have at least one head");
    ASSAY_TRY(assay_check_extent(context, op, "dt_bias", &a->dt_bias, 0, heads));
    ASSAY_TRY(assay_check_extent(context, op, "a", &a->a, 1, heads));
    ASSAY_TRY(assay_check_shape(context, op, "b", &a->b, "a", &a->a));
    ASSAY_TRY(assay_check_shape(context, op, "g", &a->g, "a", &a->a));
    ASSAY_TRY(assay_check_shape(context, op, "beta", &a->beta, "a", &a->a));
    ASSAY_TRY(assay_check_alias(context, op, "g", &a->g, "beta", &a->beta, false));
    ASSAY_TRY(assay_check_alias(context, op, "g", &a->g, "a", &a->a, true));
    ASSAY_TRY(assay_check_alias(context, op, "g", &a->g, "b", &a->b, false));
    ASSAY_TRY(assay_check_alias(context, op, "g", &a->g, "a_log", &a->a_log, false));
    ASSAY_TRY(assay_check_alias(context, op, "g", &a->g, "dt_bias", &a->dt_bias, false));
    ASSAY_TRY(assay_check_alias(context, op, "beta", &a->beta, "b", &a->b, true));
    ASSAY_TRY(assay_check_alias(context, op, "beta", &a->beta, "a", &a->a, false));
    ASSAY_TRY(assay_check_alias(context, op, "beta", &a->beta, "a_log", &a->a_log, false));
    return assay_check_alias(context, op, "beta", &a->beta, "dt_bias", &a->dt_bias, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_gdn_gating_args *a = arguments;
    double count = (double)assay_tensor_count(&a->a), heads = (double)a->a_log.extent[0];
    return (struct assay_floor){
        .bytes_read =
            count * (double)(assay_dtype_bytes(a->a.dtype) + assay_dtype_bytes(a->b.dtype)) +
            heads *
                (double)(assay_dtype_bytes(a->a_log.dtype) + assay_dtype_bytes(a->dt_bias.dtype)),
        .bytes_written = 8 * count,
        .operations = 8 * count, /* add, exp, log, exp, product; exp, add, quotient */
    };
}

#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"H", 8}, {"H", 16}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"H", 16}, {"H", 32}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 heads a thread, 128 threads a block. */
static const struct assay_boundary boundaries_chunk[] = {{"H", 8}, {"H", 1024}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("gdn_gating.chunk", gdn_gating_route_chunk,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls", .boundaries = boundaries_chunk),
#endif
#if defined(ASSAY_SIMD)
    {.name = "gdn_gating.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = gdn_gating_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "gdn_gating.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = gdn_gating_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "gdn_gating.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = gdn_gating_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_gdn_gating_args, a, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_gating_args, b, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_gating_args, a_log, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_gating_args, dt_bias, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_gating_args, g, ASSAY_OUTPUT),
    ASSAY_ARGUMENT(struct assay_gdn_gating_args, beta, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

const struct assay_op assay_op_gdn_gating = {
    .name = "gdn_gating",
    .summary = "g = -exp(a_log) * softplus(a + dt_bias), beta = sigmoid(b)",
    .args_bytes = sizeof(struct assay_gdn_gating_args),
    .arguments = arguments,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_gdn_gating(assay_context *context, const struct assay_gdn_gating_args *args)
{
    return assay_run_op(context, &assay_op_gdn_gating, args);
}
