/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/kv_append/kv_append_routes.h"
#include "ops/qk_norm_rope_append/qk_norm_rope_append_routes.h"
#include "ops/rope/rope_routes.h"

static const char op[] = "qk_norm_rope_append";

struct assay_rope_args qknra_rotation(const struct assay_qk_norm_rope_append_args *a)
{
    return (struct assay_rope_args){
        .x = a->q,
        .positions = a->positions,
        .y = a->q_out,
        .rotary_dim = a->rotary_dim,
        .theta = a->theta,
        .sections = {a->sections[0], a->sections[1], a->sections[2]},
    };
}

struct assay_kv_append_args qknra_append(const struct assay_qk_norm_rope_append_args *a)
{
    return (struct assay_kv_append_args){
        .k = a->k,
        .v = a->v,
        .k_cache = a->k_cache,
        .v_cache = a->v_cache,
        .start = a->start,
        .start_at = a->start_at,
    };
}

/* The output overlaps none of the tensors that kv_append does not know. */
static assay_status check_apart(assay_context *context, const char *name,
                                const struct assay_tensor *output,
                                const struct assay_qk_norm_rope_append_args *a)
{
    ASSAY_TRY(assay_check_alias(context, op, name, output, "q_weight", &a->q_weight, false));
    ASSAY_TRY(assay_check_alias(context, op, name, output, "k_weight", &a->k_weight, false));
    return assay_check_alias(context, op, name, output, "positions", &a->positions, false);
}

/* [QKNRA-9] */
static assay_status check_overlaps(assay_context *context,
                                   const struct assay_qk_norm_rope_append_args *a)
{
    ASSAY_TRY(check_apart(context, "q_out", &a->q_out, a));
    ASSAY_TRY(check_apart(context, "k_cache", &a->k_cache, a));
    ASSAY_TRY(check_apart(context, "v_cache", &a->v_cache, a));
    ASSAY_TRY(assay_check_alias(context, op, "k_cache", &a->k_cache, "q", &a->q, false));
    ASSAY_TRY(assay_check_alias(context, op, "v_cache", &a->v_cache, "q", &a->q, false));
    ASSAY_TRY(assay_check_alias(context, op, "q_out", &a->q_out, "q", &a->q, true));
    ASSAY_TRY(assay_check_alias(context, op, "q_out", &a->q_out, "k", &a->k, false));
    ASSAY_TRY(assay_check_alias(context, op, "q_out", &a->q_out, "v", &a->v, false));
    ASSAY_TRY(assay_check_alias(context, op, "q_out", &a->q_out, "k_cache", &a->k_cache, false));
    ASSAY_TRY(assay_check_alias(context, op, "q_out", &a->q_out, "v_cache", &a->v_cache, false));
    if (a->start_at.data == NULL)
        return ASSAY_OK;
    return assay_check_alias(context, op, "q_out", &a->q_out, "start_at", &a->start_at, false);
}

static assay_status check_tensors(assay_context *context,
                                  const struct assay_qk_norm_rope_append_args *a)
{
    const unsigned floats = ASSAY_FORMATS_FLOAT;
    ASSAY_TRY(assay_check_tensor(context, op, "q", &a->q, 3, 3, floats, false));
    ASSAY_TRY(assay_check_tensor(context, op, "q_weight", &a->q_weight, 1, 1, floats, false));
    ASSAY_TRY(assay_check_tensor(context, op, "k_weight", &a->k_weight, 1, 1, floats, false));
    ASSAY_TRY(assay_check_tensor(context, op, "positions", &a->positions, 1, 2,
                                 ASSAY_FORMAT(ASSAY_I32), false));
    return assay_check_tensor(context, op, "q_out", &a->q_out, 3, 3, floats, true);
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_qk_norm_rope_append_args *a = arguments;
    const struct assay_rope_args rotation = qknra_rotation(a);
    const struct assay_kv_append_args append = qknra_append(a);
    ASSAY_TRY(check_tensors(context, a));
    ASSAY_TRY(kv_append_check(context, op, &append));
    if (a->q.extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "q", "must have at least one head");
    ASSAY_TRY(assay_check_extent(context, op, "k", &a->k, 0, a->q.extent[0]));
    ASSAY_TRY(assay_check_extent(context, op, "k", &a->k, 2, a->q.extent[2]));
    ASSAY_TRY(assay_check_extent(context, op, "q_weight", &a->q_weight, 0, a->q.extent[2]));
    ASSAY_TRY(assay_check_extent(context, op, "k_weight", &a->k_weight, 0, a->q.extent[2]));
    ASSAY_TRY(assay_check_shape(context, op, "q_out", &a->q_out, "q", &a->q));
    ASSAY_TRY(rope_check_rotation(context, op, &rotation));
    ASSAY_TRY(assay_check_number(context, op, "eps", a->eps, true));
    ASSAY_TRY(check_overlaps(context, a));
    return rope_check_range(context, op, &rotation); /* last: it reads the data */
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_qk_norm_rope_append_args *a = arguments;
    double q = (double)assay_tensor_count(&a->q), k = (double)assay_tensor_count(&a->k);
    double v = (double)assay_tensor_count(&a->v), width = (double)a->q.extent[2];
    double heads = (double)(assay_tensor_rows(&a->q) + assay_tensor_rows(&a->k));
    double weight =
        (double)(assay_dtype_bytes(a->q_weight.dtype) + assay_dtype_bytes(a->k_weight.dtype));
    return (struct assay_floor){
        .bytes_read = q * (double)assay_dtype_bytes(a->q.dtype) +
                      k * (double)assay_dtype_bytes(a->k.dtype) +
                      v * (double)assay_dtype_bytes(a->v.dtype) + width * weight +
                      4.0 * (double)assay_tensor_count(&a->positions),
        .bytes_written = q * (double)assay_dtype_bytes(a->q_out.dtype) +
                         (k + v) * (double)assay_dtype_bytes(a->k_cache.dtype),
        .operations = 4 * (q + k) + 3 * heads * (double)a->rotary_dim,
    };
}

#if defined(ASSAY_SIMD)
/* Vector routes step by whole vectors of pairs and of elements and finish with a tail. */
static const struct assay_boundary boundaries_avx2[] = {
    {"pairs", 8}, {"pairs", 16}, {"Dv", 8}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {
    {"pairs", 16}, {"pairs", 32}, {"Dv", 16}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
enum { HEAD_WIDTH = 256, HEAD_PAIRS = 32, CHUNK = 8 }; /* what 32 lanes hold, 8 elements each */

static bool fits_head(const void *args)
{
    const struct assay_qk_norm_rope_append_args *a = args;
    return a->q.extent[2] <= HEAD_WIDTH && a->rotary_dim <= 2 * HEAD_PAIRS &&
           a->rotary_dim % (2 * CHUNK) == 0;
}

static const struct assay_boundary boundaries_head[] = {
    {"pairs", 8}, {"pairs", 16}, {"pairs", 24}, {"pairs", 32}, {"Dv", 8}, {"Dv", 256}, {NULL, 0}};
static const struct assay_boundary boundaries_warp[] = {
    {"pairs", 8}, {"pairs", 256}, {"rest", 8}, {"rest", 256}, {"Dv", 8}, {"Dv", 256}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("qk_norm_rope_append.head", qknra_route_head,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "D <= 256, R <= 64, R a multiple of 16",
                 .accepts = fits_head, .boundaries = boundaries_head),
    DEVICE_ROUTE("qk_norm_rope_append.warp", qknra_route_warp,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls", .boundaries = boundaries_warp),
#endif
#if defined(ASSAY_SIMD)
    {.name = "qk_norm_rope_append.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .workspace = qknra_workspace,
     .run = qknra_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "qk_norm_rope_append.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .workspace = qknra_workspace,
     .run = qknra_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "qk_norm_rope_append.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .workspace = qknra_workspace,
     .run = qknra_route_plain},
};

static void reach_slots(const void *args, struct assay_tensor *view)
{
    const struct assay_kv_append_args append = qknra_append(args);
    kv_append_reach(&append, view);
}

typedef struct assay_qk_norm_rope_append_args call;

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(call, q, ASSAY_INPUT),
    ASSAY_ARGUMENT(call, k, ASSAY_INPUT),
    ASSAY_ARGUMENT(call, v, ASSAY_INPUT),
    ASSAY_ARGUMENT(call, q_weight, ASSAY_INPUT),
    ASSAY_ARGUMENT(call, k_weight, ASSAY_INPUT),
    ASSAY_ARGUMENT(call, positions, ASSAY_INPUT),
    ASSAY_ARGUMENT(call, start_at, ASSAY_INPUT),
    ASSAY_ARGUMENT(call, q_out, ASSAY_OUTPUT),
    ASSAY_ARGUMENT_REACH(call, k_cache, ASSAY_INOUT, reach_slots),
    ASSAY_ARGUMENT_REACH(call, v_cache, ASSAY_INOUT, reach_slots),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {
    ASSAY_SCALAR(call, start),       ASSAY_SCALAR(call, rotary_dim),
    ASSAY_SCALAR(call, theta),       ASSAY_SCALAR(call, sections[0]),
    ASSAY_SCALAR(call, sections[1]), ASSAY_SCALAR(call, sections[2]),
    ASSAY_SCALAR(call, unit_offset), ASSAY_SCALAR(call, eps),
    {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_qk_norm_rope_append = {
    .name = op,
    .summary = "q_out = rope(rmsnorm(q)), k_cache[start + t] = rope(rmsnorm(k)), v_cache = v",
    .args_bytes = sizeof(struct assay_qk_norm_rope_append_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_qk_norm_rope_append(assay_context *context,
                                       const struct assay_qk_norm_rope_append_args *args)
{
    return assay_run_op(context, &assay_op_qk_norm_rope_append, args);
}
