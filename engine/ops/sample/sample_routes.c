/* SPDX-License-Identifier: MIT
 *
 * sample: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/sample/sample_routes.h"

static assay_status check_in(assay_context *context, const char *argument, double value, bool good,
                             const char *range)
{
    if (good)
        return ASSAY_OK;
    return assay_refuse(context, ASSAY_E_ARG, "sample", argument, "must be in %s, is %g", range,
                        value);
}

static assay_status check_settings(assay_context *context, const struct assay_sample_args *a)
{
    ASSAY_TRY(assay_check_number(context, "sample", "temperature", a->temperature, false));
    ASSAY_TRY(check_in(context, "temperature", a->temperature, a->temperature >= 0, "[0, inf)"));
    ASSAY_TRY(check_in(context, "top_k", (double)a->top_k, a->top_k >= 0, "[0, inf)"));
    ASSAY_TRY(check_in(context, "top_p", a->top_p, a->top_p > 0 && a->top_p <= 1, "(0, 1]"));
    ASSAY_TRY(check_in(context, "min_p", a->min_p, a->min_p >= 0 && a->min_p <= 1, "[0, 1]"));
    ASSAY_TRY(assay_check_number(context, "sample", "presence", a->presence, false));
    return assay_check_number(context, "sample", "frequency", a->frequency, false);
}

static assay_status check_counts(assay_context *context, const struct assay_sample_args *a)
{
    const char *op = "sample";
    if (a->counts.data == NULL)
        return ASSAY_OK;
    ASSAY_TRY(assay_check_tensor(context, op, "counts", &a->counts, 1, 1, ASSAY_FORMAT(ASSAY_I32),
                                 false));
    ASSAY_TRY(assay_check_extent(context, op, "counts", &a->counts, 0, a->logits.extent[1]));
    ASSAY_TRY(assay_check_alias(context, op, "ids", &a->ids, "counts", &a->counts, false));
    if (assay_on_device(context))
        return ASSAY_OK;
    const int32_t *counts = a->counts.data;
    for (int64_t i = 0; i < a->limit; i++)
        if (counts[i] < 0)
            return assay_refuse(context, ASSAY_E_RANGE, op, "counts",
                                "must not be negative, entry %lld is %d", (long long)i, counts[i]);
    return ASSAY_OK;
}

static assay_status check_step_at(assay_context *context, const struct assay_sample_args *a)
{
    const char *op = "sample";
    if (a->step_at.data == NULL)
        return ASSAY_OK;
    ASSAY_TRY(assay_check_tensor(context, op, "step_at", &a->step_at, 1, 1, ASSAY_FORMAT(ASSAY_I32),
                                 false));
    ASSAY_TRY(assay_check_extent(context, op, "step_at", &a->step_at, 0, 1));
    return assay_check_alias(context, op, "ids", &a->ids, "step_at", &a->step_at, false);
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_sample_args *a = arguments;
    const char *op = "sample";
    ASSAY_TRY(
        assay_check_tensor(context, op, "logits", &a->logits, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "ids", &a->ids, 1, 1, ASSAY_FORMAT(ASSAY_I32), true));
    ASSAY_TRY(assay_check_extent(context, op, "ids", &a->ids, 0, a->logits.extent[0]));
    if (a->logits.extent[1] > INT32_MAX)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "logits", "ids must fit 31 bits");
    if (a->limit < 1 || a->limit > a->logits.extent[1])
        return assay_refuse(context, ASSAY_E_ARG, op, "limit", "must be in [1, %lld], is %lld",
                            (long long)a->logits.extent[1], (long long)a->limit);
    ASSAY_TRY(check_settings(context, a));
    ASSAY_TRY(assay_check_alias(context, op, "ids", &a->ids, "logits", &a->logits, false));
    ASSAY_TRY(check_step_at(context, a));
    return check_counts(context, a);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_sample_args *a = arguments;
    double rows = (double)a->ids.extent[0], count = rows * (double)a->limit;
    double counts = a->counts.data != NULL ? 4 * (double)a->limit : 0;
    double step = a->step_at.data != NULL ? 4 : 0;
    return (struct assay_floor){
        .bytes_read = count * (double)assay_dtype_bytes(a->logits.dtype) + counts + step,
        .bytes_written = rows * 4,
        .operations = 3 * count, /* exp, sum, running sum */
    };
}

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Groups of which three times top_k are there keep the list short: their first tokens are nearly
 * the largest ones of all. */
static int few_of(const struct sample_plan *plan, int64_t top_k)
{
    int warps = plan->blocks * plan->warps;
    if (top_k > 0 && top_k <= 32 && plan->blocks >= 3 * top_k)
        return plan->blocks;
    return top_k > 0 && top_k <= plan->list / 4 && warps >= 3 * top_k ? warps : 0;
}

/* Whole cache lines of 128 bytes. */
static int64_t take(int64_t *words, int64_t count)
{
    int64_t offset = *words;
    *words += (count + 15) / 16 * 16;
    return offset;
}

struct sample_plan sample_plan_of(const struct assay_sample_args *a)
{
    struct sample_plan plan = {.num_tiles = (a->limit + SAMPLE_TILE - 1) / SAMPLE_TILE,
                               .warps = SAMPLE_SPLIT_WARPS,
                               .rows = 32,
                               .list = 1024,
                               .bits = 11};
    int64_t words = 0, top_k = a->top_k < a->limit ? a->top_k : 0;
    plan.blocks = (int)((plan.num_tiles + plan.warps - 1) / plan.warps);
    if (a->limit <= SAMPLE_SMALL) {
        plan.warps = plan.num_tiles > 4 ? 2 : 1;
        plan.blocks = (int)least(plan.num_tiles, 4);
        plan.rows = 4;
        plan.list = 32;
        plan.bits = 6; /* a bin a thread at least */
    }
    plan.few = few_of(&plan, top_k);
    plan.cuts_k = top_k > 0 && plan.few == 0;
    plan.cuts_p = a->top_p < 1 && plan.few == 0;
    plan.first_rank = take(&words, plan.blocks);
    plan.first_id = take(&words, plan.blocks);
    plan.sum = take(&words, plan.blocks);
    plan.groups = take(&words, (int64_t)plan.blocks * plan.warps);
    plan.state = take(&words, SAMPLE_STATE_WORDS);
    plan.histograms = take(&words, INT64_C(4) << plan.bits);
    plan.zeroed = SAMPLE_STATE_WORDS + (plan.cuts_k || plan.cuts_p ? INT64_C(4) << plan.bits : 0);
    plan.tiles = take(&words, plan.num_tiles);
    plan.list_rank = take(&words, plan.list);
    plan.list_id = take(&words, plan.list);
    plan.row_words = words;
    return plan;
}

/* Up to a tile a warp: more tokens could overflow the limbs of a block's histogram. */
static bool accepts_split(const void *arguments)
{
    int64_t limit = ((const struct assay_sample_args *)arguments)->limit;
    return limit > SAMPLE_TILE && limit <= SAMPLE_SPLIT_BLOCKS * SAMPLE_SPLIT_WARPS * SAMPLE_TILE;
}

static size_t workspace_split(const assay_context *context, const void *arguments)
{
    const struct assay_sample_args *a = arguments;
    struct sample_plan plan = sample_plan_of(a);
    (void)context;
    return (size_t)(least(a->ids.extent[0], plan.rows) * plan.row_words) * sizeof(uint64_t);
}

/* Four blocks of one warp, then of two, up to SAMPLE_SMALL; the groups whose first tokens bound
 * top_k. */
static const struct assay_boundary boundaries_split[] = {{"limit", SAMPLE_TILE},
                                                         {"limit", 4 * SAMPLE_TILE},
                                                         {"limit", 8 * SAMPLE_TILE},
                                                         {"limit", SAMPLE_SMALL},
                                                         {"T", 4},
                                                         {"top_k", 1},
                                                         {NULL, 0}};

/* 8 elements a thread, whole warps, at most 256 threads; lists of 32 tokens and, with 512 threads,
 * of 1024. */
static const struct assay_boundary boundaries_block[] = {
    {"limit", 8},    {"limit", 32}, {"limit", 256}, {"limit", 2048},
    {"limit", 8192}, {"top_k", 32}, {NULL, 0}};
#endif

/* A row from the macro has its own comma. */
static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("sample.split", sample_route_split, .profile = ASSAY_PROFILE_F64,
                 .when = "256 < limit <= 524288", .accepts = accepts_split,
                 .workspace = workspace_split, .boundaries = boundaries_split),
    DEVICE_ROUTE("sample.block", sample_route_block, .profile = ASSAY_PROFILE_F64,
                 .when = "all calls", .boundaries = boundaries_block),
#endif
    {.name = "sample.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .workspace = sample_workspace_plain,
     .run = sample_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_sample_args, logits, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_sample_args, counts, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_sample_args, step_at, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_sample_args, ids, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {ASSAY_SCALAR(struct assay_sample_args, limit),
                                              ASSAY_SCALAR(struct assay_sample_args, temperature),
                                              ASSAY_SCALAR(struct assay_sample_args, top_k),
                                              ASSAY_SCALAR(struct assay_sample_args, top_p),
                                              ASSAY_SCALAR(struct assay_sample_args, min_p),
                                              ASSAY_SCALAR(struct assay_sample_args, presence),
                                              ASSAY_SCALAR(struct assay_sample_args, frequency),
                                              ASSAY_SCALAR(struct assay_sample_args, seed),
                                              ASSAY_SCALAR(struct assay_sample_args, step),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_sample = {
    .name = "sample",
    .summary = "ids = draw from softmax(penalised logits / temperature) after top-k, top-p, min-p",
    .args_bytes = sizeof(struct assay_sample_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_sample(assay_context *context, const struct assay_sample_args *args)
{
    return assay_run_op(context, &assay_op_sample, args);
}
