/* SPDX-License-Identifier: MIT
 *
 * silu_mul's laws and its bad calls. Clauses tested here or by the sweep (silu_mul.route.cpu):
 * [SILUMUL-1] laws and sweep; [SILUMUL-2] [SILUMUL-3] sweep against the oracle; [SILUMUL-4] sweep
 * (in place on gate, guards), in place on up here, and errors; [SILUMUL-5] tails and specials;
 * [SILUMUL-6] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/silu_mul.h>

enum { ROWS = 3, I = 35, COUNT = ROWS * I };

static struct assay_silu_mul_args args_of(float *gate, float *up, float *y)
{
    return (struct assay_silu_mul_args){.gate = assay_tensor_2d(gate, ASSAY_F32, ROWS, I),
                                        .up = assay_tensor_2d(up, ASSAY_F32, ROWS, I),
                                        .y = assay_tensor_2d(y, ASSAY_F32, ROWS, I)};
}

/* Linear in up: a power of two passes through to the bit. And silu(g) - silu(-g) = g [SILUMUL-1].
 * In place on up, the bits are those of the separate call [SILUMUL-4]. */
static void relations_body(assay_context *context, const char *route)
{
    float gate[COUNT], negative[COUNT], up[COUNT], y[COUNT], other[COUNT];
    for (int i = 0; i < COUNT; i++) {
        gate[i] = (float)((i * 53) % 97 - 48) * 0.375f;
        negative[i] = -gate[i];
        up[i] = (float)((i * 37) % 101 - 50) * 0.3f;
    }
    struct assay_silu_mul_args args = args_of(gate, up, y);
    cr_assert_eq(assay_silu_mul(context, &args), ASSAY_OK);
    args = args_of(negative, up, other);
    cr_assert_eq(assay_silu_mul(context, &args), ASSAY_OK);
    for (int i = 0; i < COUNT; i++) {
        double product = (double)gate[i] * (double)up[i];
        double room = 16 * 0x1p-24 * (fabs((double)y[i]) + fabs((double)other[i]));
        cr_assert(fabs((double)y[i] - (double)other[i] - product) <= room, "%s: %a %a", route,
                  (double)gate[i], (double)up[i]);
        up[i] *= 0x1p40f;
    }
    args = args_of(gate, up, up);
    cr_assert_eq(assay_silu_mul(context, &args), ASSAY_OK);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(up[i], y[i] * 0x1p40f, "%s: not linear in up, or in place differs", route);
}

Test(silu_mul, relations)
{
    each_route(&assay_op_silu_mul, relations_body);
}

/* Theory of both tails [SILUMUL-5]: from 20 up silu(g) is g (1 - exp(-g)), g itself to the last
 * bit; from -20 down it is g exp(g), as long as that is a normal number. */
static void tails_body(assay_context *context, const char *route)
{
    float gate[COUNT], up[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        gate[i] = i % 2 ? 20 + (float)i : -20 - 0.6f * (float)i;
        up[i] = 1;
    }
    struct assay_silu_mul_args args = args_of(gate, up, y);
    cr_assert_eq(assay_silu_mul(context, &args), ASSAY_OK);
    for (int i = 0; i < COUNT; i++) {
        double g = (double)gate[i], expected = g > 0 ? g * (1 - exp(-g)) : g * exp(g);
        double room = 10 * 0x1p-24 * fabs(expected) + (g < 0 ? fabs(g) * 0x1p-149 : 0);
        cr_assert(fabs((double)y[i] - expected) <= room, "%s: silu(%g) is %g, not %g", route, g,
                  (double)y[i], expected);
    }
}

Test(silu_mul, tails)
{
    each_route(&assay_op_silu_mul, tails_body);
}

/* Very negative gates give zeros, infinities what the formula gives [SILUMUL-5]. */
static void specials_body(assay_context *context, const char *route)
{
    const struct {
        float gate, up, y;
    } rows[] = {{-200, 3, 0},
                {-3.4e38f, 3.4e38f, 0},
                {0, 5, 0},
                {-0.0f, 5, 0},
                {-INFINITY, 1, NAN},
                {INFINITY, 1, INFINITY},
                {INFINITY, -1, -INFINITY},
                {INFINITY, 0, NAN},
                {NAN, 1, NAN},
                {1, NAN, NAN},
                {1, INFINITY, INFINITY},
                {0, INFINITY, NAN},
                {-120, INFINITY, -INFINITY},
                {-3.4e38f, -INFINITY, INFINITY},
                {3.4e38f, 2, INFINITY},
                {-1, -INFINITY, INFINITY}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        float gate[COUNT], up[COUNT], y[COUNT];
        for (int i = 0; i < COUNT; i++) {
            gate[i] = rows[k].gate;
            up[i] = rows[k].up;
        }
        struct assay_silu_mul_args args = args_of(gate, up, y);
        cr_assert_eq(assay_silu_mul(context, &args), ASSAY_OK);
        for (int i = 0; i < COUNT; i++)
            cr_assert(isnan(rows[k].y) ? isnan(y[i]) : y[i] == rows[k].y, "%s: %g, %g gives %g",
                      route, (double)rows[k].gate, (double)rows[k].up, (double)y[i]);
    }
}

Test(silu_mul, specials)
{
    each_route(&assay_op_silu_mul, specials_body);
}

/* Every documented error [SILUMUL-4] [SILUMUL-6]. */
Test(silu_mul, errors)
{
    enum { T = 2, H = 8 };
    float gate[T * H] = {0}, up[T * H] = {0}, y[T * H + 8];
    const struct assay_silu_mul_args good = {.gate = assay_tensor_2d(gate, ASSAY_F32, T, H),
                                             .up = assay_tensor_2d(up, ASSAY_F32, T, H),
                                             .y = assay_tensor_2d(y, ASSAY_F32, T, H)};
    struct bad_calls *calls = bad_calls_new(&assay_op_silu_mul, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_silu_mul_args, a, status, argument, change, #change)

    BAD(ASSAY_E_ARG, "gate", a.gate.data = NULL);
    BAD(ASSAY_E_ARG, "up", a.up.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "gate", a.gate.rank = 1);
    BAD(ASSAY_E_SHAPE, "gate", a.gate.extent[1] = a.up.extent[1] = a.y.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "up", a.up.rank = 3);
    BAD(ASSAY_E_SHAPE, "up", a.up.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = H - 1);
    BAD(ASSAY_E_FORMAT, "gate", a.gate.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "up", a.up.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_NUM_DTYPES);
    BAD(ASSAY_E_LAYOUT, "gate", a.gate.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "up", a.up.stride[0] = -H);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = H - 1);
    BAD(ASSAY_E_LAYOUT, "up", a.up.data = (char *)up + 1);
    BAD(ASSAY_E_ALIAS, "y", a.gate.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.up.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", (a.up.data = y, a.up.dtype = ASSAY_BF16));
#undef BAD
    bad_calls_finish(calls);
}
