/* SPDX-License-Identifier: MIT
 *
 * linear_add: argument checks, floor, and the route table. Rows for bf16 and for grouped formats
 * stand apart: their sums have different chains, and so different bounds.
 */
#include "core/core.h"
#include "ops/linear/linear_routes.h"
#include "ops/linear_add/linear_add_routes.h"
#include "ops/linear_grouped/linear_grouped_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_linear_add_args *a = arguments;
    const char *op = "linear_add";
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(any_weights_check(context, op, "w", &a->w));
    ASSAY_TRY(assay_check_tensor(context, op, "r", &a->r, 2, 2, ASSAY_FORMAT(ASSAY_F32), false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(assay_check_extent(context, op, "x", &a->x, 1, a->w.columns));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 0, a->x.extent[0]));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 1, a->w.rows));
    ASSAY_TRY(assay_check_shape(context, op, "r", &a->r, "y", &a->y));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "r", &a->r, a->y.dtype == ASSAY_F32));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "x", &a->x, false));
    return any_weights_check_alias(context, op, "y", &a->y, "w", &a->w);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_linear_add_args *a = arguments;
    double rows = (double)a->x.extent[0], inner = (double)a->w.columns;
    double columns = (double)a->w.rows;
    return (struct assay_floor){
        .bytes_read = rows * inner * (double)assay_dtype_bytes(a->x.dtype) +
                      columns * any_weights_row_bytes(&a->w) + 4 * rows * columns,
        .bytes_written = rows * columns * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 2 * rows * columns * inner,
    };
}

#if defined(ASSAY_SIMD) || defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool is_bf16(const void *arguments)
{
    const struct assay_linear_add_args *a = arguments;
    return !any_weights_grouped(&a->w);
}

static bool is_grouped(const void *arguments)
{
    return !is_bf16(arguments);
}

#endif

#if defined(ASSAY_SIMD)
/* Chains are those of the product's own routes; r joins the finished sum. */
ANY_PRODUCT_DEPTH(bf16_avx2, assay_op_linear, "bf16.avx2")
ANY_PRODUCT_DEPTH(bf16_avx512, assay_op_linear, "bf16.avx512")
ANY_PRODUCT_DEPTH(grouped_avx2, assay_op_linear_grouped, "avx2")
ANY_PRODUCT_DEPTH(grouped_avx512, assay_op_linear_grouped, "avx512")

static size_t workspace_vector(const assay_context *context, const void *arguments)
{
    struct assay_linear_grouped_args grouped = linear_add_grouped(arguments);
    const struct assay_route *row = any_product_row(&assay_op_linear_grouped, "avx2", ASSAY_CPU);
    return any_product_workspace(row, context, &grouped);
}

static const struct assay_boundary boundaries_bf16_avx2[] = {
    {"K", 8}, {"K", 16}, {"N", 32}, {"T", LINEAR_TILE_T_AVX2}, {"T", 24}, {NULL, 0}};
static const struct assay_boundary boundaries_bf16_avx512[] = {
    {"K", 16}, {"K", 32}, {"N", 32}, {"T", LINEAR_TILE_T_AVX512}, {"T", 24}, {NULL, 0}};
static const struct assay_boundary boundaries_grouped[] = {
    {"K", 32},  {"K", 64},
    {"K", 128}, {"N", LINEAR_GROUPED_TILE_N_AVX512},
    {"N", 16},  {"T", LINEAR_GROUPED_TILE_T},
    {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
ANY_PRODUCT_DEPTH(bf16_gemv, assay_op_linear, "gemv")
ANY_PRODUCT_DEPTH(bf16_small, assay_op_linear, "small")
ANY_PRODUCT_DEPTH(bf16_tiled, assay_op_linear, "tiled")
ANY_PRODUCT_DEPTH(grouped_gemv, assay_op_linear_grouped, "gemv")
ANY_PRODUCT_DEPTH(grouped_small, assay_op_linear_grouped, "small")
ANY_PRODUCT_DEPTH(grouped_tiled, assay_op_linear_grouped, "tiled")

#define WORKSPACE(method)                                                                 \
    static size_t workspace_##method(const assay_context *context, const void *arguments) \
    {                                                                                     \
        return linear_add_device_workspace(context, arguments, #method);                  \
    }
WORKSPACE(gemv)
WORKSPACE(small)
WORKSPACE(tiled)

static bool is_bf16_row(const void *arguments)
{
    const struct assay_linear_add_args *a = arguments;
    return is_bf16(a) && a->x.extent[0] == 1;
}

static bool is_bf16_few_rows(const void *arguments)
{
    const struct assay_linear_add_args *a = arguments;
    return is_bf16(a) && a->x.extent[0] <= LINEAR_SMALL_ROWS;
}

static bool is_grouped_row(const void *arguments)
{
    const struct assay_linear_add_args *a = arguments;
    return is_grouped(a) && a->x.extent[0] == 1 && a->w.columns <= LINEAR_GROUPED_GEMV_INNER;
}

static bool is_grouped_few_rows(const void *arguments)
{
    const struct assay_linear_add_args *a = arguments;
    return is_grouped(a) && a->x.extent[0] <= LINEAR_GROUPED_SMALL_ROWS;
}

#if defined(ASSAY_HAVE_CUDA)
ANY_PRODUCT_DEPTH(bf16_cublas, assay_op_linear, "cublas")
WORKSPACE(cublas)

/* The sums are what cuBLAS writes, not y. */
static bool is_for_cublas(const void *arguments)
{
    const struct assay_linear_add_args *a = arguments;
    if (!is_bf16(a))
        return false;
    struct assay_tensor sums = assay_tensor_2d(NULL, ASSAY_F32, a->y.extent[0], a->y.extent[1]);
    struct any_product product = any_product_of(&a->x, &a->w, &sums);
    return linear_cublas_takes(&product.args);
}
#endif

static const struct assay_boundary boundaries_gemv[] = {{"K", 8}, {"K", 256}, {"K", 1024}, {"N", 2},
                                                        {"N", 8}, {"N", 264}, {NULL, 0}};
static const struct assay_boundary boundaries_small[] = {
    {"T", 8}, {"K", 64}, {"K", 128}, {"K", 256}, {"N", 48}, {"N", 144}, {"N", 256}, {NULL, 0}};
static const struct assay_boundary boundaries_tiled[] = {
    {"T", 64}, {"K", 64}, {"K", 128}, {"K", 256}, {"N", 64}, {"N", 128}, {"N", 256}, {NULL, 0}};
#endif

#define INVARIANT .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("linear_add.bf16.gemv", linear_add_route_gemv, .profile = ASSAY_PROFILE_F32,
                 .when = "bf16, T = 1", .accepts = is_bf16_row, .workspace = workspace_gemv,
                 .boundaries = boundaries_gemv, .depth = depth_bf16_gemv),
    DEVICE_ROUTE("linear_add.bf16.small", linear_add_route_small, INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "bf16, T <= 32",
                 .accepts = is_bf16_few_rows, .workspace = workspace_small,
                 .boundaries = boundaries_small, .depth = depth_bf16_small),
#if defined(ASSAY_HAVE_CUDA)
    {.name = "linear_add.bf16.cublas.cuda",
     .backend = ASSAY_CUDA,
     .profile = ASSAY_PROFILE_A16X2,
     .when = "bf16, T > 32, sizes below 2^31, cuBLAS found; x in f32 as two products",
     .accepts = is_for_cublas,
     .workspace = workspace_cublas,
     .run = linear_add_route_cublas_cuda,
     .depth = depth_bf16_cublas},
#endif
    DEVICE_ROUTE("linear_add.bf16.tiled", linear_add_route_tiled, INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "bf16", .accepts = is_bf16,
                 .workspace = workspace_tiled, .boundaries = boundaries_tiled,
                 .depth = depth_bf16_tiled),
    DEVICE_ROUTE("linear_add.grouped.gemv", linear_add_route_gemv, .profile = ASSAY_PROFILE_A16X2,
                 .when = "grouped formats, T = 1, K <= 32768", .accepts = is_grouped_row,
                 .workspace = workspace_gemv, .boundaries = boundaries_gemv,
                 .depth = depth_grouped_gemv),
    DEVICE_ROUTE("linear_add.grouped.small", linear_add_route_small, INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "grouped formats, T <= 32",
                 .accepts = is_grouped_few_rows, .workspace = workspace_small,
                 .boundaries = boundaries_small, .depth = depth_grouped_small),
    DEVICE_ROUTE("linear_add.grouped.tiled", linear_add_route_tiled, INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "grouped formats", .accepts = is_grouped,
                 .workspace = workspace_tiled, .boundaries = boundaries_tiled,
                 .depth = depth_grouped_tiled),
#endif
#if defined(ASSAY_SIMD)
    {.name = "linear_add.bf16.avx512.cpu",
     INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "bf16",
     .accepts = is_bf16,
     .run = linear_add_route_bf16_avx512,
     .boundaries = boundaries_bf16_avx512,
     .depth = depth_bf16_avx512},
    {.name = "linear_add.grouped.avx512.cpu",
     INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "grouped formats",
     .accepts = is_grouped,
     .workspace = workspace_vector,
     .run = linear_add_route_grouped_avx512,
     .boundaries = boundaries_grouped,
     .depth = depth_grouped_avx512},
    {.name = "linear_add.bf16.avx2.cpu",
     INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "bf16",
     .accepts = is_bf16,
     .run = linear_add_route_bf16_avx2,
     .boundaries = boundaries_bf16_avx2,
     .depth = depth_bf16_avx2},
    {.name = "linear_add.grouped.avx2.cpu",
     INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "grouped formats",
     .accepts = is_grouped,
     .workspace = workspace_vector,
     .run = linear_add_route_grouped_avx2,
     .boundaries = boundaries_grouped,
     .depth = depth_grouped_avx2},
#endif
    {.name = "linear_add.plain.cpu",
     INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = linear_add_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_linear_add_args, x, ASSAY_INPUT),
    GROUPED_ARGUMENTS(struct assay_linear_add_args, w),
    ASSAY_ARGUMENT(struct assay_linear_add_args, r, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_linear_add_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {GROUPED_SCALARS(struct assay_linear_add_args, w),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_linear_add = {
    .name = "linear_add",
    .summary = "y[t,n] = r[t,n] + sum_k x[t,k] * w[n,k], weights of any format",
    .args_bytes = sizeof(struct assay_linear_add_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_linear_add(assay_context *context, const struct assay_linear_add_args *args)
{
    return assay_run_op(context, &assay_op_linear_add, args);
}
