/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/sigmoid_mul/sigmoid_mul_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_sigmoid_mul_args *a = arguments;
    const char *op = "sigmoid_mul";
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "gate", &a->gate, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(assay_check_shape(context, op, "y", &a->y, "x", &a->x));
    if (a->x.extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "x", "rows must have an element");
    ASSAY_TRY(assay_check_extent(context, op, "gate", &a->gate, 0, a->x.extent[0]));
    if (a->gate.extent[1] != 1)
        ASSAY_TRY(assay_check_extent(context, op, "gate", &a->gate, 1, a->x.extent[1]));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "x", &a->x, true));
    return assay_check_alias(context, op, "y", &a->y, "gate", &a->gate, true);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_sigmoid_mul_args *a = arguments;
    double count = (double)assay_tensor_count(&a->y);
    double gates = (double)assay_tensor_count(&a->gate);
    return (struct assay_floor){
        .bytes_read = count * (double)assay_dtype_bytes(a->x.dtype) +
                      gates * (double)assay_dtype_bytes(a->gate.dtype),
        .bytes_written = count * (double)assay_dtype_bytes(a->y.dtype),
        .operations = count + 3 * gates, /* product; exp, add, divide */
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
    DEVICE_ROUTE("sigmoid_mul.row", sigmoid_mul_route_row,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls", .boundaries = boundaries_row),
#endif
#if defined(ASSAY_SIMD)
    {.name = "sigmoid_mul.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = sigmoid_mul_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "sigmoid_mul.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = sigmoid_mul_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "sigmoid_mul.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = sigmoid_mul_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_sigmoid_mul_args, x, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_sigmoid_mul_args, gate, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_sigmoid_mul_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

const struct assay_op assay_op_sigmoid_mul = {
    .name = "sigmoid_mul",
    .summary = "y = x * sigmoid(gate)",
    .args_bytes = sizeof(struct assay_sigmoid_mul_args),
    .arguments = arguments,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_sigmoid_mul(assay_context *context, const struct assay_sigmoid_mul_args *args)
{
    return assay_run_op(context, &assay_op_sigmoid_mul, args);
}
