/* SPDX-License-Identifier: MIT
 *
 * linear_w8row's laws and its bad calls. Clauses tested here or by the sweep
 * (linear_w8row.route.cpu), whose oracle has the exact product and the steps of both roundings:
 * [LINEARW8ROW-1], [LINEARW8ROW-2] and [LINEARW8ROW-3] bits, where a second reading of the contract
 * gives every bit, and the sweep; [LINEARW8ROW-4] these and lowest_byte; [LINEARW8ROW-5] these and
 * largest_sums, accumulators; [LINEARW8ROW-6] bits, bits_of_kernels, bits_by_threads and chunks;
 * [LINEARW8ROW-7] not_finite and the sweep's distribution nonfinite; [LINEARW8ROW-8] sweep
 * (formats, strides, padding of NaN scales), empty and errors; [LINEARW8ROW-9] errors. accuracy:
 * what 8 bits cost, and what equalising them is worth.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "linear_w8row_mutants.h"
#include "oracle_formats.h"
#include "words.h"

static uint64_t hash(int64_t i)
{
    uint64_t h = (uint64_t)i * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

/* N(0, 1), by Box and Muller. */
static double normal(int64_t i)
{
    double u = ((double)(hash(2 * i) >> 11) + 0.5) * 0x1p-53;
    double v = (double)(hash(2 * i + 1) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

enum gains { EVEN, OUTLIERS, LOGNORMAL, NUM_GAINS };

static double gain_of(enum gains gains, int64_t channel)
{
    if (gains == OUTLIERS)
        return hash(channel + 2000000) % 100 == 0 ? 30 : 1;
    return gains == LOGNORMAL ? exp(normal(channel + 1000000)) : 1;
}

/* One call's memory: x normal with gains, any codes (-128 among them), scales about 2^-5 of both
 * signs. */
struct operands {
    struct assay_linear_w8row_args args;
    void *planes;
    size_t y_bytes;
};

static struct operands new_operands(enum assay_dtype x, enum assay_weight_format format,
                                    enum assay_dtype y, int64_t rows, int64_t columns,
                                    int64_t inner)
{
    struct operands o;
    struct assay_weight_layout layout;
    cr_assert_eq(assay_weight_layout_of(format, columns, inner, &layout, NULL), ASSAY_OK);
    void *memory[2] = {malloc((size_t)(rows * inner) * 4), malloc((size_t)(rows * columns) * 4)};
    o.planes = malloc(layout.total);
    cr_assert(memory[0] != NULL && memory[1] != NULL && o.planes != NULL);
    cr_assert_eq(assay_weights_at(o.planes, format, columns, inner, &o.args.w, NULL), ASSAY_OK);
    for (size_t i = 0; i < layout.total; i++)
        ((unsigned char *)o.planes)[i] = (unsigned char)hash((int64_t)i);
    for (int64_t i = 0; i < assay_tensor_count(&o.args.w.scales); i++)
        oracle_put(&o.args.w.scales, i,
                   (hash(i) % 4 == 0 ? -0x1p-5 : 0x1p-5) + 0x1p-8 * normal(7 * i));
    o.args.x = assay_tensor_2d(memory[0], x, rows, inner);
    o.args.y = assay_tensor_2d(memory[1], y, rows, columns);
    o.args.equalise = true;
    o.y_bytes = (size_t)(rows * columns) * assay_dtype_bytes(y);
    return o;
}

static void fill(const struct operands *o, enum gains gains)
{
    int64_t inner = o->args.w.columns;
    for (int64_t i = 0; i < assay_tensor_count(&o->args.x); i++)
        oracle_put(&o->args.x, i, gain_of(gains, i % inner) * normal(i));
}

static void free_operands(struct operands *o)
{
    free(o->args.x.data);
    free(o->args.y.data);
    free(o->planes);
}

static enum assay_weight_format format_of(int i)
{
    return (enum assay_weight_format)(ASSAY_WEIGHT_Q4G64 + i);
}

/* A NaN is a NaN, whatever its payload. */
static bool same_bits(const struct assay_tensor *a, const struct assay_tensor *b)
{
    for (int64_t i = 0; i < assay_tensor_count(a); i++) {
        double x = oracle_get(a, i), y = oracle_get(b, i);
        if (!(x == y && signbit(x) == signbit(y)) && !(isnan(x) && isnan(y)))
            return false;
    }
    return true;
}

/* Every route has the bits of the mutants' control, which was written from the contract alone. */
static void expect_bits(assay_context *context, struct operands *o, const char *what)
{
    const struct assay_route *route, *control = &linear_w8row_mutants[0].route;
    int num_routes = 0;
    struct assay_linear_w8row_args other = o->args;
    other.y.data = malloc(o->y_bytes);
    cr_assert_not_null(other.y.data);
    cr_assert_eq(control->run(context, &other, NULL), ASSAY_OK);
    EACH_ROUTE(context, &assay_op_linear_w8row, route)
    {
        memset(o->args.y.data, 0x55, o->y_bytes);
        cr_assert_eq(assay_linear_w8row(context, &o->args), ASSAY_OK);
        cr_assert(same_bits(&o->args.y, &other.y), "%s: %s", route->name, what);
        num_routes++;
    }
    cr_assert_gt(num_routes, 0);
    free(other.y.data);
}

Test(linear_w8row, bits)
{
    static const int64_t shapes[][3] = {{1, 1, 1}, {3, 9, 203}, {37, 21, 1031}, {5, 6, 5120}};
    assay_context *context = new_context(1);
    for (int i = 0; i < 64; i++) {
        const int64_t *shape = shapes[i / 16];
        struct operands o =
            new_operands(i & 4 ? ASSAY_BF16 : ASSAY_F32, format_of(i % 4),
                         i & 8 ? ASSAY_BF16 : ASSAY_F32, shape[0], shape[1], shape[2]);
        for (int gains = 0; gains < NUM_GAINS; gains++) {
            fill(&o, (enum gains)gains);
            o.args.equalise = gains != EVEN || i % 3 > 0;
            expect_bits(context, &o, "normal");
        }
        for (int64_t k = 0; k < assay_tensor_count(&o.args.x); k++) /* ends of the range of s */
            oracle_put(&o.args.x, k, ldexp(normal(k), (int)(hash(k % shape[2]) % 160) - 80));
        expect_bits(context, &o, "wide");
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* The kernels as well, where the executor is built. */
Test(linear_w8row, bits_of_kernels, .timeout = 60)
{
    static const int64_t shapes[][3] = {{1, 1, 1}, {3, 9, 203}, {17, 6, 1031}, {67, 130, 64}};
    struct assay_context_options options = assay_context_defaults();
    assay_context *context;
    options.backend = ASSAY_SIMT;
    if (assay_context_create(&options, &context, NULL) != ASSAY_OK)
        cr_skip("no executor");
    for (int i = 0; i < 8; i++) {
        const int64_t *shape = shapes[i / 2];
        struct operands o =
            new_operands(i & 1 ? ASSAY_BF16 : ASSAY_F32, format_of(i * 3 % 4),
                         i & 2 ? ASSAY_BF16 : ASSAY_F32, shape[0], shape[1], shape[2]);
        fill(&o, (enum gains)(i % NUM_GAINS));
        o.args.equalise = i % 4 > 0;
        expect_bits(context, &o, "kernels");
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* ... with 1, 2 and 3 threads, too [LINEARW8ROW-6]. N is several ranges of the thread pool long. */
Test(linear_w8row, bits_by_threads)
{
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q5G64, ASSAY_F32, 5, 257, 1203);
    fill(&o, LOGNORMAL);
    for (int threads = 1; threads <= 3; threads++) {
        assay_context *context = new_context(threads);
        expect_bits(context, &o, "threads");
        assay_context_destroy(context);
    }
    free_operands(&o);
}

/* A call on part of the rows has other bits, since its channels have other maxima; without
 * equalising it has the same [LINEARW8ROW-6]. */
Test(linear_w8row, chunks)
{
    enum { T = 12, N = 19, K = 330, FIRST = 5, ROWS = 4 };
    assay_context *context = new_context(1);
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q4G64, ASSAY_F32, T, N, K);
    fill(&o, OUTLIERS);
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_linear_w8row, route)
    {
        for (int equalise = 0; equalise < 2; equalise++) {
            float y[ROWS * N];
            o.args.equalise = equalise != 0;
            struct assay_linear_w8row_args part = o.args;
            part.x.data = assay_tensor_row(&o.args.x, FIRST);
            part.x.extent[0] = part.y.extent[0] = ROWS;
            part.y.data = y;
            cr_assert_eq(assay_linear_w8row(context, &o.args), ASSAY_OK);
            cr_assert_eq(assay_linear_w8row(context, &part), ASSAY_OK);
            bool is_same = memcmp(y, assay_tensor_row(&o.args.y, FIRST), sizeof y) == 0;
            cr_assert_eq(is_same, equalise == 0, "%s", route->name);
        }
    }
    free_operands(&o);
    assay_context_destroy(context);
}

/* The largest sums there are, of either sign: the longest K that is taken keeps 32 bits, and the
 * next one is refused before anything is read [LINEARW8ROW-5] [LINEARW8ROW-9]. */
Test(linear_w8row, largest_sums)
{
    enum { K = ASSAY_W8ROW_COLUMNS_END };
    assay_context *context = new_context(1);
    for (int64_t inner = K - 1; inner <= K; inner++) {
        struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q8G32, ASSAY_F32, 1, 2, inner);
        memset(o.args.w.base.data, 127, (size_t)o.args.w.base.extent[1]);
        memset(assay_tensor_row(&o.args.w.base, 1), -127, (size_t)o.args.w.base.extent[1]);
        for (int64_t i = 0; i < assay_tensor_count(&o.args.w.scales); i++)
            oracle_put(&o.args.w.scales, i, 1);
        for (int64_t k = 0; k < inner; k++)
            oracle_put(&o.args.x, k, 127);
        const struct assay_route *route;
        EACH_ROUTE(context, &assay_op_linear_w8row, route)
        {
            const float *y = o.args.y.data;
            assay_status status = assay_linear_w8row(context, &o.args);
            cr_assert_eq(status, inner < K ? ASSAY_OK : ASSAY_E_SHAPE, "%s", route->name);
            if (inner < K) {
                float expected = (float)(inner * 127 * 127);
                cr_assert(y[0] == expected && y[1] == -expected, "%s: %.9g %.9g", route->name,
                          (double)y[0], (double)y[1]);
            }
        }
        free_operands(&o);
    }
    cr_assert_lt((int64_t)(K - 1) * 127 * 127, (int64_t)1 << 31);
    assay_context_destroy(context);
}

/* Sums of 127 * 127 in accumulators that are too small. */
enum accumulator { OF_FLOAT, OF_INT16, OF_INT32 };

static double sum_in(enum accumulator accumulator, int64_t inner)
{
    float f = 0;
    int16_t h = 0;
    uint32_t i = 0; /* wraps as the hardware's int32 does */
    for (int64_t k = 0; k < inner; k++) {
        f += 127.0f * 127.0f;
        h = (int16_t)(uint16_t)(h + 127 * 127);
        i += 127u * 127u;
    }
    return accumulator == OF_FLOAT ? (double)f : accumulator == OF_INT16 ? h : (double)(int32_t)i;
}

/* K = 2^17 with the largest codes is exact in 32 bits, and neither in binary32 nor in 16 bits; 32
 * bits stop at K = 133,145. The op refuses before that and names the way out. */
Test(linear_w8row, accumulators)
{
    enum { K = 1 << 17, TOO_MANY = 133145 };
    assay_context *context = new_context(1);
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q8G32, ASSAY_F32, 1, 1, K);
    memset(o.args.w.base.data, 127, (size_t)o.args.w.base.extent[1]);
    for (int64_t i = 0; i < assay_tensor_count(&o.args.w.scales); i++)
        oracle_put(&o.args.w.scales, i, 1);
    for (int64_t k = 0; k < K; k++)
        oracle_put(&o.args.x, k, 127);
    const double exact = (double)K * 127 * 127;
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_linear_w8row, route)
    {
        cr_assert_eq(assay_linear_w8row(context, &o.args), ASSAY_OK);
        cr_assert_eq(oracle_get(&o.args.y, 0), exact, "%s", route->name);
    }
    cr_assert_eq(sum_in(OF_INT32, K), exact);
    cr_assert_neq(sum_in(OF_FLOAT, K), exact);
    cr_assert_neq(sum_in(OF_INT16, K), exact);
    free_operands(&o);

    cr_assert_eq(sum_in(OF_INT32, TOO_MANY - 1), (TOO_MANY - 1) * 16129.0);
    cr_assert_lt(sum_in(OF_INT32, TOO_MANY), 0);
    o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q8G32, ASSAY_F32, 1, 1, TOO_MANY);
    oracle_put(&o.args.y, 0, 7);
    cr_assert_eq(assay_context_force_route(context, NULL), ASSAY_OK);
    cr_assert_eq(assay_linear_w8row(context, &o.args), ASSAY_E_SHAPE);
    const struct assay_error *error = assay_context_error(context);
    cr_assert(strcmp(error->what, "w") == 0 && strstr(error->message, "linear_grouped") != NULL,
              "%s: %s", error->what, error->message);
    cr_assert_eq(oracle_get(&o.args.y, 0), 7);
    free_operands(&o);
    assay_context_destroy(context);
}

/* The byte -128 of q8g32 counts as -127 where its group sets the row's scale, as itself (rounded to
 * the row's step) where another group does [LINEARW8ROW-4]. */
Test(linear_w8row, lowest_byte)
{
    enum { K = 64 };
    assay_context *context = new_context(1);
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q8G32, ASSAY_F32, 1, 1, K);
    memset(o.args.w.base.data, 0, (size_t)o.args.w.base.extent[1]);
    ((signed char *)o.args.w.base.data)[0] = -128;
    for (int64_t k = 0; k < K; k++)
        oracle_put(&o.args.x, k, k == 0 ? 127 : 0);
    o.args.equalise = false;
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_linear_w8row, route)
    {
        for (int scale = 1; scale <= 2; scale++) { /* of the other group */
            for (int64_t g = 0; g < 4; g++)
                oracle_put(&o.args.w.scales, g, g == 1 ? scale : 1);
            cr_assert_eq(assay_linear_w8row(context, &o.args), ASSAY_OK);
            float y = ((const float *)o.args.y.data)[0];
            cr_assert(y == (scale == 1 ? -127.0f : -128.0f) * 127, "%s: %.9g", route->name,
                      (double)y);
        }
    }
    free_operands(&o);
    assay_context_destroy(context);
}

/* A NaN and an infinity make their rows of y NaN, a NaN and an infinite scale their columns; no
 * other element is touched, and channels that hold them have the maxima of what is finite: bits of
 * the control [LINEARW8ROW-7]. */
Test(linear_w8row, not_finite)
{
    enum { T = 8, N = 9, K = 133 };
    assay_context *context = new_context(1);
    for (int i = 0; i < 8; i++) {
        struct operands o = new_operands(ASSAY_F32, format_of(i % 4), ASSAY_F32, T, N, K);
        float *x = o.args.x.data, *y = o.args.y.data;
        int64_t groups = o.args.w.scales.extent[1];
        fill(&o, LOGNORMAL);
        o.args.equalise = i < 4;
        oracle_put(&o.args.w.scales, 5 * groups + 2, NAN);
        oracle_put(&o.args.w.scales, 7 * groups, -INFINITY);
        x[2 * K + 7] = NAN;
        x[4 * K + K - 1] = -INFINITY;
        const struct assay_route *route;
        EACH_ROUTE(context, &assay_op_linear_w8row, route)
        {
            cr_assert_eq(assay_linear_w8row(context, &o.args), ASSAY_OK);
            for (int at = 0; at < T * N; at++) {
                int t = at / N, n = at % N;
                bool nan = t == 2 || t == 4 || n == 5 || n == 7;
                cr_assert(nan ? isnan(y[at]) : isfinite(y[at]), "%s: y[%d]", route->name, at);
            }
        }
        expect_bits(context, &o, "not finite");
        free_operands(&o);
    }
    assay_context_destroy(context);
}

/* Relative L2 error against the product with x itself, weights as they are. */
static double error_of(assay_context *context, const struct operands *o)
{
    const struct assay_linear_w8row_args *a = &o->args;
    cr_assert_eq(assay_linear_w8row(context, a), ASSAY_OK);
    double *w = malloc((size_t)a->w.columns * sizeof *w), squares = 0, errors = 0;
    cr_assert_not_null(w);
    for (int64_t n = 0; n < a->w.rows; n++) {
        oracle_weight_row(&a->w, n, w);
        for (int64_t t = 0; t < a->x.extent[0]; t++) {
            const float *x = assay_tensor_row(&a->x, t);
            double sum = 0;
            for (int64_t k = 0; k < a->w.columns; k++)
                sum += (double)x[k] * w[k];
            double lacks = oracle_get(&a->y, t * a->w.rows + n) - sum;
            squares += sum * sum;
            errors += lacks * lacks;
        }
    }
    free(w);
    return sqrt(errors / squares);
}

/* linear_w8row_bound.md has where the values come from. Equalising costs a little where channels
 * are alike and halves the error where they are not: without it is the control that shows what it
 * is for. */
Test(linear_w8row, accuracy, .timeout = 60)
{
    enum { T = 64, N = 48, K = 5120 };
    static const double expected[NUM_GAINS][2] = {
        {0.0130, 0.0137}, {0.0533, 0.0212}, {0.0465, 0.0237}};
    assay_context *context = new_context(0);
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q4G64, ASSAY_F32, T, N, K);
    const struct assay_encode_options options = {.encoder = ASSAY_ENCODER_MAXABS};
    float *values = malloc(K * sizeof *values);
    cr_assert_not_null(values);
    for (int64_t n = 0; n < N; n++) {
        for (int64_t k = 0; k < K; k++)
            values[k] = (float)(normal(3000000 + n * K + k) / 16);
        cr_assert_eq(assay_weights_encode_row(&o.args.w, n, values, &options, NULL), ASSAY_OK);
    }
    for (int gains = 0; gains < NUM_GAINS; gains++) {
        double error[2];
        fill(&o, (enum gains)gains);
        for (int equalise = 0; equalise < 2; equalise++) {
            o.args.equalise = equalise != 0;
            error[equalise] = error_of(context, &o);
            cr_log_info("gains %d, equalise %d: %.5f", gains, equalise, error[equalise]);
            cr_assert(fabs(error[equalise] / expected[gains][equalise] - 1) < 0.15,
                      "gains %d, equalise %d: %.5f, not %.5f", gains, equalise, error[equalise],
                      expected[gains][equalise]);
        }
        cr_assert(gains == EVEN ? error[0] < error[1] : 1.5 * error[1] < error[0]);
    }
    free(values);
    free_operands(&o);
    assay_context_destroy(context);
}

/* No rows: nothing is read or written [LINEARW8ROW-8]. */
Test(linear_w8row, empty)
{
    assay_context *context = new_context(1);
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q6G64, ASSAY_BF16, 1, 2, 3);
    struct assay_linear_w8row_args args = {.x = assay_tensor_2d(NULL, ASSAY_F32, 0, 3),
                                           .w = o.args.w,
                                           .y = assay_tensor_2d(NULL, ASSAY_BF16, 0, 2),
                                           .equalise = true};
    const struct assay_route *route;
    EACH_ROUTE(context, &assay_op_linear_w8row, route)
    {
        cr_assert_eq(assay_linear_w8row(context, &args), ASSAY_OK, "%s", route->name);
    }
    free_operands(&o);
    assay_context_destroy(context);
}

/* Every documented error [LINEARW8ROW-8] [LINEARW8ROW-9]. */
Test(linear_w8row, errors)
{
    enum { T = 2, N = 3, K = 72 };
    struct operands o = new_operands(ASSAY_F32, ASSAY_WEIGHT_Q5G64, ASSAY_F32, T, N, K);
    float y[T * N + 8] = {0};
    fill(&o, EVEN);
    free(o.args.y.data);
    o.args.y.data = y;
    const struct assay_linear_w8row_args good = o.args;
    struct bad_calls *calls = bad_calls_new(&assay_op_linear_w8row, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_linear_w8row_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "w.base", a.w.base.data = NULL);
    BAD(ASSAY_E_ARG, "w.high", a.w.high.data = NULL);
    BAD(ASSAY_E_ARG, "w.scales", a.w.scales.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = K - 1);
    BAD(ASSAY_E_SHAPE, "w", a.w.rows = 0);
    BAD(ASSAY_E_SHAPE, "w", a.w.columns = 0);
    BAD(ASSAY_E_SHAPE, "w", a.w.columns = ASSAY_W8ROW_COLUMNS_END);
    BAD(ASSAY_E_SHAPE, "w.base", a.w.columns = 129);
    BAD(ASSAY_E_SHAPE, "w.base", a.w.base.extent[0] = N + 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[0] = T - 1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[1] = N - 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "w", a.w.format = ASSAY_WEIGHT_BF16);
    BAD(ASSAY_E_FORMAT, "w", a.w.format = ASSAY_NUM_WEIGHT_FORMATS);
    BAD(ASSAY_E_FORMAT, "w.scales", a.w.scales.dtype = ASSAY_BF16);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_F16);
    BAD(ASSAY_E_ARG, "w.high", a.w.format = ASSAY_WEIGHT_Q4G64);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w.base", a.w.base.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "w.scales", a.w.scales.stride[0] = -1);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[0] = N - 1);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.w.base.data = y + 2);
    BAD(ASSAY_E_ALIAS, "y", a.w.scales.data = y + 2);
#undef BAD
    bad_calls_finish(calls);
    o.args.y.data = NULL;
    free_operands(&o);
}
