/* SPDX-License-Identifier: MIT
 *
 * linear_a8's laws and its bad calls. Clauses tested here or by the sweep (linear_a8.route.cpu),
 * whose oracle computes y to the bit: [LINEARA8-1] sweep, integers, scale_range; [LINEARA8-2]
 * sweep, integers; [LINEARA8-3] bits and bits_by_threads; [LINEARA8-4] sweep (formats, strides) and
 * the empty call here; [LINEARA8-5] sweep (layout inplace, guards) and errors; [LINEARA8-6]
 * not_finite and the sweep's distributions nonfinite and large; [LINEARA8-7] sweep (padding holds
 * NaN scales); [LINEARA8-8] errors. accuracy: what 8 bits cost; controls: what must be rejected.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "linear_a8_mutants.h"
#include "oracle_formats.h"
#include "words.h"
#include <assay/ops/linear_a8.h>

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

/* N(0, 1), by Box and Muller. */
static double normal(int64_t i)
{
    double u = ((double)(hash(2 * i) >> 11) + 0.5) * 0x1p-53;
    double v = (double)(hash(2 * i + 1) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* One call's memory: x of noise, any codes, scales about 2^-5, a residual of noise. */
struct operands {
    struct assay_linear_a8_args args;
    void *planes;
    size_t y_row_bytes;
};

static struct operands new_operands(enum assay_dtype x, enum assay_weight_format format,
                                    enum assay_dtype y, int64_t rows, int64_t columns,
                                    int64_t inner)
{
    struct operands o;
    struct assay_weight_layout layout;
    cr_assert_eq(assay_weight_layout_of(format, columns, inner, &layout, NULL), ASSAY_OK);
    void *memory[3] = {malloc((size_t)(rows * inner) * 4), malloc((size_t)(rows * columns) * 4),
                       malloc((size_t)(rows * columns) * 4)};
    o.planes = malloc(layout.total);
    cr_assert(memory[0] != NULL && memory[1] != NULL && memory[2] != NULL && o.planes != NULL);
    cr_assert_eq(assay_weights_at(o.planes, format, columns, inner, &o.args.w, NULL), ASSAY_OK);
    for (size_t i = 0; i < layout.total; i++)
        ((unsigned char *)o.planes)[i] = (unsigned char)hash((int64_t)i);
    for (int64_t i = 0; i < assay_tensor_count(&o.args.w.scales); i++)
        oracle_put(&o.args.w.scales, i, 0x1p-5 + 0x1p-8 * noise(7 * i));
    o.args.x = assay_tensor_2d(memory[0], x, rows, inner);
    o.args.residual = assay_tensor_2d(memory[1], ASSAY_F32, rows, columns);
    o.args.y = assay_tensor_2d(memory[2], y, rows, columns);
    o.y_row_bytes = (size_t)columns * assay_dtype_bytes(y);
    for (int64_t i = 0; i < rows * inner; i++)
        oracle_put(&o.args.x, i, noise(i));
    for (int64_t i = 0; i < rows * columns; i++)
        oracle_put(&o.args.residual, i, noise(~i));
    return o;
}

static void free_operands(struct operands *o)
{
    free(o->args.x.data);
    free(o->args.residual.data);
    free(o->args.y.data);
    free(o->planes);
}

static enum assay_weight_format format_of(int i)
{
    return (enum assay_weight_format)(ASSAY_WEIGHT_Q4G64 + i);
}

/* Rows first .. first + rows - 1 of the full call into y: expected among all rows. */
static void expect_part(assay_context *context, const struct operands *full, const void *expected,
                        int64_t first, int64_t rows, void *y, const char *what)
{
    struct assay_linear_a8_args a = full->args;
    a.x.data = assay_tensor_row(&full->args.x, first);
    a.residual.data = assay_tensor_row(&full->args.residual, first);
    a.x.extent[0] = a.residual.extent[0] = a.y.extent[0] = rows;
    a.y.data = y;
    cr_assert_eq(assay_linear_a8(context, &a), ASSAY_OK);
    const char *from = (const char *)expected + (size_t)first * full->y_row_bytes;
    cr_assert(memcmp(y, from, (size_t)rows * full->y_row_bytes) == 0,
              "%s: rows %lld to %lld have other bits", what, (long long)first,
              (long long)(first + rows - 1));
}

/* Every route, every T from 1 to 40 and every place of the batch: the bits of the last route, which
 * is the plain one [LINEARA8-3]. */
Test(linear_a8, bits)
{
    enum { T = 40, N = 37, K = 203 };
    assay_context *context = new_context(1);
    float expected[T * N], y[T * N];
    for (int i = 0; i < 16; i++) {
        struct operands full = new_operands(i & 4 ? ASSAY_BF16 : ASSAY_F32, format_of(i % 4),
                                            i & 8 ? ASSAY_BF16 : ASSAY_F32, T, N, K);
        for (int r = assay_op_num_routes(&assay_op_linear_a8) - 1; r >= 0; r--) {
            const struct assay_route *route = take_route(context, &assay_op_linear_a8, r);
            if (route == NULL)
                continue;
            if (r == assay_op_num_routes(&assay_op_linear_a8) - 1) {
                cr_assert_eq(assay_linear_a8(context, &full.args), ASSAY_OK);
                memcpy(expected, full.args.y.data, T * full.y_row_bytes);
            }
            for (int64_t rows = 1; rows <= T; rows += rows < 10 ? 1 : 3)
                for (int64_t first = 0; first + rows <= T; first += rows + rows % 5)
                    expect_part(context, &full, expected, first, rows, y, route->name);
        }
        free_operands(&full);
    }
    assay_context_destroy(context);
}

/* ... and with 1, 2 and 3 threads [LINEARA8-3]. N is several ranges of the thread pool long. */
Test(linear_a8, bits_by_threads)
{
    enum { T = 5, N = 1027, K = 203 };
    float *y = malloc(sizeof *y * T * N), *expected = malloc(sizeof *expected * T * N);
    cr_assert(y != NULL && expected != NULL);
    struct operands full = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q5G64, ASSAY_F32, T, N, K);
    for (int threads = 1; threads <= 3; threads++) {
        assay_context *context = new_context(threads);
        for (int r = 0; r < assay_op_num_routes(&assay_op_linear_a8); r++) {
            const struct assay_route *route = take_route(context, &assay_op_linear_a8, r);
            if (route == NULL)
                continue;
            if (threads == 1) {
                cr_assert_eq(assay_linear_a8(context, &full.args), ASSAY_OK);
                memcpy(expected, full.args.y.data, sizeof *expected * T * N);
            }
            expect_part(context, &full, expected, 0, T, y, route->name);
            expect_part(context, &full, expected, 0, 1, y, route->name);
        }
        assay_context_destroy(context);
    }
    free_operands(&full);
    free(y);
    free(expected);
}

/* Scales of 1 make y the sum of the codes' products [LINEARA8-1] [LINEARA8-2]: x of integers with
 * 127 in each group is its own codes. One group of the largest products, of either sign, is what 16
 * bits do not hold; several groups, the last one short. */
Test(linear_a8, integers)
{
    enum { T = 5, N = 19, K = 330 };
    assay_context *context = new_context(1);
    for (int i = 0; i < 8; i++) {
        int64_t inner = i < 4 ? 64 : K;
        struct operands o = new_operands(ASSAY_F32, format_of(i % 4), ASSAY_F32, T, N, inner);
        float *x = o.args.x.data, *y = o.args.y.data;
        o.args.residual.data = NULL;
        for (int64_t k = 0; k < T * inner; k++)
            x[k] = (float)((int64_t)(hash(k) % 255) - 127);
        for (int64_t k = 0; k < T * inner; k++)
            if (k % inner % 64 == 0 || k < inner)
                x[k] = k % 2 == 0 ? 127 : -127;
        for (int64_t k = 0; k < assay_tensor_count(&o.args.w.scales); k++)
            oracle_put(&o.args.w.scales, k, 1);
        const struct assay_route *route;
        EACH_ROUTE(context, &assay_op_linear_a8, route)
        {
            cr_assert_eq(assay_linear_a8(context, &o.args), ASSAY_OK);
            for (int64_t at = 0; at < T * N; at++) {
                int64_t sum = 0;
                for (int64_t k = 0; k < inner; k++)
                    sum +=
                        (int64_t)x[at / N * inner + k] * oracle_weight_code(&o.args.w, at % N, k);
                cr_assert(y[at] == (float)sum, "%s: y[%lld] is %.9g, not %lld", route->name,
                          (long long)at, (double)y[at], (long long)sum);
            }
        }
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* A single activation of `x` times the code 1 with scale 1: what is left is its scale times 127. */
static double alone(assay_context *context, struct operands *o, double x)
{
    oracle_put(&o->args.x, 0, x);
    cr_assert_eq(assay_linear_a8(context, &o->args), ASSAY_OK);
    return oracle_get(&o->args.y, 0);
}

/* About the ends of binary16: subnormal scales are kept, half of the smallest one rounds to 0, and
 * 127 * 65520 is too much [LINEARA8-1] [LINEARA8-6]. */
Test(linear_a8, scale_range)
{
    assay_context *context = new_context(1);
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q8G32, ASSAY_F32, 1, 1, 1);
    o.args.residual.data = NULL;
    ((unsigned char *)o.args.w.base.data)[0] = 1;
    oracle_put(&o.args.w.scales, 0, 1);
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_linear_a8, route)
    {
        cr_assert_eq(alone(context, &o, 127 * 0x1p-24), 127 * 0x1p-24, "%s", route->name);
        cr_assert_eq(alone(context, &o, -127 * 0x1p-25), 0, "%s", route->name);
        cr_assert_eq(alone(context, &o, 127 * 0x1.8p-24), 127 * 0x1p-23, "%s", route->name);
        cr_assert_eq(alone(context, &o, 0), 0, "%s", route->name);
        cr_assert_eq(alone(context, &o, -8321039.5), -127 * 65504.0, "%s", route->name);
        cr_assert(isnan(alone(context, &o, 8321040)), "%s", route->name);
        cr_assert(isnan(alone(context, &o, (double)INFINITY)), "%s", route->name);
    }
    free_operands(&o);
    assay_context_destroy(context);
}

/* A NaN, an infinity and a magnitude that is too large each make their row of y NaN, a NaN scale of
 * w its column; nothing else changes [LINEARA8-6]. */
Test(linear_a8, not_finite)
{
    enum { T = 8, N = 9, K = 133 };
    assay_context *context = new_context(1);
    for (int i = 0; i < 4; i++) {
        struct operands o = new_operands(ASSAY_F32, format_of(i), ASSAY_F32, T, N, K);
        float *x = o.args.x.data, *y = o.args.y.data;
        int64_t groups = o.args.w.scales.extent[1];
        oracle_put(&o.args.w.scales, 5 * groups + 2, NAN);
        x[2 * K + 7] = NAN;
        x[4 * K + K - 1] = -INFINITY;
        x[7 * K + 64] = 1e30f;
        const struct assay_route *route;
        EACH_ROUTE(context, &assay_op_linear_a8, route)
        {
            cr_assert_eq(assay_linear_a8(context, &o.args), ASSAY_OK);
            for (int at = 0; at < T * N; at++) {
                int t = at / N, n = at % N;
                bool nan = t == 2 || t == 4 || t == 7 || n == 5;
                cr_assert(nan ? isnan(y[at]) : isfinite(y[at]), "%s: y[%d]", route->name, at);
            }
        }
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* Relative L2 error against the product with x itself, weights as they are. */
static double error_of(assay_context *context, struct operands *o)
{
    const struct assay_linear_a8_args *a = &o->args;
    cr_assert_eq(assay_linear_a8(context, a), ASSAY_OK);
    double *w = malloc((size_t)a->w.columns * sizeof *w), squares = 0, errors = 0;
    cr_assert_not_null(w);
    for (int64_t n = 0; n < a->w.rows; n++) {
        oracle_weight_row(&a->w, n, w);
        for (int64_t t = 0; t < a->x.extent[0]; t++) {
            const float *x = assay_tensor_row(&a->x, t);
            double sum = 0;
            for (int64_t k = 0; k < a->w.columns; k++)
                sum += (double)x[k] * w[k];
            double lacks = oracle_get(&a->y, t * a->w.rows + n) - sum;
            squares += sum * sum;
            errors += lacks * lacks;
        }
    }
    free(w);
    return sqrt(errors / squares);
}

/* linear_a8_bound.md has the theory of the values; a route that spoils the activations in any way
 * that the integers do not show would show here. */
Test(linear_a8, accuracy)
{
    enum { T = 16, N = 48, K = 5120, KINDS = 3 };
    static const double theory[KINDS] = {0.0061, 0.0128, 0.0170};
    assay_context *context = new_context(0);
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q4G64, ASSAY_F32, T, N, K);
    float *x = o.args.x.data;
    o.args.residual.data = NULL;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t i = 0; i < T * K; i++) {
            int64_t channel = i % K;
            double gain = kind == 1 ? exp(normal(channel + 1000000)) : 1;
            if (kind == 2 && hash(channel + 2000000) % 100 == 0)
                gain = 30;
            x[i] = (float)(gain * normal(i));
        }
        double error = error_of(context, &o);
        cr_log_info("kind %d: %.5f", kind, error);
        cr_assert(fabs(error / theory[kind] - 1) < 0.1, "kind %d: %.5f, not %.5f", kind, error,
                  theory[kind]);
        cr_assert_lt(error, 0.04);
    }
    free_operands(&o);
    assay_context_destroy(context);
}

static double error_of_mutant(assay_context *context, struct operands *o, const char *name)
{
    for (int i = 0; i < LINEAR_A8_NUM_MUTANTS; i++) {
        const struct assay_route *route = &linear_a8_mutants[i].route;
        if (strcmp(route->name, name) != 0)
            continue;
        cr_assert_eq(assay_route_add(route, NULL), ASSAY_OK);
        cr_assert_eq(assay_context_force_route(context, name), ASSAY_OK);
        const double error = error_of(context, o);
        cr_assert_eq(assay_context_force_route(context, NULL), ASSAY_OK);
        assay_route_remove(route);
        return error;
    }
    cr_assert_fail("there is no mutant %s", name);
    return 0;
}

/* Faults that the allowance of 0.04 exists to reject, on input where the op itself stays below it:
 * one channel of 5056 is 66 times the others, and the last group does not fill its block of 128.
 * With one scale a token the others are cut to a dozen codes: an error of 0.13. */
Test(linear_a8, controls)
{
    enum { T = 8, N = 40, K = 5056 };
    static const struct {
        const char *name;
        double least, most;
    } faults[] = {
        {"linear_a8.mutant.control.cpu", 0.004, 0.02},
        {"linear_a8.mutant.token_scale.cpu", 0.115, 0.145},
        {"linear_a8.mutant.scale_shifted.cpu", 0.3, 100},
        {"linear_a8.mutant.half_block.cpu", 0.05, 1},
    };
    assay_context *context = new_context(1);
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q6G64, ASSAY_F32, T, N, K);
    float *x = o.args.x.data;
    o.args.residual.data = NULL;
    for (int64_t i = 0; i < T * K; i++)
        x[i] = (float)(i % K == 17 ? 66 : normal(i));
    double own = error_of(context, &o);
    cr_assert(own < 0.02, "the op itself: %.4f", own);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        double error = error_of_mutant(context, &o, faults[i].name);
        cr_log_info("%s: %.4f", faults[i].name, error);
        cr_assert(error > faults[i].least && error < faults[i].most, "%s: %.4f", faults[i].name,
                  error);
        cr_assert(i == 0 || error > 0.04, "%s would not be rejected: %.4f", faults[i].name, error);
    }
    free_operands(&o);
    assay_context_destroy(context);
}

/* No rows: nothing is read or written [LINEARA8-4]. */
Test(linear_a8, empty)
{
    assay_context *context = new_context(1);
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q6G64, ASSAY_BF16, 1, 2, 3);
    struct assay_linear_a8_args args = {.x = assay_tensor_2d(NULL, ASSAY_F32, 0, 3),
                                        .w = o.args.w,
                                        .y = assay_tensor_2d(NULL, ASSAY_BF16, 0, 2)};
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_linear_a8, route)
    {
        cr_assert_eq(assay_linear_a8(context, &args), ASSAY_OK, "%s", route->name);
    }
    free_operands(&o);
    assay_context_destroy(context);
}

/* Every documented error [LINEARA8-5] [LINEARA8-8]. */
Test(linear_a8, errors)
{
    enum { T = 2, N = 3, K = 72 };
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q5G64, ASSAY_F32, T, N, K);
    float y[T * N + 8] = {0};
    o.args.residual.data = y;
    free(o.args.y.data);
    o.args.y.data = y;
    const struct assay_linear_a8_args good = o.args; /* in place */
    float residual[T * N] = {0};
    struct bad_calls *calls = bad_calls_new(&assay_op_linear_a8, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_linear_a8_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "w.base", a.w.base.data = NULL);
    BAD(ASSAY_E_ARG, "w.high", a.w.high.data = NULL);
    BAD(ASSAY_E_ARG, "w.scales", a.w.scales.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.rows = 0);
    BAD(ASSAY_E_SHAPE, "w", a.w.columns = 0);
    BAD(ASSAY_E_SHAPE, "w.base", a.w.columns = 129);
    BAD(ASSAY_E_SHAPE, "w.base", a.w.rows = N + 1);
    BAD(ASSAY_E_SHAPE, "residual", a.residual.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "residual", a.residual.extent[1] = N - 1);
    BAD(ASSAY_E_SHAPE, "residual", a.residual.rank = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.rank = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = N - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "w", a.w.format = ASSAY_WEIGHT_BF16);
    BAD(ASSAY_E_FORMAT, "w", a.w.format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "w.scales", a.w.scales.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "residual", a.residual.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_F16);
    BAD(ASSAY_E_ARG, "w.high", a.w.format = ASSAY_WEIGHT_Q4G64);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w.base", a.w.base.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w.scales", a.w.scales.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = N - 1);
    BAD(ASSAY_E_ALIAS, "y", a.residual.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.w.base.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", (a.residual.data = residual, a.w.scales.data = y + 2));
    BAD(ASSAY_E_ALIAS, "y", a.y.dtype = ASSAY_BF16);
#undef BAD
    bad_calls_finish(calls);
    o.args.y.data = o.args.residual.data = NULL;
    free_operands(&o);
}
