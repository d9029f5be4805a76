/* SPDX-License-Identifier: MIT
 *
 * silu_mul: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/silu_mul/silu_mul_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_silu_mul_args *a = arguments;
    const char *op = "silu_mul";
    ASSAY_TRY(assay_check_tensor(context, op, "gate", &a->gate, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "up", &a->up, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(assay_check_shape(context, op, "up", &a->up, "gate", &a->gate));
    ASSAY_TRY(assay_check_shape(context, op, "y", &a->y, "gate", &a->gate));
    if (a->gate.extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "gate", "rows must have an element");
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "gate", &a->gate, true));
    return assay_check_alias(context, op, "y", &a->y, "up", &a->up, true);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_silu_mul_args *a = arguments;
    double count = (double)assay_tensor_count(&a->y);
    return (struct assay_floor){
        .bytes_read =
            count * (double)(assay_dtype_bytes(a->gate.dtype) + assay_dtype_bytes(a->up.dtype)),
        .bytes_written = count * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 5 * count, /* exp, add, divide, two products */
    };
}

/* Vector routes step by whole vectors and finish with a tail. */
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
    DEVICE_ROUTE("silu_mul.row", silu_mul_route_row,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls", .boundaries = boundaries_row),
#endif
#if defined(ASSAY_SIMD)
    {.name = "silu_mul.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = silu_mul_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "silu_mul.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = silu_mul_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "silu_mul.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = silu_mul_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_silu_mul_args, gate, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_silu_mul_args, up, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_silu_mul_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

const struct assay_op assay_op_silu_mul = {
    .name = "silu_mul",
    .summary = "y = gate * sigmoid(gate) * up",
    .args_bytes = sizeof(struct assay_silu_mul_args),
    .arguments = arguments,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_silu_mul(assay_context *context, const struct assay_silu_mul_args *args)
{
    return assay_run_op(context, &assay_op_silu_mul, args);
}
