/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent: argument checks, floor, and the route table. The state's format decides between
 * two sets of rows, so that a route's counter tells which format really ran.
 */
#include "ops/gdn_recurrent/gdn_recurrent_routes.h"
#include "core/core.h"

/* q, k, v, g, beta, state, o agree with each other. */
static assay_status check_extents(assay_context *context, const char *op,
                                  const struct assay_gdn_recurrent_args *a)
{
    int64_t tokens = a->q.extent[0], key_heads = a->q.extent[1], key_dim = a->q.extent[2];
    int64_t heads = a->v.extent[1], value_dim = a->v.extent[2];
    if (key_heads < 1 || key_dim < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "q",
                            "must have at least one head of at least one element");
    ASSAY_TRY(assay_check_shape(context, op, "k", &a->k, "q", &a->q));
    ASSAY_TRY(assay_check_extent(context, op, "v", &a->v, 0, tokens));
    if (heads < 1 || heads % key_heads != 0 || value_dim < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "v",
                            "must have at least one element a head, and a positive multiple of "
                            "q's %lld heads, has %lld",
                            (long long)key_heads, (long long)heads);
    ASSAY_TRY(assay_check_extent(context, op, "g", &a->g, 0, tokens));
    ASSAY_TRY(assay_check_extent(context, op, "g", &a->g, 1, heads));
    ASSAY_TRY(assay_check_shape(context, op, "beta", &a->beta, "g", &a->g));
    ASSAY_TRY(assay_check_extent(context, op, "state", &a->state, 0, heads));
    ASSAY_TRY(assay_check_extent(context, op, "state", &a->state, 1, key_dim));
    ASSAY_TRY(assay_check_extent(context, op, "state", &a->state, 2, value_dim));
    return assay_check_shape(context, op, "o", &a->o, "v", &a->v);
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_gdn_recurrent_args *a = arguments;
    const char *op = "gdn_recurrent";
    const unsigned f32 = ASSAY_FORMAT(ASSAY_F32), states = f32 | ASSAY_FORMAT(ASSAY_F16);
    ASSAY_TRY(assay_check_tensor(context, op, "q", &a->q, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "k", &a->k, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "v", &a->v, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "g", &a->g, 2, 2, f32, false));
    ASSAY_TRY(assay_check_tensor(context, op, "beta", &a->beta, 2, 2, f32, false));
    ASSAY_TRY(assay_check_tensor(context, op, "state", &a->state, 3, 3, states, true));
    ASSAY_TRY(assay_check_tensor(context, op, "o", &a->o, 3, 3, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(check_extents(context, op, a));
    ASSAY_TRY(assay_check_number(context, op, "scale", a->scale, false));
    const struct {
        const char *name;
        const struct assay_tensor *tensor;
    } inputs[] = {{"q", &a->q}, {"k", &a->k}, {"v", &a->v}, {"g", &a->g}, {"beta", &a->beta}};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        bool may_equal = inputs[i].tensor == &a->v;
        ASSAY_TRY(assay_check_alias(context, op, "o", &a->o, inputs[i].name, inputs[i].tensor,
                                    may_equal));
        ASSAY_TRY(assay_check_alias(context, op, "state", &a->state, inputs[i].name,
                                    inputs[i].tensor, false));
    }
    return assay_check_alias(context, op, "o", &a->o, "state", &a->state, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_gdn_recurrent_args *a = arguments;
    double tokens = (double)a->q.extent[0], heads = (double)a->v.extent[1];
    double key_dim = (double)a->state.extent[1], value_dim = (double)a->state.extent[2];
    double cells = heads * key_dim * value_dim;
    double state_bytes = tokens > 0 ? cells * (double)assay_dtype_bytes(a->state.dtype) : 0;
    double flops = cells * tokens * 7; /* decay; two operations each: prediction, update, output */
    return (struct assay_floor){
        .bytes_read = (double)assay_tensor_count(&a->q) *
                          (double)(assay_dtype_bytes(a->q.dtype) + assay_dtype_bytes(a->k.dtype)) +
                      (double)assay_tensor_count(&a->v) * (double)assay_dtype_bytes(a->v.dtype) +
                      8 * tokens * heads + state_bytes,
        .bytes_written =
            (double)assay_tensor_count(&a->o) * (double)assay_dtype_bytes(a->o.dtype) + state_bytes,
        .operations = flops,
    };
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
static const struct assay_boundary boundaries_avx2[] = {{"dv", 8}, {"dv", 32}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"dv", 16}, {"dv", 64}, {NULL, 0}};

static const struct assay_route routes[] = {
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

const struct assay_op assay_op_gdn_recurrent = {
    .name = "gdn_recurrent",
    .summary = "S = e^g S; S += k (beta (v - S^T k))^T; o = scale S^T q, token by token",
    .args_bytes = sizeof(struct assay_gdn_recurrent_args),
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
