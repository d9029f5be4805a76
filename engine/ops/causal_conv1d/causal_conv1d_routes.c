/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d: argument checks, floor, and the route table.
 */
#include "ops/causal_conv1d/causal_conv1d_routes.h"
#include "core/core.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_causal_conv1d_args *a = arguments;
    const char *op = "causal_conv1d";
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "w", &a->w, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "state", &a->state, 2, 2, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    int64_t channels = a->w.extent[0], taps = a->w.extent[1];
    if (channels < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "w", "must have at least one channel");
    if (taps < 2 || taps > CAUSAL_CONV1D_MAX_TAPS)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "w", "must have 2 to %d taps, has %lld",
                            CAUSAL_CONV1D_MAX_TAPS, (long long)taps);
    ASSAY_TRY(assay_check_extent(context, op, "x", &a->x, 1, channels));
    ASSAY_TRY(assay_check_extent(context, op, "state", &a->state, 0, taps - 1));
    ASSAY_TRY(assay_check_extent(context, op, "state", &a->state, 1, channels));
    ASSAY_TRY(assay_check_shape(context, op, "y", &a->y, "x", &a->x));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "x", &a->x, true));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "w", &a->w, false));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "state", &a->state, false));
    ASSAY_TRY(assay_check_alias(context, op, "state", &a->state, "x", &a->x, false));
    return assay_check_alias(context, op, "state", &a->state, "w", &a->w, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_causal_conv1d_args *a = arguments;
    double count = (double)assay_tensor_count(&a->x);
    double state_bytes =
        (double)assay_tensor_count(&a->state) * (double)assay_dtype_bytes(a->state.dtype);
    return (struct assay_floor){
        .bytes_read = count * (double)assay_dtype_bytes(a->x.dtype) + state_bytes +
                      (double)assay_tensor_count(&a->w) * (double)assay_dtype_bytes(a->w.dtype),
        .bytes_written = count * (double)assay_dtype_bytes(a->y.dtype) + state_bytes,
        .operations = count * (2 * (double)a->w.extent[1] + (a->silu ? 4 : 0)),
    };
}

#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"C", 8}, {"C", 16}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"C", 16}, {"C", 32}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 channels a thread, 64 threads, 32 tokens a segment. */
static const struct assay_boundary boundaries_channels[] = {
    {"C", 8}, {"C", 512}, {"T", 32}, {"T", 64}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("causal_conv1d.channels", causal_conv1d_route_channels,
                 .invariance = ASSAY_WIDTH_INVARIANT, .profile = ASSAY_PROFILE_F32,
                 .when = "all calls", .boundaries = boundaries_channels),
#endif
#if defined(ASSAY_SIMD)
    {.name = "causal_conv1d.avx512.cpu",
     .invariance = ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = causal_conv1d_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "causal_conv1d.avx2.cpu",
     .invariance = ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = causal_conv1d_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "causal_conv1d.plain.cpu",
     .invariance = ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .run = causal_conv1d_route_plain},
};

/* Rows of packed weights follow each other without padding and may be read across their ends. */
static void reach_w(const void *args, struct assay_tensor *view)
{
    (void)args;
    if (causal_conv1d_is_packed(view))
        *view = assay_tensor_1d(view->data, view->dtype, assay_tensor_count(view));
}

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_causal_conv1d_args, x, ASSAY_INPUT),
    ASSAY_ARGUMENT_REACH(struct assay_causal_conv1d_args, w, ASSAY_INPUT, reach_w),
    ASSAY_ARGUMENT(struct assay_causal_conv1d_args, state, ASSAY_INOUT),
    ASSAY_ARGUMENT(struct assay_causal_conv1d_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {ASSAY_SCALAR(struct assay_causal_conv1d_args, silu),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_causal_conv1d = {
    .name = "causal_conv1d",
    .summary = "y[t,c] = silu(sum_j w[c,j] * x[t - (taps-1) + j, c])",
    .args_bytes = sizeof(struct assay_causal_conv1d_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_causal_conv1d(assay_context *context,
                                 const struct assay_causal_conv1d_args *args)
{
    return assay_run_op(context, &assay_op_causal_conv1d, args);
}
