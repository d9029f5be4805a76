/* SPDX-License-Identifier: MIT
 *
 * linear: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/linear/linear_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_linear_args *a = arguments;
    const char *op = "linear";
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "w", &a->w, 2, 2, ASSAY_FORMAT(ASSAY_BF16), false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    if (a->w.extent[0] < 1 || a->w.extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "w", "must have at least one element");
    ASSAY_TRY(assay_check_extent(context, op, "x", &a->x, 1, a->w.extent[1]));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 0, a->x.extent[0]));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 1, a->w.extent[0]));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "x", &a->x, false));
    return assay_check_alias(context, op, "y", &a->y, "w", &a->w, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_linear_args *a = arguments;
    double rows = (double)a->x.extent[0], inner = (double)a->x.extent[1];
    double columns = (double)a->w.extent[0];
    return (struct assay_floor){
        .bytes_read = rows * inner * (double)assay_dtype_bytes(a->x.dtype) +
                      columns * inner * (double)assay_dtype_bytes(a->w.dtype),
        .bytes_written = rows * columns * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 2 * rows * columns * inner,
    };
}

#if defined(ASSAY_SIMD)
/* A vector route adds K / lanes products (rounded up) in each lane and folds the lanes as a
 * balanced tree. */
static int64_t depth_avx2(int64_t inner_length)
{
    return (inner_length + 7) / 8 + 3;
}

static int64_t depth_avx512(int64_t inner_length)
{
    return (inner_length + 15) / 16 + 4;
}

static const struct assay_boundary boundaries_avx2[] = {
    {"K", 8}, {"K", 16}, {"N", LINEAR_TILE_N}, {"T", LINEAR_TILE_T_AVX2}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {
    {"K", 16}, {"K", 32}, {"N", LINEAR_TILE_N}, {"T", LINEAR_TILE_T_AVX512}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_SIMD)
    {.name = "linear.bf16.avx512.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = linear_route_avx512,
     .boundaries = boundaries_avx512,
     .depth = depth_avx512},
    {.name = "linear.bf16.avx2.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = linear_route_avx2,
     .boundaries = boundaries_avx2,
     .depth = depth_avx2},
#endif
    {.name = "linear.bf16.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = linear_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_linear_args, x, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_linear_args, w, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_linear_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

const struct assay_op assay_op_linear = {
    .name = "linear",
    .summary = "y[t,n] = sum_k x[t,k] * w[n,k]",
    .args_bytes = sizeof(struct assay_linear_args),
    .arguments = arguments,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_linear(assay_context *context, const struct assay_linear_args *args)
{
    return assay_run_op(context, &assay_op_linear, args);
}
