/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/embedding_grouped/embedding_grouped_routes.h"

static const char op[] = "embedding_grouped";

static assay_status check_ids(assay_context *context, const struct assay_embedding_grouped_args *a)
{
    const int32_t *ids = a->ids.data;
    if (assay_on_device(context))
        return ASSAY_OK;
    for (int64_t t = 0; t < a->ids.extent[0]; t++)
        if (ids[t] < 0 || ids[t] >= a->table.rows)
            return assay_refuse(context, ASSAY_E_RANGE, op, "ids",
                                "ids[%lld] is %ld, the table has rows 0 to %lld", (long long)t,
                                (long)ids[t], (long long)a->table.rows - 1);
    return ASSAY_OK;
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_embedding_grouped_args *a = arguments;
    ASSAY_TRY(
        assay_check_tensor(context, op, "ids", &a->ids, 1, 1, ASSAY_FORMAT(ASSAY_I32), false));
    ASSAY_TRY(grouped_check(context, op, "table", &a->table));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 0, a->ids.extent[0]));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 1, a->table.columns));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "ids", &a->ids, false));
    ASSAY_TRY(grouped_check_alias(context, op, "y", &a->y, "table", &a->table));
    return check_ids(context, a);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_embedding_grouped_args *a = arguments;
    double tokens = (double)a->ids.extent[0], count = (double)assay_tensor_count(&a->y);
    return (struct assay_floor){
        .bytes_read = tokens * (grouped_row_bytes(&a->table) + 4),
        .bytes_written = count * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 0,
    };
}

/* Rows in binary32 before they are rounded. */
static size_t codec_workspace(const assay_context *context, const void *arguments)
{
    const struct assay_embedding_grouped_args *a = arguments;
    (void)context;
    return a->y.dtype == ASSAY_F32 ? 0 : 4 * (size_t)assay_tensor_count(&a->y);
}

/* The decoder goes group by group. */
static const struct assay_boundary boundaries_codec[] = {
    {"H", 32}, {"H", 64}, {"H", 128}, {NULL, 0}};

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 elements a thread, whole warps, at most 256 threads. */
static const struct assay_boundary boundaries_row[] = {
    {"H", 8}, {"H", 256}, {"H", 2048}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("embedding_grouped.row", embedding_grouped_route_row,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_EXACT, .when = "all calls", .boundaries = boundaries_row),
#endif
    {.name = "embedding_grouped.codec.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .when = "all calls",
     .workspace = codec_workspace,
     .run = embedding_grouped_route_codec,
     .boundaries = boundaries_codec},
    {.name = "embedding_grouped.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_EXACT,
     .when = "all calls, by request",
     .run = embedding_grouped_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_embedding_grouped_args, ids, ASSAY_INPUT),
    GROUPED_ARGUMENTS(struct assay_embedding_grouped_args, table),
    ASSAY_ARGUMENT(struct assay_embedding_grouped_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {
    GROUPED_SCALARS(struct assay_embedding_grouped_args, table), {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_embedding_grouped = {
    .name = "embedding_grouped",
    .summary = "y[t,i] = code[ids[t],i] * scale[ids[t],i/group]",
    .args_bytes = sizeof(struct assay_embedding_grouped_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_embedding_grouped(assay_context *context,
                                     const struct assay_embedding_grouped_args *args)
{
    return assay_run_op(context, &assay_op_embedding_grouped, args);
}
