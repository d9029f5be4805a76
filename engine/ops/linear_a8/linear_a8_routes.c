/* SPDX-License-Identifier: MIT
 *
 * linear_a8: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "cuda/warpgroups.h"
#include "ops/linear_a8/linear_a8_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_linear_a8_args *a = arguments;
    const char *op = "linear_a8";
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
    const struct assay_linear_a8_args *a = arguments;
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

enum { INVARIANT = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT };

#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {
    {"N", 8}, {"N", 16}, {"T", 4}, {"T", LINEAR_A8_TILE_T}, {"K", A8_GROUP}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {
    {"N", 16}, {"N", 32}, {"T", 4}, {"T", LINEAR_A8_TILE_T}, {"K", A8_GROUP}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool has_few_rows(const void *arguments)
{
    const struct assay_linear_a8_args *a = arguments;
    return a->x.extent[0] <= LINEAR_A8_SMALL_ROWS;
}

static bool has_warpgroups(const void *arguments)
{
    (void)arguments;
    return devices_have_warpgroups();
}

/* Codes of x, and a binary32 number for each of its scales. */
static size_t device_workspace(const void *arguments, int64_t tile)
{
    const struct assay_linear_a8_args *a = arguments;
    size_t padded = (size_t)a8_padded(a->w.columns);
    size_t rows = (size_t)a8_device_pitch(a->x.extent[0], tile);
    return rows * (padded + padded / A8_GROUP * sizeof(float));
}

static size_t small_workspace(const assay_context *context, const void *arguments)
{
    (void)context;
    return device_workspace(arguments, A8_SMALL_TILE);
}

static size_t large_workspace(const assay_context *context, const void *arguments)
{
    (void)context;
    return device_workspace(arguments, A8_LARGE_TILE);
}

static size_t warpgroup_workspace(const assay_context *context, const void *arguments)
{
    const struct assay_linear_a8_args *a = arguments;
    int64_t padded = a8_padded(a->w.columns);
    size_t plain = device_workspace(arguments, A8_LARGE_TILE); /* where planes are not aligned */
    size_t blocks = (size_t)(a8_device_pitch(a->x.extent[0], A8_LARGE_TILE) *
                             (padded + 2 * a8_scale_groups(padded)));
    (void)context;
    return plain > blocks ? plain : blocks;
}

static const struct assay_boundary boundaries_small[] = {{"T", 8},   {"T", 16},  {"T", 32},
                                                         {"K", 128}, {"K", 256}, {"K", 512},
                                                         {"N", 16},  {"N", 32},  {NULL, 0}};
static const struct assay_boundary boundaries_warpgroup[] = {
    {"T", 64},   {"T", 128},  {"K", 64}, {"K", 128}, {"K", 256}, {"K", 640},
    {"K", 1024}, {"K", 2048}, {"N", 64}, {"N", 128}, {NULL, 0}};
static const struct assay_boundary boundaries_tiled[] = {
    {"T", 64}, {"T", 128}, {"K", 128}, {"K", 256}, {"K", 384}, {"N", 128}, {"N", 144}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("linear_a8.small", linear_a8_route_small, .profile = ASSAY_PROFILE_A8,
                 .invariance = INVARIANT, .when = "T <= 32", .accepts = has_few_rows,
                 .workspace = small_workspace, .boundaries = boundaries_small),
    DEVICE_ROUTE("linear_a8.warpgroup", linear_a8_route_warpgroup, .profile = ASSAY_PROFILE_A8,
                 .invariance = INVARIANT, .when = "devices with warpgroups (sm_90)",
                 .accepts = has_warpgroups, .workspace = warpgroup_workspace,
                 .boundaries = boundaries_warpgroup),
    DEVICE_ROUTE("linear_a8.tiled", linear_a8_route_tiled, .profile = ASSAY_PROFILE_A8,
                 .invariance = INVARIANT, .when = "all calls", .workspace = large_workspace,
                 .boundaries = boundaries_tiled),
    DEVICE_ROUTE("linear_a8.generic", linear_a8_route_generic, .profile = ASSAY_PROFILE_A8,
                 .invariance = INVARIANT, .when = "all calls, by request",
                 .workspace = large_workspace),
#endif
#if defined(ASSAY_SIMD)
    {.name = "linear_a8.avx512.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_A8,
     .invariance = INVARIANT,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .workspace = a8_workspace,
     .run = linear_a8_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "linear_a8.avx2.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_A8,
     .invariance = INVARIANT,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .workspace = a8_workspace,
     .run = linear_a8_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "linear_a8.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_A8,
     .invariance = INVARIANT,
     .when = "all calls",
     .workspace = a8_workspace,
     .run = linear_a8_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_linear_a8_args, x, ASSAY_INPUT),
    GROUPED_ARGUMENTS(struct assay_linear_a8_args, w),
    ASSAY_ARGUMENT(struct assay_linear_a8_args, residual, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_linear_a8_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {GROUPED_SCALARS(struct assay_linear_a8_args, w),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_linear_a8 = {
    .name = "linear_a8",
    .summary = "y[t,n] = sum over groups of (sum_k xcode * wcode) * wscale * xscale [+ r[t,n]]",
    .args_bytes = sizeof(struct assay_linear_a8_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_linear_a8(assay_context *context, const struct assay_linear_a8_args *args)
{
    return assay_run_op(context, &assay_op_linear_a8, args);
}
