/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent: argument checks, floor, and the route table. The state's format decides between
 * two sets of rows, so that a route's counter tells which format really ran.
 */
#include "ops/gdn_recurrent/gdn_recurrent_routes.h"
#include "core/core.h"
#include "ops/gdn_recurrent/gdn_checks.h"

static assay_status validate(assay_context *context, const void *args)
{
    ASSAY_TRY(gdn_check_args(context, "gdn_recurrent", args));
    return gdn_check_aliases(context, "gdn_recurrent", args);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_gdn_recurrent_args *a = arguments;
    double cells = (double)assay_tensor_count(&a->state);
    /* decay; two operations each: prediction, update, output */
    return gdn_floor(a, cells * (double)a->q.extent[0] * 7);
}

size_t gdn_recurrent_workspace(const assay_context *context, const void *args)
{
    const struct assay_gdn_recurrent_args *a = args;
    (void)context;
    return 2 * sizeof(float) * (size_t)assay_tensor_count(&a->q);
}

static bool state_is_f32(const void *arguments)
{
    const struct assay_gdn_recurrent_args *a = arguments;
    return a->state.dtype == ASSAY_F32;
}

static bool state_is_f16(const void *arguments)
{
    const struct assay_gdn_recurrent_args *a = arguments;
    return a->state.dtype == ASSAY_F16;
}

/* Column tiles of four vectors, of one, and a tail. */
#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"dv", 8}, {"dv", 32}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"dv", 16}, {"dv", 64}, {NULL, 0}};
#endif

/* dk of the kernels with the state in registers, and the columns of their lanes and blocks. */
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static const struct assay_boundary boundaries_state32[] = {{"dk", 64}, {"dk", 128}, {"dk", 256},
                                                           {"dv", 4},  {"dv", 16},  {NULL, 0}};
static const struct assay_boundary boundaries_state16[] = {{"dk", 64}, {"dk", 128}, {"dk", 256},
                                                           {"dv", 8},  {"dv", 32},  {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("gdn_recurrent.state32", gdn_recurrent_route_state32, .profile = ASSAY_PROFILE_F32,
                 .when = "state is f32", .accepts = state_is_f32, .boundaries = boundaries_state32),
    DEVICE_ROUTE("gdn_recurrent.state16", gdn_recurrent_route_state16,
                 .profile = ASSAY_PROFILE_STATE16, .when = "state is f16", .accepts = state_is_f16,
                 .boundaries = boundaries_state16),
#endif
#if defined(ASSAY_SIMD)
    {.name = "gdn_recurrent.state32.avx512.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "state is f32",
     .accepts = state_is_f32,
     .workspace = gdn_recurrent_workspace,
     .run = gdn_recurrent_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "gdn_recurrent.state16.avx512.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_STATE16,
     .isa = ASSAY_ISA_AVX512,
     .when = "state is f16",
     .accepts = state_is_f16,
     .workspace = gdn_recurrent_workspace,
     .run = gdn_recurrent_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "gdn_recurrent.state32.avx2.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "state is f32",
     .accepts = state_is_f32,
     .workspace = gdn_recurrent_workspace,
     .run = gdn_recurrent_route_avx2,
     .boundaries = boundaries_avx2},
    {.name = "gdn_recurrent.state16.avx2.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_STATE16,
     .isa = ASSAY_ISA_AVX2,
     .when = "state is f16",
     .accepts = state_is_f16,
     .workspace = gdn_recurrent_workspace,
     .run = gdn_recurrent_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "gdn_recurrent.state32.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .when = "state is f32",
     .accepts = state_is_f32,
     .run = gdn_recurrent_route_plain},
    {.name = "gdn_recurrent.state16.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_STATE16,
     .when = "state is f16",
     .accepts = state_is_f16,
     .run = gdn_recurrent_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_gdn_recurrent_args, q, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_recurrent_args, k, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_recurrent_args, v, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_recurrent_args, g, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_recurrent_args, beta, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_recurrent_args, state, ASSAY_INOUT),
    ASSAY_ARGUMENT(struct assay_gdn_recurrent_args, o, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {ASSAY_SCALAR(struct assay_gdn_recurrent_args, scale),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_gdn_recurrent = {
    .name = "gdn_recurrent",
    .summary = "S = e^g S; S += k (beta (v - S^T k))^T; o = scale S^T q, token by token",
    .args_bytes = sizeof(struct assay_gdn_recurrent_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_gdn_recurrent(assay_context *context,
                                 const struct assay_gdn_recurrent_args *args)
{
    return assay_run_op(context, &assay_op_gdn_recurrent, args);
}
