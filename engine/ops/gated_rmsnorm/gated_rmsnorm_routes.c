/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/gated_rmsnorm/gated_rmsnorm_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_gated_rmsnorm_args *a = arguments;
    const char *op = "gated_rmsnorm";
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 1, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "z", &a->z, 1, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "w", &a->w, 1, 1, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 1, 3, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(assay_check_shape(context, op, "z", &a->z, "x", &a->x));
    ASSAY_TRY(assay_check_shape(context, op, "y", &a->y, "x", &a->x));
    if (a->w.extent[0] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "w", "must have at least one element");
    ASSAY_TRY(assay_check_extent(context, op, "x", &a->x, a->x.rank - 1, a->w.extent[0]));
    ASSAY_TRY(assay_check_number(context, op, "eps", a->eps, true));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "x", &a->x, true));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "z", &a->z, true));
    return assay_check_alias(context, op, "y", &a->y, "w", &a->w, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_gated_rmsnorm_args *a = arguments;
    double count = (double)assay_tensor_count(&a->x), width = (double)a->w.extent[0];
    return (struct assay_floor){
        .bytes_read =
            count * (double)(assay_dtype_bytes(a->x.dtype) + assay_dtype_bytes(a->z.dtype)) +
            width * (double)assay_dtype_bytes(a->w.dtype),
        .bytes_written = count * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 8 * count, /* square and add, scale, weight, gate with its sigmoid */
    };
}

/* Vector routes step by whole vectors and finish with a tail. */
#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"D", 8}, {"D", 16}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"D", 16}, {"D", 32}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 elements a thread, whole warps, at most 256 threads. */
static const struct assay_boundary boundaries_row[] = {
    {"D", 8}, {"D", 256}, {"D", 2048}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("gated_rmsnorm.row", gated_rmsnorm_route_row,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls", .boundaries = boundaries_row),
#endif
#if defined(ASSAY_SIMD)
    {.name = "gated_rmsnorm.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = gated_rmsnorm_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "gated_rmsnorm.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = gated_rmsnorm_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "gated_rmsnorm.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = gated_rmsnorm_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_gated_rmsnorm_args, x, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gated_rmsnorm_args, z, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gated_rmsnorm_args, w, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gated_rmsnorm_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {ASSAY_SCALAR(struct assay_gated_rmsnorm_args, eps),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_gated_rmsnorm = {
    .name = "gated_rmsnorm",
    .summary = "y = x * w / sqrt(mean(x^2) + eps) * silu(z)",
    .args_bytes = sizeof(struct assay_gated_rmsnorm_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_gated_rmsnorm(assay_context *context,
                                 const struct assay_gated_rmsnorm_args *args)
{
    return assay_run_op(context, &assay_op_gated_rmsnorm, args);
}
