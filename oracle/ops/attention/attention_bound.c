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
    double tiny; /* at least one underflow; far below any step of an output format */
    double exp_error, sigmoid_error;
    double limit;     /* sums of magnitudes stay below it [ATTENTION-5] */
    double dot_depth; /* additions of a score */
    /* Tensor cores: relative and absolute remainders of a split query, relative remainder of a
     * split weight, sum of the magnitudes of both parts, how far m may be above the largest score,
     * what a weight's underflow is multiplied by. */
    double query_split, query_tiny, weight_split, parts, above, unit;
};

/* One query head; arrays over its keys. */
struct scores {
    double *score;     /* s_j - max s */
    double *distance;  /* Delta_j: how far the route's exponent may be from s_j - max s */
    double *weight;    /* a_j */
    double *deviation; /* da_j: how far the route's weight may be from it */
};

/* One query head; arrays over the elements of a value. */
struct sums {
    double *value;     /* sum a_j v_j */
    double *spread;    /* sum da_j |v_j - value| */
    double *magnitude; /* sum (a_j + da_j) |v_j| */
    double *absolute;  /* sum |v_j| */
};

enum promise { PROMISED, NOT_FINITE, NOT_PROMISED };

/* What a split query loses in one score. */
static double split_loss(const struct arithmetic *m, const double *k, int64_t width,
                         double magnitude)
{
    double sum = 0;
    for (int64_t d = 0; d < width && m->query_tiny > 0; d++)
        sum += fabs(k[d]);
    return 1.001 * (m->query_split * magnitude + m->query_tiny * sum);
}

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
        double sum = (oracle_gamma(m->dot_depth + 1, m->u) * magnitude * m->parts +
                      fmax((double)width, m->dot_depth) * m->tiny + dot.e +
                      split_loss(m, k + j * width, width, magnitude)) *
                     scale;
        double product = oracle_gamma(2, m->u) * (fabs(score) + sum) + 2 * m->tiny;
        s->distance[j] = sum + product;
        top = fmax(top, score);
        most = fmax(most, s->distance[j]);
    }
    if (top == -INFINITY)
        return NOT_FINITE;
    for (int64_t j = 0; j < count; j++) {
        double size = fabs(s->score[j]) + fabs(top);
        s->score[j] -= top; /* exact shift invariance: only differences matter from here on */
        if (s->score[j] == -INFINITY)
            continue;
        s->distance[j] +=
            m->u * (-s->score[j] + s->distance[j] + most + m->above) + 1.001 * m->exp_error;
        /* the scores' own rounding here, and that of the sums of score and distance */
        s->distance[j] += 8 * ORACLE_U64 * (size + s->distance[j]);
    }
    return PROMISED;
}

/* log sum exp of x_j + sign Delta_j, over all keys and over all but the largest. */
struct log_sum {
    double sign;
    int64_t top;
    double largest, all, rest; /* all: sum relative to exp(largest); rest: a logarithm */
};

static double end_of(const struct scores *s, double sign, int64_t j)
{
    return s->score[j] + sign * s->distance[j];
}

static struct log_sum log_sum(const struct scores *s, int64_t count, double sign)
{
    struct log_sum l = {.sign = sign, .largest = -INFINITY, .rest = -INFINITY};
    double second = -INFINITY, rest = 0;
    for (int64_t j = 0; j < count; j++) {
        double end = end_of(s, sign, j);
        if (end > l.largest) {
            second = l.largest;
            l.largest = end;
            l.top = j;
        } else {
            second = fmax(second, end);
        }
    }
    for (int64_t j = 0; j < count; j++) {
        l.all += exp(end_of(s, sign, j) - l.largest);
        if (j != l.top && second > -INFINITY)
            rest += exp(end_of(s, sign, j) - second);
    }
    if (second > -INFINITY)
        l.rest = second + log(rest);
    return l;
}

/* The same without key j. What is left of `all` is at least 1: the largest. */
static double log_sum_without(const struct log_sum *l, const struct scores *s, int64_t j)
{
    if (j == l->top)
        return l->rest;
    return l->largest + log(fmax(l->all - exp(end_of(s, l->sign, j) - l->largest), 1));
}

/* Largest and smallest quotient w_j / sum w, each w anywhere in its interval. Logarithms
 * throughout: nothing overflows, and a far smaller key leaves the largest its weight of 1. */
static void measure_weights(const struct arithmetic *m, int64_t count, struct scores *s)
{
    struct log_sum upper = log_sum(s, count, 1), lower = log_sum(s, count, -1);
    double sum = 0, slack = (4 * (double)count + 60) * ORACLE_U64; /* this function's roundings */
    for (int64_t j = 0; j < count; j++)
        sum += exp(s->score[j]);
    for (int64_t j = 0; j < count; j++) {
        double a = exp(s->score[j]) / sum;
        double high = 1 / (1 + exp(log_sum_without(&lower, s, j) - end_of(s, 1, j)));
        double low = 1 / (1 + exp(log_sum_without(&upper, s, j) - end_of(s, -1, j)));
        s->weight[j] = a;
        s->deviation[j] = fmin(fmax(high - a, a - low), 1) + slack * a + 4 * m->tiny * m->unit;
        if (s->score[j] == -INFINITY)
            s->deviation[j] = 0;
    }
}

static void measure_sums(const double *v, int64_t count, int64_t width, const struct scores *s,
                         struct sums *t)
{
    for (int64_t d = 0; d < width; d++) {
        t->value[d] = t->spread[d] = t->magnitude[d] = t->absolute[d] = 0;
    }
    for (int64_t j = 0; j < count; j++) {
        for (int64_t d = 0; d < width; d++) {
            double x = v[j * width + d];
            t->value[d] += s->weight[j] * x;
            t->magnitude[d] += (s->weight[j] + s->deviation[j]) * fabs(x);
            t->absolute[d] += fabs(x);
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
    if (!isfinite(y->value[at]))
        return; /* compared by its pattern */
    if (!(t->magnitude[d] < m->limit)) {
        y->term[ORACLE_TERM_ACCUMULATION][at] = NAN;
        return;
    }
    double value = fabs(t->value[d]) + t->spread[d];
    double values = oracle_gamma(depth + 1, m->u) * t->magnitude[d] * m->parts +
                    fmax((double)count, m->weight_split > 0 ? depth : 0) * m->tiny * m->unit;
    double input =
        m->weight_split > 0
            ? 1.001 * (m->weight_split * t->magnitude[d] + 0x1p-134 * m->unit * t->absolute[d])
            : 0;
    double normaliser = oracle_gamma(depth + 3, m->u) * value;
    double functions = t->spread[d];
    y->term[ORACLE_TERM_INPUT][at] = input * sigmoid;
    if (!isnan(gate)) {
        double reach = value + values + input + normaliser;
        y->term[ORACLE_TERM_PRODUCTS][at] = m->u * reach * sigmoid + 2 * m->tiny;
        functions = functions * sigmoid + reach * (m->sigmoid_error * sigmoid + 2 * m->tiny);
    }
    y->term[ORACLE_TERM_ACCUMULATION][at] = (values + normaliser) * sigmoid;
    y->term[ORACLE_TERM_FUNCTIONS][at] = functions;
}

struct scratch {
    double *memory;
    double *q, *k, *v; /* k, v: attended slots of one key head */
    struct scores scores;
    struct sums sums;
};

static bool scratch_create(const struct assay_attention_args *a, struct scratch *s)
{
    size_t slots = (size_t)(effective_start(a) + a->q.extent[0]);
    size_t dk = (size_t)a->q.extent[2], dv = (size_t)a->v_cache.extent[2];
    s->memory = malloc((dk + slots * (dk + dv) + 4 * slots + 4 * dv) * sizeof *s->memory);
    if (s->memory == NULL)
        return false;
    double *next = s->memory;
#define TAKE(field, count) (field) = next, next += (count)
    TAKE(s->q, dk);
    TAKE(s->k, slots * dk);
    TAKE(s->v, slots * dv);
    TAKE(s->scores.score, slots);
    TAKE(s->scores.distance, slots);
    TAKE(s->scores.weight, slots);
    TAKE(s->scores.deviation, slots);
    TAKE(s->sums.value, dv);
    TAKE(s->sums.spread, dv);
    TAKE(s->sums.magnitude, dv);
    TAKE(s->sums.absolute, dv);
#undef TAKE
    return true;
}

/* What a weight's underflow counts: the largest weight before the division is at least the
 * inverse. Sums that overflow are taken again with weights 2^-24 times as large. */
static double weight_unit(const struct arithmetic *m, const double *v, int64_t count, int64_t width)
{
    double largest = 0;
    for (int64_t i = 0; i < count * width && m->weight_split > 0; i++)
        largest = isfinite(v[i]) ? fmax(largest, fabs(v[i])) : largest;
    if (m->weight_split == 0)
        return 1;
    return largest * (double)count * m->parts < m->limit ? 0x1p2 : 0x1p26;
}

static void bound_row(const struct assay_attention_args *a, const struct oracle_route *route,
                      struct arithmetic *m, int64_t row, struct scratch *s, struct oracle_output *y)
{
    int64_t count = effective_start(a) + row / a->q.extent[1] + 1, width = a->v_cache.extent[2];
    m->unit = weight_unit(m, s->v, count, width);
    oracle_get_row(&a->q, row, s->q);
    enum promise promise = measure_scores(a, m, s->q, s->k, count, &s->scores);
    for (int64_t d = 0; d < width && promise == NOT_PROMISED; d++)
        y->term[ORACLE_TERM_FUNCTIONS][row * width + d] = NAN;
    if (promise != PROMISED)
        return;
    measure_weights(m, count, &s->scores);
    measure_sums(s->v, count, width, &s->scores, &s->sums);
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
    struct arithmetic m = {.u = ORACLE_U32,
                           .tiny = ORACLE_TINY32,
                           .exp_error = 0x1p-22,
                           .sigmoid_error = 0x1p-21,
                           .limit = FLT_MAX * (1 - 0x1p-10),
                           .parts = 1};
    if (route->profile == ASSAY_PROFILE_F64) {
        m.u = ORACLE_U64;
        m.tiny = 0x1p-1000;
        m.exp_error = 0x1p-50;
        m.sigmoid_error = 0x1p-49;
    }
    bool uses_tensor_cores = route->profile == ASSAY_PROFILE_A16X2;
    if (uses_tensor_cores) {
        bool is_split = a->q.dtype == ASSAY_F32;
        m.query_split = is_split ? 0x1p-17 : 0;
        m.query_tiny = is_split ? 0x1p-134 : 0;
        m.weight_split = 0x1p-17;
        m.parts = 1 + 0x1p-6;
        m.above = 1.4;
        m.limit = FLT_MAX * (1 - 0x1p-5);
    }
    m.dot_depth = (double)oracle_depth(route, a->q.extent[2]);
    struct scratch s = {.memory = NULL};
    if (assay_tensor_rows(&a->q) > 0 && scratch_create(a, &s)) {
        for (int64_t g = 0; g < key_heads; g++) {
            for (int64_t j = 0; j < effective_start(a) + a->q.extent[0]; j++) {
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
    oracle_bound_output_rounding(y);
    int64_t chain = oracle_depth(route, effective_start(a) + 1);
    oracle_bound_rms(y, oracle_inputs_independent(), uses_tensor_cores ? 0 : chain);
}
