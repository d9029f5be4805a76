/* SPDX-License-Identifier: MIT
 *
 * A plugin whose routes have one planted fault each, as kernels have them; two are right.
 * plugin.faults says which verdict each must get.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <assay/plugin.h>

struct norm {
    const struct assay_plugin_tensor *x, *w, *y;
    int64_t rows, width;
    double eps, offset;
};

static struct norm norm_of(const struct assay_plugin_call *call)
{
    struct norm n = {.x = assay_plugin_tensor(call, "x"),
                     .w = assay_plugin_tensor(call, "w"),
                     .y = assay_plugin_tensor(call, "y"),
                     .eps = assay_plugin_real(call, "eps"),
                     .offset = (double)assay_plugin_integer(call, "unit_offset")};
    n.rows = assay_plugin_rows(n.x);
    n.width = assay_plugin_width(n.x);
    return n;
}

static double square_sum(const struct norm *n, const void *row, int64_t first, int64_t last)
{
    double sum = 0;
    for (int64_t i = first; i < last; i++) {
        double value = assay_plugin_load(row, n->x->format, i);
        sum += value * value;
    }
    return sum;
}

static float result(const struct norm *n, const void *row, int64_t i, double sum)
{
    double gain = n->offset + assay_plugin_load(n->w->data, n->w->format, i);
    double scale = 1 / sqrt(sum / (double)n->width + n->eps);
    return (float)(assay_plugin_load(row, n->x->format, i) * scale * gain);
}

/* Rows [0, count) x columns [0, columns) of y. */
static void finish_row(const struct norm *n, int64_t row, int64_t columns, double sum)
{
    const void *from = assay_plugin_row(n->x, row);
    void *to = assay_plugin_row(n->y, row);
    for (int64_t i = 0; i < columns; i++)
        assay_plugin_store(to, n->y->format, i, result(n, from, i, sum));
}

static int run_good(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    for (int64_t r = 0; r < n.rows; r++)
        finish_row(&n, r, n.width, square_sum(&n, assay_plugin_row(n.x, r), 0, n.width));
    return 0;
}

/* Wrong tail: columns behind the last full eight stay as they are. */
static int run_tail(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    for (int64_t r = 0; r < n.rows; r++)
        finish_row(&n, r, n.width / 8 * 8, square_sum(&n, assay_plugin_row(n.x, r), 0, n.width));
    return 0;
}

/* Missing sync: the other half of the row's sum comes from a thread that is waited for too late. */
struct half {
    const struct norm *n;
    const void *row;
    double *sum;
};

static void *upper_half(void *argument)
{
    struct half *h = argument;
    usleep(1000);
    *h->sum = square_sum(h->n, h->row, h->n->width / 2, h->n->width);
    return NULL;
}

static uint64_t sync_bytes(const struct assay_plugin_call *call)
{
    (void)call;
    return sizeof(double);
}

static int run_sync(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    for (int64_t r = 0; r < n.rows; r++) {
        pthread_t thread;
        struct half half = {&n, assay_plugin_row(n.x, r), call->workspace};
        if (pthread_create(&thread, NULL, upper_half, &half) != 0)
            return assay_plugin_fail(call, "no thread");
        double lower = square_sum(&n, half.row, 0, n.width / 2);
        finish_row(&n, r, n.width, lower + *(volatile double *)half.sum);
        pthread_join(thread, NULL);
    }
    return 0;
}

/* Uninitialised output: adds to y what it should store. */
static int run_uninitialised(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    for (int64_t r = 0; r < n.rows; r++) {
        const void *from = assay_plugin_row(n.x, r);
        void *to = assay_plugin_row(n.y, r);
        double sum = square_sum(&n, from, 0, n.width);
        for (int64_t i = 0; i < n.width; i++) {
            float before = assay_plugin_load(to, n.y->format, i);
            assay_plugin_store(to, n.y->format, i, before + result(&n, from, i, sum));
        }
    }
    return 0;
}

/* Alias: scales into y, then sums the squares of x, which y may be. */
static int run_alias(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    for (int64_t r = 0; r < n.rows; r++) {
        const void *from = assay_plugin_row(n.x, r);
        double sum = square_sum(&n, from, 0, n.width);
        finish_row(&n, r, n.width > 1 ? 1 : 0, sum);
        if (n.width > 1)
            sum = square_sum(&n, from, 0, n.width);
        void *to = assay_plugin_row(n.y, r);
        for (int64_t i = n.width > 1 ? 1 : 0; i < n.width; i++)
            assay_plugin_store(to, n.y->format, i, result(&n, from, i, sum));
    }
    return 0;
}

static int run_crash(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    if (n.width > 256)
        raise(SIGSEGV); /* what a wild address does; sanitizers would make another end of one */
    return run_good(call);
}

static int run_exit(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    if (n.rows == 17) {
        fprintf(stderr, "cannot go on\n");
        exit(0);
    }
    return run_good(call);
}

static int run_hang(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    for (volatile int i = 0; n.rows == 17; i++)
        continue;
    return run_good(call);
}

/* Output without end, which must neither fill memory nor keep the clock from running out. */
static int run_prints(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    while (n.rows == 17)
        puts("and another line of output that nobody asked for, and another, and another");
    return run_good(call);
}

/* Writes into whatever is open. */
static int run_scribbles(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    static const char text[64] = "not what anybody expects";
    for (int file = 3; n.rows == 17 && file < 64; file++)
        if (write(file, text, sizeof text) < 0)
            continue;
    return run_good(call);
}

static int run_guard(const struct assay_plugin_call *call)
{
    struct norm n = norm_of(call);
    run_good(call);
    for (int64_t r = 0; r < n.rows; r++)
        assay_plugin_store(assay_plugin_row(n.y, r), n.y->format, n.width, 0);
    return 0;
}

static int run_workspace(const struct assay_plugin_call *call)
{
    ((char *)call->workspace)[call->workspace_bytes] = 0;
    return run_good(call);
}

static int run_fails(const struct assay_plugin_call *call)
{
    return assay_plugin_fail(call, "this kernel is not for you");
}

static int refuse(const struct assay_plugin_call *call)
{
    (void)call;
    return 0;
}

/* ---- linear_grouped, q8g32 only ------------------------------------------------------------- */

static double half_value(uint16_t word)
{
    int exponent = word >> 10 & 31;
    double mantissa = word & 1023;
    double value = exponent == 31  ? (mantissa > 0 ? NAN : INFINITY)
                   : exponent == 0 ? ldexp(mantissa, -24)
                                   : ldexp(1024 + mantissa, exponent - 25);
    return (word & 0x8000) != 0 ? -value : value;
}

static int takes_q8(const struct assay_plugin_call *call)
{
    return assay_plugin_integer(call, "w.format") == ASSAY_PLUGIN_WEIGHT_Q8G32;
}

static int product(const struct assay_plugin_call *call, int64_t group)
{
    const struct assay_plugin_tensor *x = assay_plugin_tensor(call, "x");
    const struct assay_plugin_tensor *codes = assay_plugin_tensor(call, "w.base");
    const struct assay_plugin_tensor *scales = assay_plugin_tensor(call, "w.scales");
    const struct assay_plugin_tensor *residual = assay_plugin_tensor(call, "residual");
    const struct assay_plugin_tensor *y = assay_plugin_tensor(call, "y");
    int64_t columns = assay_plugin_integer(call, "w.columns");
    for (int64_t t = 0; t < x->extent[0]; t++) {
        for (int64_t n = 0; n < y->extent[1]; n++) {
            const int8_t *code = assay_plugin_row(codes, n);
            const uint16_t *scale = assay_plugin_row(scales, n);
            double sum = 0, factor = 0;
            for (int64_t k = 0; k < columns; k++) {
                if (k % group == 0)
                    factor = half_value(scale[k / group]);
                sum += assay_plugin_load(assay_plugin_row(x, t), x->format, k) * (code[k] * factor);
            }
            if (residual != NULL)
                sum += assay_plugin_load(assay_plugin_row(residual, t), residual->format, n);
            assay_plugin_store(assay_plugin_row(y, t), y->format, n, (float)sum);
        }
    }
    return 0;
}

static int run_grouped(const struct assay_plugin_call *call)
{
    return product(call, 32);
}

/* Wrong scale group: q8g32 has a scale for each 32 columns, not 64. */
static int run_group(const struct assay_plugin_call *call)
{
    return product(call, 64);
}

/* ---- the table ------------------------------------------------------------------------------ */

#define ROUTE(op, short_name, ...)                               \
    static const struct assay_plugin_route op##_##short_name = { \
        .size = sizeof(struct assay_plugin_route),               \
        .name = #op "." #short_name,                             \
        .profile = "f32",                                        \
        .backend = "cpu",                                        \
        __VA_ARGS__}

ROUTE(rmsnorm, good, .run = run_good);
ROUTE(rmsnorm, tail, .run = run_tail);
ROUTE(rmsnorm, sync, .run = run_sync, .workspace_bytes = sync_bytes);
ROUTE(rmsnorm, uninitialised, .run = run_uninitialised);
ROUTE(rmsnorm, alias, .run = run_alias);
ROUTE(rmsnorm, crash, .run = run_crash);
ROUTE(rmsnorm, exit, .run = run_exit);
ROUTE(rmsnorm, hang, .run = run_hang);
ROUTE(rmsnorm, prints, .run = run_prints);
ROUTE(rmsnorm, scribbles, .run = run_scribbles);
ROUTE(rmsnorm, guard, .run = run_guard);
ROUTE(rmsnorm, workspace, .run = run_workspace, .workspace_bytes = sync_bytes);
ROUTE(rmsnorm, fails, .run = run_fails);
ROUTE(rmsnorm, refuses, .run = run_good, .accepts = refuse);
ROUTE(linear_grouped, good, .run = run_grouped, .accepts = takes_q8, .when = "q8g32");
ROUTE(linear_grouped, group, .run = run_group, .accepts = takes_q8, .when = "q8g32");

static const struct assay_plugin_route *const routes[] = {
    &rmsnorm_good,   &rmsnorm_tail,      &rmsnorm_sync,        &rmsnorm_uninitialised,
    &rmsnorm_alias,  &rmsnorm_crash,     &rmsnorm_exit,        &rmsnorm_hang,
    &rmsnorm_prints, &rmsnorm_scribbles, &rmsnorm_guard,       &rmsnorm_workspace,
    &rmsnorm_fails,  &rmsnorm_refuses,   &linear_grouped_good, &linear_grouped_group};

static const struct assay_plugin plugin = {.size = sizeof plugin,
                                           .version = ASSAY_PLUGIN_VERSION,
                                           .num_routes = sizeof routes / sizeof routes[0],
                                           .routes = routes};

ASSAY_PLUGIN_EXPORT const struct assay_plugin *assay_plugin_v1(void)
{
    return &plugin;
}
