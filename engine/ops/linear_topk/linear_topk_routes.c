/* SPDX-License-Identifier: MIT
 *
 * linear_topk: argument checks, floor, and the route table. Rows for bf16 and for grouped formats
 * stand apart: their sums have different chains, and so different bounds.
 */
#include "core/core.h"
#include "ops/linear/linear_routes.h"
#include "ops/linear_grouped/linear_grouped_routes.h"
#include "ops/linear_topk/linear_topk_routes.h"

static const char op[] = "linear_topk";

static assay_status check_outputs(assay_context *context, const struct assay_linear_topk_args *a)
{
    ASSAY_TRY(
        assay_check_tensor(context, op, "values", &a->values, 2, 2, ASSAY_FORMAT(ASSAY_F32), true));
    ASSAY_TRY(assay_check_tensor(context, op, "ids", &a->ids, 2, 2, ASSAY_FORMAT(ASSAY_I32), true));
    ASSAY_TRY(assay_check_extent(context, op, "values", &a->values, 0, a->x.extent[0]));
    if (a->values.extent[1] < 1 || a->values.extent[1] > ASSAY_TOPK_MOST)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "values",
                            "rows must have 1 to %d elements, have %lld", ASSAY_TOPK_MOST,
                            (long long)a->values.extent[1]);
    return assay_check_shape(context, op, "ids", &a->ids, "values", &a->values);
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_linear_topk_args *a = arguments;
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(any_weights_check(context, op, "w", &a->w));
    ASSAY_TRY(assay_check_extent(context, op, "x", &a->x, 1, a->w.columns));
    ASSAY_TRY(check_outputs(context, a));
    if (a->w.rows > INT32_MAX)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "w", "ids must fit 31 bits");
    if (a->limit < 1 || a->limit > a->w.rows)
        return assay_refuse(context, ASSAY_E_ARG, op, "limit", "must be in [1, %lld], is %lld",
                            (long long)a->w.rows, (long long)a->limit);
    ASSAY_TRY(assay_check_alias(context, op, "values", &a->values, "x", &a->x, false));
    ASSAY_TRY(any_weights_check_alias(context, op, "values", &a->values, "w", &a->w));
    ASSAY_TRY(assay_check_alias(context, op, "ids", &a->ids, "x", &a->x, false));
    ASSAY_TRY(any_weights_check_alias(context, op, "ids", &a->ids, "w", &a->w));
    return assay_check_alias(context, op, "ids", &a->ids, "values", &a->values, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_linear_topk_args *a = arguments;
    double rows = (double)a->x.extent[0], inner = (double)a->w.columns, limit = (double)a->limit;
    return (struct assay_floor){
        .bytes_read = rows * inner * (double)assay_dtype_bytes(a->x.dtype) +
                      limit * any_weights_row_bytes(&a->w),
        .bytes_written = 8 * rows * (double)a->values.extent[1],
        .operations = 2 * rows * limit * inner,
    };
}

#if defined(ASSAY_SIMD) || defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool is_bf16(const void *arguments)
{
    const struct assay_linear_topk_args *a = arguments;
    return !any_weights_grouped(&a->w);
}

static bool is_grouped(const void *arguments)
{
    return !is_bf16(arguments);
}
#endif

#if defined(ASSAY_SIMD)
int64_t linear_topk_ranges(const struct assay_linear_topk_args *a)
{
    const int64_t k = a->values.extent[1], most_ranges = 64, most_keys = 512 * 1024;
    const int64_t least = 16 * k > 256 ? 16 * k : 256; /* else a list is filled for little */
    int64_t ranges = (a->limit + least - 1) / least;
    int64_t keys = k * (a->x.extent[0] > 0 ? a->x.extent[0] : 1);
    ranges = ranges < most_ranges ? ranges : most_ranges;
    if (ranges * keys > most_keys)
        ranges = most_keys / keys;
    return ranges > 0 ? ranges : 1;
}

size_t linear_topk_lists(const struct assay_linear_topk_args *a)
{
    return 8 * (size_t)(linear_topk_ranges(a) * a->x.extent[0] * a->values.extent[1]);
}

/* Lists, and for grouped formats x as linear_grouped prepares it. */
static size_t workspace_vector(const assay_context *context, const void *arguments)
{
    const struct assay_linear_topk_args *a = arguments;
    (void)context;
    size_t x = 4 * (size_t)(a->x.extent[0] * linear_grouped_padded(a->w.columns));
    return linear_topk_lists(a) + (is_grouped(a) ? x : 0);
}

ANY_PRODUCT_DEPTH(bf16_avx2, assay_op_linear, "bf16.avx2")
ANY_PRODUCT_DEPTH(bf16_avx512, assay_op_linear, "bf16.avx512")
ANY_PRODUCT_DEPTH(grouped_avx2, assay_op_linear_grouped, "avx2")
ANY_PRODUCT_DEPTH(grouped_avx512, assay_op_linear_grouped, "avx512")

static const struct assay_boundary boundaries_vector[] = {
    {"limit", LINEAR_TOPK_TILE_COLUMNS}, {"limit", 256}, {"limit", 512}, {"k", 2},
    {"T", LINEAR_TOPK_TILE_ROWS},        {"K", 16},      {"K", 64},      {NULL, 0}};
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
        return linear_topk_device_workspace(context, arguments, #method);                 \
    }
WORKSPACE(gemv)
WORKSPACE(small)
WORKSPACE(tiled)

static bool is_bf16_row(const void *arguments)
{
    const struct assay_linear_topk_args *a = arguments;
    return is_bf16(a) && a->x.extent[0] == 1;
}

static bool is_bf16_few_rows(const void *arguments)
{
    const struct assay_linear_topk_args *a = arguments;
    return is_bf16(a) && a->x.extent[0] <= LINEAR_SMALL_ROWS;
}

static bool is_grouped_row(const void *arguments)
{
    const struct assay_linear_topk_args *a = arguments;
    return is_grouped(a) && a->x.extent[0] == 1 && a->w.columns <= LINEAR_GROUPED_GEMV_INNER;
}

static bool is_grouped_few_rows(const void *arguments)
{
    const struct assay_linear_topk_args *a = arguments;
    return is_grouped(a) && a->x.extent[0] <= LINEAR_GROUPED_SMALL_ROWS;
}

/* Parts and the slab of the executor; what a warp's groups are for 8 places and fewer, for 16 ...
 */
static const struct assay_boundary boundaries_few[] = {
    {"limit", 64}, {"limit", LINEAR_TOPK_PART_SIMT}, {"limit", 4096}, {"k", 2}, {"K", 64},
    {NULL, 0}};
/* Of all rows: those of a slab as well. */
static const struct assay_boundary boundaries_device[] = {
    {"limit", 64},   {"limit", LINEAR_TOPK_PART_SIMT},
    {"limit", 4096}, {"k", 2},
    {"K", 64},       {"T", 40},
    {NULL, 0}};
#endif

#define INVARIANT .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("linear_topk.bf16.gemv", linear_topk_route_gemv, .profile = ASSAY_PROFILE_F32,
                 .when = "bf16, T = 1", .accepts = is_bf16_row, .workspace = workspace_gemv,
                 .boundaries = boundaries_few, .depth = depth_bf16_gemv),
    DEVICE_ROUTE("linear_topk.bf16.small", linear_topk_route_small, INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "bf16, T <= 32",
                 .accepts = is_bf16_few_rows, .workspace = workspace_small,
                 .boundaries = boundaries_few, .depth = depth_bf16_small),
    DEVICE_ROUTE("linear_topk.bf16.tiled", linear_topk_route_tiled, INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "bf16", .accepts = is_bf16,
                 .workspace = workspace_tiled, .boundaries = boundaries_device,
                 .depth = depth_bf16_tiled),
    DEVICE_ROUTE("linear_topk.grouped.gemv", linear_topk_route_gemv, .profile = ASSAY_PROFILE_A16X2,
                 .when = "grouped formats, T = 1, K <= 32768", .accepts = is_grouped_row,
                 .workspace = workspace_gemv, .boundaries = boundaries_few,
                 .depth = depth_grouped_gemv),
    DEVICE_ROUTE("linear_topk.grouped.small", linear_topk_route_small, INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "grouped formats, T <= 32",
                 .accepts = is_grouped_few_rows, .workspace = workspace_small,
                 .boundaries = boundaries_few, .depth = depth_grouped_small),
    DEVICE_ROUTE("linear_topk.grouped.tiled", linear_topk_route_tiled, INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "grouped formats", .accepts = is_grouped,
                 .workspace = workspace_tiled, .boundaries = boundaries_device,
                 .depth = depth_grouped_tiled),
#endif
#if defined(ASSAY_SIMD)
#define VECTOR_ROUTE(formats, set, needs, predicate, words)                               \
    {                                                                                     \
        .name = "linear_topk." #formats "." #set ".cpu", INVARIANT, .backend = ASSAY_CPU, \
        .profile = ASSAY_PROFILE_F32, .isa = needs, .when = words, .accepts = predicate,  \
        .workspace = workspace_vector, .run = linear_topk_route_##set,                    \
        .boundaries = boundaries_vector, .depth = depth_##formats##_##set,                \
    }
    VECTOR_ROUTE(bf16, avx512, ASSAY_ISA_AVX512, is_bf16, "bf16"),
    VECTOR_ROUTE(grouped, avx512, ASSAY_ISA_AVX512, is_grouped, "grouped formats"),
    VECTOR_ROUTE(bf16, avx2, ASSAY_ISA_AVX2, is_bf16, "bf16"),
    VECTOR_ROUTE(grouped, avx2, ASSAY_ISA_AVX2, is_grouped, "grouped formats"),
#endif
    {.name = "linear_topk.plain.cpu",
     INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = linear_topk_route_plain},
};

/* To read a row at or beyond the limit is a fault, [LINEARTOPK-3]. */
static void reach_rows(const void *args, struct assay_tensor *view)
{
    view->extent[0] = ((const struct assay_linear_topk_args *)args)->limit;
}

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_linear_topk_args, x, ASSAY_INPUT),
    ASSAY_ARGUMENT_REACH(struct assay_linear_topk_args, w.base, ASSAY_INPUT, reach_rows),
    ASSAY_ARGUMENT_REACH(struct assay_linear_topk_args, w.high, ASSAY_INPUT, reach_rows),
    ASSAY_ARGUMENT_REACH(struct assay_linear_topk_args, w.scales, ASSAY_INPUT, reach_rows),
    ASSAY_ARGUMENT(struct assay_linear_topk_args, values, ASSAY_OUTPUT),
    ASSAY_ARGUMENT(struct assay_linear_topk_args, ids, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {GROUPED_SCALARS(struct assay_linear_topk_args, w),
                                              ASSAY_SCALAR(struct assay_linear_topk_args, limit),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_linear_topk = {
    .name = op,
    .summary = "values, ids = the k largest of sum_k x[t,k] * w[v,k], v < limit",
    .args_bytes = sizeof(struct assay_linear_topk_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_linear_topk(assay_context *context, const struct assay_linear_topk_args *args)
{
    return assay_run_op(context, &assay_op_linear_topk, args);
}
