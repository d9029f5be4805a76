/* SPDX-License-Identifier: MIT
 *
 * linear_w8row: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/linear_grouped/grouped_planes.h"
#include "ops/linear_w8row/linear_w8row_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_linear_w8row_args *a = arguments;
    const char *op = "linear_w8row";
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    if (a->w.columns >= ASSAY_W8ROW_COLUMNS_END)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "w",
                            "has %lld columns; from %d on sums of 8-bit products may exceed 32 "
                            "bits: use linear_grouped",
                            (long long)a->w.columns, ASSAY_W8ROW_COLUMNS_END);
    ASSAY_TRY(grouped_check(context, op, "w", &a->w));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(assay_check_extent(context, op, "x", &a->x, 1, a->w.columns));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 0, a->x.extent[0]));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 1, a->w.rows));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "x", &a->x, false));
    return grouped_check_alias(context, op, "y", &a->y, "w", &a->w);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_linear_w8row_args *a = arguments;
    double rows = (double)a->x.extent[0], inner = (double)a->w.columns;
    double columns = (double)a->w.rows;
    return (struct assay_floor){
        .bytes_read = rows * inner * (double)assay_dtype_bytes(a->x.dtype) +
                      columns * grouped_row_bytes(&a->w),
        .bytes_written = rows * columns * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 2 * rows * columns * inner,
    };
}

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static const struct assay_boundary boundaries_mma[] = {
    {"T", 64}, {"T", 128}, {"K", 128}, {"K", 256}, {"K", 512}, {"N", 128}, {NULL, 0}};
#endif
#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_vector[] = {{"T", 4},   {"N", 4},    {"K", 32},
                                                          {"K", 128}, {"K", 1024}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
#if defined(ASSAY_HAVE_CUDA)
    {.name = "linear_w8row.cublas.cuda",
     .backend = ASSAY_CUDA,
     .profile = ASSAY_PROFILE_W8ROW,
     .when = "sizes below 2^31, cuBLAS found",
     .accepts = linear_w8row_cublas_takes,
     .workspace = linear_w8row_cublas_workspace,
     .run = linear_w8row_route_cublas},
#endif
    DEVICE_ROUTE("linear_w8row.mma", linear_w8row_route_mma, .profile = ASSAY_PROFILE_W8ROW,
                 .when = "all calls", .workspace = w8row_workspace, .boundaries = boundaries_mma),
#endif
#if defined(ASSAY_SIMD)
    {.name = "linear_w8row.avx512.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_W8ROW,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .workspace = w8row_workspace,
     .run = linear_w8row_route_avx512,
     .boundaries = boundaries_vector},
    {.name = "linear_w8row.avx2.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_W8ROW,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .workspace = w8row_workspace,
     .run = linear_w8row_route_avx2,
     .boundaries = boundaries_vector},
#endif
    {.name = "linear_w8row.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_W8ROW,
     .when = "all calls",
     .workspace = w8row_workspace,
     .run = linear_w8row_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_linear_w8row_args, x, ASSAY_INPUT),
    GROUPED_ARGUMENTS(struct assay_linear_w8row_args, w),
    ASSAY_ARGUMENT(struct assay_linear_w8row_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {
    GROUPED_SCALARS(struct assay_linear_w8row_args, w),
    ASSAY_SCALAR(struct assay_linear_w8row_args, equalise),
    {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_linear_w8row = {
    .name = "linear_w8row",
    .summary = "y[t,n] = row[n] * token[t] * sum_k x8[t,k] * w8[n,k], about sum_k x * w",
    .args_bytes = sizeof(struct assay_linear_w8row_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_linear_w8row(assay_context *context, const struct assay_linear_w8row_args *args)
{
    return assay_run_op(context, &assay_op_linear_w8row, args);
}
