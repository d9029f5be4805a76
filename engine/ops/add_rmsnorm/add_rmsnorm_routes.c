/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/add_rmsnorm/add_rmsnorm_routes.h"

static const char op[] = "add_rmsnorm";

/* [ADDNORM-4] */
static assay_status check_output(assay_context *context, const char *name,
                                 const struct assay_tensor *output,
                                 const struct assay_add_rmsnorm_args *a)
{
    ASSAY_TRY(assay_check_alias(context, op, name, output, "residual", &a->residual, true));
    ASSAY_TRY(assay_check_alias(context, op, name, output, "x", &a->x, true));
    return assay_check_alias(context, op, name, output, "w", &a->w, false);
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_add_rmsnorm_args *a = arguments;
    const unsigned floats = ASSAY_FORMATS_FLOAT;
    ASSAY_TRY(assay_check_tensor(context, op, "residual", &a->residual, 2, 2, floats, false));
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, floats, false));
    ASSAY_TRY(assay_check_tensor(context, op, "w", &a->w, 1, 1, floats, false));
    ASSAY_TRY(assay_check_tensor(context, op, "s", &a->s, 2, 2, floats, true));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, floats, true));
    if (a->w.extent[0] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "w", "must have at least one element");
    ASSAY_TRY(assay_check_extent(context, op, "residual", &a->residual, 1, a->w.extent[0]));
    ASSAY_TRY(assay_check_shape(context, op, "x", &a->x, "residual", &a->residual));
    ASSAY_TRY(assay_check_shape(context, op, "s", &a->s, "residual", &a->residual));
    ASSAY_TRY(assay_check_shape(context, op, "y", &a->y, "residual", &a->residual));
    ASSAY_TRY(assay_check_number(context, op, "eps", a->eps, true));
    ASSAY_TRY(check_output(context, "s", &a->s, a));
    ASSAY_TRY(check_output(context, "y", &a->y, a));
    return assay_check_alias(context, op, "y", &a->y, "s", &a->s, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_add_rmsnorm_args *a = arguments;
    double count = (double)assay_tensor_count(&a->y), width = (double)a->w.extent[0];
    double read = (double)(assay_dtype_bytes(a->residual.dtype) + assay_dtype_bytes(a->x.dtype));
    return (struct assay_floor){
        .bytes_read = count * read + width * (double)assay_dtype_bytes(a->w.dtype),
        .bytes_written =
            count * (double)(assay_dtype_bytes(a->s.dtype) + assay_dtype_bytes(a->y.dtype)),
        .operations = 5 * count, /* add, square and add, scale, weight */
    };
}

/* Vector routes step by whole vectors and finish with a tail. */
#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"H", 8}, {"H", 16}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"H", 16}, {"H", 32}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 elements a thread, whole warps, at most 640 threads; one chunk a thread may stay in registers.
 */
static const struct assay_boundary boundaries_row[] = {
    {"H", 8}, {"H", 256}, {"H", 5120}, {"T", 132}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("add_rmsnorm.row", add_rmsnorm_route_row,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls", .boundaries = boundaries_row),
#endif
#if defined(ASSAY_SIMD)
    {.name = "add_rmsnorm.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = add_rmsnorm_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "add_rmsnorm.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = add_rmsnorm_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "add_rmsnorm.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = add_rmsnorm_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_add_rmsnorm_args, residual, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_add_rmsnorm_args, x, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_add_rmsnorm_args, w, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_add_rmsnorm_args, s, ASSAY_OUTPUT),
    ASSAY_ARGUMENT(struct assay_add_rmsnorm_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {
    ASSAY_SCALAR(struct assay_add_rmsnorm_args, unit_offset),
    ASSAY_SCALAR(struct assay_add_rmsnorm_args, eps),
    {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_add_rmsnorm = {
    .name = op,
    .summary = "s = residual + x, y = s * g(w) / sqrt(mean(s^2) + eps), g(w) = w or 1 + w",
    .args_bytes = sizeof(struct assay_add_rmsnorm_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_add_rmsnorm(assay_context *context, const struct assay_add_rmsnorm_args *args)
{
    return assay_run_op(context, &assay_op_add_rmsnorm, args);
}
