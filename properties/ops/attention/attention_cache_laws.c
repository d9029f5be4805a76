/* SPDX-License-Identifier: MIT
 *
 * attention's laws on a cache of bf16, where the kernels for tensor cores run, on the executor:
 * [ATTENTION-4] and [ATTENTION-8] with anything at all in the cache, [ATTENTION-5] and
 * [ATTENTION-6] at the ends of the formats.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "laws.h"
#include <assay/ops/attention.h>

/* Three rows a token: tokens are spread over tiles of 16 rows; two steps of 32 keys. */
enum { T = 12, START = 29, S = START + T, HQ = 3, D = 64, DV = 64 };

struct inputs {
    float q[T * HQ * D], gate[T * HQ * DV];
    uint16_t k[S * D], v[S * DV];
};

static uint16_t bf16(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return (uint16_t)(word >> 16);
}

static void fill(struct inputs *in)
{
    static float values[S * D];
    fill_floats(in->q, T * HQ * D, 1);
    fill_floats(in->gate, T * HQ * DV, 2);
    fill_floats(values, S * D, 3);
    for (int i = 0; i < S * D; i++)
        in->k[i] = bf16(values[i]);
    fill_floats(values, S * DV, 4);
    for (int i = 0; i < S * DV; i++)
        in->v[i] = bf16(values[i]);
}

static void attend(assay_context *context, struct inputs *in, int first, int count, float *y)
{
    struct assay_attention_args args = {
        .q = assay_tensor_3d(in->q + first * HQ * D, ASSAY_F32, count, HQ, D),
        .k_cache = assay_tensor_3d(in->k, ASSAY_BF16, S, 1, D),
        .v_cache = assay_tensor_3d(in->v, ASSAY_BF16, S, 1, DV),
        .gate = assay_tensor_3d(in->gate + first * HQ * DV, ASSAY_F32, count, HQ, DV),
        .y = assay_tensor_3d(y, ASSAY_F32, count, HQ, DV),
        .start = START + first,
        .scale = 0.125};
    cr_assert_eq(assay_attention(context, &args), ASSAY_OK, "%s",
                 assay_context_error(context)->message);
}

/* NULL where the executor is not built. */
static assay_context *executor(void)
{
    struct assay_context_options options = assay_context_defaults();
    assay_context *context = NULL;
    options.backend = ASSAY_SIMT;
    if (assay_context_create(&options, &context, NULL) != ASSAY_OK)
        return NULL;
    return context;
}

/* What stands at later positions changes no bit of an earlier output, whatever it is: a kernel that
 * reads a tile of keys for all its rows multiplies it by weights of 0. */
static void later_values(assay_context *context, const char *route)
{
    static struct inputs in, other;
    static float before[T * HQ * DV], after[T * HQ * DV];
    const uint16_t values[] = {0x7fc0, 0x7f80, 0xff80, 0x7f7f, 0xff7f};
    const int changed = 5;
    fill(&in);
    attend(context, &in, 0, T, before);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        other = in;
        for (int j = (START + changed) * DV; j < S * DV; j++)
            other.v[j] = values[i];
        for (int j = (START + changed) * D; j < S * D; j++)
            other.k[j] = i % 2 == 0 ? 0x7fc0 : 0x7f80;
        attend(context, &other, 0, T, after);
        cr_assert(memcmp(before, after, (size_t)(changed * HQ * DV) * sizeof *before) == 0,
                  "%s, value %x", route, values[i]);
        cr_assert(memcmp(before, after, sizeof before) != 0);
    }
}

/* One by one, in two parts, all at once. */
static void widths(assay_context *context, const char *route)
{
    static struct inputs in;
    static float whole[T * HQ * DV], cut[T * HQ * DV];
    fill(&in);
    attend(context, &in, 0, T, whole);
    for (int count = 1; count < T; count += 4) {
        memset(cut, 0, sizeof cut);
        for (int first = 0; first < T; first += count)
            attend(context, &in, first, count < T - first ? count : T - first,
                   cut + first * HQ * DV);
        cr_assert(memcmp(whole, cut, sizeof whole) == 0, "%s, %d tokens", route, count);
    }
}

/* The mean of values at the end of bf16, whose sum overflows; infinities that one key brings, that
 * meet, and that a later key brings. Other columns do not change. */
static void ends(assay_context *context, const char *route)
{
    static struct inputs in, other;
    static float plain[T * HQ * DV], y[T * HQ * DV];
    fill(&in);
    memset(in.gate, 0, sizeof in.gate); /* 1/2 */
    attend(context, &in, 0, T, plain);
    other = in;
    for (int j = 0; j < S; j++)
        other.v[j * DV] = 0x7f7f;
    other.v[3 * DV + 1] = other.v[4 * DV + 2] = other.v[START * DV + 3] = 0x7f80;
    other.v[9 * DV + 2] = other.v[5 * DV + 4] = 0xff80;
    other.v[(START + 1) * DV + 5] = 0x7fc0;
    attend(context, &other, 0, T, y);
    for (int row = 0; row < T * HQ; row++) {
        const float *to = y + row * DV, *from = plain + row * DV;
        cr_assert(fabsf(to[0] - 0x1.fep126f) <= 0x1p114f, "%s, row %d: %a", route, row,
                  (double)to[0]);
        cr_assert(to[1] == INFINITY && isnan(to[2]) && to[3] == INFINITY && to[4] == -INFINITY,
                  "%s, row %d: %a %a %a %a", route, row, (double)to[1], (double)to[2],
                  (double)to[3], (double)to[4]);
        cr_assert(row < HQ ? to[5] == from[5] : isnan(to[5]), "%s, row %d", route, row);
        for (int d = 6; d < DV; d++)
            cr_assert(to[d] == from[d], "%s, row %d %d: %a %a", route, row, d, (double)to[d],
                      (double)from[d]);
    }
}

Test(attention, bf16_cache)
{
    assay_context *context = executor();
    const struct assay_route *route;
    if (context == NULL)
        return;
    EACH_ROUTE(context, &assay_op_attention, route)
    {
        later_values(context, route->name);
        widths(context, route->name);
        ends(context, route->name);
    }
    assay_context_destroy(context);
}
