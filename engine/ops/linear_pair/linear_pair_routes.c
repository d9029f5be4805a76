/* SPDX-License-Identifier: MIT
 *
 * linear_pair: argument checks, floor, and the route table.
 */
#include "ops/linear_pair/linear_pair_routes.h"

#include "core/core.h"
#include "ops/linear_grouped/linear_grouped_routes.h"
#include "ops/linear_swiglu/matrix_product.h"

static const char *const w_names[ASSAY_LINEAR_PAIR_MAX] = {"w[0]", "w[1]", "w[2]", "w[3]"};
static const char *const y_names[ASSAY_LINEAR_PAIR_MAX] = {"y[0]", "y[1]", "y[2]", "y[3]"};

static assay_status validate_product(assay_context *context, const struct assay_linear_pair_args *a,
                                     int i)
{
    const char *op = "linear_pair", *w = w_names[i], *y = y_names[i];
    ASSAY_TRY(any_weights_check(context, op, w, &a->w[i]));
    ASSAY_TRY(assay_check_tensor(context, op, y, &a->y[i], 2, 2, ASSAY_FORMATS_FLOAT, true));
    if (a->w[i].columns != a->x.extent[1])
        return assay_refuse(context, ASSAY_E_SHAPE, op, w, "has %lld columns, x has %lld",
                            (long long)a->w[i].columns, (long long)a->x.extent[1]);
    ASSAY_TRY(assay_check_extent(context, op, y, &a->y[i], 0, a->x.extent[0]));
    return assay_check_extent(context, op, y, &a->y[i], 1, a->w[i].rows);
}

static assay_status validate_aliases(assay_context *context, const struct assay_linear_pair_args *a,
                                     int i)
{
    const char *op = "linear_pair";
    ASSAY_TRY(assay_check_alias(context, op, y_names[i], &a->y[i], "x", &a->x, false));
    for (int j = 0; j < a->num_products; j++) {
        ASSAY_TRY(any_weights_check_alias(context, op, y_names[i], &a->y[i], w_names[j], &a->w[j]));
        if (j < i)
            ASSAY_TRY(
                assay_check_alias(context, op, y_names[i], &a->y[i], y_names[j], &a->y[j], false));
    }
    return ASSAY_OK;
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_linear_pair_args *a = arguments;
    const char *op = "linear_pair";
    if (a->num_products < 2 || a->num_products > ASSAY_LINEAR_PAIR_MAX)
        return assay_refuse(context, ASSAY_E_ARG, op, "num_products", "must be 2 to %d, is %lld",
                            ASSAY_LINEAR_PAIR_MAX, (long long)a->num_products);
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    for (int i = 0; i < a->num_products; i++)
        ASSAY_TRY(validate_product(context, a, i));
    for (int64_t i = a->num_products; i < ASSAY_LINEAR_PAIR_MAX; i++)
        if (a->w[i].base.data != NULL || a->w[i].high.data != NULL || a->w[i].scales.data != NULL ||
            a->y[i].data != NULL)
            return assay_refuse(context, ASSAY_E_ARG, op,
                                a->y[i].data != NULL ? y_names[i] : w_names[i],
                                "must be absent with %lld products", (long long)a->num_products);
    for (int i = 0; i < a->num_products; i++)
        ASSAY_TRY(validate_aliases(context, a, i));
    return ASSAY_OK;
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_linear_pair_args *a = arguments;
    double rows = (double)a->x.extent[0], inner = (double)a->x.extent[1];
    struct assay_floor floor = {
        .bytes_read = rows * inner * (double)assay_dtype_bytes(a->x.dtype),
        .operations = 2 * rows * inner * (double)linear_pair_rows(a),
    };
    for (int i = 0; i < a->num_products; i++) {
        floor.bytes_read += (double)a->w[i].rows * any_weights_row_bytes(&a->w[i]);
        floor.bytes_written +=
            rows * (double)a->w[i].rows * (double)assay_dtype_bytes(a->y[i].dtype);
    }
    return floor;
}

#if defined(ASSAY_SIMD) || defined(ASSAY_HAVE_DEVICE_ROUTES)
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
#endif

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

/* x prepared for codes of 4 to 6 bits, for q8g32, or both. */
static size_t vector_workspace(const assay_context *context, const void *arguments)
{
    const struct assay_linear_pair_args *a = arguments;
    bool has_packed = false, has_bytes = false;
    (void)context;
    for (int i = 0; i < a->num_products; i++) {
        has_bytes = has_bytes || a->w[i].format == ASSAY_WEIGHT_Q8G32;
        has_packed = has_packed ||
                     (a->w[i].format != ASSAY_WEIGHT_BF16 && a->w[i].format != ASSAY_WEIGHT_Q8G32);
    }
    return 4 * (size_t)a->x.extent[0] * (size_t)linear_grouped_padded(a->x.extent[1]) *
           (size_t)(has_packed + has_bytes);
}

static const struct assay_boundary boundaries_avx2[] = {{"K", 16}, {"K", 64}, {"N", 16},
                                                        {"N", 64}, {"T", 24}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"K", 32}, {"K", 128}, {"N", 16},
                                                          {"N", 64}, {"T", 24},  {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool is_bf16_row(const void *arguments)
{
    const struct assay_linear_pair_args *a = arguments;
    bool is_bf16 = true;
    for (int i = 0; i < a->num_products; i++)
        is_bf16 = is_bf16 && a->w[i].format == ASSAY_WEIGHT_BF16;
    return a->x.extent[0] == 1 && is_bf16;
}

static bool is_one_row(const void *arguments)
{
    const struct assay_linear_pair_args *a = arguments;
    return a->x.extent[0] == 1 && a->x.extent[1] <= LINEAR_GROUPED_GEMV_INNER;
}

/* That of linear.gemv. */
static int64_t depth_bf16_gemv(int64_t inner_length)
{
    return (inner_length + 255) / 256 * 8 + 5;
}

static int64_t depth_gemv(int64_t inner_length)
{
    return larger(depth_bf16_gemv(inner_length) + 2, linear_grouped_depth_gemv(inner_length));
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
static const struct assay_boundary boundaries_gemv[] = {
    {"K", 8},    {"K", 32}, {"K", 64}, {"K", 128}, {"K", 256}, {"K", 512},
    {"K", 1024}, {"N", 2},  {"N", 8},  {"N", 16},  {NULL, 0}};
static const struct assay_boundary boundaries_composed[] = {{"T", 32}, {"T", 64}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("linear_pair.bf16.gemv", linear_pair_route_gemv, .profile = ASSAY_PROFILE_F32,
                 .when = "all matrices bf16, T = 1", .accepts = is_bf16_row,
                 .boundaries = boundaries_bf16_gemv, .depth = depth_bf16_gemv),
    DEVICE_ROUTE("linear_pair.any.gemv", linear_pair_route_gemv, .profile = ASSAY_PROFILE_A16X2,
                 .when = "T = 1, K <= 32768", .accepts = is_one_row, .boundaries = boundaries_gemv,
                 .depth = depth_gemv),
#if defined(ASSAY_HAVE_SIMT)
    {.name = "linear_pair.composed.simt",
     .backend = ASSAY_SIMT,
     .profile = ASSAY_PROFILE_A16X2,
     .when = "all calls",
     .workspace = linear_pair_composed_workspace,
     .run = linear_pair_route_composed,
     .boundaries = boundaries_composed,
     .depth = depth_composed},
#endif
#if defined(ASSAY_HAVE_CUDA)
    {.name = "linear_pair.composed.cuda",
     .backend = ASSAY_CUDA,
     .profile = ASSAY_PROFILE_A16X2,
     .when = "all calls",
     .workspace = linear_pair_composed_workspace,
     .run = linear_pair_route_composed,
     .boundaries = boundaries_composed,
     .depth = depth_composed},
#endif
#endif
#if defined(ASSAY_SIMD)
    {.name = "linear_pair.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = linear_pair_route_avx512,
     .boundaries = boundaries_avx512,
     .depth = depth_avx512},
    {.name = "linear_pair.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = linear_pair_route_avx2,
     .boundaries = boundaries_avx2,
     .depth = depth_avx2},
#endif
    {.name = "linear_pair.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = linear_pair_route_plain},
};

#define ARGUMENTS_OF(i)                                     \
    GROUPED_ARGUMENTS(struct assay_linear_pair_args, w[i]), \
        ASSAY_ARGUMENT(struct assay_linear_pair_args, y[i], ASSAY_OUTPUT)

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_linear_pair_args, x, ASSAY_INPUT),
    ARGUMENTS_OF(0),
    ARGUMENTS_OF(1),
    ARGUMENTS_OF(2),
    ARGUMENTS_OF(3),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {
    ASSAY_SCALAR(struct assay_linear_pair_args, num_products),
    GROUPED_SCALARS(struct assay_linear_pair_args, w[0]),
    GROUPED_SCALARS(struct assay_linear_pair_args, w[1]),
    GROUPED_SCALARS(struct assay_linear_pair_args, w[2]),
    GROUPED_SCALARS(struct assay_linear_pair_args, w[3]),
    {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_linear_pair = {
    .name = "linear_pair",
    .summary = "y[i][t,n] = sum_k x[t,k] * w[i][n,k], i < num_products",
    .args_bytes = sizeof(struct assay_linear_pair_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_linear_pair(assay_context *context, const struct assay_linear_pair_args *args)
{
    return assay_run_op(context, &assay_op_linear_pair, args);
}
