/* SPDX-License-Identifier: MIT
 *
 * attention in bounded binary64, from the contract [ATTENTION-1], [ATTENTION-2] and qwen3_5.md
 * (F9), (F10): a softmax of two passes over all scores of a query.
 */
#include "attention_oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

/* Attended slots of the cache, widened once. Slots at or beyond start + T are not touched. */
struct cache {
    int64_t slots;
    double *k;       /* [G, slots, D] */
    double *columns; /* [G, Dv, slots]: the values of one element side by side */
    struct ball *weight;
    double *centre, *radius; /* of the weights */
};

static void cache_free(struct cache *c)
{
    free(c->k);
    free(c->columns);
    free(c->weight);
    free(c->centre);
    free(c->radius);
}

static bool cache_load(const struct assay_attention_args *a, struct cache *c)
{
    int64_t heads = a->k_cache.extent[1], dk = a->k_cache.extent[2], dv = a->v_cache.extent[2];
    size_t slots = (size_t)(effective_start(a) + a->q.extent[0]);
    *c = (struct cache){.slots = (int64_t)slots};
    double *row = malloc((size_t)dv * sizeof *row);
    c->k = malloc((size_t)(heads * dk) * slots * sizeof *c->k);
    c->columns = malloc((size_t)(heads * dv) * slots * sizeof *c->columns);
    c->weight = malloc(slots * sizeof *c->weight);
    c->centre = malloc(slots * sizeof *c->centre);
    c->radius = malloc(slots * sizeof *c->radius);
    bool good = row != NULL && c->k != NULL && c->columns != NULL && c->weight != NULL &&
                c->centre != NULL && c->radius != NULL;
    for (int64_t g = 0; g < heads && good; g++) {
        for (int64_t j = 0; j < c->slots; j++) {
            oracle_get_row(&a->k_cache, j * heads + g, c->k + (g * c->slots + j) * dk);
            oracle_get_row(&a->v_cache, j * heads + g, row);
            for (int64_t d = 0; d < dv; d++)
                c->columns[(g * dv + d) * c->slots + j] = row[d];
        }
    }
    free(row);
    return good;
}

/* Weights of the keys [0, count) relative to the largest, and their sum. The shift may be any
 * number: it cancels. */
static struct ball weigh(const struct assay_attention_args *a, const double *q, const double *k,
                         int64_t count, struct cache *c)
{
    int64_t width = a->q.extent[2];
    double largest = -INFINITY;
    for (int64_t j = 0; j < count; j++) {
        struct ball dot = oracle_dot(q, k + j * width, width, NULL);
        c->weight[j] = ball_mul(dot, ball_exact(a->scale));
        if (c->weight[j].v > largest)
            largest = c->weight[j].v;
    }
    struct ball sum = ball_exact(0);
    for (int64_t j = 0; j < count; j++) {
        struct ball w = ball_exp(ball_sub(c->weight[j], ball_exact(largest)));
        if (w.v == 0 && w.e > 0) /* not 0, only too small: times infinity it is no NaN */
            w = ball_make(DBL_TRUE_MIN, w.e + DBL_TRUE_MIN);
        c->weight[j] = w;
        c->centre[j] = w.v;
        c->radius[j] = w.e;
        sum = ball_add(sum, c->weight[j]);
    }
    return sum;
}

/* A mean of values is no larger than the largest of them, whatever the weights. */
static double largest_of(const double *column, int64_t count)
{
    double largest = 0;
    for (int64_t j = 0; j < count; j++)
        largest = fmax(largest, fabs(column[j]));
    return largest;
}

static void attend(const struct assay_attention_args *a, int64_t row, const double *q,
                   struct cache *c, struct oracle_output *y)
{
    int64_t heads = a->q.extent[1], key_heads = a->k_cache.extent[1];
    int64_t g = row % heads / (heads / key_heads), count = effective_start(a) + row / heads + 1;
    int64_t dv = a->v_cache.extent[2];
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): cache_free releases it */
    struct ball sum = weigh(a, q, c->k + g * c->slots * a->q.extent[2], count, c);
    for (int64_t d = 0; d < dv; d++) {
        const double *column = c->columns + (g * dv + d) * c->slots;
        double moved;
        struct ball total = oracle_dot(c->centre, column, count, NULL);
        oracle_dot(c->radius, column, count, &moved);
        if (isfinite(total.v))
            total = ball_add(total, ball_make(0, moved));
        struct ball value = ball_div(total, sum);
        if (isinf(value.e)) /* scores beyond 2^53: no digit of their differences is known */
            value.e = 2 * largest_of(column, count);
        if (a->gate.data != NULL) {
            double gate = oracle_get(&a->gate, row * dv + d);
            value = ball_mul(value, ball_sigmoid(ball_exact(gate)));
        }
        y->value[row * dv + d] = value.v;
        y->own[row * dv + d] = value.e;
    }
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_attention_args *a = arguments;
    struct cache c;
    if (assay_tensor_rows(&a->q) == 0)
        return ASSAY_OK;
    double *q = malloc((size_t)a->q.extent[2] * sizeof *q);
    bool good = cache_load(a, &c) && q != NULL;
    for (int64_t row = 0; row < assay_tensor_rows(&a->q) && good; row++) {
        oracle_get_row(&a->q, row, q);
        attend(a, row, q, &c, &outputs[0]);
    }
    cache_free(&c);
    free(q);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}

static double work(const void *arguments)
{
    const struct assay_attention_args *a = arguments;
    double tokens = (double)a->q.extent[0], heads = (double)a->q.extent[1];
    double attended = tokens * ((double)effective_start(a) + (tokens + 1) / 2);
    return attended * heads * (double)(a->q.extent[2] + 2 * a->v_cache.extent[2]);
}

const struct oracle_op oracle_op_attention = {
    .name = "attention",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_attention_mpfr,
    .bound = oracle_attention_bound,
    .work = work,
};
