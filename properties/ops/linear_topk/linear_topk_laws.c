/* SPDX-License-Identifier: MIT
 *
 * linear_topk's laws and its bad calls. Clauses tested here or by the sweep
 * (linear_topk.route.cpu): [LINEARTOPK-1] parts, ties, orders and sweep; [LINEARTOPK-2] sweep
 * (formats, strides) and the empty call here; [LINEARTOPK-3] limit, few_ids and the sweep's rows
 * beyond limit; [LINEARTOPK-4] sweep against the oracle; [LINEARTOPK-5] nonfinite and the sweep's
 * distribution nonfinite; [LINEARTOPK-6] errors and sweep (guards); [LINEARTOPK-7] row_bits;
 * [LINEARTOPK-8] parts; [LINEARTOPK-9] the sweep's padding=garbage; [LINEARTOPK-10] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "words.h"
#include <assay/ops/linear.h>
#include <assay/ops/linear_grouped.h>
#include <assay/ops/linear_topk.h>

enum { MOST = ASSAY_TOPK_MOST };

static uint64_t hash(int64_t i)
{
    uint64_t h = (uint64_t)i * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

/* Values with many significant bits, so that any change of the order of a sum changes its bits. */
static double noise(int64_t i)
{
    return (double)(int64_t)hash(i) * 0x1p-62;
}

/* One call's memory: x and the weights are noise. */
struct operands {
    struct assay_linear_topk_args args;
    void *memory[4];
};

enum { X, W, VALUES, IDS };

static struct operands new_operands(enum assay_weight_format format, int64_t rows, int64_t vocab,
                                    int64_t inner, int64_t k)
{
    struct operands o = {.args.limit = vocab};
    struct assay_linear_topk_args *a = &o.args;
    struct assay_weight_layout layout;
    cr_assert_eq(assay_weight_layout_of(format, vocab, inner, &layout, NULL), ASSAY_OK);
    const size_t bytes[4] = {4 * (size_t)(rows * inner), layout.total, 4 * (size_t)(rows * k),
                             4 * (size_t)(rows * k)};
    for (int i = 0; i < 4; i++) {
        o.memory[i] = malloc(bytes[i] + 1);
        cr_assert_not_null(o.memory[i]);
    }
    a->x = assay_tensor_2d(o.memory[X], ASSAY_F32, rows, inner);
    cr_assert_eq(assay_weights_at(o.memory[W], format, vocab, inner, &a->w, NULL), ASSAY_OK);
    a->values = assay_tensor_2d(o.memory[VALUES], ASSAY_F32, rows, k);
    a->ids = assay_tensor_2d(o.memory[IDS], ASSAY_I32, rows, k);
    for (size_t i = 0; i < layout.total; i++)
        ((uint8_t *)o.memory[W])[i] = (uint8_t)hash((int64_t)i);
    struct assay_tensor *numbers = format == ASSAY_WEIGHT_BF16 ? &a->w.base : &a->w.scales;
    for (int64_t i = 0; i < assay_tensor_count(numbers); i++)
        oracle_put(numbers, i, noise(~i) / (format == ASSAY_WEIGHT_BF16 ? 1 : 64));
    for (int64_t i = 0; i < rows * inner; i++)
        oracle_put(&a->x, i, noise(i));
    return o;
}

static void free_operands(struct operands *o)
{
    for (int i = 0; i < 4; i++)
        free(o->memory[i]);
}

static void call(assay_context *context, const struct assay_linear_topk_args *a)
{
    cr_assert_eq(assay_linear_topk(context, a), ASSAY_OK, "%s",
                 assay_context_error(context)->message);
}

static bool takes(const struct assay_route *route, const struct assay_linear_topk_args *a)
{
    return route->accepts == NULL || route->accepts(a);
}

#define EACH_FORMAT(format)                                                                      \
    for (enum assay_weight_format format = ASSAY_WEIGHT_BF16; format < ASSAY_NUM_WEIGHT_FORMATS; \
         format = (enum assay_weight_format)(format + 1))

/* ---- parts ---------------------------------------------------------------------------------- */

/* "linear_topk.grouped.small.simt" has the logits of "linear_grouped.small.simt",
 * "linear_topk.bf16.avx2.cpu" those of "linear.bf16.avx2.cpu". */
static void force_product(assay_context *context, const struct assay_route *route, bool is_bf16)
{
    const char *method = strchr(route->name, '.') + 1;
    char name[64];
    if (strncmp(method, "bf16.", 5) == 0)
        method += 5;
    else if (strncmp(method, "grouped.", 8) == 0)
        method += 8;
    const char *op = !is_bf16                      ? "linear_grouped"
                     : route->backend == ASSAY_CPU ? "linear.bf16"
                                                   : "linear";
    snprintf(name, sizeof name, "%s.%s", op, method);
    cr_assert_eq(assay_context_force_route(context, name), ASSAY_OK, "%s", name);
}

/* All logits by the product's own op. */
static float *logits_of(assay_context *context, const struct assay_route *route,
                        const struct assay_linear_topk_args *a)
{
    bool is_bf16 = a->w.format == ASSAY_WEIGHT_BF16;
    float *logits = malloc(sizeof *logits * (size_t)(a->x.extent[0] * a->w.rows));
    cr_assert_not_null(logits);
    struct assay_tensor y = assay_tensor_2d(logits, ASSAY_F32, a->x.extent[0], a->w.rows);
    force_product(context, route, is_bf16);
    struct assay_linear_args bf16 = {.x = a->x, .w = a->w.base, .y = y};
    struct assay_linear_grouped_args grouped = {.x = a->x, .w = a->w, .y = y};
    cr_assert_eq(is_bf16 ? assay_linear(context, &bf16) : assay_linear_grouped(context, &grouped),
                 ASSAY_OK, "%s: %s", route->name, assay_context_error(context)->message);
    return logits;
}

/* One place after the other, by looking at all ids. */
static void expect_row(const struct assay_linear_topk_args *a, const float *logits, int64_t t,
                       const char *route)
{
    int64_t k = a->values.extent[1], last = -1;
    for (int64_t i = 0; i < k; i++) {
        int64_t best = -1;
        for (int64_t v = 0; v < a->limit; v++) {
            bool is_after =
                last < 0 || logits[v] < logits[last] || (logits[v] == logits[last] && v > last);
            if (is_after && (best < 0 || logits[v] > logits[best]))
                best = v;
        }
        double value = best < 0 ? -INFINITY : (double)logits[best];
        cr_assert(oracle_get_int(&a->ids, t * k + i) == best &&
                      oracle_get(&a->values, t * k + i) == value,
                  "%s, %s, row %lld, place %lld: %lld with %a, expected %lld with %a", route,
                  assay_weight_format_name(a->w.format), (long long)t, (long long)i,
                  (long long)oracle_get_int(&a->ids, t * k + i), oracle_get(&a->values, t * k + i),
                  (long long)best, value);
        if (best < 0)
            continue;
        last = best;
    }
}

/* shape: T, V, k, K */
static void check_parts(assay_context *context, enum assay_weight_format format,
                        const int64_t shape[4])
{
    int64_t rows = shape[0], vocab = shape[1];
    struct operands o = new_operands(format, rows, vocab, shape[3], shape[2]);
    o.args.limit = vocab - vocab / 10;
    for (int r = 0; r < assay_op_num_routes(&assay_op_linear_topk); r++) {
        const struct assay_route *route = take_route(context, &assay_op_linear_topk, r);
        if (route == NULL || !takes(route, &o.args))
            continue;
        call(context, &o.args);
        float *logits = logits_of(context, route, &o.args);
        for (int64_t t = 0; t < rows; t++)
            expect_row(&o.args, logits + t * vocab, t, route->name);
        free(logits);
    }
    free_operands(&o);
}

/* The logits of linear or linear_grouped by the route of the same name, sorted: to the bit
 * [LINEARTOPK-1] [LINEARTOPK-8]. */
Test(linear_topk, parts)
{
    static const int64_t shapes[][4] = {{1, 700, 64, 67},  {2, 33, 1, 67},   {3, 1300, 20, 67},
                                        {25, 65, 33, 130}, {33, 31, 31, 67}, {1, 9, 64, 3}};
    assay_context *context = new_context(2);
    EACH_FORMAT(format)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_parts(context, format, shapes[i]);
    assay_context_destroy(context);
}

/* The same of the device's kernels on the executor: parts of 1024, several merges (17 lists of 64
 * keys and more), slabs of 40 rows and 4096 logits. */
Test(linear_topk, parts_simt, .timeout = 100)
{
    static const int64_t shapes[][4] = {
        {1, 1200, 64, 67}, {1, 21000, 64, 3}, {3, 2300, 5, 40}, {43, 120, 7, 67}};
    struct assay_context_options options = assay_context_defaults();
    options.backend = ASSAY_SIMT;
    assay_context *context;
    if (assay_context_create(&options, &context, NULL) != ASSAY_OK)
        return; /* a build without the executor */
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int format = 0; format <= ASSAY_WEIGHT_Q4G64 + (i == 0); format++)
            check_parts(context, (enum assay_weight_format)format, shapes[i]);
    assay_context_destroy(context);
}

/* ---- laws of one route ----------------------------------------------------------------------- */

/* A row has the same bits at every T from 1 to 26, in every place of the batch and with 1, 2 and 3
 * threads [LINEARTOPK-7]. */
Test(linear_topk, row_bits)
{
    enum { T = 26, V = 900, K = 67, KEPT = 9 };
    assay_context *contexts[3] = {new_context(1), new_context(2), new_context(3)};
    float values[T * KEPT];
    int32_t ids[T * KEPT];
    EACH_FORMAT(format)
    {
        struct operands full = new_operands(format, T, V, K, KEPT);
        for (int r = 0; r < assay_op_num_routes(&assay_op_linear_topk); r++) {
            const struct assay_route *route = take_route(contexts[0], &assay_op_linear_topk, r);
            if (route == NULL || !takes(route, &full.args))
                continue;
            call(contexts[0], &full.args);
            for (int64_t rows = 1; rows <= T; rows++) {
                int64_t first = (int64_t)(hash(rows) % (uint64_t)(T - rows + 1));
                assay_context *context = contexts[rows % 3];
                cr_assert_eq(take_route(context, &assay_op_linear_topk, r), route);
                struct assay_linear_topk_args a = full.args;
                a.x.data = assay_tensor_row(&full.args.x, first);
                a.values.data = values;
                a.ids.data = ids;
                a.x.extent[0] = a.values.extent[0] = a.ids.extent[0] = rows;
                call(context, &a);
                size_t bytes = (size_t)(rows * KEPT) * 4;
                cr_assert(memcmp(values, assay_tensor_row(&full.args.values, first), bytes) == 0 &&
                              memcmp(ids, assay_tensor_row(&full.args.ids, first), bytes) == 0,
                          "%s, %s: %lld rows from %lld on have other bits than among all",
                          route->name, assay_weight_format_name(format), (long long)rows,
                          (long long)first);
            }
        }
        free_operands(&full);
    }
    for (int c = 0; c < 3; c++)
        assay_context_destroy(contexts[c]);
}

/* What stands in rows at or beyond limit changes nothing; every k gives the first places of a
 * larger one [LINEARTOPK-3]. */
static void limit_body(assay_context *context, const char *name)
{
    enum { T = 3, V = 131, K = 40, LIMIT = 90 };
    const struct assay_route *route = assay_route_find(name, NULL);
    EACH_FORMAT(format)
    {
        struct operands o = new_operands(format, T, V, K, MOST);
        struct assay_linear_topk_args a = o.args;
        float values[T * MOST];
        int32_t ids[T * MOST];
        o.args.limit = a.limit = LIMIT;
        if (!takes(route, &a)) {
            free_operands(&o);
            continue;
        }
        call(context, &o.args);
        struct assay_tensor *numbers = format == ASSAY_WEIGHT_BF16 ? &a.w.base : &a.w.scales;
        for (int64_t i = LIMIT * numbers->extent[1]; i < V * numbers->extent[1]; i++)
            oracle_put(numbers, i, i % 2 == 0 ? NAN : 0x1p14);
        for (int64_t k = 1; k <= MOST; k += k < 5 ? 1 : 7) {
            a.values = assay_tensor_2d(values, ASSAY_F32, T, k);
            a.ids = assay_tensor_2d(ids, ASSAY_I32, T, k);
            call(context, &a);
            for (int64_t t = 0; t < T; t++)
                cr_assert(
                    memcmp(values + t * k, assay_tensor_row(&o.args.values, t), 4 * (size_t)k) ==
                            0 &&
                        memcmp(ids + t * k, assay_tensor_row(&o.args.ids, t), 4 * (size_t)k) == 0,
                    "%s, k = %lld", name, (long long)k);
        }
        free_operands(&o);
    }
}

Test(linear_topk, limit)
{
    each_route(&assay_op_linear_topk, limit_body);
}

/* Where k > limit the places that are left hold -inf and -1 [LINEARTOPK-3]. */
static void few_ids_body(assay_context *context, const char *name)
{
    enum { T = 2, V = 5, LIMIT = 3, KEPT = 7 };
    EACH_FORMAT(format)
    {
        struct operands o = new_operands(format, T, V, 9, KEPT);
        o.args.limit = LIMIT;
        if (takes(assay_route_find(name, NULL), &o.args)) {
            call(context, &o.args);
            for (int64_t i = 0; i < (int64_t)T * KEPT; i++) {
                int64_t id = oracle_get_int(&o.args.ids, i);
                double value = oracle_get(&o.args.values, i);
                bool good = i % KEPT < LIMIT ? id >= 0 && id < LIMIT && isfinite(value)
                                             : id == -1 && value == -INFINITY;
                cr_assert(good, "%s: place %lld is %lld with %g", name, (long long)(i % KEPT),
                          (long long)id, value);
            }
        }
        free_operands(&o);
    }
}

Test(linear_topk, few_ids)
{
    each_route(&assay_op_linear_topk, few_ids_body);
}

/* Logits from a short list of integers: each id's place is known. Those of 0 come from weights and
 * x of either sign and are given as +0 [LINEARTOPK-1]. */
static void ties_body(assay_context *context, const char *name)
{
    enum { V = 1000, KEPT = 64 };
    static uint16_t w[V];
    float x = -2, values[KEPT];
    int32_t ids[KEPT];
    struct assay_linear_topk_args a = {.x = assay_tensor_2d(&x, ASSAY_F32, 1, 1),
                                       .w = {.format = ASSAY_WEIGHT_BF16, .rows = V, .columns = 1},
                                       .values = assay_tensor_2d(values, ASSAY_F32, 1, KEPT),
                                       .ids = assay_tensor_2d(ids, ASSAY_I32, 1, KEPT),
                                       .limit = V};
    a.w.base = assay_tensor_2d(w, ASSAY_BF16, V, 1);
    if (!takes(assay_route_find(name, NULL), &a))
        return;
    for (int distinct = 1; distinct < 60; distinct++) {
        for (int v = 0; v < V; v++) { /* logits 0, -2, -4 ... in a scattered order */
            double number = (double)(hash(v) % (uint64_t)distinct);
            oracle_put(&a.w.base, v, number == 0 && v % 2 == 0 ? -0.0 : number);
        }
        call(context, &a);
        int place = 0;
        for (int number = 0; number < distinct; number++)
            for (int v = 0; v < V && place < KEPT; v++)
                if ((int)(hash(v) % (uint64_t)distinct) == number) {
                    cr_assert(ids[place] == v && (double)values[place] == -2.0 * number &&
                                  !(number == 0 && signbit(values[place])),
                              "%s, %d numbers: place %d is %d with %g, expected %d", name, distinct,
                              place, (int)ids[place], (double)values[place], v);
                    place++;
                }
    }
}

Test(linear_topk, ties)
{
    each_route(&assay_op_linear_topk, ties_body);
}

/* Where the large logits stand: everywhere, or all in one half of the warps, one element of the
 * threads, one lane, one part, a rising or a falling row, all equal. A selection that drops before
 * it sorts must not count on their being scattered. */
enum order { ANYWHERE, HALF, ELEMENT, LANE, PART, RISING, FALLING, EQUAL, NUM_ORDERS };

static double number_of(enum order order, int64_t v)
{
    double number = (double)(hash(v) % 100); /* bf16 holds all of them */
    bool is_large = order == HALF      ? v % 64 < 32
                    : order == ELEMENT ? v / 64 % 8 == 3
                    : order == LANE    ? v % 32 == 5
                    : order == PART    ? v >= 512 && v < 600
                                       : true;
    if (order == RISING || order == FALLING)
        return (double)(order == RISING ? v / 8 : -v / 8);
    return order == EQUAL ? 3 : is_large ? number + 100 : number - 100;
}

static void check_orders(assay_context *context, int index)
{
    enum { V = 1100 };
    static const int64_t counts[] = {1, 8, 9, 16, 17, 33, 64};
    uint16_t w[V];
    float x = 1, values[MOST], logits[V];
    int32_t ids[MOST];
    struct assay_linear_topk_args a = {.x = assay_tensor_2d(&x, ASSAY_F32, 1, 1),
                                       .w = {.format = ASSAY_WEIGHT_BF16, .rows = V, .columns = 1},
                                       .limit = V};
    a.w.base = assay_tensor_2d(w, ASSAY_BF16, V, 1);
    const struct assay_route *route = take_route(context, &assay_op_linear_topk, index);
    if (route == NULL || !takes(route, &a))
        return;
    for (int order = 0; order < NUM_ORDERS; order++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (int64_t v = 0; v < V; v++) {
                logits[v] = (float)number_of((enum order)order, v);
                oracle_put(&a.w.base, v, (double)logits[v]);
            }
            a.values = assay_tensor_2d(values, ASSAY_F32, 1, counts[i]);
            a.ids = assay_tensor_2d(ids, ASSAY_I32, 1, counts[i]);
            call(context, &a);
            expect_row(&a, logits, 0, route->name);
        }
}

Test(linear_topk, orders, .timeout = 100)
{
    const enum assay_backend backends[] = {ASSAY_CPU, ASSAY_SIMT};
    for (int b = 0; b < 2; b++) {
        struct assay_context_options options = assay_context_defaults();
        options.backend = backends[b];
        assay_context *context;
        if (assay_context_create(&options, &context, NULL) != ASSAY_OK)
            continue; /* a build without the executor */
        for (int r = 0; r < assay_op_num_routes(&assay_op_linear_topk); r++)
            check_orders(context, r);
        assay_context_destroy(context);
    }
}

/* +inf is the largest, -inf a value like others, a NaN anywhere leaves no id of its row
 * [LINEARTOPK-5]. */
static void nonfinite_body(assay_context *context, const char *name)
{
    enum { T = 3, V = 300, KEPT = 4 };
    uint16_t w[V];
    float x[T] = {1, NAN, -1}, values[T * KEPT];
    int32_t ids[T * KEPT];
    struct assay_linear_topk_args a = {.x = assay_tensor_2d(x, ASSAY_F32, T, 1),
                                       .w = {.format = ASSAY_WEIGHT_BF16, .rows = V, .columns = 1},
                                       .values = assay_tensor_2d(values, ASSAY_F32, T, KEPT),
                                       .ids = assay_tensor_2d(ids, ASSAY_I32, T, KEPT),
                                       .limit = V};
    a.w.base = assay_tensor_2d(w, ASSAY_BF16, V, 1);
    if (!takes(assay_route_find(name, NULL), &a))
        return;
    for (int v = 0; v < V; v++)
        oracle_put(&a.w.base, v, v == 7 || v == 290 ? INFINITY : -INFINITY);
    oracle_put(&a.w.base, 31, 1);
    call(context, &a);
    static const int32_t expected[T * KEPT] = {7, 290, 31, 0, -1, -1, -1, -1, 0, 1, 2, 3};
    for (int i = 0; i < T * KEPT; i++) {
        double value = i / KEPT == 1  ? (double)NAN
                       : i < 2        ? INFINITY
                       : i == 2       ? 1
                       : i / KEPT < 1 ? -INFINITY
                                      : INFINITY;
        cr_assert(ids[i] == expected[i] &&
                      (isnan(value) ? isnan(values[i]) : (double)values[i] == value),
                  "%s: place %d is %d with %g", name, i, (int)ids[i], (double)values[i]);
    }
    oracle_put(&a.w.base, V - 1, NAN); /* of every row */
    call(context, &a);
    for (int i = 0; i < T * KEPT; i++)
        cr_assert(ids[i] == -1 && isnan(values[i]), "%s: place %d is %d with %g", name, i,
                  (int)ids[i], (double)values[i]);
    a.limit = V - 1; /* of none */
    call(context, &a);
    cr_assert(ids[0] == 7 && ids[KEPT] == -1 && ids[2 * KEPT] == 0, "%s", name);
}

Test(linear_topk, nonfinite)
{
    each_route(&assay_op_linear_topk, nonfinite_body);
}

/* No rows: nothing is read or written [LINEARTOPK-2]. */
Test(linear_topk, empty)
{
    assay_context *context = new_context(1);
    const struct assay_route *route;
    EACH_FORMAT(format)
    {
        struct operands o = new_operands(format, 1, 2, 3, 1);
        o.args.x = assay_tensor_2d(NULL, ASSAY_F32, 0, 3);
        o.args.values = assay_tensor_2d(NULL, ASSAY_F32, 0, 1);
        o.args.ids = assay_tensor_2d(NULL, ASSAY_I32, 0, 1);
        EACH_ROUTE(context, &assay_op_linear_topk, route)
        if (takes(route, &o.args))
            call(context, &o.args);
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* Every documented error [LINEARTOPK-6] [LINEARTOPK-10]. */
Test(linear_topk, errors)
{
    enum { T = 2, V = 9, K = 8, KEPT = 3, WIDE = 80 };
    float x[T * K] = {0}, outputs[512];
    uint16_t planes[2048] = {0}, numbers[V * K] = {0};
    struct assay_linear_topk_args good = {.x = assay_tensor_2d(x, ASSAY_F32, T, K),
                                          .values = assay_tensor_2d(outputs, ASSAY_F32, T, KEPT),
                                          .ids = assay_tensor_2d(outputs + 256, ASSAY_I32, T, KEPT),
                                          .limit = V - 1};
    cr_assert_eq(assay_weights_at(planes, ASSAY_WEIGHT_Q5G64, V, K, &good.w, NULL), ASSAY_OK);
    struct assay_weights bf16;
    cr_assert_eq(assay_weights_at(numbers, ASSAY_WEIGHT_BF16, V, K, &bf16, NULL), ASSAY_OK);
    struct bad_calls *calls = bad_calls_new(&assay_op_linear_topk, &good, outputs, sizeof outputs);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_linear_topk_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "w.base", a.w.base.data = NULL);
    BAD(ASSAY_E_ARG, "w.high", a.w.high.data = NULL);
    BAD(ASSAY_E_ARG, "w.scales", a.w.scales.data = NULL);
    BAD(ASSAY_E_ARG, "values", a.values.data = NULL);
    BAD(ASSAY_E_ARG, "ids", a.ids.data = NULL);
    BAD(ASSAY_E_ARG, "w.scales", (a.w = bf16, a.w.scales = good.w.scales));
    BAD(ASSAY_E_ARG, "limit", a.limit = 0);
    BAD(ASSAY_E_ARG, "limit", a.limit = -1);
    BAD(ASSAY_E_ARG, "limit", a.limit = V + 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.rows = 0);
    BAD(ASSAY_E_SHAPE, "w.base", a.w.rows = V + 1);
    BAD(ASSAY_E_SHAPE, "w.base", (a.w = bf16, a.w.rows = V + 1));
    BAD(ASSAY_E_SHAPE, "values", a.values.rank = 1);
    BAD(ASSAY_E_SHAPE, "values", a.values.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "values", a.values.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "values",
        (a.values.stride[0] = a.ids.stride[0] = WIDE, a.values.extent[1] = a.ids.extent[1] = 65));
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[1] = KEPT - 1);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.rank = 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "w", a.w.format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "w.base", (a.w = bf16, a.w.base.dtype = ASSAY_F32));
    BAD(ASSAY_E_FORMAT, "values", a.values.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_I64);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w.base", a.w.base.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "values", a.values.stride[0] = KEPT - 1);
    BAD(ASSAY_E_LAYOUT, "ids", a.ids.stride[1] = 2);
    BAD(ASSAY_E_ALIAS, "values", a.x.data = outputs + 1);
    BAD(ASSAY_E_ALIAS, "values", a.w.base.data = outputs + 2);
    BAD(ASSAY_E_ALIAS, "ids", a.x.data = outputs + 256);
    BAD(ASSAY_E_ALIAS, "ids", (a.w = bf16, a.w.base.data = outputs + 256));
    BAD(ASSAY_E_ALIAS, "ids", a.ids.data = outputs + 2);
#undef BAD
    bad_calls_finish(calls);
}
