/* SPDX-License-Identifier: MIT
 *
 * kv_append: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/kv_append/kv_append_routes.h"

/* Rows and their cache agree in heads and width. */
static assay_status check_pair(assay_context *context, const char *op, const char *name,
                               const struct assay_tensor *rows, const char *cache_name,
                               const struct assay_tensor *cache)
{
    ASSAY_TRY(assay_check_extent(context, op, cache_name, cache, 1, rows->extent[1]));
    ASSAY_TRY(assay_check_extent(context, op, cache_name, cache, 2, rows->extent[2]));
    return assay_check_alias(context, op, cache_name, cache, name, rows, false);
}

static assay_status check_start_at(assay_context *context, const char *op,
                                   const struct assay_kv_append_args *a)
{
    const struct assay_tensor *at = &a->start_at;
    ASSAY_TRY(assay_check_extent(context, op, "start_at", at, 0, 1));
    ASSAY_TRY(assay_check_alias(context, op, "k_cache", &a->k_cache, "start_at", at, false));
    return assay_check_alias(context, op, "v_cache", &a->v_cache, "start_at", at, false);
}

assay_status kv_append_check(assay_context *context, const char *op,
                             const struct assay_kv_append_args *a)
{
    ASSAY_TRY(assay_check_tensor(context, op, "k", &a->k, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "v", &a->v, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(
        assay_check_tensor(context, op, "k_cache", &a->k_cache, 3, 3, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(
        assay_check_tensor(context, op, "v_cache", &a->v_cache, 3, 3, ASSAY_FORMATS_FLOAT, true));
    if (a->start_at.data != NULL)
        ASSAY_TRY(assay_check_tensor(context, op, "start_at", &a->start_at, 1, 1,
                                     ASSAY_FORMAT(ASSAY_I32), false));
    if (a->k.extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "k", "must have at least one head");
    if (a->k_cache.extent[0] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "k_cache", "must have at least one slot");
    if (a->start_at.data != NULL)
        ASSAY_TRY(check_start_at(context, op, a));
    ASSAY_TRY(assay_check_extent(context, op, "v", &a->v, 0, a->k.extent[0]));
    ASSAY_TRY(assay_check_extent(context, op, "v", &a->v, 1, a->k.extent[1]));
    ASSAY_TRY(assay_check_extent(context, op, "v_cache", &a->v_cache, 0, a->k_cache.extent[0]));
    ASSAY_TRY(check_pair(context, op, "k", &a->k, "k_cache", &a->k_cache));
    ASSAY_TRY(check_pair(context, op, "v", &a->v, "v_cache", &a->v_cache));
    ASSAY_TRY(assay_check_alias(context, op, "k_cache", &a->k_cache, "v", &a->v, false));
    ASSAY_TRY(assay_check_alias(context, op, "v_cache", &a->v_cache, "k", &a->k, false));
    ASSAY_TRY(
        assay_check_alias(context, op, "v_cache", &a->v_cache, "k_cache", &a->k_cache, false));
    if (a->k_cache.dtype != a->v_cache.dtype)
        return assay_refuse(context, ASSAY_E_FORMAT, op, "v_cache",
                            "format must be that of k_cache (%s), is %s",
                            assay_dtype_name(a->k_cache.dtype), assay_dtype_name(a->v_cache.dtype));
    int64_t tokens = a->k.extent[0], slots = a->k_cache.extent[0];
    if (a->start < 0 || a->start > slots - tokens)
        return assay_refuse(context, ASSAY_E_FULL, op, "start",
                            "start %lld and %lld tokens do not fit into %lld slots",
                            (long long)a->start, (long long)tokens, (long long)slots);
    return ASSAY_OK;
}

static assay_status validate(assay_context *context, const void *arguments)
{
    return kv_append_check(context, "kv_append", arguments);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_kv_append_args *a = arguments;
    double k = (double)assay_tensor_count(&a->k), v = (double)assay_tensor_count(&a->v);
    return (struct assay_floor){
        .bytes_read =
            k * (double)assay_dtype_bytes(a->k.dtype) + v * (double)assay_dtype_bytes(a->v.dtype),
        .bytes_written = (k + v) * (double)assay_dtype_bytes(a->k_cache.dtype),
        .operations = 0,
    };
}

#if defined(ASSAY_SIMD)
/* Vector routes step by whole vectors and finish with a tail. */
#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"D", 8}, {"Dv", 8}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"D", 16}, {"Dv", 16}, {NULL, 0}};
#endif
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 elements a lane, a warp a row, 8 rows a block. */
static const struct assay_boundary boundaries_warp[] = {{"T", 8},  {"D", 8},    {"D", 256},
                                                        {"Dv", 8}, {"Dv", 256}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("kv_append.warp", kv_append_route_warp, .profile = ASSAY_PROFILE_EXACT,
                 .when = "all calls", .boundaries = boundaries_warp),
#endif
#if defined(ASSAY_SIMD)
    {.name = "kv_append.avx512.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = kv_append_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "kv_append.avx2.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = kv_append_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "kv_append.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .when = "all calls",
     .run = kv_append_route_plain},
};

void kv_append_reach(const struct assay_kv_append_args *a, struct assay_tensor *view)
{
    const struct assay_tensor cache = *view;
    if (a->start_at.data != NULL) {
        view->extent[0] = a->start + a->k.extent[0];
        return;
    }
    view->extent[0] = a->k.extent[0];
    if (assay_tensor_count(view) > 0) /* else there may be no such row, or no memory */
        view->data = assay_tensor_row(&cache, a->start * cache.extent[1]);
}

static void reach_slots(const void *args, struct assay_tensor *view)
{
    kv_append_reach(args, view);
}

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_kv_append_args, k, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_kv_append_args, v, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_kv_append_args, start_at, ASSAY_INPUT),
    ASSAY_ARGUMENT_REACH(struct assay_kv_append_args, k_cache, ASSAY_INOUT, reach_slots),
    ASSAY_ARGUMENT_REACH(struct assay_kv_append_args, v_cache, ASSAY_INOUT, reach_slots),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {ASSAY_SCALAR(struct assay_kv_append_args, start),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_kv_append = {
    .name = "kv_append",
    .summary = "k_cache[start + t] = k[t], v_cache[start + t] = v[t]",
    .args_bytes = sizeof(struct assay_kv_append_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_kv_append(assay_context *context, const struct assay_kv_append_args *args)
{
    return assay_run_op(context, &assay_op_kv_append, args);
}
