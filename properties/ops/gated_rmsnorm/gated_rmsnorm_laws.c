/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm's laws and its bad calls. Clauses tested here or by the sweep
 * (gated_rmsnorm.route.cpu): [GRMSNORM-1] laws and sweep; [GRMSNORM-2] [GRMSNORM-3] sweep against
 * the oracle; [GRMSNORM-4] sweep (in place on x, guards), in_place here (on z) and errors;
 * [GRMSNORM-5] errors; [GRMSNORM-6] specials and the sweep's distributions large and nonfinite;
 * [GRMSNORM-7] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/gated_rmsnorm.h>

enum { ROWS = 3, D = 37, COUNT = ROWS * D };

static struct assay_gated_rmsnorm_args args_of(float *x, float *z, float *w, float *y)
{
    return (struct assay_gated_rmsnorm_args){.x = assay_tensor_2d(x, ASSAY_F32, ROWS, D),
                                             .z = assay_tensor_2d(z, ASSAY_F32, ROWS, D),
                                             .w = assay_tensor_1d(w, ASSAY_F32, D),
                                             .y = assay_tensor_2d(y, ASSAY_F32, ROWS, D),
                                             .eps = 1e-6};
}

static void fill(float x[COUNT], float z[COUNT], float w[D])
{
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)((i * 37) % 101 - 50) * 1e10f;
        z[i] = (float)((i * 53) % 97 - 48) * 0.25f;
    }
    for (int i = 0; i < D; i++)
        w[i] = (float)(i % 7 + 1) * 0.125f;
}

/* The norm comes first, so scaling x by a power of two changes nothing, once eps is below the last
 * bit; and scaling w by it scales y: both bit-equal [GRMSNORM-1]. */
static void scaling_body(assay_context *context, const char *route)
{
    float x[COUNT], z[COUNT], w[D], y[COUNT], again[COUNT];
    fill(x, z, w);
    struct assay_gated_rmsnorm_args args = args_of(x, z, w, y);
    cr_assert_eq(assay_gated_rmsnorm(context, &args), ASSAY_OK);
    for (int i = 0; i < COUNT; i++)
        x[i] *= 0x1p20f;
    args = args_of(x, z, w, again);
    cr_assert_eq(assay_gated_rmsnorm(context, &args), ASSAY_OK);
    cr_assert(memcmp(y, again, sizeof y) == 0, "%s: scaling x by 2^20 shows", route);
    for (int i = 0; i < D; i++)
        w[i] *= 0x1p20f;
    cr_assert_eq(assay_gated_rmsnorm(context, &args), ASSAY_OK);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(again[i], y[i] * 0x1p20f, "%s: weights are not offsets", route);
}

Test(gated_rmsnorm, scaling)
{
    each_route(&assay_op_gated_rmsnorm, scaling_body);
}

/* silu(z) - silu(-z) = z: with the same x and w, y(z) - y(-z) is z times the normalised value, to a
 * few roundings of the two [GRMSNORM-1]. In place on z the bits are those of the separate call
 * [GRMSNORM-4]. */
static void gates_body(assay_context *context, const char *route)
{
    float x[COUNT], z[COUNT], w[D], y[COUNT], negative[COUNT], other[COUNT];
    fill(x, z, w);
    struct assay_gated_rmsnorm_args args = args_of(x, z, w, y);
    cr_assert_eq(assay_gated_rmsnorm(context, &args), ASSAY_OK);
    for (int i = 0; i < COUNT; i++)
        negative[i] = -z[i];
    args = args_of(x, negative, w, other);
    cr_assert_eq(assay_gated_rmsnorm(context, &args), ASSAY_OK);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < D; i++)
            sum += (double)x[r * D + i] * (double)x[r * D + i];
        for (int i = 0; i < D; i++) {
            int at = r * D + i;
            double normed = (double)x[at] / sqrt(sum / D + 1e-6) * (double)w[i];
            double room = 32 * 0x1p-24 * (fabs((double)y[at]) + fabs((double)other[at]));
            cr_assert(fabs((double)y[at] - (double)other[at] - normed * (double)z[at]) <= room,
                      "%s: y(z) - y(-z) at %d", route, at);
        }
    }
    args = args_of(x, z, w, z);
    cr_assert_eq(assay_gated_rmsnorm(context, &args), ASSAY_OK);
    cr_assert(memcmp(y, z, sizeof y) == 0, "%s: in place on z", route);
}

Test(gated_rmsnorm, gates_and_in_place)
{
    each_route(&assay_op_gated_rmsnorm, gates_body);
}

/* NaN in x makes its row NaN, NaN in z its own element; silu(-inf) is NaN, silu(inf) infinite
 * [GRMSNORM-6]. */
static void specials_body(assay_context *context, const char *route)
{
    float x[COUNT], z[COUNT], w[D], y[COUNT];
    fill(x, z, w);
    x[3] = NAN;
    z[D + 1] = NAN;
    z[D + 2] = -INFINITY;
    z[D + 3] = INFINITY;
    z[D + 4] = -3.4e38f;
    x[2 * D + 5] = INFINITY;
    struct assay_gated_rmsnorm_args args = args_of(x, z, w, y);
    cr_assert_eq(assay_gated_rmsnorm(context, &args), ASSAY_OK);
    for (int i = 0; i < D; i++) {
        cr_assert(isnan(y[i]), "%s: row of a NaN, %d", route, i);
        cr_assert(i == 5 ? isnan(y[2 * D + i]) : y[2 * D + i] == 0, "%s: row of inf, %d", route, i);
        cr_assert(i < 1 || i > 3 ? isfinite(y[D + i]) : !isfinite(y[D + i]), "%s: %d", route, i);
    }
    cr_assert(isnan(y[D + 1]) && isnan(y[D + 2]), "%s", route);
    cr_assert(isinf(y[D + 3]) && signbit(y[D + 3]) == signbit(x[D + 3]), "%s", route);
    cr_assert_eq(y[D + 4], 0, "%s: silu of a very negative gate", route);
}

Test(gated_rmsnorm, specials)
{
    each_route(&assay_op_gated_rmsnorm, specials_body);
}

/* Every documented error [GRMSNORM-4] [GRMSNORM-5] [GRMSNORM-7]. */
Test(gated_rmsnorm, errors)
{
    enum { H = 8 };
    float x[2 * H] = {0}, z[2 * H] = {0}, w[H + 1] = {0}, y[2 * H + 8];
    const struct assay_gated_rmsnorm_args good = {.x = assay_tensor_2d(x, ASSAY_F32, 2, H),
                                                  .z = assay_tensor_2d(z, ASSAY_F32, 2, H),
                                                  .w = assay_tensor_1d(w, ASSAY_F32, H),
                                                  .y = assay_tensor_2d(y, ASSAY_F32, 2, H),
                                                  .eps = 1e-6};
    struct bad_calls *calls = bad_calls_new(&assay_op_gated_rmsnorm, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_gated_rmsnorm_args, a, status, argument, change, #change)

    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "z", a.z.data = NULL);
    BAD(ASSAY_E_ARG, "w", a.w.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_ARG, "eps", a.eps = 0);
    BAD(ASSAY_E_ARG, "eps", a.eps = NAN);
    BAD(ASSAY_E_ARG, "eps", a.eps = INFINITY);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 4);
    BAD(ASSAY_E_SHAPE, "z", a.z = assay_tensor_1d(z, ASSAY_F32, H));
    BAD(ASSAY_E_SHAPE, "w", a.w.rank = 2);
    BAD(ASSAY_E_SHAPE, "w", a.w.extent[0] = 0);
    BAD(ASSAY_E_SHAPE, "x", a.w.extent[0] = H + 1);
    BAD(ASSAY_E_SHAPE, "z", a.z.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = H - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "z", a.z.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "w", a.w.dtype = ASSAY_F64);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_NUM_DTYPES);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "z", a.z.stride[0] = -H);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = H - 1);
    BAD(ASSAY_E_LAYOUT, "z", a.z.data = (char *)z + 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.z.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", (a.z.data = y, a.z.dtype = ASSAY_BF16));
    BAD(ASSAY_E_ALIAS, "y", a.w.data = y + 3);
#undef BAD
    bad_calls_finish(calls);
}
