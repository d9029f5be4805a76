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

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool has_one_row(const void *arguments)
{
    const struct assay_linear_args *a = arguments;
    return a->x.extent[0] == 1;
}

static bool has_few_rows(const void *arguments)
{
    const struct assay_linear_args *a = arguments;
    return a->x.extent[0] <= LINEAR_SMALL_ROWS;
}

/* Activations of binary32 become two planes of bf16. */
static size_t split_workspace(const assay_context *context, const void *arguments)
{
    const struct assay_linear_args *a = arguments;
    (void)context;
    if (a->x.dtype == ASSAY_BF16)
        return 0;
    return 4 * (size_t)a->x.extent[0] * (size_t)linear_split_pitch(a->x.extent[1]);
}

/* Every 32nd chunk of 8 a lane, then five levels of a tree. */
static int64_t depth_pair(int64_t inner_length)
{
    return (inner_length + 255) / 256 * 8 + 5;
}

/* One mma adds 16 products to the sum: as 36 roundings to nearest (linear_bound.md). */
enum { MMA_ROUNDINGS = 36 };

/* At least two warps, at most eight share a step of 128; their sums are added, then two planes'
 * sums.
 */
static int64_t depth_small(int64_t inner_length)
{
    return (inner_length + 127) / 128 * 4 * MMA_ROUNDINGS + 8 + 1;
}

/* Steps of 64, for two planes one after the other. */
static int64_t depth_tiled(int64_t inner_length)
{
    return (inner_length + 63) / 64 * 2 * 4 * MMA_ROUNDINGS;
}

#if defined(ASSAY_HAVE_CUDA)
/* The order is cuBLAS's own: taken as one mma after the other, for two planes one after the other,
 * whose sums are added. */
static int64_t depth_cublas(int64_t inner_length)
{
    return depth_tiled(inner_length) + 1;
}
#endif

static const struct assay_boundary boundaries_pair[] = {{"K", 8}, {"K", 256}, {"K", 1024},
                                                        {"N", 2}, {"N", 264}, {NULL, 0}};
static const struct assay_boundary boundaries_small[] = {
    {"T", 8},  {"T", 16}, {"K", 64}, {"K", 128}, {"K", 256}, {"K", 384}, {"N", 16},
    {"N", 32}, {"N", 48}, {"N", 64}, {"N", 96},  {"N", 160}, {NULL, 0}};
static const struct assay_boundary boundaries_tiled[] = {{"T", 64},  {"T", 128}, {"K", 64},
                                                         {"K", 192}, {"N", 128}, {NULL, 0}};
static const struct assay_boundary boundaries_generic[] = {{"K", 8}, {"N", 2}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("linear.gemv", linear_route_gemv, .profile = ASSAY_PROFILE_F32, .when = "T = 1",
                 .accepts = has_one_row, .boundaries = boundaries_pair, .depth = depth_pair),
    DEVICE_ROUTE("linear.small", linear_route_small,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "T <= 32", .accepts = has_few_rows,
                 .workspace = split_workspace, .boundaries = boundaries_small,
                 .depth = depth_small),
#if defined(ASSAY_HAVE_CUDA)
    {.name = "linear.cublas.cuda",
     .backend = ASSAY_CUDA,
     .profile = ASSAY_PROFILE_A16X2,
     .when = "T > 32, sizes below 2^31, cuBLAS found; x in f32 as two products",
     .accepts = linear_cublas_takes,
     .workspace = linear_cublas_workspace,
     .run = linear_route_cublas,
     .depth = depth_cublas},
#endif
    DEVICE_ROUTE("linear.tiled", linear_route_tiled,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "all calls", .workspace = split_workspace,
                 .boundaries = boundaries_tiled, .depth = depth_tiled),
    DEVICE_ROUTE("linear.generic", linear_route_generic,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls, by request",
                 .boundaries = boundaries_generic, .depth = depth_pair),
#endif
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
