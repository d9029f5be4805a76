/* SPDX-License-Identifier: MIT
 *
 * Mixture of experts (F19): the router, the chosen experts of each token, the shared expert.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle_model_private.h"

/* One layer's pass; rows are tokens. */
struct mixture {
    const struct oracle_pass *pass;
    const struct oracle_layer *layer;
    const double *u;       /* [n, H] */
    double *logits;        /* [n, E] */
    double *ids, *weights; /* [n, k] */
    double *margin;        /* [n] */
    double *gate_up;       /* [n, 2 F] */
    double *down;          /* [n, H] */
    double *chosen;        /* [n, H]: weighted sum of the experts */
    double *shared_gate;   /* [n] */
};

/* The largest probability that is not taken, the first of equal ones; -1: none. */
static int64_t next_best(const double *p, int64_t experts, const double *taken, int64_t count)
{
    int64_t best = -1;
    for (int64_t e = 0; e < experts; e++) {
        bool is_free = true;
        for (int64_t i = 0; i < count; i++)
            is_free = is_free && (int64_t)taken[i] != e;
        if (is_free && (best < 0 || p[e] > p[best]))
            best = e;
    }
    return best;
}

/* Softmax over all experts, the k largest in falling order, divided by their sum. */
static void route(const struct mixture *m, int64_t t)
{
    const struct oracle_pass *pass = m->pass;
    const int64_t experts = pass->config->experts, k = pass->config->experts_per_token;
    double *p = m->logits + t * experts, *ids = m->ids + t * k, *weights = m->weights + t * k;
    double largest = -INFINITY, sum = 0, kept = 0;
    for (int64_t e = 0; e < experts; e++)
        largest = fmax(largest, p[e]);
    for (int64_t e = 0; e < experts; e++) {
        p[e] = exp(oracle_cast(pass, p[e]) - oracle_cast(pass, largest));
        sum += p[e];
    }
    for (int64_t e = 0; e < experts; e++)
        p[e] = oracle_cast(pass, p[e] / sum);
    for (int64_t i = 0; i < k; i++) {
        ids[i] = (double)next_best(p, experts, ids, i);
        weights[i] = p[(int64_t)ids[i]];
        kept += weights[i];
    }
    const int64_t next = next_best(p, experts, ids, k);
    m->margin[t] = next < 0 ? 0 : weights[k - 1] - p[next];
    for (int64_t i = 0; i < k; i++)
        if (!oracle_faulty(pass, ORACLE_FAULT_EXPERTS_UNNORMALISED))
            weights[i] = oracle_cast(pass, weights[i] / kept);
}

static void multiply(const double *x, const double *w, double *y, int64_t in, int64_t out)
{
    const struct oracle_product p = {.x = x,
                                     .w = w,
                                     .y = y,
                                     .rows = 1,
                                     .cols = out,
                                     .inner = in,
                                     .x_stride = in,
                                     .w_stride = in,
                                     .y_stride = out};
    oracle_product(&p);
}

static void token(void *data, int64_t t)
{
    const struct mixture *m = data;
    const struct oracle_config *c = m->pass->config;
    const int64_t h = c->hidden, wide = c->expert_width, k = c->experts_per_token;
    const bool swapped = oracle_faulty(m->pass, ORACLE_FAULT_EXPERT_HALVES_SWAPPED);
    double *both = m->gate_up + 2 * t * wide, *down = m->down + t * h, *sum = m->chosen + t * h;
    double *gate = swapped ? both + wide : both, *up = swapped ? both : both + wide;
    route(m, t);
    for (int64_t n = 0; n < h; n++)
        sum[n] = 0;
    for (int64_t i = 0; i < k; i++) {
        const int64_t e = (int64_t)m->ids[t * k + i];
        multiply(m->u + t * h, m->layer->experts_gate_up + e * 2 * wide * h, both, h, 2 * wide);
        for (int64_t f = 0; f < wide; f++)
            up[f] *= oracle_silu(gate[f]);
        multiply(up, m->layer->experts_down + e * h * wide, down, wide, h);
        for (int64_t n = 0; n < h; n++)
            sum[n] += m->weights[t * k + i] * down[n];
    }
}

static void report(const struct mixture *m)
{
    const struct oracle_config *c = m->pass->config;
    const int64_t n = m->pass->n;
    oracle_report(m->pass, "router_ids", m->ids, n, c->experts_per_token);
    oracle_report(m->pass, "router_weights", m->weights, n, c->experts_per_token);
    oracle_report(m->pass, "router_margin", m->margin, n, 1);
    oracle_report(m->pass, "experts_out", m->chosen, n, c->hidden);
    oracle_report(m->pass, "shared_gate", m->shared_gate, n, 1);
}

/* y holds the shared expert's output. */
static void run(struct mixture *m, double *y)
{
    const struct oracle_config *c = m->pass->config;
    const int64_t n = m->pass->n, h = c->hidden, k = c->experts_per_token;
    const bool is_ungated = oracle_faulty(m->pass, ORACLE_FAULT_SHARED_UNGATED);
    oracle_linear(m->pass, m->u, m->layer->router, m->logits, n, h, c->experts);
    oracle_report(m->pass, "router_logits", m->logits, n, c->experts);
    oracle_parallel(m->pass, n, 3 * (double)(n * k * h) * (double)c->expert_width, token, m);
    oracle_linear(m->pass, m->u, m->layer->shared_gate, m->shared_gate, n, h, 1);
    for (int64_t t = 0; t < n; t++)
        m->shared_gate[t] = is_ungated ? 1 : oracle_sigmoid(m->shared_gate[t]);
    report(m);
    for (int64_t i = 0; i < n * h; i++)
        y[i] = m->chosen[i] + m->shared_gate[i / h] * y[i];
    oracle_report(m->pass, "moe_out", y, n, h);
}

void oracle_mixture(struct oracle_pass *pass, const struct oracle_layer *layer, const double *u,
                    double *y)
{
    const struct oracle_config *c = pass->config;
    const int64_t n = pass->n, k = c->experts_per_token;
    struct mixture m = {.pass = pass, .layer = layer, .u = u};
    m.logits = oracle_pass_alloc(pass, n * c->experts);
    m.ids = oracle_pass_alloc(pass, n * k);
    m.weights = oracle_pass_alloc(pass, n * k);
    m.margin = oracle_pass_alloc(pass, n);
    m.gate_up = oracle_pass_alloc(pass, 2 * n * c->expert_width);
    m.down = oracle_pass_alloc(pass, n * c->hidden);
    m.chosen = oracle_pass_alloc(pass, n * c->hidden);
    m.shared_gate = oracle_pass_alloc(pass, n);
    if (!pass->out_of_memory)
        run(&m, y);
    free(m.logits);
    free(m.ids);
    free(m.weights);
    free(m.margin);
    free(m.gate_up);
    free(m.down);
    free(m.chosen);
    free(m.shared_gate);
}
