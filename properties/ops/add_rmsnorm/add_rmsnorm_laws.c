/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm's laws and its bad calls. Clauses tested here or by the sweep
 * (add_rmsnorm.route.cpu): [ADDNORM-1] [ADDNORM-2] sweep against the oracle; [ADDNORM-3] two_ops
 * here, ties in the sweep; [ADDNORM-4] in_place here, guards in the sweep, errors; [ADDNORM-5]
 * errors; [ADDNORM-6] specials and the distributions large and nonfinite of the sweep; [ADDNORM-7]
 * errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "words.h"
#include <assay/ops/add.h>
#include <assay/ops/add_rmsnorm.h>
#include <assay/ops/rmsnorm.h>

enum { ROWS = 3, MAX_WIDTH = 9000, COUNT = ROWS * MAX_WIDTH };

static uint32_t residual[COUNT], x[COUNT], w[MAX_WIDTH], s[COUNT], y[COUNT];
static uint32_t expected_s[COUNT], expected_y[COUNT];

/* Formats of the stream, of x and of y, and the width. */
static struct assay_add_rmsnorm_args draw(enum assay_dtype stream, enum assay_dtype added,
                                          enum assay_dtype output, int64_t width)
{
    struct assay_add_rmsnorm_args args = {.residual =
                                              assay_tensor_2d(residual, stream, ROWS, width),
                                          .x = assay_tensor_2d(x, added, ROWS, width),
                                          .w = assay_tensor_1d(w, ASSAY_BF16, width),
                                          .s = assay_tensor_2d(s, stream, ROWS, width),
                                          .y = assay_tensor_2d(y, output, ROWS, width),
                                          .unit_offset = true,
                                          .eps = 1e-6};
    for (int64_t i = 0; i < ROWS * width; i++) {
        oracle_put(&args.residual, i, ldexp((double)(i * 7919 % 2003 - 1001), (int)(i % 5) - 9));
        oracle_put(&args.x, i, (double)(i * 104729 % 3001 - 1500) * 0x1.234567p-10);
    }
    for (int64_t i = 0; i < width; i++)
        oracle_put(&args.w, i, (double)(i * 31 % 17 - 8) * 0x1p-4);
    return args;
}

static size_t bytes_of(const struct assay_tensor *t)
{
    return (size_t)assay_tensor_count(t) * assay_dtype_bytes(t->dtype);
}

/* Forces on both ops the routes of the same kind: add_rmsnorm.avx2.cpu has add.avx2.cpu and
 * rmsnorm.avx2.cpu. */
static void force_kin(assay_context *context, const char *route)
{
    const char *kind = strchr(route, '.');
    char name[64];
    snprintf(name, sizeof name, "add%s", kind);
    cr_assert_eq(assay_context_force_route(context, name), ASSAY_OK, "%s", name);
    snprintf(name, sizeof name, "rmsnorm%s", kind);
    cr_assert_eq(assay_context_force_route(context, name), ASSAY_OK, "%s", name);
}

/* Both outputs have the bits of add and rmsnorm one after the other, through memory [ADDNORM-3]. */
static void two_ops_body(assay_context *context, const char *route)
{
    const int64_t widths[] = {1, 5, 64, 100, 2049, 5120, MAX_WIDTH};
    force_kin(context, route);
    for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++) {
        for (int formats = 0; formats < 8; formats++) {
            enum assay_dtype stream = formats & 1 ? ASSAY_BF16 : ASSAY_F32;
            enum assay_dtype added = formats & 2 ? ASSAY_BF16 : ASSAY_F32;
            enum assay_dtype output = formats & 4 ? ASSAY_BF16 : ASSAY_F32;
            struct assay_add_rmsnorm_args args = draw(stream, added, output, widths[k]);
            cr_assert_eq(assay_add_rmsnorm(context, &args), ASSAY_OK);
            struct assay_add_args sum = {.a = args.residual, .b = args.x, .y = args.s};
            sum.y.data = expected_s;
            cr_assert_eq(assay_add(context, &sum), ASSAY_OK);
            struct assay_rmsnorm_args norm = {
                .x = sum.y, .w = args.w, .y = args.y, .unit_offset = true, .eps = args.eps};
            norm.y.data = expected_y;
            cr_assert_eq(assay_rmsnorm(context, &norm), ASSAY_OK);
            cr_assert(memcmp(s, expected_s, bytes_of(&args.s)) == 0, "%s: s, H = %d", route,
                      (int)widths[k]);
            cr_assert(memcmp(y, expected_y, bytes_of(&args.y)) == 0, "%s: y, H = %d", route,
                      (int)widths[k]);
        }
    }
}

/* On the cpu and, where the build has them, for the device's routes on the executor. */
Test(add_rmsnorm, two_ops, .timeout = 60)
{
    each_route(&assay_op_add_rmsnorm, two_ops_body);
    struct assay_context_options options = assay_context_defaults();
    options.backend = ASSAY_SIMT;
    assay_context *context;
    if (assay_context_create(&options, &context, NULL) != ASSAY_OK)
        return;
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_add_rmsnorm, route)
    two_ops_body(context, route->name);
    assay_context_destroy(context);
}

/* s and y on the inputs, either way round, give the bits of the separate call; so does a tensor
 * added to itself [ADDNORM-4]. */
static void in_place_body(assay_context *context, const char *route)
{
    for (int exchanged = 0; exchanged < 2; exchanged++) {
        struct assay_add_rmsnorm_args args = draw(ASSAY_F32, ASSAY_F32, ASSAY_F32, 133);
        size_t bytes = bytes_of(&args.s);
        cr_assert_eq(assay_add_rmsnorm(context, &args), ASSAY_OK);
        memcpy(expected_s, s, bytes);
        memcpy(expected_y, y, bytes);
        args.s = exchanged ? args.x : args.residual;
        args.y = exchanged ? args.residual : args.x;
        cr_assert_eq(assay_add_rmsnorm(context, &args), ASSAY_OK);
        cr_assert(memcmp(args.s.data, expected_s, bytes) == 0, "%s: s", route);
        cr_assert(memcmp(args.y.data, expected_y, bytes) == 0, "%s: y", route);

        args = draw(ASSAY_F32, ASSAY_F32, ASSAY_F32, 133);
        args.x = args.residual;
        cr_assert_eq(assay_add_rmsnorm(context, &args), ASSAY_OK);
        memcpy(expected_s, s, bytes);
        args.s = args.residual;
        cr_assert_eq(assay_add_rmsnorm(context, &args), ASSAY_OK);
        cr_assert(memcmp(residual, expected_s, bytes) == 0, "%s: twice the residual", route);
    }
}

Test(add_rmsnorm, in_place)
{
    each_route(&assay_op_add_rmsnorm, in_place_body);
}

/* A constant row c of sums gives c / sqrt(c^2 + eps), near the largest finite value 1: theory. A
 * sum beyond it is an infinity, which makes its own element NaN and the others zero [ADDNORM-6]. */
static void specials_body(assay_context *context, const char *route)
{
    enum { H = 33 };
    const double sums[] = {0x1p-100, 0x1p-10, 1, 0x1p66, 0x1.fffffep127};
    struct assay_add_rmsnorm_args args = draw(ASSAY_F32, ASSAY_F32, ASSAY_F32, H);
    for (int64_t i = 0; i < H; i++)
        oracle_put(&args.w, i, 0);
    for (size_t k = 0; k < sizeof sums / sizeof sums[0]; k++) {
        for (int64_t i = 0; i < ROWS * H; i++) {
            oracle_put(&args.residual, i, 0.25 * sums[k]);
            oracle_put(&args.x, i, 0.75 * sums[k]);
        }
        cr_assert_eq(assay_add_rmsnorm(context, &args), ASSAY_OK);
        double expected = sums[k] / sqrt(sums[k] * sums[k] + 1e-6);
        for (int64_t i = 0; i < ROWS * H; i++) {
            double norm = oracle_get(&args.y, i), sum = oracle_get(&args.s, i);
            cr_assert(fabs(sum - sums[k]) <= 0x1p-24 * sums[k], "%s: %a", route, sum);
            cr_assert(fabs(norm - expected) <= 8 * 0x1p-24 * expected + 0x1p-149, "%s: %a", route,
                      norm);
        }
    }
    oracle_put(&args.residual, H + 4, 0x1.8p127);
    oracle_put(&args.x, H + 4, 0x1.8p127);
    cr_assert_eq(assay_add_rmsnorm(context, &args), ASSAY_OK);
    for (int64_t i = 0; i < H; i++) {
        double norm = oracle_get(&args.y, H + i);
        cr_assert(i == 4 ? isnan(norm) : norm == 0, "%s: %a beside an infinity", route, norm);
    }
    cr_assert_eq(oracle_get(&args.s, H + 4), INFINITY);
}

Test(add_rmsnorm, specials)
{
    each_route(&assay_op_add_rmsnorm, specials_body);
}

/* Every documented error [ADDNORM-4] [ADDNORM-5] [ADDNORM-7]. */
Test(add_rmsnorm, errors)
{
    enum { T = 2, H = 8, N = T * H };
    float stream[N + 8] = {0}, added[N + 8] = {0}, gains[H + 1] = {0}, outputs[2 * N + 8];
    float *norm = outputs + N;
    const struct assay_add_rmsnorm_args good = {.residual =
                                                    assay_tensor_2d(stream, ASSAY_F32, T, H),
                                                .x = assay_tensor_2d(added, ASSAY_F32, T, H),
                                                .w = assay_tensor_1d(gains, ASSAY_F32, H),
                                                .s = assay_tensor_2d(outputs, ASSAY_F32, T, H),
                                                .y = assay_tensor_2d(norm, ASSAY_F32, T, H),
                                                .eps = 1e-6};
    struct bad_calls *calls = bad_calls_new(&assay_op_add_rmsnorm, &good, outputs, sizeof outputs);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_add_rmsnorm_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "residual", a.residual.data = NULL);
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "w", a.w.data = NULL);
    BAD(ASSAY_E_ARG, "s", a.s.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_ARG, "eps", a.eps = 0);
    BAD(ASSAY_E_ARG, "eps", a.eps = -1);
    BAD(ASSAY_E_ARG, "eps", a.eps = NAN);
    BAD(ASSAY_E_ARG, "eps", a.eps = INFINITY);
    BAD(ASSAY_E_SHAPE, "residual", a.residual.rank = 3);
    BAD(ASSAY_E_SHAPE, "residual", a.residual.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "residual", a.w.extent[0] = H + 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.rank = 2);
    BAD(ASSAY_E_SHAPE, "w", a.w.extent[0] = 0);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "s", a.s.extent[1] = H - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = 1);
    BAD(ASSAY_E_FORMAT, "residual", a.residual.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "w", a.w.dtype = ASSAY_F64);
    BAD(ASSAY_E_FORMAT, "s", a.s.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_NUM_DTYPES);
    BAD(ASSAY_E_LAYOUT, "residual", a.residual.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[0] = -H);
    BAD(ASSAY_E_LAYOUT, "s", a.s.stride[0] = H - 1);
    BAD(ASSAY_E_LAYOUT, "x", a.x.data = (char *)added + 1);
    BAD(ASSAY_E_ALIAS, "s", a.residual.data = outputs + 1);
    BAD(ASSAY_E_ALIAS, "s", a.w.data = outputs + 3);
    BAD(ASSAY_E_ALIAS, "s", a.s.data = added + 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = norm + 1);
    BAD(ASSAY_E_ALIAS, "y", a.w.data = norm + 9);
    BAD(ASSAY_E_ALIAS, "y", a.y.data = outputs);
    BAD(ASSAY_E_ALIAS, "y", a.y.data = outputs + 4);
    BAD(ASSAY_E_ALIAS, "y", (a.x.data = norm, a.x.dtype = ASSAY_BF16));
#undef BAD
    bad_calls_finish(calls);
}
