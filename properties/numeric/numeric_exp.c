/* SPDX-License-Identifier: MIT
 *
 * The vector exponential and sigmoid of the cpu routes over the binary32 arguments, through
 * sigmoid_mul with x = 1, whose product is exact. Every 257th word in the ordinary run (a prime, so
 * that all exponents and all low bits are met) and every neighbourhood where the method changes.
 * With EXP_STRIDE=1 every word of magnitude 2^-27 to 2^7: below, sigmoid is within 2^-28 of 1/2,
 * and above, it is 1, or less than half the least subnormal: there every 257th word stays enough.
 *
 * Expected values: binary64 libm. glibc's exp is within one ulp, the sum and the quotient round
 * once each: below 2^-50 together, which is added to the bound.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/ops/sigmoid_mul.h>

#define COARSE_STRIDE 257
#ifndef EXP_STRIDE
#define EXP_STRIDE COARSE_STRIDE
#endif

/* What engine/numeric/simd.h promises: relative error of exp and sigmoid, and half a subnormal step
 * where the result is subnormal. */
#define EXP_ERROR     0x1.6ap-23
#define SIGMOID_ERROR 0x1.6ap-22
#define HALF_STEP     0x1p-150
#define LIBM_ERROR    0x1p-50

enum { CHUNK = 1 << 15, MAX_CONTEXTS = 4 };

struct sweep {
    int num_contexts;
    assay_context *context[MAX_CONTEXTS]; /* one for each route, forced to it */
    const char *route[MAX_CONTEXTS];
    double worst_sigmoid[MAX_CONTEXTS], worst_exp[MAX_CONTEXTS]; /* relative, where normal */
    float gate[CHUNK], one[CHUNK], y[CHUNK];
    double expected[CHUNK];
    int count;
    int64_t total;
};

static void open_routes(struct sweep *s)
{
    for (int r = 0; r < assay_op_num_routes(&assay_op_sigmoid_mul); r++) {
        const struct assay_route *route = assay_op_route(&assay_op_sigmoid_mul, r);
        bool slow = EXP_STRIDE == 1 && route->profile == ASSAY_PROFILE_F64;
        if (route->backend != ASSAY_CPU || route->isa > assay_isa_detect() || slow)
            continue;
        cr_assert(s->num_contexts < MAX_CONTEXTS);
        struct assay_context_options options = assay_context_defaults();
        assay_context **context = &s->context[s->num_contexts];
        cr_assert_eq(assay_context_create(&options, context, NULL), ASSAY_OK);
        cr_assert_eq(assay_context_force_route(*context, route->name), ASSAY_OK);
        s->route[s->num_contexts++] = route->name;
    }
}

/* Relative accuracy for gates of either sign: t / (1 + t) and 1 / (1 + t), t = exp(-|g|). */
static double sigmoid(double g)
{
    double t = exp(-fabs(g));
    return (g < 0 ? t : 1) / (1 + t);
}

/* Below -18 the sum 1 + t rounds to 1 in binary32, and the sigmoid is the exponential itself. */
static bool shows_exp(float gate)
{
    return gate < -18;
}

static void check(struct sweep *s, int r)
{
    for (int i = 0; i < s->count; i++) {
        double expected = s->expected[i], got = (double)s->y[i];
        if (isnan(expected)) {
            cr_assert(isnan(got), "%s: sigmoid(NaN) is %a", s->route[r], got);
            continue;
        }
        double error = fabs(got - expected);
        double bound = shows_exp(s->gate[i]) ? EXP_ERROR : SIGMOID_ERROR;
        if (!(error <= (bound + LIBM_ERROR) * expected + HALF_STEP))
            cr_assert_fail("%s: sigmoid(%a) is %a, not %a: relative error %.3g", s->route[r],
                           (double)s->gate[i], got, expected, error / expected);
        if (expected < 0x1p-126)
            continue;
        double *worst = shows_exp(s->gate[i]) ? s->worst_exp : s->worst_sigmoid;
        worst[r] = fmax(worst[r], error / expected);
    }
}

static void flush(struct sweep *s)
{
    for (int i = 0; i < s->count; i++) {
        s->expected[i] = sigmoid((double)s->gate[i]);
        s->one[i] = 1;
    }
    for (int r = 0; r < s->num_contexts; r++) {
        struct assay_sigmoid_mul_args args = {.x = assay_tensor_2d(s->one, ASSAY_F32, 1, s->count),
                                              .gate =
                                                  assay_tensor_2d(s->gate, ASSAY_F32, 1, s->count),
                                              .y = assay_tensor_2d(s->y, ASSAY_F32, 1, s->count)};
        cr_assert_eq(assay_sigmoid_mul(s->context[r], &args), ASSAY_OK);
        check(s, r);
    }
    s->total += s->count;
    s->count = 0;
}

static void try_bits(struct sweep *s, uint32_t bits)
{
    memcpy(&s->gate[s->count++], &bits, sizeof bits);
    if (s->count == CHUNK)
        flush(s);
}

/* To the next argument of the sweep. */
static uint32_t stride_after(uint32_t bits)
{
    const uint32_t lowest = 0x32000000, highest = 0x43000000; /* 2^-27, 2^7 */
    uint32_t magnitude = bits & 0x7fffffff;
    return magnitude + COARSE_STRIDE > lowest && magnitude <= highest ? EXP_STRIDE : COARSE_STRIDE;
}

/* 64 neighbours on either side, for both signs. */
static void try_around(struct sweep *s, double place)
{
    float value = (float)place;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (uint32_t d = 0; d <= 128; d++) {
        try_bits(s, bits + d - 64);
        try_bits(s, (bits + d - 64) ^ 0x80000000u);
    }
}

Test(numeric_exp, sigmoid)
{
    struct sweep *s = calloc(1, sizeof *s);
    cr_assert_not_null(s);
    open_routes(s);
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride_after((uint32_t)bits))
        try_bits(s, (uint32_t)bits);
    const double ln2 = 0x1.62e42fefa39efp-1;
    for (int half = 1; half <= 304; half++) /* the multiple of ln 2 changes at odd halves */
        try_around(s, 0.5 * half * ln2);
    const double places[] = {18,   87.336544,      88.722839, 89,      103.27893, 103.97208, 104,
                             1e10, 0x1.fffffep127, 0x1p-126,  0x1p-24, 0x1p-25,   17.328679};
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++)
        try_around(s, places[k]);
    const uint32_t specials[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                 0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff};
    for (size_t k = 0; k < sizeof specials / sizeof specials[0]; k++)
        try_bits(s, specials[k]);
    flush(s);
    for (int r = 0; r < s->num_contexts; r++) {
        cr_log_info("%s: %lld arguments, worst relative error: sigmoid 2^%.2f, exp 2^%.2f\n",
                    s->route[r], (long long)s->total, log2(s->worst_sigmoid[r]),
                    log2(s->worst_exp[r]));
        assay_context_destroy(s->context[r]);
    }
    free(s);
}
