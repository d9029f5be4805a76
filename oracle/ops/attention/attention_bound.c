/* SPDX-License-Identifier: MIT
 *
 * attention's forward-error bound. Derivation, with the same names: attention_bound.md.
 */
#include "attention_oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds.h"
#include "real.h"
#include "words.h"

/* What a profile's arithmetic may lose. */
struct arithmetic {
    double u;    /* unit roundoff */
    double tiny; /* one underflow */
    double exp_error, sigmoid_error;
    double limit;     /* sums of magnitudes stay below it [ATTENTION-5] */
    double dot_depth; /* additions of a score */
};

/* One query head; arrays over its keys. */
struct scores {
    double *score;      /* s_j */
    double *distance;   /* Delta_j: how far the route's exponent may be from s_j - max s */
    double *low, *high; /* interval of the weight before it is divided by the sum */
    double *weight;     /* a_j */
    double *deviation;  /* da_j: how far the route's weight may be from it */
};

/* One query head; arrays over the elements of a value. */
struct sums {
    double *value;     /* sum a_j v_j */
    double *spread;    /* sum da_j |v_j - value| */
    double *magnitude; /* sum (a_j + da_j) |v_j| */
    bool *uncertain;   /* an infinite v_j whose weight may vanish */
};

enum promise { PROMISED, NOT_FINITE, NOT_PROMISED };

/* Scores and Delta. NOT_FINITE: the softmax is NaN by itself. */
static enum promise measure_scores(const struct assay_attention_args *a, const struct arithmetic *m,
                                   const double *q, const double *k, int64_t count,
                                   struct scores *s)
{
    int64_t width = a->q.extent[2];
    double scale = fabs(a->scale), top = -INFINITY, most = 0;
    for (int64_t j = 0; j < count; j++) {
        double magnitude;
        struct ball dot = oracle_dot(q, k + j * width, width, &magnitude);
        double score = dot.v * a->scale;
        if (isnan(score) || score == INFINITY)
            return NOT_FINITE;
        s->score[j] = score;
        s->distance[j] = 0;
        if (score == -INFINITY)
            continue;
        if (!(magnitude * fmax(1, scale) < m->limit))
            return NOT_PROMISED;
        double sum =
            (oracle_gamma(m->dot_depth + 1, m->u) * magnitude + (double)width * m->tiny + dot.e) *
            scale;
        double product = oracle_gamma(2, m->u) * (fabs(score) + sum) + 2 * m->tiny;
        s->distance[j] = sum + product + 4 * ORACLE_U64 * fabs(score);
        top = fmax(top, score);
        most = fmax(most, s->distance[j]);
    }
    if (top == -INFINITY)
        return NOT_FINITE;
    for (int64_t j = 0; j < count; j++) {
        s->score[j] -= top; /* exact shift invariance: only differences matter from here on */
        if (s->score[j] > -INFINITY)
            s->distance[j] += m->u * (-s->score[j] + s->distance[j] + most);
    }
    return PROMISED;
}

/* The weights' intervals; all exponents are taken relative to the largest upper end, so that
 * nothing overflows. */
static void measure_weights(const struct arithmetic *m, int64_t count, struct scores *s)
{
    double end = -INFINITY, low_sum = 0, high_sum = 0, sum = 0;
    for (int64_t j = 0; j < count; j++)
        end = fmax(end, s->score[j] + s->distance[j]);
    for (int64_t j = 0; j < count; j++) {
        s->weight[j] = exp(s->score[j]);
        s->low[j] = exp(s->score[j] - s->distance[j] - end) * (1 - m->exp_error);
        s->high[j] = exp(s->score[j] + s->distance[j] - end) * (1 + m->exp_error);
        sum += s->weight[j];
        low_sum += s->low[j];
        high_sum += s->high[j];
    }
    /* This function's own rounding: sums of `count`, and exponents (beyond -745 exp is 0). */
    double slack = (4 * (double)count + 60 + 4 * (fabs(end) + 1500)) * ORACLE_U64;
    for (int64_t j = 0; j < count; j++) {
        double a = s->weight[j] / sum;
        double others_low = fmax(low_sum - s->low[j], 0);
        double others_high = fmax(high_sum - s->high[j], 0);
        double above = s->high[j] / (s->high[j] + others_low) - a;
        double below = a - s->low[j] / (s->low[j] + others_high);
        double deviation = fmax(above, below) + slack * a + 4 * m->tiny;
        s->weight[j] = a;
        s->deviation[j] = deviation < 1 ? deviation : 1; /* also where 0 / 0 left a NaN */
        if (s->score[j] == -INFINITY)
            s->deviation[j] = 0;
    }
}

static void measure_sums(const double *v, int64_t count, int64_t width, const struct scores *s,
                         const struct arithmetic *m, struct sums *t)
{
    for (int64_t d = 0; d < width; d++) {
        t->value[d] = t->spread[d] = t->magnitude[d] = 0;
        t->uncertain[d] = false;
    }
    for (int64_t j = 0; j < count; j++) {
        bool may_vanish = s->weight[j] - s->deviation[j] <= 0x1p-126 && m->tiny > 0;
        for (int64_t d = 0; d < width; d++) {
            double x = v[j * width + d];
            t->value[d] += s->weight[j] * x;
            t->magnitude[d] += (s->weight[j] + s->deviation[j]) * fabs(x);
            t->uncertain[d] |= may_vanish && isinf(x);
        }
    }
    for (int64_t j = 0; j < count; j++)
        for (int64_t d = 0; d < width; d++)
            t->spread[d] += s->deviation[j] * fabs(v[j * width + d] - t->value[d]);
}

/* Terms of one element; gate is NAN when there is none. */
static void bound_element(const struct arithmetic *m, double depth, int64_t count,
                          const struct sums *t, int64_t d, double gate, int64_t at,
                          struct oracle_output *y)
{
    double sigmoid = isnan(gate) ? 1 : 1 / (1 + exp(-gate));
    if (!isfinite(y->value[at])) {
        bool vanishes = sigmoid < 0x1p-126 && m->tiny > 0;
        y->term[ORACLE_TERM_FUNCTIONS][at] = t->uncertain[d] || vanishes ? NAN : 0;
        return;
    }
    if (!(t->magnitude[d] < m->limit)) {
        y->term[ORACLE_TERM_ACCUMULATION][at] = NAN;
        return;
    }
    double value = fabs(t->value[d]) + t->spread[d];
    double values = oracle_gamma(depth + 1, m->u) * t->magnitude[d] + (double)count * m->tiny;
    double normaliser = oracle_gamma(depth + 3, m->u) * value;
    double functions = t->spread[d];
    if (!isnan(gate)) {
        double reach = value + values + normaliser;
        y->term[ORACLE_TERM_PRODUCTS][at] = m->u * reach * sigmoid + 2 * m->tiny;
        functions = functions * sigmoid + reach * (m->sigmoid_error * sigmoid + 2 * m->tiny);
    }
    y->term[ORACLE_TERM_ACCUMULATION][at] = (values + normaliser) * sigmoid;
    y->term[ORACLE_TERM_FUNCTIONS][at] = functions;
}

struct scratch {
    double *memory;
    bool *flags;
    double *q, *k, *v; /* k, v: attended slots of one key head */
    struct scores scores;
    struct sums sums;
};

static bool scratch_create(const struct assay_attention_args *a, struct scratch *s)
{
    size_t slots = (size_t)(a->start + a->q.extent[0]);
    size_t dk = (size_t)a->q.extent[2], dv = (size_t)a->v_cache.extent[2];
    s->memory = malloc((dk + slots * (dk + dv) + 6 * slots + 3 * dv) * sizeof *s->memory);
    s->flags = malloc(dv * sizeof *s->flags);
    if (s->memory == NULL || s->flags == NULL)
        return false;
    double *next = s->memory;
#define TAKE(field, count) (field) = next, next += (count)
    TAKE(s->q, dk);
    TAKE(s->k, slots * dk);
    TAKE(s->v, slots * dv);
    TAKE(s->scores.score, slots);
    TAKE(s->scores.distance, slots);
    TAKE(s->scores.low, slots);
    TAKE(s->scores.high, slots);
    TAKE(s->scores.weight, slots);
    TAKE(s->scores.deviation, slots);
    TAKE(s->sums.value, dv);
    TAKE(s->sums.spread, dv);
    TAKE(s->sums.magnitude, dv);
#undef TAKE
    s->sums.uncertain = s->flags;
    return true;
}

static void bound_row(const struct assay_attention_args *a, const struct oracle_route *route,
                      const struct arithmetic *m, int64_t row, struct scratch *s,
                      struct oracle_output *y)
{
    int64_t count = a->start + row / a->q.extent[1] + 1, width = a->v_cache.extent[2];
    oracle_get_row(&a->q, row, s->q);
    enum promise promise = measure_scores(a, m, s->q, s->k, count, &s->scores);
    for (int64_t d = 0; d < width && promise == NOT_PROMISED; d++)
        y->term[ORACLE_TERM_FUNCTIONS][row * width + d] = NAN;
    if (promise != PROMISED)
        return;
    measure_weights(m, count, &s->scores);
    measure_sums(s->v, count, width, &s->scores, m, &s->sums);
    double depth = (double)oracle_depth(route, count);
    for (int64_t d = 0; d < width; d++) {
        int64_t at = row * width + d;
        double gate = a->gate.data == NULL ? NAN : oracle_get(&a->gate, at);
        bound_element(m, depth, count, &s->sums, d, gate, at, y);
    }
}

void oracle_attention_bound(const void *args, const struct oracle_route *route,
                            struct oracle_output *outputs)
{
    const struct assay_attention_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t heads = a->q.extent[1], key_heads = a->k_cache.extent[1];
    struct arithmetic m = {ORACLE_U32, ORACLE_TINY32, 0x1p-22, 0x1p-21, FLT_MAX * (1 - 0x1p-10), 0};
    if (route->profile == ASSAY_PROFILE_F64)
        m = (struct arithmetic){ORACLE_U64, 0, 0x1p-50, 0x1p-49, FLT_MAX, 0};
    m.dot_depth = (double)oracle_depth(route, a->q.extent[2]);
    struct scratch s = {NULL};
    if (assay_tensor_rows(&a->q) > 0 && scratch_create(a, &s)) {
        for (int64_t g = 0; g < key_heads; g++) {
            for (int64_t j = 0; j < a->start + a->q.extent[0]; j++) {
                oracle_get_row(&a->k_cache, j * key_heads + g, s.k + j * a->q.extent[2]);
                oracle_get_row(&a->v_cache, j * key_heads + g, s.v + j * a->v_cache.extent[2]);
            }
            for (int64_t row = 0; row < assay_tensor_rows(&a->q); row++)
                if (row % heads / (heads / key_heads) == g)
                    bound_row(a, route, &m, row, &s, y);
        }
    } else {
        for (int64_t i = 0; i < y->count; i++)
            y->term[ORACLE_TERM_FUNCTIONS][i] = NAN; /* no memory, no promise: MISTRUSTED */
    }
    free(s.memory);
    free(s.flags);
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), oracle_depth(route, a->start + 1));
}
