/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul's laws and its bad calls. Clauses tested here or by the sweep
 * (sigmoid_mul.route.cpu): [SIGMUL-1] laws and sweep; [SIGMUL-2] one_gate and sweep; [SIGMUL-3]
 * sweep against the oracle; [SIGMUL-4] sweep (in place on x, guards), in place on gate here, and
 * errors; [SIGMUL-5] specials; [SIGMUL-6] errors. numeric.exp tries every binary32 gate.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/sigmoid_mul.h>

enum { ROWS = 3, I = 35, COUNT = ROWS * I };

static struct assay_sigmoid_mul_args args_of(float *x, float *gate, float *y)
{
    return (struct assay_sigmoid_mul_args){.x = assay_tensor_2d(x, ASSAY_F32, ROWS, I),
                                           .gate = assay_tensor_2d(gate, ASSAY_F32, ROWS, I),
                                           .y = assay_tensor_2d(y, ASSAY_F32, ROWS, I)};
}

/* sigmoid(g) + sigmoid(-g) = 1: y(g) + y(-g) is x; and a power of two in x passes through to the
 * bit [SIGMUL-1]. In place on gate, the bits are those of the separate call [SIGMUL-4]. */
static void relations_body(assay_context *context, const char *route)
{
    float gate[COUNT], negative[COUNT], x[COUNT], y[COUNT], other[COUNT];
    for (int i = 0; i < COUNT; i++) {
        gate[i] = (float)((i * 53) % 97 - 48) * 0.375f;
        negative[i] = -gate[i];
        x[i] = (float)((i * 37) % 101 - 50) * 0.3f;
    }
    struct assay_sigmoid_mul_args args = args_of(x, gate, y);
    cr_assert_eq(assay_sigmoid_mul(context, &args), ASSAY_OK);
    args = args_of(x, negative, other);
    cr_assert_eq(assay_sigmoid_mul(context, &args), ASSAY_OK);
    for (int i = 0; i < COUNT; i++) {
        cr_assert(fabs((double)y[i] + (double)other[i] - (double)x[i]) <=
                      8 * 0x1p-24 * fabs((double)x[i]),
                  "%s: %a %a", route, (double)gate[i], (double)x[i]);
        x[i] *= 0x1p40f;
    }
    args = args_of(x, gate, gate);
    cr_assert_eq(assay_sigmoid_mul(context, &args), ASSAY_OK);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(gate[i], y[i] * 0x1p40f, "%s: not linear in x, or in place differs", route);
}

Test(sigmoid_mul, relations)
{
    each_route(&assay_op_sigmoid_mul, relations_body);
}

/* One gate a row has the bits of a full tensor with that gate in every column [SIGMUL-2]. */
static void one_gate_body(assay_context *context, const char *route)
{
    float gate[COUNT], one[ROWS], x[COUNT], y[COUNT], other[COUNT];
    for (int i = 0; i < COUNT; i++) {
        int row = i / I;
        one[row] = (float)row * 1.7f - 2.1f;
        gate[i] = one[row];
        x[i] = (float)((i * 37) % 101 - 50) * 0.3f;
    }
    struct assay_sigmoid_mul_args args = args_of(x, gate, y);
    cr_assert_eq(assay_sigmoid_mul(context, &args), ASSAY_OK);
    args = args_of(x, gate, other);
    args.gate = assay_tensor_2d(one, ASSAY_F32, ROWS, 1);
    cr_assert_eq(assay_sigmoid_mul(context, &args), ASSAY_OK);
    cr_assert(memcmp(y, other, sizeof y) == 0, "%s", route);
}

Test(sigmoid_mul, one_gate)
{
    each_route(&assay_op_sigmoid_mul, one_gate_body);
}

/* Limits and what the formula gives for infinities [SIGMUL-5]. */
static void specials_body(assay_context *context, const char *route)
{
    const struct {
        float x, gate, y;
    } rows[] = {{3, -200, 0},
                {3.4e38f, -3.4e38f, 0},
                {3, 200, 3},
                {3.4e38f, 3.4e38f, 3.4e38f},
                {2, 0, 1},
                {2, -0.0f, 1},
                {5, INFINITY, 5},
                {5, -INFINITY, 0},
                {INFINITY, -INFINITY, NAN},
                {INFINITY, 1, INFINITY},
                {-INFINITY, INFINITY, -INFINITY},
                {INFINITY, -120, INFINITY},
                {-INFINITY, -3.4e38f, -INFINITY},
                {NAN, 1, NAN},
                {1, NAN, NAN},
                {0, NAN, NAN}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        float x[COUNT], gate[COUNT], y[COUNT];
        for (int i = 0; i < COUNT; i++) {
            x[i] = rows[k].x;
            gate[i] = rows[k].gate;
        }
        struct assay_sigmoid_mul_args args = args_of(x, gate, y);
        cr_assert_eq(assay_sigmoid_mul(context, &args), ASSAY_OK);
        for (int i = 0; i < COUNT; i++)
            cr_assert(isnan(rows[k].y) ? isnan(y[i]) : y[i] == rows[k].y, "%s: %g, %g gives %g",
                      route, (double)rows[k].x, (double)rows[k].gate, (double)y[i]);
    }
}

Test(sigmoid_mul, specials)
{
    each_route(&assay_op_sigmoid_mul, specials_body);
}

/* Every documented error [SIGMUL-4] [SIGMUL-6]. */
Test(sigmoid_mul, errors)
{
    enum { T = 2, H = 8 };
    float x[T * H] = {0}, gate[T * H] = {0}, y[T * H + 8];
    const struct assay_sigmoid_mul_args good = {.x = assay_tensor_2d(x, ASSAY_F32, T, H),
                                                .gate = assay_tensor_2d(gate, ASSAY_F32, T, H),
                                                .y = assay_tensor_2d(y, ASSAY_F32, T, H)};
    struct bad_calls *calls = bad_calls_new(&assay_op_sigmoid_mul, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_sigmoid_mul_args, a, status, argument, change, #change)

    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "gate", a.gate.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = a.gate.extent[1] = a.y.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "gate", a.gate.rank = 1);
    BAD(ASSAY_E_SHAPE, "gate", a.gate.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "gate", a.gate.extent[1] = H - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = H - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "gate", a.gate.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_NUM_DTYPES);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "gate", a.gate.stride[0] = -H);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = H - 1);
    BAD(ASSAY_E_LAYOUT, "gate", a.gate.data = (char *)gate + 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.gate.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", (a.gate.data = y, a.gate.extent[1] = a.gate.stride[0] = 1));
#undef BAD
    bad_calls_finish(calls);
}
