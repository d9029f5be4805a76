/* SPDX-License-Identifier: MIT
 *
 * rmsnorm's laws and its bad calls. Clauses tested here or by the sweep (rmsnorm.route.cpu):
 * [RMSNORM-1] [RMSNORM-2] [RMSNORM-3] sweep against the oracle; [RMSNORM-4] sweep (in place,
 * guards) and errors; [RMSNORM-5] errors; [RMSNORM-6] laws and the distributions large and
 * nonfinite of the sweep; [RMSNORM-7] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/rmsnorm.h>

/* Scaling x by a power of two scales nothing when eps is negligible: bit-equal [RMSNORM-1]. Holds
 * exactly, since every intermediate is scaled by a power of two and eps is below the last bit. */
Test(rmsnorm, power_of_two_scaling)
{
    assay_context *context = new_context(0);
    enum { H = 100 };
    float x[H], w[H], y[H], scaled[H], y_scaled[H];
    for (int i = 0; i < H; i++) {
        x[i] = (float)((i * 37) % 101 - 50) * 1e10f;
        w[i] = (float)(i % 7) * 0.125f;
        scaled[i] = x[i] * 0x1p20f;
    }
    struct assay_rmsnorm_args args = {.x = assay_tensor_2d(x, ASSAY_F32, 1, H),
                                      .w = assay_tensor_1d(w, ASSAY_F32, H),
                                      .y = assay_tensor_2d(y, ASSAY_F32, 1, H),
                                      .unit_offset = true,
                                      .eps = 1e-6};
    cr_assert_eq(assay_rmsnorm(context, &args), ASSAY_OK);
    args.x.data = scaled;
    args.y.data = y_scaled;
    cr_assert_eq(assay_rmsnorm(context, &args), ASSAY_OK);
    cr_assert(memcmp(y, y_scaled, sizeof y) == 0);
    assay_context_destroy(context);
}

/* A constant row of c gives c / sqrt(c^2 + eps): theory [RMSNORM-1]; near the largest finite
 * value that is 1 [RMSNORM-6]. */
Test(rmsnorm, constant_rows)
{
    assay_context *context = new_context(0);
    enum { H = 33 };
    const float constants[] = {1e-30f, 1e-3f, 1.0f, 1e20f, 3.4e38f};
    for (size_t k = 0; k < sizeof constants / sizeof constants[0]; k++) {
        float x[H], w[H], y[H];
        for (int i = 0; i < H; i++) {
            x[i] = constants[k];
            w[i] = 1.0f;
        }
        struct assay_rmsnorm_args args = {.x = assay_tensor_2d(x, ASSAY_F32, 1, H),
                                          .w = assay_tensor_1d(w, ASSAY_F32, H),
                                          .y = assay_tensor_2d(y, ASSAY_F32, 1, H),
                                          .eps = 1e-6};
        cr_assert_eq(assay_rmsnorm(context, &args), ASSAY_OK);
        double c = (double)constants[k], expected = c / sqrt(c * c + 1e-6);
        for (int i = 0; i < H; i++)
            cr_assert(fabs((double)y[i] - expected) <= 8 * 0x1p-24 * expected + 0x1p-149);
    }
    assay_context_destroy(context);
}

/* Every documented error [RMSNORM-4] [RMSNORM-5] [RMSNORM-7]. */
Test(rmsnorm, errors)
{
    enum { H = 8 };
    float x[2 * H] = {0}, w[H + 1] = {0}, y[2 * H + 8];
    const struct assay_rmsnorm_args good = {.x = assay_tensor_2d(x, ASSAY_F32, 2, H),
                                            .w = assay_tensor_1d(w, ASSAY_F32, H),
                                            .y = assay_tensor_2d(y, ASSAY_F32, 2, H),
                                            .eps = 1e-6};
    struct bad_calls *calls = bad_calls_new(&assay_op_rmsnorm, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_rmsnorm_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_ARG, "eps", a.eps = 0);
    BAD(ASSAY_E_ARG, "eps", a.eps = -1);
    BAD(ASSAY_E_ARG, "eps", a.eps = NAN);
    BAD(ASSAY_E_ARG, "eps", a.eps = INFINITY);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 4);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 0);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "w", a.w.rank = 2);
    BAD(ASSAY_E_SHAPE, "w", a.w.extent[0] = 0);
    BAD(ASSAY_E_SHAPE, "x", a.w.extent[0] = H + 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "w", a.w.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_NUM_DTYPES);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[0] = -H);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = H - 1);
    BAD(ASSAY_E_LAYOUT, "x", a.x.data = (char *)x + 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.w.data = y + 3);
#undef BAD
    bad_calls_finish(calls);
}
