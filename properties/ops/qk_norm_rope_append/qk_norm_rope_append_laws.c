/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append's laws and its bad calls. Clauses tested here or by the sweep
 * (qk_norm_rope_append.route.cpu): [QKNRA-1] [QKNRA-2] [QKNRA-3] separate_ops and sweep; [QKNRA-4]
 * sweep (layouts, formats) and errors; [QKNRA-5] separate_ops, and the sweep's bound; [QKNRA-6]
 * one_by_one, sweep and errors; [QKNRA-7] errors and the positions `far` of the sweep; [QKNRA-8]
 * the distributions large and nonfinite of the sweep; [QKNRA-9] sweep (in place, guards) and
 * errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "words.h"
#include <assay/ops/kv_append.h>
#include <assay/ops/qk_norm_rope_append.h>
#include <assay/ops/rmsnorm.h>
#include <assay/ops/rope.h>

enum { T = 4, HQ = 3, G = 2, MAX_D = 256, DV = 20, S = 9 };

typedef struct assay_qk_norm_rope_append_args args_type;

/* What a call writes. */
struct written {
    uint32_t q_out[T * HQ * MAX_D], k_cache[S * G * MAX_D], v_cache[S * G * DV];
};

static uint32_t q[T * HQ * MAX_D], k[T * G * MAX_D], v[T * G * DV], q_weight[MAX_D],
    k_weight[MAX_D];
static int32_t positions[3 * T];
static struct written fused, separate;

struct shape {
    int64_t width, rotary_dim;
    enum assay_dtype input, output, cache;
};

static struct assay_tensor heads_of(void *data, enum assay_dtype dtype, int64_t heads,
                                    int64_t width)
{
    return assay_tensor_3d(data, dtype, T, heads, width);
}

static void fill(const struct assay_tensor *t, int seed)
{
    for (int64_t i = 0; i < assay_tensor_count(t); i++)
        oracle_put(t, i, (double)((i * 7919 + seed * 104729) % 2003 - 1001) * 0x1.234567p-9);
}

static void set_written(args_type *a, struct written *to, const struct shape *shape)
{
    memset(to, 0x5a, sizeof *to);
    a->q_out = heads_of(to->q_out, shape->output, HQ, shape->width);
    a->k_cache = assay_tensor_3d(to->k_cache, shape->cache, S, G, shape->width);
    a->v_cache = assay_tensor_3d(to->v_cache, shape->cache, S, G, DV);
}

static args_type draw(const struct shape *shape)
{
    args_type a = {.q = heads_of(q, shape->input, HQ, shape->width),
                   .k = heads_of(k, shape->input, G, shape->width),
                   .v = heads_of(v, shape->input, G, DV),
                   .q_weight = assay_tensor_1d(q_weight, ASSAY_BF16, shape->width),
                   .k_weight = assay_tensor_1d(k_weight, ASSAY_F32, shape->width),
                   .positions = assay_tensor_2d(positions, ASSAY_I32, 3, T),
                   .start = 3,
                   .rotary_dim = shape->rotary_dim,
                   .theta = 1e7,
                   .unit_offset = true,
                   .eps = 1e-6};
    const int64_t pairs = shape->rotary_dim / 2;
    a.sections[0] = (pairs + 2) / 3;
    a.sections[1] = (pairs + 1) / 3;
    a.sections[2] = pairs / 3;
    fill(&a.q, 1);
    fill(&a.k, 2);
    fill(&a.v, 3);
    for (int64_t i = 0; i < shape->width; i++) {
        oracle_put(&a.q_weight, i, (double)(i * 31 % 17 - 8) * 0x1p-4);
        oracle_put(&a.k_weight, i, (double)(i * 29 % 19 - 9) * 0x1.01p-4);
    }
    for (int i = 0; i < 3 * T; i++)
        positions[i] = i * 77777 % 100003;
    set_written(&a, &fused, shape);
    return a;
}

/* The ops that it is made of, binary32 between them. */
static void run_separate(assay_context *context, const args_type *a, const struct shape *shape)
{
    static float q_norm[T * HQ * MAX_D], k_norm[T * G * MAX_D];
    args_type to = *a;
    set_written(&to, &separate, shape);
    struct assay_rmsnorm_args norm = {.x = a->q,
                                      .w = a->q_weight,
                                      .y = heads_of(q_norm, ASSAY_F32, HQ, shape->width),
                                      .unit_offset = a->unit_offset,
                                      .eps = a->eps};
    cr_assert_eq(assay_rmsnorm(context, &norm), ASSAY_OK);
    struct assay_rope_args rotation = {.x = norm.y,
                                       .positions = a->positions,
                                       .y = to.q_out,
                                       .rotary_dim = a->rotary_dim,
                                       .theta = a->theta};
    memcpy(rotation.sections, a->sections, sizeof rotation.sections);
    cr_assert_eq(assay_rope(context, &rotation), ASSAY_OK);
    norm.x = a->k;
    norm.w = a->k_weight;
    norm.y = heads_of(k_norm, ASSAY_F32, G, shape->width);
    cr_assert_eq(assay_rmsnorm(context, &norm), ASSAY_OK);
    rotation.x = rotation.y = norm.y;
    cr_assert_eq(assay_rope(context, &rotation), ASSAY_OK);
    const struct assay_kv_append_args append = {.k = norm.y,
                                                .v = a->v,
                                                .k_cache = to.k_cache,
                                                .v_cache = to.v_cache,
                                                .start = a->start,
                                                .start_at = a->start_at};
    cr_assert_eq(assay_kv_append(context, &append), ASSAY_OK);
}

/* Forces the separate ops to routes of the kind of `route`. */
static void force_kin(assay_context *context, const char *route)
{
    static const char *const device[] = {"rmsnorm.row", "rope.token", "kv_append.warp"};
    static const char *const ops[] = {"rmsnorm", "rope", "kv_append"};
    for (int i = 0; i < 3; i++) {
        char name[64];
        if (assay_context_backend(context) == ASSAY_CPU)
            snprintf(name, sizeof name, "%s%s", ops[i], strchr(route, '.'));
        else
            snprintf(name, sizeof name, "%s%s", device[i], strrchr(route, '.'));
        cr_assert_eq(assay_context_force_route(context, name), ASSAY_OK, "%s", name);
    }
}

/* Queries and caches have the bits of the ops one after the other [QKNRA-3] [QKNRA-5]. */
static void separate_ops_body(assay_context *context, const struct assay_route *route)
{
    const struct shape shapes[] = {
        {256, 64, ASSAY_F32, ASSAY_F32, ASSAY_BF16},  {256, 64, ASSAY_BF16, ASSAY_BF16, ASSAY_F32},
        {128, 32, ASSAY_F32, ASSAY_BF16, ASSAY_BF16}, {64, 64, ASSAY_F32, ASSAY_F32, ASSAY_F32},
        {51, 38, ASSAY_F32, ASSAY_F32, ASSAY_BF16},   {7, 2, ASSAY_BF16, ASSAY_F32, ASSAY_BF16},
        {200, 200, ASSAY_F32, ASSAY_F32, ASSAY_F32},  {90, 48, ASSAY_BF16, ASSAY_BF16, ASSAY_BF16}};
    force_kin(context, route->name);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        args_type a = draw(&shapes[i]);
        if (route->accepts != NULL && !route->accepts(&a))
            continue;
        cr_assert_eq(assay_qk_norm_rope_append(context, &a), ASSAY_OK);
        run_separate(context, &a, &shapes[i]);
        cr_assert(memcmp(fused.q_out, separate.q_out, sizeof fused.q_out) == 0, "%s: q, D = %d",
                  route->name, (int)shapes[i].width);
        cr_assert(memcmp(fused.k_cache, separate.k_cache, sizeof fused.k_cache) == 0,
                  "%s: k, D = %d", route->name, (int)shapes[i].width);
        cr_assert(memcmp(fused.v_cache, separate.v_cache, sizeof fused.v_cache) == 0,
                  "%s: v, D = %d", route->name, (int)shapes[i].width);
    }
}

/* On the cpu and, where the build has them, for the device's routes on the executor. */
Test(qk_norm_rope_append, separate_ops, .timeout = 60)
{
    const enum assay_backend backends[] = {ASSAY_CPU, ASSAY_SIMT};
    for (int b = 0; b < 2; b++) {
        struct assay_context_options options = assay_context_defaults();
        options.backend = backends[b];
        assay_context *context;
        if (assay_context_create(&options, &context, NULL) != ASSAY_OK) {
            cr_assert_neq(backends[b], ASSAY_CPU);
            continue;
        }
        const struct assay_route *route;
        EACH_ROUTE(context, &assay_op_qk_norm_rope_append, route)
        separate_ops_body(context, route);
        assay_context_destroy(context);
    }
}

/* T tokens at once leave what token after token leaves, the start by value or in memory, and what
 * start_at says beyond the bound counts as the bound [QKNRA-6]. */
static void one_by_one_body(assay_context *context, const char *route)
{
    const struct shape shape = {51, 38, ASSAY_F32, ASSAY_F32, ASSAY_BF16};
    const int64_t width = shape.width;
    args_type a = draw(&shape);
    cr_assert_eq(assay_qk_norm_rope_append(context, &a), ASSAY_OK);
    args_type one = a;
    set_written(&one, &separate, &shape);
    uint32_t *const q_out = separate.q_out;
    for (int t = 0; t < T; t++) {
        int32_t at = 3 + t;
        one.q = assay_tensor_3d(q + t * HQ * width, ASSAY_F32, 1, HQ, width);
        one.k = assay_tensor_3d(k + t * G * width, ASSAY_F32, 1, G, width);
        one.v = assay_tensor_3d(v + t * G * DV, ASSAY_F32, 1, G, DV);
        one.q_out = assay_tensor_3d(q_out + t * HQ * width, ASSAY_F32, 1, HQ, width);
        one.positions.data = positions + t;
        one.positions.extent[1] = 1;
        one.start = t % 2 == 0 ? at : S - 1;
        one.start_at = (struct assay_tensor){.data = NULL};
        if (t % 2 == 1)
            one.start_at = assay_tensor_1d(&at, ASSAY_I32, 1);
        if (t == T - 1) {
            one.start = at;
            at = 1000;
        }
        cr_assert_eq(assay_qk_norm_rope_append(context, &one), ASSAY_OK);
    }
    cr_assert(memcmp(&fused, &separate, sizeof fused) == 0, "%s", route);
}

Test(qk_norm_rope_append, one_by_one)
{
    each_route(&assay_op_qk_norm_rope_append, one_by_one_body);
}

static void bad_numbers(struct bad_calls *calls, const args_type *model)
{
    const args_type good = *model;
    int32_t far[3 * T] = {0}, negative[3 * T] = {0};
    far[3 * T - 1] = 1 << 24;
    negative[1] = -1;
#define BAD(status, argument, change) BAD_CALL(args_type, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "rotary_dim", a.rotary_dim = 0);
    BAD(ASSAY_E_ARG, "rotary_dim", a.rotary_dim = 37);
    BAD(ASSAY_E_ARG, "rotary_dim", a.rotary_dim = 52);
    BAD(ASSAY_E_ARG, "theta", a.theta = 1);
    BAD(ASSAY_E_ARG, "theta", a.theta = NAN);
    BAD(ASSAY_E_ARG, "sections", a.sections[0]++);
    BAD(ASSAY_E_ARG, "sections", a.sections[1] = -1);
    BAD(ASSAY_E_ARG, "eps", a.eps = 0);
    BAD(ASSAY_E_ARG, "eps", a.eps = INFINITY);
    BAD(ASSAY_E_RANGE, "positions", a.positions.data = far);
    BAD(ASSAY_E_RANGE, "positions", a.positions.data = negative);
    BAD(ASSAY_E_FULL, "start", a.start = -1);
    BAD(ASSAY_E_FULL, "start", a.start = S - T + 1);
#undef BAD
}

static void bad_shapes(struct bad_calls *calls, const args_type *model)
{
    const args_type good = *model;
#define BAD(status, argument, change) BAD_CALL(args_type, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "q", a.q.data = NULL);
    BAD(ASSAY_E_ARG, "k", a.k.data = NULL);
    BAD(ASSAY_E_ARG, "v", a.v.data = NULL);
    BAD(ASSAY_E_ARG, "q_weight", a.q_weight.data = NULL);
    BAD(ASSAY_E_ARG, "k_weight", a.k_weight.data = NULL);
    BAD(ASSAY_E_ARG, "positions", a.positions.data = NULL);
    BAD(ASSAY_E_ARG, "q_out", a.q_out.data = NULL);
    BAD(ASSAY_E_ARG, "k_cache", a.k_cache.data = NULL);
    BAD(ASSAY_E_ARG, "v_cache", a.v_cache.data = NULL);
    BAD(ASSAY_E_SHAPE, "q", a.q.rank = 2);
    BAD(ASSAY_E_SHAPE, "q", a.q.extent[1] = a.q_out.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "q_out", a.q_out.extent[1] = HQ - 1);
    BAD(ASSAY_E_SHAPE, "k", a.q.extent[0] = a.q_out.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "k", a.q.extent[2] = a.q_out.extent[2] = 40);
    BAD(ASSAY_E_SHAPE, "k", a.k.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "v", a.v.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "q_weight", a.q_weight.extent[0] = 50);
    BAD(ASSAY_E_SHAPE, "k_weight", a.k_weight.extent[0] = 50);
    BAD(ASSAY_E_SHAPE, "k_weight", a.k_weight.rank = 2);
    BAD(ASSAY_E_SHAPE, "positions", a.positions.extent[0] = 2);
    BAD(ASSAY_E_SHAPE, "positions", a.positions.extent[1] = T - 1);
    BAD(ASSAY_E_SHAPE, "k_cache", a.k_cache.extent[2] = 50);
    BAD(ASSAY_E_SHAPE, "v_cache", a.v_cache.extent[0] = S - 1);
    BAD(ASSAY_E_SHAPE, "start_at", a.start_at = assay_tensor_1d(positions, ASSAY_I32, 2));
    BAD(ASSAY_E_FORMAT, "q", a.q.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "q_weight", a.q_weight.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "k_weight", a.k_weight.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "positions", a.positions.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "q_out", a.q_out.dtype = ASSAY_F64);
    BAD(ASSAY_E_FORMAT, "v_cache", a.v_cache.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "start_at", a.start_at = assay_tensor_1d(positions, ASSAY_F32, 1));
    BAD(ASSAY_E_LAYOUT, "q", a.q.stride[2] = 2);
    BAD(ASSAY_E_LAYOUT, "k", a.k.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "q_out", a.q_out.stride[1] = 50);
    BAD(ASSAY_E_LAYOUT, "k_cache", a.k_cache.stride[0] = 1);
#undef BAD
}

static void bad_overlaps(struct bad_calls *calls, const args_type *model)
{
    const args_type good = *model;
    uint32_t *const q_out = fused.q_out, *const k_cache = fused.k_cache;
    uint32_t *const v_cache = fused.v_cache;
#define BAD(status, argument, change) BAD_CALL(args_type, a, status, argument, change, #change)
    BAD(ASSAY_E_ALIAS, "q_out", a.q.data = q_out + 1);
    BAD(ASSAY_E_ALIAS, "q_out", a.k.data = q_out);
    BAD(ASSAY_E_ALIAS, "q_out", a.v.data = q_out);
    BAD(ASSAY_E_ALIAS, "q_out", a.q_weight.data = q_out);
    BAD(ASSAY_E_ALIAS, "q_out", a.k_weight.data = q_out);
    BAD(ASSAY_E_ALIAS, "q_out", a.positions.data = q_out);
    BAD(ASSAY_E_ALIAS, "q_out", a.k_cache.data = q_out);
    BAD(ASSAY_E_ALIAS, "q_out", a.v_cache.data = q_out);
    BAD(ASSAY_E_ALIAS, "q_out", a.start_at = assay_tensor_1d(q_out, ASSAY_I32, 1));
    BAD(ASSAY_E_ALIAS, "k_cache", a.q.data = k_cache);
    BAD(ASSAY_E_ALIAS, "k_cache", a.k.data = k_cache);
    BAD(ASSAY_E_ALIAS, "k_cache", a.q_weight.data = k_cache);
    BAD(ASSAY_E_ALIAS, "k_cache", a.positions.data = k_cache);
    BAD(ASSAY_E_ALIAS, "k_cache", a.start_at = assay_tensor_1d(k_cache, ASSAY_I32, 1));
    BAD(ASSAY_E_ALIAS, "v_cache", a.q.data = v_cache);
    BAD(ASSAY_E_ALIAS, "v_cache", a.k_weight.data = v_cache);
    BAD(ASSAY_E_ALIAS, "v_cache", a.v.data = v_cache);
    BAD(ASSAY_E_ALIAS, "v_cache", a.v_cache.data = k_cache);
#undef BAD
}

/* Every documented error [QKNRA-4] [QKNRA-6] [QKNRA-7] [QKNRA-9]. */
Test(qk_norm_rope_append, errors)
{
    const struct shape shape = {51, 38, ASSAY_F32, ASSAY_F32, ASSAY_F32};
    const args_type good = draw(&shape);
    struct bad_calls *calls =
        bad_calls_new(&assay_op_qk_norm_rope_append, &good, &fused, sizeof fused);
    bad_numbers(calls, &good);
    bad_shapes(calls, &good);
    bad_overlaps(calls, &good);
    bad_calls_finish(calls);
}
