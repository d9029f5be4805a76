/* SPDX-License-Identifier: MIT
 *
 * bf16 and fp16 words <-> floats, exhaustively, against oracle/decode. The engine's conversions are
 * private; each is reached through an op that does nothing else: embedding copies rows between bf16
 * and binary32, gdn_recurrent keeps an fp16 state, add rounds an exact sum once.
 */
#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"
#include <assay/ops/add.h>
#include <assay/ops/embedding.h>
#include <assay/ops/gdn_recurrent.h>

enum { WORDS = 65536 };

static float f32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    cr_assert_not_null(memory);
    return memory;
}

/* Calls body once for each route of the op that this machine runs and that takes calls like `probe`
 * (NULL: any), in a context forced to it. */
static void each_route(const struct assay_op *op, const void *probe,
                       void (*body)(assay_context *context, const char *route))
{
    struct assay_context_options options = assay_context_defaults();
    assay_context *context;
    int count = 0;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    for (int r = 0; r < assay_op_num_routes(op); r++) {
        const struct assay_route *route = assay_op_route(op, r);
        if (route->backend != ASSAY_CPU || route->isa > assay_isa_detect() ||
            (probe != NULL && route->accepts != NULL && !route->accepts(probe)))
            continue;
        cr_assert_eq(assay_context_force_route(context, NULL), ASSAY_OK);
        cr_assert_eq(assay_context_force_route(context, route->name), ASSAY_OK);
        body(context, route->name);
        count++;
    }
    cr_assert(count > 0, "%s: no route ran", op->name);
    assay_context_destroy(context);
}

/* ---- bf16 ----------------------------------------------------------------------------------- */

/* All rows of a table of `count` elements in rows of `width`, last row cut short by a second call.
 */
static void gather(assay_context *context, void *table, enum assay_dtype from, void *y,
                   enum assay_dtype to, int64_t count, int64_t width)
{
    int64_t rows = count / width, done = rows * width;
    int32_t *ids = allocate((size_t)rows + 1, sizeof *ids);
    for (int64_t i = 0; i < rows; i++)
        ids[i] = (int32_t)i;
    struct assay_embedding_args args = {.ids = assay_tensor_1d(ids, ASSAY_I32, rows),
                                        .table = assay_tensor_2d(table, from, rows, width),
                                        .y = assay_tensor_2d(y, to, rows, width)};
    cr_assert_eq(assay_embedding(context, &args), ASSAY_OK);
    if (done < count) {
        int64_t rest = count - done;
        char *source = (char *)table + (size_t)done * assay_dtype_bytes(from);
        char *target = (char *)y + (size_t)done * assay_dtype_bytes(to);
        args = (struct assay_embedding_args){.ids = assay_tensor_1d(ids, ASSAY_I32, 1),
                                             .table = assay_tensor_2d(source, from, 1, rest),
                                             .y = assay_tensor_2d(target, to, 1, rest)};
        cr_assert_eq(assay_embedding(context, &args), ASSAY_OK);
    }
    free(ids);
}

/* Widths with and without whole vectors and tails. */
static const int64_t widths[] = {1, 7, 16, 64, 83};
#define NUM_WIDTHS (sizeof widths / sizeof widths[0])

static void widen_bf16_body(assay_context *context, const char *route)
{
    uint16_t *words = allocate(WORDS, sizeof *words);
    float *values = allocate(WORDS, sizeof *values);
    for (int i = 0; i < WORDS; i++)
        words[i] = (uint16_t)i;
    for (size_t k = 0; k < NUM_WIDTHS; k++) {
        gather(context, words, ASSAY_BF16, values, ASSAY_F32, WORDS, widths[k]);
        for (int i = 0; i < WORDS; i++) {
            double expected = oracle_bf16_value((uint16_t)i);
            bool good =
                isnan(expected) ? isnan(values[i]) : bits_of(values[i]) == (uint32_t)i << 16;
            cr_assert(good, "%s: word %04x gives %a, not %a", route, (unsigned)i, (double)values[i],
                      expected);
        }
    }
    free(words);
    free(values);
}

/* Every bf16 value and every boundary between two of them, with both binary32 neighbours, all NaN
 * words among them: what lies at the words' ends and middles in steps of one binary32 ulp. */
static void narrow_bf16_body(assay_context *context, const char *route)
{
    static const uint32_t low[] = {0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { LOWS = sizeof low / sizeof low[0], COUNT = WORDS * LOWS };
    float *values = allocate(COUNT, sizeof *values);
    uint16_t *words = allocate(COUNT, sizeof *words);
    for (uint32_t i = 0; i < COUNT; i++)
        values[i] = f32_of(i / LOWS << 16 | low[i % LOWS]);
    for (size_t k = 0; k < NUM_WIDTHS; k++) {
        gather(context, values, ASSAY_F32, words, ASSAY_BF16, COUNT, widths[k]);
        for (int i = 0; i < COUNT; i++) {
            uint16_t expected = oracle_bf16_word((double)values[i]);
            bool good =
                isnan(values[i]) ? isnan(oracle_bf16_value(words[i])) : words[i] == expected;
            cr_assert(good, "%s: %a gives word %04x, not %04x", route, (double)values[i], words[i],
                      expected);
        }
    }
    free(values);
    free(words);
}

Test(numeric_words, bf16)
{
    each_route(&assay_op_embedding, NULL, widen_bf16_body);
    each_route(&assay_op_embedding, NULL, narrow_bf16_body);
}

/* From more digits than binary32 has: a boundary of bf16 plus or minus less than half a binary32
 * ulp of it. A detour through binary32 loses the addend and rounds to even. Expected words follow
 * from the order of words alone. */
static void once_body(assay_context *context, const char *route)
{
    enum { FINITE = 0x7f80, WIDTH = 64, SIGNS = 4, COUNT = FINITE * SIGNS };
    float *a = allocate(COUNT, sizeof *a), *b = allocate(COUNT, sizeof *b);
    uint16_t *y = allocate(COUNT, sizeof *y);
    for (uint32_t i = 0; i < COUNT; i++) {
        float boundary = f32_of(i / SIGNS << 16 | 0x8000);
        float small = fmaxf(boundary * 0x1p-30f, FLT_TRUE_MIN);
        a[i] = i & 1 ? -boundary : boundary;
        b[i] = i & 2 ? -small : small;
    }
    struct assay_add_args args = {.a = assay_tensor_2d(a, ASSAY_F32, COUNT / WIDTH, WIDTH),
                                  .b = assay_tensor_2d(b, ASSAY_F32, COUNT / WIDTH, WIDTH),
                                  .y = assay_tensor_2d(y, ASSAY_BF16, COUNT / WIDTH, WIDTH)};
    cr_assert_eq(COUNT % WIDTH, 0);
    cr_assert_eq(assay_add(context, &args), ASSAY_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        bool outwards = (a[i] < 0) == (b[i] < 0);
        uint32_t expected = i / SIGNS + outwards + (a[i] < 0 ? 0x8000u : 0);
        cr_assert_eq(y[i], expected, "%s: %a + %a gives word %04x, not %04x", route, (double)a[i],
                     (double)b[i], y[i], expected);
    }
    free(a);
    free(b);
    free(y);
}

Test(numeric_words, rounded_once)
{
    each_route(&assay_op_add, NULL, once_body);
}

/* ---- fp16 ----------------------------------------------------------------------------------- */

/* One token, one head, dk = 1: state[i] becomes state[i] + k beta (v[i] - k state[i]) with k = 1
 * and g = 0; o[i] is the widened state before it is rounded. */
static void step(assay_context *context, float beta, float *v, uint16_t *state, float *o,
                 int64_t count)
{
    float one[] = {1}, zero[] = {0}, rate[] = {beta};
    struct assay_gdn_recurrent_args args = {.q = assay_tensor_3d(one, ASSAY_F32, 1, 1, 1),
                                            .k = assay_tensor_3d(one, ASSAY_F32, 1, 1, 1),
                                            .v = assay_tensor_3d(v, ASSAY_F32, 1, 1, count),
                                            .g = assay_tensor_2d(zero, ASSAY_F32, 1, 1),
                                            .beta = assay_tensor_2d(rate, ASSAY_F32, 1, 1),
                                            .state = assay_tensor_3d(state, ASSAY_F16, 1, 1, count),
                                            .o = assay_tensor_3d(o, ASSAY_F32, 1, 1, count),
                                            .scale = 1};
    assay_status status = assay_gdn_recurrent(context, &args);
    cr_assert(status == ASSAY_OK, "%s", assay_context_error(context)->message);
}

/* beta = 0: o is the state widened, and the state is that rounded again. */
static void widen_f16_body(assay_context *context, const char *route)
{
    uint16_t *state = allocate(WORDS, sizeof *state);
    float *v = allocate(WORDS, sizeof *v), *o = allocate(WORDS, sizeof *o);
    for (int i = 0; i < WORDS; i++)
        state[i] = (uint16_t)i;
    for (int64_t first = 0; first < WORDS; first += 4099) { /* whole vectors and a tail */
        int64_t count = WORDS - first < 4099 ? WORDS - first : 4099;
        step(context, 0, v + first, state + first, o + first, count);
    }
    for (int i = 0; i < WORDS; i++) {
        double value = oracle_f16_value((uint16_t)i);
        if (!isfinite(value)) { /* 0 times infinity: NaN by the formula */
            cr_assert(!isfinite(o[i]), "%s: word %04x gives %a", route, (unsigned)i, (double)o[i]);
            continue;
        }
        cr_assert_eq((double)o[i], value, "%s: word %04x gives %a, not %a", route, (unsigned)i,
                     (double)o[i], value);
        cr_assert(state[i] == i || value == 0, "%s: word %04x comes back as %04x", route,
                  (unsigned)i, state[i]);
    }
    free(state);
    free(v);
    free(o);
}

static float neighbour(float value, int steps)
{
    return steps < 0   ? nextafterf(value, -INFINITY)
           : steps > 0 ? nextafterf(value, INFINITY)
                       : value;
}

/* From a state of zeros with beta = 1 the state is v rounded: every fp16 value and every boundary
 * between two of them (65520, where infinity begins, is the last), with both binary32 neighbours.
 */
static void narrow_f16_body(assay_context *context, const char *route)
{
    enum { FINITE = 0x7c00, EACH = 12, COUNT = FINITE * EACH, SPECIALS = 8 };
    float *v = allocate(COUNT + SPECIALS, sizeof *v), *o = allocate(COUNT + SPECIALS, sizeof *o);
    uint16_t *state = allocate(COUNT + SPECIALS, sizeof *state);
    for (int w = 0; w < FINITE; w++) {
        double here = oracle_f16_value((uint16_t)w);
        double next = w + 1 < FINITE ? oracle_f16_value((uint16_t)(w + 1)) : 65536;
        for (int k = 0; k < EACH; k++) {
            float value = neighbour((float)(k % 2 ? (here + next) / 2 : here), k / 2 % 3 - 1);
            v[w * EACH + k] = k < EACH / 2 ? value : -value;
        }
    }
    const float specials[SPECIALS] = {NAN,      INFINITY,     -INFINITY, FLT_MAX,
                                      -FLT_MAX, FLT_TRUE_MIN, -FLT_MIN,  65536};
    memcpy(v + COUNT, specials, sizeof specials);
    for (int64_t first = 0; first < COUNT + SPECIALS; first += 30001) {
        int64_t rest = COUNT + SPECIALS - first;
        step(context, 1, v + first, state + first, o + first, rest < 30001 ? rest : 30001);
    }
    for (int i = 0; i < COUNT + SPECIALS; i++) {
        uint16_t expected = oracle_f16_word((double)v[i]);
        bool good = isnan(v[i]) ? isnan(oracle_f16_value(state[i]))
                    : v[i] == 0 ? (state[i] & 0x7fff) == 0 /* 0 + -0 is +0 */
                                : state[i] == expected;
        cr_assert(good, "%s: %a gives word %04x, not %04x", route, (double)v[i], state[i],
                  expected);
    }
    free(v);
    free(o);
    free(state);
}

Test(numeric_words, fp16)
{
    const struct assay_gdn_recurrent_args probe = {.state = {.dtype = ASSAY_F16}};
    each_route(&assay_op_gdn_recurrent, &probe, widen_f16_body);
    each_route(&assay_op_gdn_recurrent, &probe, narrow_f16_body);
}
