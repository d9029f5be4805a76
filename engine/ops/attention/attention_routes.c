/* SPDX-License-Identifier: MIT
 *
 * attention: argument checks, floor, work plan, and the route table.
 */
#include <math.h>

#include "core/core.h"
#include "ops/attention/attention_routes.h"

static const char op[] = "attention";

static assay_status check_formats(assay_context *context, const struct assay_attention_args *a)
{
    ASSAY_TRY(assay_check_tensor(context, op, "q", &a->q, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(
        assay_check_tensor(context, op, "k_cache", &a->k_cache, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(
        assay_check_tensor(context, op, "v_cache", &a->v_cache, 3, 3, ASSAY_FORMATS_FLOAT, false));
    if (a->gate.data != NULL)
        ASSAY_TRY(
            assay_check_tensor(context, op, "gate", &a->gate, 3, 3, ASSAY_FORMATS_FLOAT, false));
    if (a->start_at.data != NULL)
        ASSAY_TRY(assay_check_tensor(context, op, "start_at", &a->start_at, 1, 1,
                                     ASSAY_FORMAT(ASSAY_I32), false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 3, 3, ASSAY_FORMATS_FLOAT, true));
    if (a->k_cache.dtype != a->v_cache.dtype)
        return assay_refuse(context, ASSAY_E_FORMAT, op, "v_cache",
                            "format must be that of k_cache (%s), is %s",
                            assay_dtype_name(a->k_cache.dtype), assay_dtype_name(a->v_cache.dtype));
    return ASSAY_OK;
}

static assay_status check_shapes(assay_context *context, const struct assay_attention_args *a)
{
    int64_t tokens = a->q.extent[0], heads = a->q.extent[1];
    int64_t slots = a->k_cache.extent[0], key_heads = a->k_cache.extent[1];
    if (key_heads < 1 || heads < 1 || heads % key_heads != 0)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "q",
                            "heads must be a multiple of the cache's (%lld), are %lld",
                            (long long)key_heads, (long long)heads);
    if (a->q.extent[2] < 1 || a->v_cache.extent[2] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, a->q.extent[2] < 1 ? "q" : "v_cache",
                            "heads must have at least one element");
    ASSAY_TRY(assay_check_extent(context, op, "k_cache", &a->k_cache, 2, a->q.extent[2]));
    ASSAY_TRY(assay_check_extent(context, op, "v_cache", &a->v_cache, 0, slots));
    ASSAY_TRY(assay_check_extent(context, op, "v_cache", &a->v_cache, 1, key_heads));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 0, tokens));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 1, heads));
    ASSAY_TRY(assay_check_extent(context, op, "y", &a->y, 2, a->v_cache.extent[2]));
    if (a->gate.data != NULL)
        ASSAY_TRY(assay_check_shape(context, op, "gate", &a->gate, "y", &a->y));
    if (a->start_at.data != NULL)
        ASSAY_TRY(assay_check_extent(context, op, "start_at", &a->start_at, 0, 1));
    if (a->start < 0 || a->start > slots - tokens)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "start",
                            "start %lld and %lld tokens do not fit into %lld slots",
                            (long long)a->start, (long long)tokens, (long long)slots);
    return ASSAY_OK;
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_attention_args *a = arguments;
    ASSAY_TRY(check_formats(context, a));
    ASSAY_TRY(check_shapes(context, a));
    ASSAY_TRY(assay_check_number(context, op, "scale", a->scale, false));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "q", &a->q, true));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "gate", &a->gate, false));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "k_cache", &a->k_cache, false));
    if (a->start_at.data != NULL)
        ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "start_at", &a->start_at, false));
    return assay_check_alias(context, op, "y", &a->y, "v_cache", &a->v_cache, false);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_attention_args *a = arguments;
    double tokens = (double)a->q.extent[0], heads = (double)a->q.extent[1];
    double attended = tokens * ((double)a->start + (tokens + 1) / 2); /* pairs of query and key */
    double width = (double)(a->q.extent[2] + a->v_cache.extent[2]);
    double slots = tokens > 0 ? (double)a->start + tokens : 0;
    double gate = a->gate.data == NULL ? 0 : (double)assay_dtype_bytes(a->gate.dtype);
    return (struct assay_floor){
        .bytes_read = (double)assay_tensor_count(&a->q) * (double)assay_dtype_bytes(a->q.dtype) +
                      (double)assay_tensor_count(&a->y) * gate +
                      slots * (double)a->k_cache.extent[1] * width *
                          (double)assay_dtype_bytes(a->k_cache.dtype),
        .bytes_written = (double)assay_tensor_count(&a->y) * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 2 * attended * heads * width,
    };
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t workspace_plain(const assay_context *context, const void *args)
{
    const struct assay_attention_args *a = args;
    int64_t lanes = smaller(assay_context_num_threads(context), a->q.extent[0] * a->q.extent[1]);
    return (size_t)(lanes * attention_plain_lane(a)) * sizeof(double);
}

#if defined(ASSAY_SIMD)
static int64_t padded(int64_t width)
{
    return (width + ATTENTION_PAD - 1) / ATTENTION_PAD * ATTENTION_PAD;
}

struct attention_plan attention_plan_of(const assay_context *context,
                                        const struct assay_attention_args *a)
{
    int64_t tokens = a->q.extent[0];
    struct attention_plan plan = {.heads_per_key = a->q.extent[1] / a->k_cache.extent[1]};
    plan.tokens = ATTENTION_ROWS / plan.heads_per_key;
    if (plan.tokens < 1)
        plan.tokens = 1;
    plan.num_items = (tokens + plan.tokens - 1) / plan.tokens * a->k_cache.extent[1];
    plan.num_lanes = smaller(assay_context_num_threads(context), plan.num_items);
    plan.query_width = padded(a->q.extent[2]);
    plan.value_width = padded(a->v_cache.extent[2]);
    plan.score_width = padded(a->start + tokens);
    int64_t rows = smaller(plan.tokens, tokens) * plan.heads_per_key;
    plan.lane_floats =
        (size_t)rows * (size_t)(plan.query_width + plan.value_width + plan.score_width);
    return plan;
}

static size_t workspace_simd(const assay_context *context, const void *args)
{
    struct attention_plan plan = attention_plan_of(context, args);
    return (size_t)plan.num_lanes * plan.lane_floats * sizeof(float);
}

/* Scores: a product passes through one addition for every whole vector of the row and the tree
 * over the lanes. Values: through its tile, then one addition a tile. The longer of the two, for
 * the narrower vector. */
static int64_t depth(int64_t inner_length)
{
    int64_t score = (inner_length + 7) / 8 + 4;
    int64_t value = smaller(inner_length, ATTENTION_VALUE_TILE) +
                    (inner_length + ATTENTION_VALUE_TILE - 1) / ATTENTION_VALUE_TILE;
    return score > value ? score : value;
}

/* Vectors along D, Dv and keys; blocks of tokens; tiles of keys. */
static const struct assay_boundary boundaries[] = {
    {"D", 8},  {"D", 16},     {"Dv", 16},    {"Dv", 32},    {"Dv", 64},
    {"T", 16}, {"start", 16}, {"start", 32}, {"start", 64}, {NULL, 0}};
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool is_tensor_width(int64_t width)
{
    return width == 64 || width == 128 || width == 256;
}

/* The factor of a score is a binary32 number; it shall not underflow. */
static bool accepts_tensor(const void *args)
{
    const struct assay_attention_args *a = args;
    double scale = fabs(a->scale);
    return a->k_cache.dtype == ASSAY_BF16 && is_tensor_width(a->q.extent[2]) &&
           is_tensor_width(a->y.extent[2]) && a->k_cache.extent[1] <= 65535 &&
           (scale == 0 || (scale >= 0x1p-64 && scale <= 0x1p64)) &&
           a->start + a->q.extent[0] <= ATTENTION_TENSOR_MOST &&
           a->q.extent[0] * a->q.extent[1] <= ATTENTION_TENSOR_MOST;
}

static bool accepts_flash(const void *args)
{
    const struct assay_attention_args *a = args;
    return accepts_tensor(args) && a->y.extent[2] <= a->q.extent[2];
}

static bool accepts_decode(const void *args)
{
    const struct assay_attention_args *a = args;
    return accepts_tensor(args) && a->q.extent[0] <= ATTENTION_DECODE_TOKENS &&
           a->q.extent[1] / a->k_cache.extent[1] <= 4096;
}

static size_t workspace_decode(const assay_context *context, const void *args)
{
    const struct assay_attention_args *a = args;
    int64_t splits = ATTENTION_DECODE_SPLITS(a->start + a->q.extent[0]);
    (void)context;
    return (size_t)(a->q.extent[0] * a->q.extent[1] * splits * (a->y.extent[2] + 2)) *
           sizeof(float);
}

/* One mma adds 16 products to the sum: as 36 roundings to nearest (linear_bound.md). */
enum { MMA_ROUNDINGS = 36 };

static int64_t score_roundings(int64_t width)
{
    return (width + 15) / 16 * MMA_ROUNDINGS + 1; /* and the sum of both parts */
}

/* Values: both parts of the weights of a warp's keys in a split, the warps; the splits of a lane
 * that joins, the lanes; 6 for a split's mean and its weight. The sums of weights have shorter
 * chains. A split's steps of 32 keys go to its warps in turn, so that each has an equal share. */
static int64_t depth_decode(int64_t inner_length)
{
    int64_t split = inner_length <= ATTENTION_DECODE_MEDIUM_KEY  ? ATTENTION_DECODE_SMALL
                    : inner_length <= ATTENTION_DECODE_LARGE_KEY ? ATTENTION_DECODE_MEDIUM
                                                                 : ATTENTION_DECODE_LARGE;
    int64_t keys = smaller(inner_length, split / ATTENTION_DECODE_WARPS);
    int64_t splits = ATTENTION_DECODE_SPLITS(inner_length);
    int64_t value =
        (keys + 15) / 16 * 2 * MMA_ROUNDINGS + ATTENTION_DECODE_WARPS + (splits + 15) / 16 + 16 + 6;
    int64_t score = score_roundings(smaller(inner_length, 256));
    return score > value ? score : value;
}

/* The two parts of all weights, one after the other; the division. */
static int64_t depth_flash(int64_t inner_length)
{
    return (inner_length + 15) / 16 * 2 * MMA_ROUNDINGS + 1;
}

/* Key heads and blocks of rows are dimensions of a grid. */
static bool accepts_split(const void *args)
{
    const struct assay_attention_args *a = args;
    int64_t key_heads = a->k_cache.extent[1];
    return a->q.extent[2] <= ATTENTION_SPLIT_WIDTH && a->y.extent[2] <= ATTENTION_SPLIT_WIDTH &&
           key_heads <= 65535 && a->q.extent[1] / key_heads <= 4096;
}

static size_t workspace_split(const assay_context *context, const void *args)
{
    const struct assay_attention_args *a = args;
    int64_t rows = smaller(a->q.extent[0], ATTENTION_SPLIT_TOKENS) * a->q.extent[1];
    (void)context;
    return (size_t)(rows * attention_num_splits(a) * attention_split_pitch(a->y.extent[2])) *
           sizeof(float);
}

/* Scores: 8 elements of a lane and the tree over the lanes. Values: the keys of a warp, the warps
 * of a split, the splits of a warp, the warps that join them; 2 for the weights of splits. The sums
 * of weights have shorter chains. */
static int64_t depth_split(int64_t inner_length)
{
    const int64_t run = ATTENTION_SPLIT_KEYS / ATTENTION_SPLIT_WARPS;
    int64_t splits = (inner_length + ATTENTION_SPLIT_KEYS - 1) / ATTENTION_SPLIT_KEYS;
    int64_t score = smaller(inner_length, 13);
    int64_t value = smaller(inner_length, run) +
                    smaller((inner_length + run - 1) / run, ATTENTION_SPLIT_WARPS) +
                    (splits + ATTENTION_JOIN_WARPS - 1) / ATTENTION_JOIN_WARPS +
                    smaller(splits, ATTENTION_JOIN_WARPS) + 2;
    return score > value ? score : value;
}

static size_t workspace_generic(const assay_context *context, const void *args)
{
    const struct assay_attention_args *a = args;
    int64_t blocks = smaller(a->q.extent[0] * a->q.extent[1], ATTENTION_GENERIC_BLOCKS);
    (void)context;
    return (size_t)(blocks * (a->start + a->q.extent[0])) * sizeof(float);
}

/* Tiles of rows at a ratio of 3, steps and splits of keys. */
static const struct assay_boundary boundaries_decode[] = {
    {"T", 3}, {"T", 16}, {"start", 32}, {"start", 128}, {"ratio", 8}, {NULL, 0}};
static const struct assay_boundary boundaries_flash[] = {{"T", 11},     {"T", 43},    {"start", 32},
                                                         {"start", 64}, {"ratio", 8}, {NULL, 0}};
/* A round of join warps takes 16 splits, a round of their loads 64. */
static const struct assay_boundary boundaries_split[] = {
    {"D", 8},       {"D", 256},      {"Dv", 8},       {"Dv", 256},  {"T", 16}, {"start", 32},
    {"start", 128}, {"start", 2048}, {"start", 8192}, {"ratio", 6}, {NULL, 0}};
static const struct assay_boundary boundaries_generic[] = {
    {"D", 8}, {"D", 256}, {"Dv", 128}, {"start", 128}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("attention.decode", attention_route_decode, .profile = ASSAY_PROFILE_A16X2,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .when = "T <= 16; D and Dv 64, 128 or 256; cache in bf16",
                 .accepts = accepts_decode, .workspace = workspace_decode,
                 .boundaries = boundaries_decode, .depth = depth_decode),
    DEVICE_ROUTE("attention.flash", attention_route_flash, .profile = ASSAY_PROFILE_A16X2,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .when = "Dv <= D, both 64, 128 or 256; cache in bf16", .accepts = accepts_flash,
                 .boundaries = boundaries_flash, .depth = depth_flash),
    DEVICE_ROUTE("attention.split", attention_route_split, .profile = ASSAY_PROFILE_F32,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .when = "D and Dv at most 256", .accepts = accepts_split,
                 .workspace = workspace_split, .boundaries = boundaries_split,
                 .depth = depth_split),
    DEVICE_ROUTE("attention.generic", attention_route_generic, .profile = ASSAY_PROFILE_F32,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT, .when = "all calls",
                 .workspace = workspace_generic, .boundaries = boundaries_generic),
#endif
#if defined(ASSAY_SIMD)
    {.name = "attention.avx512.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .when = "all calls",
     .workspace = workspace_simd,
     .run = attention_route_avx512,
     .boundaries = boundaries,
     .depth = depth},
    {.name = "attention.avx2.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .when = "all calls",
     .workspace = workspace_simd,
     .run = attention_route_avx2,
     .boundaries = boundaries,
     .depth = depth},
#endif
    {.name = "attention.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .when = "all calls",
     .workspace = workspace_plain,
     .run = attention_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_attention_args, q, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_attention_args, k_cache, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_attention_args, v_cache, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_attention_args, gate, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_attention_args, start_at, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_attention_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {ASSAY_SCALAR(struct assay_attention_args, start),
                                              ASSAY_SCALAR(struct assay_attention_args, scale),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_attention = {
    .name = op,
    .summary = "y = softmax(scale q K^T, causal) V [* sigmoid(gate)], grouped queries over a cache",
    .args_bytes = sizeof(struct assay_attention_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_attention(assay_context *context, const struct assay_attention_args *args)
{
    return assay_run_op(context, &assay_op_attention, args);
}
