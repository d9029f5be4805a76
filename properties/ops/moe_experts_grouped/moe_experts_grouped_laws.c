/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped's laws and its bad calls. Clauses tested here or by the sweep
 * (moe_experts_grouped.route.cpu): [MOEEXPERTSGROUPED-1] unfused, relabelled, integers and sweep;
 * [MOEEXPERTSGROUPED-2] sweep (formats, strides, T = 0); [MOEEXPERTSGROUPED-3] sweep against the
 * oracle; [MOEEXPERTSGROUPED-4] slots and sweep (repeated, invalid); [MOEEXPERTSGROUPED-5] row_bits
 * and block_bits; [MOEEXPERTSGROUPED-6] sweep (nonfinite, zeros), unused and slots;
 * [MOEEXPERTSGROUPED-7] sweep (padding=garbage); [MOEEXPERTSGROUPED-8] sweep (guards) and errors;
 * [MOEEXPERTSGROUPED-9] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "product_laws.h"
#include "words.h"
#include <assay/ops/linear_swiglu.h>
#include <assay/ops/moe_experts_grouped.h>

enum { T = 13, E = 5, K = 3, H = 67, F = 45, GEMV_T = 8 };

/* A call of T tokens; planes of random bytes. */
struct operands {
    float x[T * H], weights[T * K], y[T * H];
    int32_t ids[T * K];
    struct assay_weights gate_up, down;
};

static struct assay_moe_experts_grouped_args args_of(struct operands *o, int tokens, int k)
{
    return (struct assay_moe_experts_grouped_args){
        .x = assay_tensor_2d(o->x, ASSAY_F32, tokens, H),
        .ids = assay_tensor_2d(o->ids, ASSAY_I32, tokens, k),
        .weights = assay_tensor_2d(o->weights, ASSAY_F32, tokens, k),
        .gate_up = o->gate_up,
        .down = o->down,
        .y = assay_tensor_2d(o->y, ASSAY_F32, tokens, H)};
}

/* Three different experts a token. */
static void fill(struct operands *o, enum assay_weight_format gate_up,
                 enum assay_weight_format down)
{
    fill_floats(o->x, T * H, 1);
    fill_floats(o->weights, T * K, 2);
    for (int i = 0; i < T * K; i++)
        o->ids[i] = (int32_t)((i / K * 2 + i % K * (1 + i / K % 2)) % E);
    o->gate_up = noise_matrix(gate_up, E * 2 * F, H, 3);
    o->down = noise_matrix(down, E * H, F, 4);
}

static void release(struct operands *o)
{
    free(o->gate_up.base.data);
    free(o->down.base.data);
}

static void call(assay_context *context, const struct assay_moe_experts_grouped_args *a)
{
    cr_assert_eq(assay_moe_experts_grouped(context, a), ASSAY_OK, "%s",
                 assay_context_error(context)->message);
}

static struct assay_weights rows_of(const struct assay_weights *w, int64_t first, int64_t count)
{
    struct assay_weights view;
    cr_assert_eq(assay_weights_rows(w, first, count, &view, NULL), ASSAY_OK);
    return view;
}

/* Tokens that the route takes of T. */
static int tokens_of(const char *route)
{
    return strstr(route, ".gemv.") != NULL ? GEMV_T : T;
}

/* Pairs of formats: each of either bank, and unequal ones. */
static enum assay_weight_format other_format(enum assay_weight_format format)
{
    return format == ASSAY_WEIGHT_Q8G32 ? ASSAY_WEIGHT_Q4G64
                                        : (enum assay_weight_format)(format + 1);
}

#define EACH_GROUPED(format)                                                                      \
    for (enum assay_weight_format format = ASSAY_WEIGHT_Q4G64; format < ASSAY_NUM_WEIGHT_FORMATS; \
         format = (enum assay_weight_format)(format + 1))

/* ---- the formula ------------------------------------------------------------------------------
 */

/* Row t of one slot of weight 1 by linear_swiglu and linear_grouped. */
static void compose(assay_context *context, const struct operands *o, int t, float *y)
{
    float h[F];
    const struct assay_weights down = rows_of(&o->down, o->ids[t] * H, H);
    const struct assay_tensor h_row = assay_tensor_2d(h, ASSAY_F32, 1, F);
    const struct assay_tensor y_row = assay_tensor_2d(y, ASSAY_F32, 1, H);
    const struct assay_linear_swiglu_args first = {
        .x = assay_tensor_2d((void *)(uintptr_t)(o->x + t * H), ASSAY_F32, 1, H),
        .gate = rows_of(&o->gate_up, (int64_t)o->ids[t] * 2 * F, F),
        .up = rows_of(&o->gate_up, (int64_t)o->ids[t] * 2 * F + F, F),
        .y = h_row};
    cr_assert_eq(assay_linear_swiglu(context, &first), ASSAY_OK);
    product_alone(context, &h_row, &down, &y_row);
}

/* Vector routes have the bits of the two calls; the plain one keeps h in binary64
 * [MOEEXPERTSGROUPED-1]. */
Test(moe_experts_grouped, unfused)
{
    static const char *const methods[] = {"plain", "avx2", "avx512"};
    static struct operands o;
    assay_context *context = new_context(2);
    EACH_GROUPED(format)
    {
        fill(&o, format, other_format(format));
        for (int t = 0; t < T; t++) {
            o.weights[t] = 1;
            o.ids[t] = t * 3 % E;
        }
        const struct assay_moe_experts_grouped_args a = args_of(&o, T, 1);
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
            if (!force_method(context, "moe_experts_grouped", methods[i]))
                continue;
            force_method(context, "linear_swiglu", methods[i]);
            force_products(context, methods[i]);
            call(context, &a);
            for (int t = 0; t < T; t++) {
                float y[H];
                compose(context, &o, t, y);
                for (int n = 0; n < H; n++) {
                    double found = (double)o.y[t * H + n], size = 0;
                    for (int m = 0; m < H; m++)
                        size = fmax(size, fabs((double)y[m]));
                    cr_assert(fabs(found - (double)y[n]) <= (i == 0 ? 0x1p-18 * size : 0),
                              "%s, %s: y[%d,%d] is %a, not %a", methods[i],
                              assay_weight_format_name(format), t, n, found, (double)y[n]);
                }
            }
        }
        release(&o);
    }
    assay_context_destroy(context);
}

/* Experts under other numbers: the same bits [MOEEXPERTSGROUPED-1] [MOEEXPERTSGROUPED-5]. */
static void copy_rows(const struct assay_weights *from, int64_t first, int64_t count,
                      const struct assay_weights *to, int64_t at)
{
    const struct assay_tensor *source[] = {&from->base, &from->high, &from->scales};
    const struct assay_tensor *target[] = {&to->base, &to->high, &to->scales};
    for (int p = 0; p < 3; p++)
        for (int64_t i = 0; i < count && source[p]->data != NULL; i++)
            memcpy(assay_tensor_row(target[p], at + i), assay_tensor_row(source[p], first + i),
                   (size_t)source[p]->extent[1] * assay_dtype_bytes(source[p]->dtype));
}

static void relabelled_body(assay_context *context, const char *route)
{
    static struct operands o, other;
    const int tokens = tokens_of(route);
    fill(&o, ASSAY_WEIGHT_Q5G64, ASSAY_WEIGHT_Q8G32);
    fill(&other, ASSAY_WEIGHT_Q5G64, ASSAY_WEIGHT_Q8G32);
    for (int i = 0; i < T * K; i++)
        other.ids[i] = (o.ids[i] * 2 + 1) % E;
    for (int e = 0; e < E; e++) {
        copy_rows(&o.gate_up, e * 2 * F, 2 * F, &other.gate_up, (e * 2 + 1) % E * 2 * F);
        copy_rows(&o.down, e * H, H, &other.down, (e * 2 + 1) % E * H);
    }
    const struct assay_moe_experts_grouped_args a = args_of(&o, tokens, K);
    const struct assay_moe_experts_grouped_args b = args_of(&other, tokens, K);
    call(context, &a);
    call(context, &b);
    cr_assert(memcmp(o.y, other.y, (size_t)(tokens * H) * sizeof *o.y) == 0, "%s", route);
    release(&o);
    release(&other);
}

Test(moe_experts_grouped, relabelled)
{
    each_route(&assay_op_moe_experts_grouped, relabelled_body);
}

/* ---- integers ---------------------------------------------------------------------------------
 */

static void put_bits(const struct assay_tensor *plane, int64_t row, int64_t at, int bits, int value)
{
    const int64_t byte = row * plane->extent[1] + at / 8;
    const int mask = ((1 << bits) - 1) << at % 8;
    oracle_put_int(plane, byte, (oracle_get_int(plane, byte) & ~mask) | (value << at % 8 & mask));
}

/* By docs/formats.md. */
static void put_code(const struct assay_weights *w, int64_t row, int64_t k, int code)
{
    const int bits = assay_weight_bits(w->format), low = bits == 8 ? 8 : 4;
    const int stored = bits == 8 ? code : code + (1 << (bits - 1));
    put_bits(&w->base, row, low * k, low, stored);
    if (bits > 4 && bits < 8)
        put_bits(&w->high, row, (bits - 4) * k, bits - 4, stored >> 4);
}

static int gate_up_code(int64_t row, int64_t k)
{
    return (int)(row % (2 * F) < F ? row % 3 : (row * 5 + k * 7) % 3 - 1);
}

static int down_code(int64_t row, int64_t k)
{
    return (int)((row * 11 + k * 5) % 3 - 1);
}

static void fill_codes(const struct assay_weights *w, int (*code)(int64_t row, int64_t k))
{
    for (int64_t n = 0; n < w->rows; n++)
        for (int64_t k = 0; k < w->columns; k++)
            put_code(w, n, k, code(n, k));
    for (int64_t i = 0; i < assay_tensor_count(&w->scales); i++)
        oracle_put(&w->scales, i, 1);
}

enum { INTEGER_T = 5 };

static void count(const struct operands *o, int64_t *expected)
{
    memset(expected, 0, sizeof(int64_t) * INTEGER_T * H);
    for (int p = 0; p < INTEGER_T * K; p++)
        for (int f = 0; f < F; f++) {
            const int64_t row = (int64_t)o->ids[p] * 2 * F + f;
            int64_t g = 0, u = 0;
            for (int i = 0; i < H; i++) {
                g += (int64_t)o->x[p / K * H + i] * gate_up_code(row, i);
                u += (int64_t)o->x[p / K * H + i] * gate_up_code(row + F, i);
            }
            for (int n = 0; n < H; n++)
                expected[p / K * H + n] +=
                    (int64_t)o->weights[p] * g * u * down_code((int64_t)o->ids[p] * H + n, f);
        }
}

/* Gates are 0 or large, so that their silu is the gate: y counted here [MOEEXPERTSGROUPED-1]. */
static void integers_body(assay_context *context, const char *route)
{
    static struct operands o;
    int64_t expected[INTEGER_T * H];
    EACH_GROUPED(format)
    {
        fill(&o, format, other_format(format));
        for (int i = 0; i < INTEGER_T * H; i++)
            o.x[i] = (float)(1 + i * 7 % 2);
        for (int i = 0; i < INTEGER_T * K; i++) {
            o.ids[i] = i * 3 % E;
            o.weights[i] = (float)(i % 3 - 1);
        }
        fill_codes(&o.gate_up, gate_up_code);
        fill_codes(&o.down, down_code);
        count(&o, expected);
        const struct assay_moe_experts_grouped_args a = args_of(&o, INTEGER_T, K);
        call(context, &a);
        for (int i = 0; i < INTEGER_T * H; i++)
            cr_assert_eq((double)o.y[i], (double)expected[i], "%s, %s: y[%d] is %g, not %lld",
                         route, assay_weight_format_name(format), i, (double)o.y[i],
                         (long long)expected[i]);
        release(&o);
    }
}

Test(moe_experts_grouped, integers)
{
    each_route(&assay_op_moe_experts_grouped, integers_body);
}

/* ---- slots ------------------------------------------------------------------------------------
 */

/* A weight divided over two slots of one expert, and a slot of weight 0: the bits of the call
 * without. An id that is no expert makes its row NaN, and no other [MOEEXPERTSGROUPED-4]; a weight
 * of 0 keeps the NaN of a scale [MOEEXPERTSGROUPED-6]. */
static void slots_body(assay_context *context, const char *route)
{
    enum { N = 4 };
    static struct operands o, other;
    fill(&o, ASSAY_WEIGHT_Q4G64, ASSAY_WEIGHT_Q6G64);
    other = o;
    for (int t = 0; t < N; t++) {
        o.ids[t] = t;
        o.weights[t] = (float)(1 << t) * 0.5f; /* exact products */
        for (int i = 0; i < 3; i++) {
            other.ids[t * 3 + i] = i == 1 ? (t + 1) % E : t;
            other.weights[t * 3 + i] = i == 1 ? 0 : o.weights[t] / 2;
        }
    }
    const struct assay_moe_experts_grouped_args a = args_of(&o, N, 1), b = args_of(&other, N, 3);
    call(context, &a);
    call(context, &b);
    for (int i = 0; i < N * H; i++)
        cr_assert(o.y[i] == other.y[i], "%s: y[%d] is %a, not %a", route, i, (double)other.y[i],
                  (double)o.y[i]);
    other.ids[3 + 1] = -1; /* of weight 0 */
    other.ids[9 + 2] = E;
    call(context, &b);
    for (int i = 0; i < N * H; i++)
        cr_assert((isnan(other.y[i]) != 0) == (i / H == 1 || i / H == 3), "%s: y[%d]", route, i);
    oracle_put(&o.down.scales, (H - 1) * o.down.scales.extent[1], NAN);
    o.weights[0] = 0;
    call(context, &a);
    cr_assert(isnan(o.y[H - 1]) && !isnan(o.y[H - 2]) && !isnan(o.y[2 * H - 1]), "%s", route);
    release(&o);
}

Test(moe_experts_grouped, slots)
{
    each_route(&assay_op_moe_experts_grouped, slots_body);
}

/* Experts that no token has hold scales of NaN and other codes: the same bits
 * [MOEEXPERTSGROUPED-6]. */
static void unused_body(assay_context *context, const char *route)
{
    static struct operands o;
    float before[T * H];
    const int tokens = tokens_of(route);
    fill(&o, ASSAY_WEIGHT_Q6G64, ASSAY_WEIGHT_Q5G64);
    for (int i = 0; i < T * K; i++) /* of experts 1 and 3 */
        o.ids[i] = 1 + 2 * (i % 2);
    const struct assay_moe_experts_grouped_args a = args_of(&o, tokens, K);
    call(context, &a);
    memcpy(before, o.y, sizeof before);
    for (int i = 0; i < 2; i++) {
        const struct assay_weights *w = i == 0 ? &o.gate_up : &o.down;
        const int64_t groups = w->scales.extent[1];
        for (int64_t n = 0; n < w->rows; n++)
            for (int64_t g = 0; n / (w->rows / E) % 2 == 0 && g < groups; g++) {
                oracle_put(&w->scales, n * groups + g, NAN);
                put_code(w, n, g, 1);
            }
    }
    call(context, &a);
    cr_assert(memcmp(before, o.y, sizeof *o.y * (size_t)(tokens * H)) == 0, "%s", route);
    release(&o);
}

Test(moe_experts_grouped, unused)
{
    each_route(&assay_op_moe_experts_grouped, unused_body);
}

/* ---- bits -------------------------------------------------------------------------------------
 */

/* Row `first` of a call in another one of fewer tokens, whose others have other experts. */
static void compare_part(assay_context *context, const struct operands *o, int first, int tokens,
                         const char *route)
{
    static struct operands part;
    part = *o;
    const struct assay_moe_experts_grouped_args a = args_of(&part, tokens, K);
    memcpy(part.x, o->x + first * H, sizeof *o->x * (size_t)(tokens * H));
    memcpy(part.ids, o->ids + first * K, sizeof *o->ids * (size_t)(tokens * K));
    memcpy(part.weights, o->weights + first * K, sizeof *o->weights * (size_t)(tokens * K));
    for (int i = K; i < tokens * K; i++)
        part.ids[i] = (int32_t)((part.ids[i] + 1 + first % 3) % E);
    call(context, &a);
    cr_assert(memcmp(part.y, o->y + first * H, sizeof *o->y * H) == 0, "%s: row %d of %d", route,
              first, tokens);
}

/* A row has the same bits at every T, in every place and whatever experts the others have
 * [MOEEXPERTSGROUPED-5]. */
static void row_bits_body(assay_context *context, const char *route)
{
    static struct operands o;
    const int tokens = tokens_of(route);
    EACH_GROUPED(format)
    {
        fill(&o, format, other_format(format));
        const struct assay_moe_experts_grouped_args a = args_of(&o, tokens, K);
        call(context, &a);
        for (int first = (int)format % 3; first < tokens; first += 3)
            compare_part(context, &o, first, 1 + first * 5 % (tokens - first), route);
        release(&o);
    }
}

Test(moe_experts_grouped, row_bits)
{
    each_route(&assay_op_moe_experts_grouped, row_bits_body);
}

/* ... and with 1 and 3 threads. */
Test(moe_experts_grouped, thread_bits)
{
    static struct operands o;
    float before[T * H];
    assay_context *contexts[2] = {new_context(1), new_context(3)};
    fill(&o, ASSAY_WEIGHT_Q4G64, ASSAY_WEIGHT_Q5G64);
    const struct assay_moe_experts_grouped_args a = args_of(&o, T, K);
    for (int r = 0; r < assay_op_num_routes(&assay_op_moe_experts_grouped); r++) {
        if (take_route(contexts[0], &assay_op_moe_experts_grouped, r) == NULL ||
            take_route(contexts[1], &assay_op_moe_experts_grouped, r) == NULL)
            continue;
        call(contexts[0], &a);
        memcpy(before, o.y, sizeof before);
        call(contexts[1], &a);
        cr_assert(memcmp(before, o.y, sizeof before) == 0);
    }
    release(&o);
    assay_context_destroy(contexts[0]);
    assay_context_destroy(contexts[1]);
}

/* Many pairs of one expert, which the kernel in tensor cores takes in larger blocks, have the bits
 * that few have [MOEEXPERTSGROUPED-5]. */
Test(moe_experts_grouped, block_bits)
{
    enum { MANY = 66, FEW = 3 };
    assay_context *context = new_simt_context();
    if (context == NULL)
        return;
    cr_assert_eq(assay_context_force_route(context, "moe_experts_grouped.tiled.simt"), ASSAY_OK);
    const struct assay_tensor x = noise_tensor(MANY, H, 1), y = noise_tensor(MANY, H, 2);
    float expected[FEW * H], weights[MANY];
    int32_t ids[MANY] = {0};
    struct assay_moe_experts_grouped_args a = {
        .x = x,
        .ids = assay_tensor_2d(ids, ASSAY_I32, MANY, 1),
        .weights = assay_tensor_2d(weights, ASSAY_F32, MANY, 1),
        .gate_up = noise_matrix(ASSAY_WEIGHT_Q8G32, 2 * F, H, 3),
        .down = noise_matrix(ASSAY_WEIGHT_Q4G64, H, F, 4),
        .y = y};
    fill_floats(weights, MANY, 5);
    call(context, &a);
    memcpy(expected, y.data, sizeof expected);
    a.x.extent[0] = a.ids.extent[0] = a.weights.extent[0] = a.y.extent[0] = FEW;
    call(context, &a);
    cr_assert(memcmp(expected, y.data, sizeof expected) == 0);
    free(x.data);
    free(y.data);
    free(a.gate_up.base.data);
    free(a.down.base.data);
    assay_context_destroy(context);
}

/* ---- errors -----------------------------------------------------------------------------------
 */

/* Every documented error [MOEEXPERTSGROUPED-8] [MOEEXPERTSGROUPED-9]. */
Test(moe_experts_grouped, errors)
{
    static struct operands o;
    fill(&o, ASSAY_WEIGHT_Q4G64, ASSAY_WEIGHT_Q5G64);
    struct assay_moe_experts_grouped_args good = args_of(&o, T, K);
    struct bad_calls *calls = bad_calls_new(&assay_op_moe_experts_grouped, &good, o.y, sizeof o.y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_moe_experts_grouped_args, a, status, argument, change, #change)

    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "ids", a.ids.data = NULL);
    BAD(ASSAY_E_ARG, "weights", a.weights.data = NULL);
    BAD(ASSAY_E_ARG, "gate_up.base", a.gate_up.base.data = NULL);
    BAD(ASSAY_E_ARG, "gate_up.scales", a.gate_up.scales.data = NULL);
    BAD(ASSAY_E_ARG, "down.base", a.down.base.data = NULL);
    BAD(ASSAY_E_ARG, "down.high", a.down.high.data = NULL);
    BAD(ASSAY_E_ARG, "gate_up.high", a.gate_up.high = a.down.high);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[1] = a.ids.stride[0] = 65);
    BAD(ASSAY_E_SHAPE, "weights", a.weights.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "gate_up", a.gate_up.rows = 0);
    BAD(ASSAY_E_SHAPE, "gate_up", a.gate_up.columns = H - 1);
    BAD(ASSAY_E_SHAPE, "gate_up", a.gate_up.columns = INT64_MAX);
    BAD(ASSAY_E_SHAPE, "gate_up",
        (a.gate_up.rows = a.gate_up.base.extent[0] = a.gate_up.scales.extent[0] = E * 2 * F - 2));
    BAD(ASSAY_E_SHAPE, "gate_up.base", a.gate_up.rows = E * 2 * F - 2);
    BAD(ASSAY_E_SHAPE, "down",
        (a.down.rows = a.down.base.extent[0] = a.down.high.extent[0] = a.down.scales.extent[0] =
             E * H - 1));
    BAD(ASSAY_E_SHAPE, "down", a.down.columns = 0);
    BAD(ASSAY_E_SHAPE, "down", a.down.columns = INT64_MAX);
    BAD(ASSAY_E_SHAPE, "gate_up", a.down.columns = F + 1);
    BAD(ASSAY_E_SHAPE, "down.high", a.down.high.extent[0] = E * H - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = H - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "weights", a.weights.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "gate_up", a.gate_up.format = ASSAY_WEIGHT_BF16);
    BAD(ASSAY_E_FORMAT, "down", a.down.format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "down.scales", a.down.scales.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_I32);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "ids", a.ids.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "gate_up.base", a.gate_up.base.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "down.scales", a.down.scales.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = H - 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = o.y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.ids.data = o.y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.weights.data = o.y + 3);
    BAD(ASSAY_E_ALIAS, "y", a.gate_up.base.data = o.y);
    BAD(ASSAY_E_ALIAS, "y", a.down.high.data = o.y);
    BAD(ASSAY_E_ALIAS, "y", a.down.scales.data = o.y);
#undef BAD
    bad_calls_finish(calls);
    release(&o);
}
