/* SPDX-License-Identifier: MIT
 *
 * add's laws and its bad calls. Clauses tested here or by the sweep (add.route.cpu): [ADD-1]
 * [ADD-2] sweep against the oracle; [ADD-3] rounded_once and commutative; [ADD-4] sweep (in place
 * on a, guards), in_place here (on b, on both) and errors; [ADD-5] specials and the sweep's
 * distribution nonfinite; [ADD-6] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "words.h"
#include <assay/ops/add.h>

enum { ROWS = 3, WIDTH = 35, COUNT = ROWS * WIDTH };

static struct assay_add_args args_of(void *a, void *b, void *y, enum assay_dtype input,
                                     enum assay_dtype output)
{
    return (struct assay_add_args){.a = assay_tensor_2d(a, input, ROWS, WIDTH),
                                   .b = assay_tensor_2d(b, input, ROWS, WIDTH),
                                   .y = assay_tensor_2d(y, output, ROWS, WIDTH)};
}

/* At a tie of bf16 a far smaller addend decides [ADD-3]. A sum rounded to binary32 first, or to
 * binary64, has lost it. Expected words follow from the definition of rounding. */
static void rounded_once_body(assay_context *context, const char *route)
{
    const float ties[] = {0x1.01p0f, 0x1.03p0f, 0x1.fdp5f, 0x1.ffp3f, 0x1.01p-100f};
    const float small[] = {0x1p-30f, 0x1p-60f, 0x1p-126f, 0x1p-149f, 0};
    for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++) {
        for (size_t k = 0; k < sizeof small / sizeof small[0]; k++) {
            if (small[k] > ties[i] * 0x1p-20f)
                continue;
            float a[COUNT], b[COUNT];
            uint16_t y[COUNT];
            for (int e = 0; e < COUNT; e++) { /* all four pairs of signs */
                a[e] = e & 1 ? -ties[i] : ties[i];
                b[e] = e & 2 ? -small[k] : small[k];
            }
            struct assay_add_args args = args_of(a, b, y, ASSAY_F32, ASSAY_BF16);
            cr_assert_eq(assay_add(context, &args), ASSAY_OK);
            uint32_t bits;
            memcpy(&bits, &ties[i], sizeof bits);
            uint16_t below = (uint16_t)(bits >> 16), above = (uint16_t)(below + 1);
            for (int e = 0; e < COUNT; e++) {
                bool outwards = (a[e] < 0) == (b[e] < 0);
                uint16_t word = b[e] == 0 ? (below & 1 ? above : below) : outwards ? above : below;
                word |= a[e] < 0 ? 0x8000 : 0;
                cr_assert_eq(y[e], word, "%s: %a + %a gives %04x, not %04x", route, (double)a[e],
                             (double)b[e], y[e], word);
            }
        }
    }
}

Test(add, rounded_once)
{
    each_route(&assay_op_add, rounded_once_body);
}

/* a + b has the bits of b + a, for operands of all magnitudes [ADD-3]; and in place on b, or with
 * all three the same, those of the separate call [ADD-4]. */
static void commutative_body(assay_context *context, const char *route)
{
    for (int format = 0; format < 2; format++) {
        enum assay_dtype dtype = format == 0 ? ASSAY_F32 : ASSAY_BF16;
        uint32_t a[COUNT], b[COUNT], y[COUNT], swapped[COUNT];
        struct assay_add_args args = args_of(a, b, y, dtype, dtype);
        for (int i = 0; i < COUNT; i++) {
            oracle_put(&args.a, i, ldexp(1 + i * 0x1.234567p-7, i % 60 - 30));
            oracle_put(&args.b, i, -ldexp(1 + i * 0x1.7654321p-8, i % 7 * (i % 9) - 30));
        }
        size_t bytes = COUNT * assay_dtype_bytes(dtype);
        cr_assert_eq(assay_add(context, &args), ASSAY_OK);
        struct assay_add_args other = args_of(b, a, swapped, dtype, dtype);
        cr_assert_eq(assay_add(context, &other), ASSAY_OK);
        cr_assert(memcmp(y, swapped, bytes) == 0, "%s: a + b is not b + a", route);

        struct assay_add_args on_b = args_of(a, b, b, dtype, dtype);
        cr_assert_eq(assay_add(context, &on_b), ASSAY_OK);
        cr_assert(memcmp(y, b, bytes) == 0, "%s: in place on b", route);
        struct assay_add_args twice = args_of(a, a, y, dtype, dtype);
        cr_assert_eq(assay_add(context, &twice), ASSAY_OK);
        struct assay_add_args on_both = args_of(a, a, a, dtype, dtype);
        cr_assert_eq(assay_add(context, &on_both), ASSAY_OK);
        cr_assert(memcmp(y, a, bytes) == 0, "%s: all three the same", route);
    }
}

Test(add, commutative_and_in_place)
{
    each_route(&assay_op_add, commutative_body);
}

/* IEEE 754 addition [ADD-5]; overflow of the sum gives an infinity. */
static void specials_body(assay_context *context, const char *route)
{
    const float max = 0x1.fffffep127f;
    const struct {
        float a, b, sum;
    } rows[] = {{INFINITY, 1, INFINITY},    {-INFINITY, max, -INFINITY},
                {INFINITY, -INFINITY, NAN}, {NAN, 1, NAN},
                {INFINITY, NAN, NAN},       {max, max, INFINITY},
                {-max, -max, -INFINITY},    {-0.0f, -0.0f, -0.0f},
                {0.0f, -0.0f, 0.0f},        {max, 0x1p103f, INFINITY},
                {max, -max, 0.0f},          {INFINITY, INFINITY, INFINITY}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int format = 0; format < 2; format++) {
            float a[COUNT], b[COUNT];
            uint32_t y[COUNT];
            for (int e = 0; e < COUNT; e++) {
                a[e] = rows[i].a;
                b[e] = rows[i].b;
            }
            struct assay_add_args args =
                args_of(a, b, y, ASSAY_F32, format == 0 ? ASSAY_F32 : ASSAY_BF16);
            cr_assert_eq(assay_add(context, &args), ASSAY_OK);
            for (int e = 0; e < COUNT; e++) {
                double sum = oracle_get(&args.y, e);
                bool good = isnan(rows[i].sum) ? isnan(sum)
                                               : sum == (double)rows[i].sum &&
                                                     !signbit(sum) == !signbit(rows[i].sum);
                cr_assert(good, "%s: %a + %a gives %a", route, (double)rows[i].a, (double)rows[i].b,
                          sum);
            }
        }
    }
}

Test(add, specials)
{
    each_route(&assay_op_add, specials_body);
}

/* Every documented error [ADD-4] [ADD-6]. */
Test(add, errors)
{
    enum { T = 2, I = 8 };
    float a_data[T * I] = {0}, b_data[T * I] = {0}, y[T * I + 8];
    const struct assay_add_args good = {.a = assay_tensor_2d(a_data, ASSAY_F32, T, I),
                                        .b = assay_tensor_2d(b_data, ASSAY_F32, T, I),
                                        .y = assay_tensor_2d(y, ASSAY_F32, T, I)};
    struct bad_calls *calls = bad_calls_new(&assay_op_add, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_add_args, c, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "a", c.a.data = NULL);
    BAD(ASSAY_E_ARG, "b", c.b.data = NULL);
    BAD(ASSAY_E_ARG, "y", c.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "a", c.a.rank = 1);
    BAD(ASSAY_E_SHAPE, "a", c.a.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "a", c.a.extent[1] = c.b.extent[1] = c.y.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "b", c.b.rank = 3);
    BAD(ASSAY_E_SHAPE, "b", c.b.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "y", c.y.extent[1] = I - 1);
    BAD(ASSAY_E_FORMAT, "a", c.a.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "b", c.b.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "y", c.y.dtype = ASSAY_NUM_DTYPES);
    BAD(ASSAY_E_LAYOUT, "a", c.a.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "b", c.b.stride[0] = -I);
    BAD(ASSAY_E_LAYOUT, "y", c.y.stride[0] = I - 1);
    BAD(ASSAY_E_LAYOUT, "b", c.b.data = (char *)b_data + 1);
    BAD(ASSAY_E_ALIAS, "y", c.a.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", c.b.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", (c.b.data = y, c.b.dtype = ASSAY_BF16));
#undef BAD
    bad_calls_finish(calls);
}
