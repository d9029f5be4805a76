/* SPDX-License-Identifier: MIT
 *
 * add: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/add/add_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_add_args *a = arguments;
    const char *op = "add";
    ASSAY_TRY(assay_check_tensor(context, op, "a", &a->a, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "b", &a->b, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    if (a->a.extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "a", "rows must have an element");
    ASSAY_TRY(assay_check_shape(context, op, "b", &a->b, "a", &a->a));
    ASSAY_TRY(assay_check_shape(context, op, "y", &a->y, "a", &a->a));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "a", &a->a, true));
    return assay_check_alias(context, op, "y", &a->y, "b", &a->b, true);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_add_args *a = arguments;
    double count = (double)assay_tensor_count(&a->y);
    double read = (double)(assay_dtype_bytes(a->a.dtype) + assay_dtype_bytes(a->b.dtype));
    return (struct assay_floor){
        .bytes_read = count * read,
        .bytes_written = count * (double)assay_dtype_bytes(a->y.dtype),
        .operations = count,
    };
}

/* Vector routes step by whole vectors and finish with a tail; ranges hold whole rows. */
#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"I", 8}, {"I", 16}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"I", 16}, {"I", 32}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 elements a thread, whole warps, at most 256 threads. */
static const struct assay_boundary boundaries_row[] = {
    {"I", 8}, {"I", 256}, {"I", 2048}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("add.row", add_route_row,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_EXACT, .when = "all calls", .boundaries = boundaries_row),
#endif
#if defined(ASSAY_SIMD)
    {.name = "add.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = add_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "add.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = add_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "add.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .when = "all calls",
     .run = add_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_add_args, a, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_add_args, b, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_add_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

const struct assay_op assay_op_add = {
    .name = "add",
    .summary = "y = a + b",
    .args_bytes = sizeof(struct assay_add_args),
    .arguments = arguments,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_add(assay_context *context, const struct assay_add_args *args)
{
    return assay_run_op(context, &assay_op_add, args);
}
