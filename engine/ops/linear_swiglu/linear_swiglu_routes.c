/* SPDX-License-Identifier: MIT
 *
 * linear_swiglu: argument checks, floor, and the route table.
 */
#include "ops/linear_swiglu/linear_swiglu_routes.h"

#include "core/core.h"
#include "ops/linear_grouped/linear_grouped_routes.h"
#include "ops/linear_swiglu/matrix_product.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_linear_swiglu_args *a = arguments;
    const char *op = "linear_swiglu";
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(any_weights_check(context, op, "gate", &a->gate));
    ASSAY_TRY(any_weights_check(context, op, "up", &a->up));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    if (a->up.rows != a->gate.rows || a->up.columns != a->gate.columns)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "up",
                            "must be %lld x %lld as gate is, is %lld x %lld",
                            (long long)a->gate.rows, (long long)a->gate.columns,
                            (long long)a->up.rows, (long long)a->up.columns);
    ASSAY_TRY(assay_check_extent(context, op, "x", &a->x, 1, a->gate.columns));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 0, a->x.extent[0]));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 1, a->gate.rows));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "x", &a->x, false));
    ASSAY_TRY(any_weights_check_alias(context, op, "y", &a->y, "gate", &a->gate));
    return any_weights_check_alias(context, op, "y", &a->y, "up", &a->up);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_linear_swiglu_args *a = arguments;
    double rows = (double)a->x.extent[0], inner = (double)a->gate.columns;
    double columns = (double)a->gate.rows;
    return (struct assay_floor){
        .bytes_read = rows * inner * (double)assay_dtype_bytes(a->x.dtype) +
                      (double)a->gate.rows * any_weights_row_bytes(&a->gate) +
                      (double)a->up.rows * any_weights_row_bytes(&a->up),
        .bytes_written = rows * columns * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 4 * rows * columns * inner + 5 * rows * columns,
    };
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Chains of the products of either kind: those of linear and linear_grouped. */
#if defined(ASSAY_SIMD)
static int64_t depth_avx2(int64_t inner_length)
{
    return larger((inner_length + 7) / 8 + 3, 7 + (inner_length + 63) / 64 + 3);
}

static int64_t depth_avx512(int64_t inner_length)
{
    return larger((inner_length + 15) / 16 + 4, 7 + (inner_length + 127) / 128 + 4);
}

/* x of grouped matrices, prepared; once where both want the same. */
static size_t vector_workspace(const assay_context *context, const void *arguments)
{
    const struct assay_linear_swiglu_args *a = arguments;
    bool has_grouped = a->gate.format != ASSAY_WEIGHT_BF16 || a->up.format != ASSAY_WEIGHT_BF16;
    bool has_two = a->gate.format != ASSAY_WEIGHT_BF16 && a->up.format != ASSAY_WEIGHT_BF16 &&
                   (a->gate.format == ASSAY_WEIGHT_Q8G32) != (a->up.format == ASSAY_WEIGHT_Q8G32);
    (void)context;
    return 4 * (size_t)a->x.extent[0] * (size_t)linear_grouped_padded(a->gate.columns) *
           (has_two ? 2 : has_grouped);
}

static const struct assay_boundary boundaries_avx2[] = {{"K", 16}, {"K", 64}, {"N", 16},
                                                        {"N", 64}, {"T", 24}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"K", 32}, {"K", 128}, {"N", 16},
                                                          {"N", 64}, {"T", 24},  {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool is_bf16_row(const void *arguments)
{
    const struct assay_linear_swiglu_args *a = arguments;
    return a->x.extent[0] == 1 && a->gate.format == ASSAY_WEIGHT_BF16 &&
           a->up.format == ASSAY_WEIGHT_BF16;
}

/* Of one format, and rows of one matrix as far apart as of the other. */
static bool is_grouped_row(const void *arguments)
{
    const struct assay_linear_swiglu_args *a = arguments;
    return a->x.extent[0] == 1 && a->gate.format != ASSAY_WEIGHT_BF16 &&
           a->gate.format == a->up.format && a->gate.columns <= LINEAR_GROUPED_GEMV_INNER &&
           a->gate.base.stride[0] == a->up.base.stride[0] &&
           (a->gate.high.data == NULL || a->gate.high.stride[0] == a->up.high.stride[0]) &&
           a->gate.scales.stride[0] == a->up.scales.stride[0];
}

/* That of linear.gemv. */
static int64_t depth_bf16_gemv(int64_t inner_length)
{
    return (inner_length + 255) / 256 * 8 + 5;
}

/* The longest of any route that may be taken: linear.tiled's, of 36 roundings an mma
 * (linear_bound.md), cuBLAS's one more; linear_grouped's in tensor cores. */
static int64_t depth_composed(int64_t inner_length)
{
    return larger((inner_length + 63) / 64 * 2 * 4 * 36 + 1,
                  4 * 2 * 36 + (inner_length + 31) / 32 + 8);
}

static const struct assay_boundary boundaries_bf16_gemv[] = {{"K", 8}, {"K", 256}, {"K", 1024},
                                                             {"N", 2}, {"N", 8},   {NULL, 0}};
static const struct assay_boundary boundaries_grouped_gemv[] = {
    {"K", 32},   {"K", 64}, {"K", 128}, {"K", 256}, {"K", 512},
    {"K", 1024}, {"N", 4},  {"N", 8},   {"N", 16},  {NULL, 0}};
static const struct assay_boundary boundaries_composed[] = {{"T", 32}, {"T", 64}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("linear_swiglu.bf16.gemv", linear_swiglu_route_gemv, .profile = ASSAY_PROFILE_F32,
                 .when = "bf16, T = 1", .accepts = is_bf16_row, .boundaries = boundaries_bf16_gemv,
                 .depth = depth_bf16_gemv),
    DEVICE_ROUTE("linear_swiglu.grouped.gemv", linear_swiglu_route_gemv,
                 .profile = ASSAY_PROFILE_A16X2,
                 .when = "T = 1, both matrices of one grouped format and stride, K <= 32768",
                 .accepts = is_grouped_row, .boundaries = boundaries_grouped_gemv,
                 .depth = linear_grouped_depth_gemv),
#if defined(ASSAY_HAVE_SIMT)
    {.name = "linear_swiglu.composed.simt",
     .backend = ASSAY_SIMT,
     .profile = ASSAY_PROFILE_A16X2,
     .when = "all calls",
     .workspace = linear_swiglu_composed_workspace,
     .run = linear_swiglu_route_composed,
     .boundaries = boundaries_composed,
     .depth = depth_composed},
#endif
#if defined(ASSAY_HAVE_CUDA)
    {.name = "linear_swiglu.composed.cuda",
     .backend = ASSAY_CUDA,
     .profile = ASSAY_PROFILE_A16X2,
     .when = "all calls",
     .workspace = linear_swiglu_composed_workspace,
     .run = linear_swiglu_route_composed,
     .boundaries = boundaries_composed,
     .depth = depth_composed},
#endif
#endif
#if defined(ASSAY_SIMD)
    {.name = "linear_swiglu.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = linear_swiglu_route_avx512,
     .boundaries = boundaries_avx512,
     .depth = depth_avx512},
    {.name = "linear_swiglu.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = linear_swiglu_route_avx2,
     .boundaries = boundaries_avx2,
     .depth = depth_avx2},
#endif
    {.name = "linear_swiglu.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = linear_swiglu_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_linear_swiglu_args, x, ASSAY_INPUT),
    GROUPED_ARGUMENTS(struct assay_linear_swiglu_args, gate),
    GROUPED_ARGUMENTS(struct assay_linear_swiglu_args, up),
    ASSAY_ARGUMENT(struct assay_linear_swiglu_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {
    GROUPED_SCALARS(struct assay_linear_swiglu_args, gate),
    GROUPED_SCALARS(struct assay_linear_swiglu_args, up),
    {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_linear_swiglu = {
    .name = "linear_swiglu",
    .summary = "y = silu(x gate^T) * (x up^T)",
    .args_bytes = sizeof(struct assay_linear_swiglu_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_linear_swiglu(assay_context *context,
                                 const struct assay_linear_swiglu_args *args)
{
    return assay_run_op(context, &assay_op_linear_swiglu, args);
}
