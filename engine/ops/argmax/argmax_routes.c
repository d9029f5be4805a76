/* SPDX-License-Identifier: MIT
 *
 * argmax: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/argmax/argmax_routes.h"

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_argmax_args *a = arguments;
    const char *op = "argmax";
    ASSAY_TRY(
        assay_check_tensor(context, op, "logits", &a->logits, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "ids", &a->ids, 1, 1, ASSAY_FORMAT(ASSAY_I32), true));
    ASSAY_TRY(assay_check_extent(context, op, "ids", &a->ids, 0, a->logits.extent[0]));
    if (a->logits.extent[1] > INT32_MAX)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "logits", "ids must fit 31 bits");
    if (a->limit < 1 || a->limit > a->logits.extent[1])
        return assay_refuse(context, ASSAY_E_ARG, op, "limit", "must be in [1, %lld], is %lld",
                            (long long)a->logits.extent[1], (long long)a->limit);
    return assay_check_alias(context, op, "ids", &a->ids, "logits", &a->logits, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_argmax_args *a = arguments;
    double rows = (double)a->ids.extent[0], count = rows * (double)a->limit;
    return (struct assay_floor){
        .bytes_read = count * (double)assay_dtype_bytes(a->logits.dtype),
        .bytes_written = rows * 4,
        .operations = count,
    };
}

#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"limit", 8}, {"limit", 16}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"limit", 16}, {"limit", 32}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 elements a thread, whole warps, 256 threads and 1024 from the last on. */
static const struct assay_boundary boundaries_row[] = {
    {"limit", 8}, {"limit", 256}, {"limit", 2048}, {"limit", 8192}, {NULL, 0}};

/* From eight blocks a row on; blocks of 2048 elements, 128 at most. */
enum { ARGMAX_SPLIT_LIMIT = 8 * ARGMAX_PART };

static bool accepts_split(const void *arguments)
{
    const struct assay_argmax_args *a = arguments;
    return a->limit >= ARGMAX_SPLIT_LIMIT && a->ids.extent[0] <= ARGMAX_MAX_SPLIT_ROWS;
}

static size_t workspace_split(const assay_context *context, const void *arguments)
{
    const struct assay_argmax_args *a = arguments;
    (void)context;
    return (size_t)(a->ids.extent[0] * argmax_parts(a)) * sizeof(uint64_t);
}

static const struct assay_boundary boundaries_split[] = {
    {"limit", ARGMAX_SPLIT_LIMIT},
    {"limit", (int64_t)ARGMAX_PART *ARGMAX_MAX_PARTS},
    {"T", ARGMAX_MAX_SPLIT_ROWS},
    {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("argmax.split", argmax_route_split,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_EXACT, .when = "limit >= 16384 and T <= 64",
                 .accepts = accepts_split, .workspace = workspace_split,
                 .boundaries = boundaries_split),
    DEVICE_ROUTE("argmax.row", argmax_route_row,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_EXACT, .when = "all calls", .boundaries = boundaries_row),
#endif
#if defined(ASSAY_SIMD)
    {.name = "argmax.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = argmax_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "argmax.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = argmax_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "argmax.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .when = "all calls",
     .run = argmax_route_plain},
};

/* To read a column at or beyond the limit is a fault, [ARGMAX-2]. */
static void reach_logits(const void *args, struct assay_tensor *view)
{
    view->extent[1] = ((const struct assay_argmax_args *)args)->limit;
}

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT_REACH(struct assay_argmax_args, logits, ASSAY_INPUT, reach_logits),
    ASSAY_ARGUMENT(struct assay_argmax_args, ids, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {ASSAY_SCALAR(struct assay_argmax_args, limit),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_argmax = {
    .name = "argmax",
    .summary = "ids = smallest index among the maxima of logits[0:limit], -1 with a NaN",
    .args_bytes = sizeof(struct assay_argmax_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_argmax(assay_context *context, const struct assay_argmax_args *args)
{
    return assay_run_op(context, &assay_op_argmax, args);
}
