/* SPDX-License-Identifier: MIT
 *
 * embedding: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/embedding/embedding_routes.h"

static assay_status check_ids(assay_context *context, const struct assay_embedding_args *a)
{
    const int32_t *ids = a->ids.data;
    if (assay_on_device(context))
        return ASSAY_OK;
    for (int64_t t = 0; t < a->ids.extent[0]; t++)
        if (ids[t] < 0 || ids[t] >= a->table.extent[0])
            return assay_refuse(context, ASSAY_E_RANGE, "embedding", "ids",
                                "ids[%lld] is %ld, the table has rows 0 to %lld", (long long)t,
                                (long)ids[t], (long long)a->table.extent[0] - 1);
    return ASSAY_OK;
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_embedding_args *a = arguments;
    const char *op = "embedding";
    ASSAY_TRY(
        assay_check_tensor(context, op, "ids", &a->ids, 1, 1, ASSAY_FORMAT(ASSAY_I32), false));
    ASSAY_TRY(
        assay_check_tensor(context, op, "table", &a->table, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    if (a->table.extent[0] < 1 || a->table.extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "table", "must have at least one element");
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 0, a->ids.extent[0]));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 1, a->table.extent[1]));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "ids", &a->ids, false));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "table", &a->table, false));
    return check_ids(context, a);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_embedding_args *a = arguments;
    double tokens = (double)a->ids.extent[0], count = (double)assay_tensor_count(&a->y);
    return (struct assay_floor){
        .bytes_read = count * (double)assay_dtype_bytes(a->table.dtype) + 4 * tokens,
        .bytes_written = count * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 0,
    };
}

/* Vector routes step by whole vectors and finish with a tail. */
#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"H", 8}, {"H", 16}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"H", 16}, {"H", 32}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 elements a thread, whole warps, at most 256 threads. */
static const struct assay_boundary boundaries_row[] = {
    {"H", 8}, {"H", 256}, {"H", 2048}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("embedding.row", embedding_route_row,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_EXACT, .when = "all calls", .boundaries = boundaries_row),
#endif
#if defined(ASSAY_SIMD)
    {.name = "embedding.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .run = embedding_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "embedding.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .run = embedding_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "embedding.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .when = "all calls",
     .run = embedding_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_embedding_args, ids, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_embedding_args, table, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_embedding_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

const struct assay_op assay_op_embedding = {
    .name = "embedding",
    .summary = "y[t] = table[ids[t]]",
    .args_bytes = sizeof(struct assay_embedding_args),
    .arguments = arguments,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_embedding(assay_context *context, const struct assay_embedding_args *args)
{
    return assay_run_op(context, &assay_op_embedding, args);
}
