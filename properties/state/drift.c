/* SPDX-License-Identifier: MIT
 *
 * The drift run: inputs, two states side by side, and the recursion of the bound.
 */
#include "drift.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/device.h>

#include "philox.h"
#include "words.h"
#include <assay/ops/gdn_recurrent.h>

/* The models' key dimension, which sets how long a rounding survives; fewer values and heads, which
 * only average. */
enum { KEY_HEADS = 2, HEADS = 4, KEY_DIM = 128, VALUE_DIM = 16, MAX_WIDTH = 16 };
enum { CELLS = KEY_DIM * VALUE_DIM };

/* What the op reads and writes. */
struct drift_data {
    float q[MAX_WIDTH][KEY_HEADS][KEY_DIM], k[MAX_WIDTH][KEY_HEADS][KEY_DIM];
    float v[MAX_WIDTH][HEADS][VALUE_DIM], o[MAX_WIDTH][HEADS][VALUE_DIM];
    float g[MAX_WIDTH][HEADS], beta[MAX_WIDTH][HEADS];
    float state32[HEADS][CELLS];
    uint16_t state16[HEADS][CELLS];
};

struct drift {
    assay_context *context;
    uint64_t seed;
    const char *route;
    struct drift_data data;
    struct drift_data *live; /* a buffer of the context, which takes turns with data */
    double limit[HEADS];     /* e of drift.h: bound on the norm of the difference */
};

static double uniform(const struct drift *d, const char *stream, int64_t i)
{
    return (double)(philox_u64(d->seed, stream, (uint64_t)i) >> 11) * 0x1p-53;
}

/* The sum of four uniforms, centred, at unit variance. */
static double bell(const struct drift *d, const char *stream, int64_t i)
{
    double sum = -2;
    for (int64_t n = 0; n < 4; n++)
        sum += uniform(d, stream, 4 * i + n);
    return sum * sqrt(3);
}

static void unit_vector(const struct drift *d, const char *stream, int64_t row, float *x)
{
    double squares = 0, draw[KEY_DIM];
    for (int64_t i = 0; i < KEY_DIM; i++) {
        draw[i] = bell(d, stream, row * KEY_DIM + i);
        squares += draw[i] * draw[i];
    }
    for (int64_t i = 0; i < KEY_DIM; i++)
        x[i] = (float)(draw[i] / sqrt(squares));
}

static void draw_token(struct drift *d, int64_t t, int64_t slot)
{
    for (int64_t h = 0; h < KEY_HEADS; h++) {
        unit_vector(d, "q", t * KEY_HEADS + h, d->data.q[slot][h]);
        unit_vector(d, "k", t * KEY_HEADS + h, d->data.k[slot][h]);
    }
    for (int64_t h = 0; h < HEADS; h++) {
        int64_t row = t * HEADS + h;
        double rate = pow(16, (double)h / (HEADS - 1));       /* A in [1, 16] */
        double step = 1e-3 * pow(100, uniform(d, "dt", row)); /* [0.001, 0.1] */
        d->data.g[slot][h] = (float)(-rate * step);
        d->data.beta[slot][h] = (float)(1 / (1 + exp(-bell(d, "beta", row))));
        for (int64_t n = 0; n < VALUE_DIM; n++)
            d->data.v[slot][h][n] = (float)bell(d, "v", row * VALUE_DIM + n);
    }
}

/* Tokens [first, first + count) of the drawn ones. */
static assay_status call(struct drift *d, int64_t first, int64_t count, enum assay_dtype format)
{
    struct drift_data *live = d->live;
    void *state = format == ASSAY_F16 ? (void *)live->state16 : (void *)live->state32;
    struct assay_gdn_recurrent_args args = {
        .q = assay_tensor_3d(live->q[first], ASSAY_F32, count, KEY_HEADS, KEY_DIM),
        .k = assay_tensor_3d(live->k[first], ASSAY_F32, count, KEY_HEADS, KEY_DIM),
        .v = assay_tensor_3d(live->v[first], ASSAY_F32, count, HEADS, VALUE_DIM),
        .g = assay_tensor_2d(live->g[first], ASSAY_F32, count, HEADS),
        .beta = assay_tensor_2d(live->beta[first], ASSAY_F32, count, HEADS),
        .state = assay_tensor_3d(state, format, HEADS, KEY_DIM, VALUE_DIM),
        .o = assay_tensor_3d(live->o[first], ASSAY_F32, count, HEADS, VALUE_DIM),
        .scale = 1 / sqrt(KEY_DIM),
    };
    assay_status status = assay_buffer_write(d->context, live, &d->data, sizeof d->data);
    if (status == ASSAY_OK)
        status = assay_gdn_recurrent(d->context, &args);
    if (status == ASSAY_OK)
        status = assay_buffer_read(d->context, &d->data, live, sizeof d->data);
    return status;
}

static double norm(const float *x, int64_t n)
{
    double squares = 0;
    for (int64_t i = 0; i < n; i++)
        squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

/* One token of the bound's recursion; `before` is the norm of the fp32 state before it. */
static void advance_limit(struct drift *d, int64_t slot, int64_t h, double before)
{
    double alpha = exp((double)d->data.g[slot][h]), beta = fabs((double)d->data.beta[slot][h]);
    double k = norm(d->data.k[slot][h / (HEADS / KEY_HEADS)], KEY_DIM);
    double growth = fmax(1, fabs(1 - beta * k * k));
    double magnitudes = alpha * before + beta * norm(d->data.v[slot][h], VALUE_DIM);
    double carried = growth * alpha * d->limit[h];
    double arithmetic = 2 * (KEY_DIM + 8) * 0x1p-24 * (magnitudes + carried);
    /* Half an ulp of x + y is at most half an ulp of x plus 2^-11 |y|: the element's own share y of
     * the error so far need not be known, only its norm. */
    double squares = 0;
    for (int64_t i = 0; i < CELLS; i++) {
        double half = oracle_half_ulp(fabs((double)d->data.state32[h][i]), ASSAY_F16);
        squares += half * half;
    }
    d->limit[h] = (carried + arithmetic) * (1 + 0x1p-11) + sqrt(squares);
}

static assay_status step32(struct drift *d, int64_t slot)
{
    double before[HEADS];
    for (int64_t h = 0; h < HEADS; h++)
        before[h] = norm(d->data.state32[h], CELLS);
    assay_status status = call(d, slot, 1, ASSAY_F32);
    for (int64_t h = 0; h < HEADS; h++)
        advance_limit(d, slot, h, before[h]);
    return status;
}

/* Relative error of the worst head and its relative bound; *ratio: the largest error / bound. */
static double measure(const struct drift *d, double *bound, double *ratio)
{
    double worst = -1;
    for (int64_t h = 0; h < HEADS; h++) {
        double squares = 0, size = norm(d->data.state32[h], CELLS);
        for (int64_t i = 0; i < CELLS; i++) {
            double off = oracle_f16_value(d->data.state16[h][i]) - (double)d->data.state32[h][i];
            squares += off * off;
        }
        double error = sqrt(squares);
        double relative = size > 0 ? error / size : error > 0 ? INFINITY : 0;
        *ratio = fmax(*ratio, error / d->limit[h]);
        if (isnan(relative) || relative > worst) {
            worst = isnan(relative) ? INFINITY : relative;
            *bound = size > 0 ? d->limit[h] / size : 0;
        }
    }
    return worst;
}

static void fail(struct drift_result *r, const char *format, double value, double limit)
{
    if (r->pass) /* the first reason stays */
        snprintf(r->reason, sizeof r->reason, format, value, limit);
    r->pass = false;
}

static void judge(struct drift_result *r)
{
    r->pass = true;
    if (r->state16_calls == 0)
        fail(r, "no fp16 route ran (%.0f calls, at least %.0f)", 0, 1);
    if (!(r->worst <= DRIFT_WORST))
        fail(r, "worst relative state error %.4g, allowed %.4g", r->worst, DRIFT_WORST);
    if (!(r->worst_ratio <= 1))
        fail(r, "error is %.3g times the bound of the run's own decays (at most %.0f)",
             r->worst_ratio, 1);
    double growth = r->quarter_mean[3] / r->quarter_mean[1];
    if (r->steps >= 1024 && !(growth <= DRIFT_GROWTH))
        fail(r, "the error grows: last quarter %.3g times the second, allowed %.3g", growth,
             DRIFT_GROWTH);
}

static void note_route(const struct drift *d, struct drift_result *r, const uint64_t *before)
{
    for (int i = 0; i < assay_op_num_routes(&assay_op_gdn_recurrent); i++) {
        const char *name = assay_op_route(&assay_op_gdn_recurrent, i)->name;
        bool measured =
            d->route != NULL ? strcmp(name, d->route) == 0 : strstr(name, ".state16.") != NULL;
        uint64_t calls = assay_context_route_count(d->context, name) - before[i];
        if (!measured || calls == 0)
            continue;
        r->state16_calls += calls;
        snprintf(r->route16, sizeof r->route16, "%s", name);
    }
}

static assay_status run(struct drift *d, int64_t width, struct drift_result *r)
{
    int64_t done = 0, quarter_calls[4] = {0};
    while (done < r->steps) {
        int64_t count = r->steps - done < width ? r->steps - done : width;
        for (int64_t i = 0; i < count; i++)
            draw_token(d, done + i, i);
        assay_status status = assay_context_force_route(d->context, d->route);
        if (status == ASSAY_OK)
            status = call(d, 0, count, ASSAY_F16);
        assay_status removed = assay_context_force_route(d->context, NULL);
        for (int64_t i = 0; i < count && status == ASSAY_OK; i++)
            status = step32(d, i);
        if (status != ASSAY_OK || removed != ASSAY_OK)
            return status != ASSAY_OK ? status : removed;
        double bound = 0, error = measure(d, &bound, &r->worst_ratio);
        r->worst = fmax(r->worst, error);
        int64_t quarter = done * 4 / r->steps;
        quarter_calls[quarter]++;
        r->quarter_mean[quarter] +=
            (error - r->quarter_mean[quarter]) / (double)quarter_calls[quarter];
        done += count;
        if (done * DRIFT_POINTS / r->steps > r->num_points && r->num_points < DRIFT_POINTS) {
            r->step[r->num_points] = done;
            r->error[r->num_points] = error;
            r->bound[r->num_points++] = bound;
        }
    }
    return ASSAY_OK;
}

assay_status drift_run(assay_context *context, uint64_t seed, int64_t steps, int64_t width,
                       const char *route, struct drift_result *result)
{
    enum { MAX_ROUTES = 128 };
    uint64_t before[MAX_ROUTES] = {0};
    memset(result, 0, sizeof *result);
    result->steps = steps;
    if (width < 1 || width > MAX_WIDTH || steps < 1)
        return ASSAY_E_ARG;
    struct drift *d = calloc(1, sizeof *d);
    if (d == NULL)
        return ASSAY_E_MEMORY;
    *d = (struct drift){.context = context, .seed = seed, .route = route};
    for (int i = 0; i < assay_op_num_routes(&assay_op_gdn_recurrent) && i < MAX_ROUTES; i++)
        before[i] =
            assay_context_route_count(context, assay_op_route(&assay_op_gdn_recurrent, i)->name);
    void *live = NULL;
    assay_status status = assay_buffer_create(context, sizeof d->data, &live);
    d->live = live;
    if (status == ASSAY_OK)
        status = run(d, width, result);
    assay_buffer_destroy(context, live);
    if (status == ASSAY_OK) {
        note_route(d, result, before);
        judge(result);
    }
    free(d);
    return status;
}
