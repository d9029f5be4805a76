/* SPDX-License-Identifier: MIT
 *
 * linear_grouped: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "cuda/warpgroups.h"
#include "ops/linear_grouped/linear_grouped_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_linear_grouped_args *a = arguments;
    const char *op = "linear_grouped";
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(grouped_check(context, op, "w", &a->w));
    if (a->residual.data != NULL)
        ASSAY_TRY(assay_check_tensor(context, op, "residual", &a->residual, 2, 2,
                                     ASSAY_FORMAT(ASSAY_F32), false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(assay_check_extent(context, op, "x", &a->x, 1, a->w.columns));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 0, a->x.extent[0]));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 1, a->w.rows));
    if (a->residual.data != NULL) {
        ASSAY_TRY(assay_check_shape(context, op, "residual", &a->residual, "y", &a->y));
        ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "residual", &a->residual,
                                    a->y.dtype == ASSAY_F32));
    }
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "x", &a->x, false));
    return grouped_check_alias(context, op, "y", &a->y, "w", &a->w);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_linear_grouped_args *a = arguments;
    double rows = (double)a->x.extent[0], inner = (double)a->w.columns;
    double columns = (double)a->w.rows;
    return (struct assay_floor){
        .bytes_read = rows * inner * (double)assay_dtype_bytes(a->x.dtype) +
                      columns * grouped_row_bytes(&a->w) +
                      (a->residual.data != NULL ? 4 * rows * columns : 0),
        .bytes_written = rows * columns * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 2 * rows * columns * inner,
    };
}

#if defined(ASSAY_SIMD)
/* x in the order in which codes are unpacked, in binary32, padded. */
static size_t vector_workspace(const assay_context *context, const void *arguments)
{
    const struct assay_linear_grouped_args *a = arguments;
    (void)context;
    return 4 * (size_t)a->x.extent[0] * (size_t)linear_grouped_padded(a->w.columns);
}

/* A product passes 7 additions of its block, one for each block, and those of the lanes' tree; the
 * blocks of q8g32 are fewer, and its chain is no longer. */
static int64_t depth_avx2(int64_t inner_length)
{
    return 7 + (inner_length + 63) / 64 + 3;
}

static int64_t depth_avx512(int64_t inner_length)
{
    return 7 + (inner_length + 127) / 128 + 4;
}

static const struct assay_boundary boundaries_avx2[] = {
    {"K", 32}, {"K", 64}, {"N", 16}, {"T", LINEAR_GROUPED_TILE_T}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"K", 64},
                                                          {"K", 128},
                                                          {"N", LINEAR_GROUPED_TILE_N_AVX512},
                                                          {"T", LINEAR_GROUPED_TILE_T},
                                                          {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool has_one_row(const void *arguments)
{
    const struct assay_linear_grouped_args *a = arguments;
    return a->x.extent[0] == 1 && a->w.columns <= LINEAR_GROUPED_GEMV_INNER;
}

/* Where the kernel for many rows of w is not the faster one, or not to be had. */
static bool has_few_rows(const void *arguments)
{
    const struct assay_linear_grouped_args *a = arguments;
    return a->x.extent[0] <= LINEAR_GROUPED_SMALL_ROWS &&
           (a->x.extent[0] < LINEAR_GROUPED_WIDE_FROM || a->w.rows < LINEAR_GROUPED_WIDE_OUTPUTS ||
            !devices_have_warpgroups());
}

static bool is_for_wide(const void *arguments)
{
    const struct assay_linear_grouped_args *a = arguments;
    return a->x.extent[0] <= LINEAR_GROUPED_WIDE_ROWS && devices_have_warpgroups();
}

/* x in the order of warpgroups, in bf16, of the most columns: planes that are not aligned take
 * those. */
static size_t wide_workspace(const assay_context *context, const void *arguments)
{
    const struct assay_linear_grouped_args *a = arguments;
    (void)context;
    return (size_t)(linear_grouped_wide_units(a->w.columns) * LINEAR_GROUPED_UNIT) *
           LINEAR_GROUPED_WIDE_COLUMNS * 2;
}

/* Of a group of 64 columns 4 mma, each as 36 roundings, an FMA a group, both planes of x. */
static int64_t depth_wide(int64_t inner_length)
{
    return 4 * 36 + (inner_length + 31) / 32 + 1;
}

/* x in the order of tensor cores, in bf16; of binary32 two planes. */
static size_t ordered_workspace(const void *arguments, int multiple)
{
    const struct assay_linear_grouped_args *a = arguments;
    int64_t units = (a->w.columns + LINEAR_GROUPED_UNIT - 1) / LINEAR_GROUPED_UNIT;
    return (size_t)(linear_grouped_x_tiles(a->x.extent[0], multiple) * 8 * units *
                    LINEAR_GROUPED_UNIT) *
           assay_dtype_bytes(a->x.dtype);
}

static size_t small_workspace(const assay_context *context, const void *arguments)
{
    (void)context;
    return ordered_workspace(arguments, LINEAR_GROUPED_SMALL_ROWS / 8);
}

static size_t tiled_workspace(const assay_context *context, const void *arguments)
{
    (void)context;
    return ordered_workspace(arguments, LINEAR_GROUPED_TILED_TILES);
}

/* Of a group of 64 columns 4 mma for each of two planes, each as 36 roundings (linear_bound.md),
 * then an FMA a group, of which q8g32 has most; up to 8 warps share the groups. */
static int64_t depth_tensor(int64_t inner_length)
{
    return 4 * 2 * 36 + (inner_length + 31) / 32 + 8;
}

/* Chunks of 8 columns, every 32nd a lane, and a tree. */
static int64_t depth_generic(int64_t inner_length)
{
    return 7 + (inner_length + 255) / 256 + 5;
}

static const struct assay_boundary boundaries_gemv[] = {
    {"K", 32}, {"K", 64}, {"K", 128}, {"K", 256}, {"K", 512}, {"K", 1024},
    {"N", 8},  {"N", 16}, {"N", 32},  {"N", 64},  {NULL, 0}};
static const struct assay_boundary boundaries_small[] = {
    {"T", 8},   {"T", 16}, {"K", 32}, {"K", 64}, {"K", 128}, {"K", 256},
    {"K", 512}, {"N", 16}, {"N", 32}, {"N", 40}, {"N", 64},  {NULL, 0}};
static const struct assay_boundary boundaries_wide[] = {
    {"T", 8},   {"T", 16}, {"K", 32}, {"K", 64},  {"K", 256},
    {"K", 512}, {"N", 16}, {"N", 64}, {"N", 128}, {NULL, 0}};
static const struct assay_boundary boundaries_tiled[] = {
    {"T", 64}, {"K", 32}, {"K", 64}, {"K", 256}, {"N", 64}, {"N", 128}, {"N", 256}, {NULL, 0}};
static const struct assay_boundary boundaries_generic[] = {
    {"K", 8}, {"K", 64}, {"K", 256}, {"N", 8}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("linear_grouped.gemv", linear_grouped_route_gemv, .profile = ASSAY_PROFILE_A16X2,
                 .when = "T = 1, K <= 32768", .accepts = has_one_row, .boundaries = boundaries_gemv,
                 .depth = linear_grouped_depth_gemv),
    DEVICE_ROUTE("linear_grouped.small", linear_grouped_route_small,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "T <= 8; T <= 32, N < 12672",
                 .accepts = has_few_rows, .workspace = small_workspace,
                 .boundaries = boundaries_small, .depth = depth_tensor),
    DEVICE_ROUTE("linear_grouped.wide", linear_grouped_route_wide,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "T <= 32, devices with warpgroups (sm_90)",
                 .accepts = is_for_wide, .workspace = wide_workspace, .boundaries = boundaries_wide,
                 .depth = depth_wide),
    DEVICE_ROUTE("linear_grouped.tiled", linear_grouped_route_tiled,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_A16X2, .when = "all calls", .workspace = tiled_workspace,
                 .boundaries = boundaries_tiled, .depth = depth_tensor),
    DEVICE_ROUTE("linear_grouped.generic", linear_grouped_route_generic,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls, by request",
                 .boundaries = boundaries_generic, .depth = depth_generic),
#endif
#if defined(ASSAY_SIMD)
    {.name = "linear_grouped.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = linear_grouped_route_avx512,
     .boundaries = boundaries_avx512,
     .depth = depth_avx512},
    {.name = "linear_grouped.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .workspace = vector_workspace,
     .run = linear_grouped_route_avx2,
     .boundaries = boundaries_avx2,
     .depth = depth_avx2},
#endif
    {.name = "linear_grouped.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = linear_grouped_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_linear_grouped_args, x, ASSAY_INPUT),
    GROUPED_ARGUMENTS(struct assay_linear_grouped_args, w),
    ASSAY_ARGUMENT(struct assay_linear_grouped_args, residual, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_linear_grouped_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {GROUPED_SCALARS(struct assay_linear_grouped_args, w),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_linear_grouped = {
    .name = "linear_grouped",
    .summary = "y[t,n] = sum_k x[t,k] * code[n,k] * scale[n,k/group] [+ residual[t,n]]",
    .args_bytes = sizeof(struct assay_linear_grouped_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_linear_grouped(assay_context *context,
                                  const struct assay_linear_grouped_args *args)
{
    return assay_run_op(context, &assay_op_linear_grouped, args);
}
