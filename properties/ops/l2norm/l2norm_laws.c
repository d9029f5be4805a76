/* SPDX-License-Identifier: MIT
 *
 * l2norm's laws and its bad calls. Clauses tested here or by the sweep (l2norm.route.cpu):
 * [L2NORM-1] laws and sweep; [L2NORM-2] [L2NORM-3] sweep against the oracle; [L2NORM-4] sweep (in
 * place, guards) and errors; [L2NORM-5] zero_rows and errors; [L2NORM-6] specials and the sweep's
 * distributions large and nonfinite; [L2NORM-7] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/l2norm.h>

enum { ROWS = 3, D = 37, COUNT = ROWS * D };

static struct assay_l2norm_args args_of(float *x, float *y)
{
    return (struct assay_l2norm_args){.x = assay_tensor_2d(x, ASSAY_F32, ROWS, D),
                                      .y = assay_tensor_2d(y, ASSAY_F32, ROWS, D),
                                      .eps = 1e-6};
}

static void fill(float x[COUNT], float scale)
{
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)((i * 37) % 101 - 50) * scale;
}

/* Scaling by a power of two changes nothing once eps is below the last bit: bit-equal [L2NORM-1].
 * The squared norm of a row is a sum, so it grows with D: a row that is repeated k^2 times in one
 * row has a norm k times as large. */
static void scaling_body(assay_context *context, const char *route)
{
    float x[COUNT], y[COUNT], scaled[COUNT], again[COUNT];
    fill(x, 1e10f);
    struct assay_l2norm_args args = args_of(x, y);
    cr_assert_eq(assay_l2norm(context, &args), ASSAY_OK);
    for (int i = 0; i < COUNT; i++)
        scaled[i] = x[i] * 0x1p20f;
    args = args_of(scaled, again);
    cr_assert_eq(assay_l2norm(context, &args), ASSAY_OK);
    cr_assert(memcmp(y, again, sizeof y) == 0, "%s: scaling by 2^20 shows", route);

    float four[4 * D], one[D], halves[4 * D];
    for (int i = 0; i < 4 * D; i++)
        four[i] = x[i % D];
    struct assay_l2norm_args single = {.x = assay_tensor_1d(x, ASSAY_F32, D),
                                       .y = assay_tensor_1d(one, ASSAY_F32, D),
                                       .eps = 1e-6};
    struct assay_l2norm_args wide = {.x = assay_tensor_1d(four, ASSAY_F32, 4 * D),
                                     .y = assay_tensor_1d(halves, ASSAY_F32, 4 * D),
                                     .eps = 1e-6};
    cr_assert_eq(assay_l2norm(context, &single), ASSAY_OK);
    cr_assert_eq(assay_l2norm(context, &wide), ASSAY_OK);
    for (int i = 0; i < D; i++)
        cr_assert(fabs(2 * (double)halves[i] - (double)one[i]) <= 0x1p-22 * fabs((double)one[i]),
                  "%s: four times the row must halve it", route);
}

Test(l2norm, scaling)
{
    each_route(&assay_op_l2norm, scaling_body);
}

/* A row stands alone: its bits do not depend on its neighbours or its place [L2NORM-1]. */
static void rows_alone_body(assay_context *context, const char *route)
{
    float x[COUNT], y[COUNT], alone[D];
    fill(x, 0.125f);
    struct assay_l2norm_args args = args_of(x, y);
    cr_assert_eq(assay_l2norm(context, &args), ASSAY_OK);
    for (int r = 0; r < ROWS; r++) {
        struct assay_l2norm_args one = {.x = assay_tensor_1d(x + r * D, ASSAY_F32, D),
                                        .y = assay_tensor_1d(alone, ASSAY_F32, D),
                                        .eps = 1e-6};
        cr_assert_eq(assay_l2norm(context, &one), ASSAY_OK);
        cr_assert(memcmp(y + r * D, alone, sizeof alone) == 0, "%s: row %d", route, r);
    }
}

Test(l2norm, rows_alone)
{
    each_route(&assay_op_l2norm, rows_alone_body);
}

/* Theory [L2NORM-1] [L2NORM-5]: one element x gives x / sqrt(x^2 + eps), for norms far below and
 * above sqrt(eps); zeros give zeros. */
static void theory_body(assay_context *context, const char *route)
{
    const float values[] = {1e-30f, 1e-6f, 1e-3f, 0.1f, 1.0f, 1e20f, 3.4e38f};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        float x[COUNT] = {0}, y[COUNT];
        for (int r = 0; r < ROWS; r++)
            x[r * D + r] = -values[k];
        struct assay_l2norm_args args = args_of(x, y);
        cr_assert_eq(assay_l2norm(context, &args), ASSAY_OK);
        double v = (double)values[k], expected = v / sqrt(v * v + 1e-6);
        for (int i = 0; i < COUNT; i++) {
            double e = x[i] != 0 ? -expected : 0;
            cr_assert(fabs((double)y[i] - e) <= 4 * 0x1p-24 * fabs(e) + 0x1p-149 * (e != 0),
                      "%s: %a gives %a", route, (double)x[i], (double)y[i]);
        }
    }
}

Test(l2norm, theory)
{
    each_route(&assay_op_l2norm, theory_body);
}

/* NaN makes its row NaN, an infinity its own element NaN and the others zero; other rows do not
 * notice [L2NORM-6]. */
static void specials_body(assay_context *context, const char *route)
{
    float x[COUNT], y[COUNT], clean[COUNT];
    fill(x, 1);
    struct assay_l2norm_args args = args_of(x, clean);
    cr_assert_eq(assay_l2norm(context, &args), ASSAY_OK);
    x[5] = NAN;
    x[D + 36] = -INFINITY;
    args = args_of(x, y);
    cr_assert_eq(assay_l2norm(context, &args), ASSAY_OK);
    for (int i = 0; i < D; i++) {
        cr_assert(isnan(y[i]), "%s: y[%d]", route, i);
        cr_assert(i == 36 ? isnan(y[D + i]) : y[D + i] == 0, "%s: y[1, %d]", route, i);
        cr_assert_eq(y[2 * D + i], clean[2 * D + i]);
    }
}

Test(l2norm, specials)
{
    each_route(&assay_op_l2norm, specials_body);
}

/* Every documented error [L2NORM-4] [L2NORM-5] [L2NORM-7]. */
Test(l2norm, errors)
{
    enum { H = 8 };
    float x[2 * H] = {0}, y[2 * H + 8];
    const struct assay_l2norm_args good = {.x = assay_tensor_2d(x, ASSAY_F32, 2, H),
                                           .y = assay_tensor_2d(y, ASSAY_F32, 2, H),
                                           .eps = 1e-6};
    struct bad_calls *calls = bad_calls_new(&assay_op_l2norm, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_l2norm_args, a, status, argument, change, #change)

    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_ARG, "eps", a.eps = 0);
    BAD(ASSAY_E_ARG, "eps", a.eps = -1);
    BAD(ASSAY_E_ARG, "eps", a.eps = NAN);
    BAD(ASSAY_E_ARG, "eps", a.eps = INFINITY);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 4);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 0);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = a.y.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "y", a.y = assay_tensor_1d(y, ASSAY_F32, H));
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_F16);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[0] = -H);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = H - 1);
    BAD(ASSAY_E_LAYOUT, "x", a.x.data = (char *)x + 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", (a.x.data = y, a.x.dtype = ASSAY_BF16));
#undef BAD
    bad_calls_finish(calls);
}
