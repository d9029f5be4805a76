/* SPDX-License-Identifier: MIT
 *
 * Gated DeltaNet layer, (F11)-(F16), token by token (the recurrence (F15), not its chunked form).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decode/words.h"
#include "oracle_model_private.h"

#define L2_EPS 1e-6 /* (F3): a constant of the architecture, not rms_norm_eps */

/* Rows are tokens. */
struct gdn {
    struct oracle_pass *pass;
    const struct oracle_layer *layer;
    struct oracle_gdn_state *state;
    double *padded; /* [Kc-1 + n, Cc]: history, then the raw projections of this call */
    double *conv;   /* [n, Cc]: q | k | v after convolution and SiLU */
    double *q, *k;  /* [n, Hk, dk]: l2-normalised */
    double *z;      /* [n, Hv, dv] */
    double *b, *a;  /* [n, Hv]: raw, then beta and g */
    double *core;   /* [n, Hv, dv] */
    double *line;   /* [Hv, 2 dv + dk]: scratch of one head's step */
};

/* (F12): the last tap meets the present token. */
static void convolve(const struct gdn *l)
{
    const struct oracle_config *c = l->pass->config;
    int64_t channels = oracle_conv_channels(c);
    bool reversed = oracle_faulty(l->pass, ORACLE_FAULT_CONV_REVERSED);
    for (int64_t t = 0; t < l->pass->n; t++)
        for (int64_t ch = 0; ch < channels; ch++) {
            double sum = 0;
            for (int64_t j = 0; j < c->taps; j++) {
                int64_t tap = reversed ? c->taps - 1 - j : j;
                sum += l->layer->conv[ch * c->taps + tap] * l->padded[(t + j) * channels + ch];
            }
            l->conv[t * channels + ch] = oracle_silu(sum);
        }
}

static void report_conv_state(const struct gdn *l)
{
    struct oracle_pass *pass = l->pass;
    int64_t channels = oracle_conv_channels(pass->config), kept = pass->config->taps - 1;
    double *turned = pass->observe != NULL ? oracle_pass_alloc(pass, channels * kept) : NULL;
    if (turned == NULL)
        return;
    for (int64_t ch = 0; ch < channels; ch++)
        for (int64_t j = 0; j < kept; j++)
            turned[ch * kept + j] = l->state->conv[j * channels + ch];
    oracle_report(pass, "conv_state", turned, channels, kept);
    free(turned);
}

/* (F3) of `heads` heads that begin at column `at` of the convolution's output. */
static void l2_normalise(const struct gdn *l, int64_t at, double *y)
{
    const struct oracle_pass *pass = l->pass;
    const struct oracle_config *c = pass->config;
    int64_t channels = oracle_conv_channels(c), dk = c->key_dim;
    bool outside = oracle_faulty(pass, ORACLE_FAULT_L2_EPS_OUTSIDE);
    for (int64_t row = 0; row < pass->n * c->key_heads; row++, y += dk) {
        const double *x = l->conv + row / c->key_heads * channels + at + row % c->key_heads * dk;
        double sum = 0;
        for (int64_t i = 0; i < dk; i++) {
            double value = oracle_cast(pass, x[i]);
            sum += oracle_cast(pass, value * value);
        }
        sum = oracle_cast(pass, oracle_cast(pass, sum) + oracle_cast(pass, L2_EPS));
        double inverse = oracle_cast(pass, 1 / sqrt(sum));
        if (outside)
            inverse = 1 / fmax(sqrt(sum - L2_EPS), L2_EPS);
        for (int64_t i = 0; i < dk; i++)
            y[i] = oracle_cast(pass, oracle_cast(pass, x[i]) * inverse);
    }
}

/* (F13), in place: b -> beta, a -> g. */
static void gates(const struct gdn *l)
{
    const struct oracle_pass *pass = l->pass;
    int64_t heads = pass->config->value_heads;
    for (int64_t i = 0; i < pass->n * heads; i++) {
        double rate = oracle_cast(pass, exp(oracle_cast(pass, l->layer->a_log[i % heads])));
        double raw = oracle_cast(pass, l->a[i]) + l->layer->dt_bias[i % heads];
        l->b[i] = oracle_sigmoid(l->b[i]);
        l->a[i] = -rate * oracle_softplus(raw);
    }
}

/* The step in plain loops, with the library's casts and the planted faults. */
static void plain_step(const struct oracle_pass *pass, const struct oracle_delta_step *s)
{
    bool late = oracle_faulty(pass, ORACLE_FAULT_DECAY_AFTER_DELTA);
    int64_t dv = s->value_dim;
    for (int64_t i = 0; !late && i < s->key_dim * dv; i++)
        s->state[i] = oracle_cast(pass, s->state[i] * s->alpha);
    memset(s->d, 0, (size_t)dv * sizeof *s->d);
    memset(s->o, 0, (size_t)dv * sizeof *s->o);
    for (int64_t i = 0; i < s->key_dim; i++)
        for (int64_t j = 0; j < dv; j++)
            s->d[j] += s->state[i * dv + j] * s->k[i];
    for (int64_t j = 0; j < dv; j++) {
        double error = oracle_cast(pass, s->v[j] - oracle_cast(pass, s->d[j]));
        s->d[j] = oracle_cast(pass, s->beta * error);
    }
    for (int64_t i = 0; i < s->key_dim; i++)
        for (int64_t j = 0; j < dv; j++) {
            double *cell = &s->state[i * dv + j];
            *cell = oracle_cast(pass, *cell + oracle_cast(pass, s->k[i] * s->d[j]));
            if (late)
                *cell *= s->alpha;
            s->o[j] += *cell * s->q[i];
        }
    for (int64_t j = 0; j < dv; j++)
        s->o[j] = oracle_cast(pass, s->o[j]);
}

static void store_state(const struct oracle_pass *pass, double *state, int64_t count)
{
    static const enum assay_dtype format[] = {[ORACLE_STATE_F32] = ASSAY_F32,
                                              [ORACLE_STATE_F16] = ASSAY_F16,
                                              [ORACLE_STATE_BF16] = ASSAY_BF16};
    enum oracle_state_storage storage = pass->session->options.state_storage;
    if (storage == ORACLE_STATE_F64)
        return;
    for (int64_t i = 0; i < count; i++)
        state[i] = oracle_round(state[i], format[storage]);
}

/* One unit: all tokens of one value head, in order. */
static void run_head(void *data, int64_t head)
{
    const struct gdn *l = data;
    const struct oracle_pass *pass = l->pass;
    const struct oracle_config *c = pass->config;
    int64_t dk = c->key_dim, dv = c->value_dim, channels = oracle_conv_channels(c);
    int64_t key_head = oracle_faulty(pass, ORACLE_FAULT_KEY_HEAD_MODULO)
                           ? head % c->key_heads
                           : head / (c->value_heads / c->key_heads);
    double scale = oracle_faulty(pass, ORACLE_FAULT_QUERY_UNSCALED)
                       ? 1
                       : oracle_cast(pass, 1 / sqrt((double)dk));
    bool plain = pass->session->options.arithmetic == ORACLE_LIBRARY ||
                 oracle_faulty(pass, ORACLE_FAULT_DECAY_AFTER_DELTA);
    double *line = l->line + head * (2 * dv + dk);
    double *v = line, *d = line + dv, *q = line + 2 * dv;
    for (int64_t t = 0; t < pass->n; t++) {
        int64_t key_row = (t * c->key_heads + key_head) * dk, at = t * c->value_heads + head;
        const double *raw_v = l->conv + t * channels + 2 * c->key_heads * dk + head * dv;
        for (int64_t i = 0; i < dk; i++)
            q[i] = oracle_cast(pass, l->q[key_row + i] * scale);
        for (int64_t i = 0; i < dv; i++)
            v[i] = oracle_cast(pass, raw_v[i]);
        struct oracle_delta_step step = {.state = l->state->state + head * dk * dv,
                                         .q = q,
                                         .k = l->k + key_row,
                                         .v = v,
                                         .alpha =
                                             oracle_cast(pass, exp(oracle_cast(pass, l->a[at]))),
                                         .beta = oracle_cast(pass, l->b[at]),
                                         .d = d,
                                         .o = l->core + at * dv,
                                         .key_dim = dk,
                                         .value_dim = dv};
        if (plain)
            plain_step(pass, &step);
        else
            oracle_delta_step(&step);
        store_state(pass, step.state, dk * dv);
    }
}

/* (F11), (F12); leaves the conv state at the last Kc-1 raw rows of [history | this call]. */
static void project(const struct gdn *l, const double *u)
{
    const struct oracle_pass *pass = l->pass;
    const struct oracle_config *c = pass->config;
    int64_t n = pass->n, channels = oracle_conv_channels(c), history = (c->taps - 1) * channels;
    memcpy(l->padded, l->state->conv, (size_t)history * sizeof *l->padded);
    oracle_linear(pass, u, l->layer->qkv, l->padded + history, n, c->hidden, channels);
    memcpy(l->state->conv, l->padded + n * channels, (size_t)history * sizeof *l->padded);
    oracle_linear(pass, u, l->layer->z, l->z, n, c->hidden, c->value_heads * c->value_dim);
    oracle_linear(pass, u, l->layer->b, l->b, n, c->hidden, c->value_heads);
    oracle_linear(pass, u, l->layer->a, l->a, n, c->hidden, c->value_heads);
    oracle_report(pass, "in_proj_qkv", l->padded + history, n, channels);
    oracle_report(pass, "in_proj_z", l->z, n, c->value_heads * c->value_dim);
    oracle_report(pass, "in_proj_b", l->b, n, c->value_heads);
    oracle_report(pass, "in_proj_a", l->a, n, c->value_heads);
    report_conv_state(l);
}

static void gdn_body(struct gdn *l, const double *u, double *y)
{
    const struct oracle_pass *pass = l->pass;
    const struct oracle_config *c = pass->config;
    int64_t n = pass->n, keys = c->key_heads * c->key_dim, values = c->value_heads * c->value_dim;
    project(l, u);
    convolve(l);
    l2_normalise(l, 0, l->q);
    l2_normalise(l, keys, l->k);
    gates(l);
    oracle_report(pass, "conv_out", l->conv, n, oracle_conv_channels(c));
    oracle_report(pass, "q_l2norm", l->q, n, keys);
    oracle_report(pass, "k_l2norm", l->k, n, keys);
    oracle_report(pass, "beta", l->b, n, c->value_heads);
    oracle_report(pass, "g", l->a, n, c->value_heads);

    oracle_parallel(pass, c->value_heads, 4.0 * (double)(n * values * c->key_dim), run_head, l);
    oracle_report(pass, "core_out", l->core, n, values);
    oracle_report(pass, "state", l->state->state, c->value_heads * c->key_dim, c->value_dim);
    oracle_gated_norm(pass, l->core, l->z, l->layer->norm, l->core, n * c->value_heads,
                      c->value_dim);
    oracle_report(pass, "gated_norm", l->core, n, values);
    oracle_linear(pass, l->core, l->layer->out_proj, y, n, values, c->hidden);
    oracle_report(pass, "out_proj", y, n, c->hidden);
}

void oracle_gdn(struct oracle_pass *pass, const struct oracle_layer *layer,
                struct oracle_gdn_state *state, const double *u, double *y)
{
    const struct oracle_config *c = pass->config;
    int64_t n = pass->n, channels = oracle_conv_channels(c), keys = c->key_heads * c->key_dim;
    int64_t values = c->value_heads * c->value_dim;
    struct gdn l = {.pass = pass, .layer = layer, .state = state};
    l.padded = oracle_pass_alloc(pass, (c->taps - 1 + n) * channels);
    l.conv = oracle_pass_alloc(pass, n * channels);
    l.q = oracle_pass_alloc(pass, n * keys);
    l.k = oracle_pass_alloc(pass, n * keys);
    l.z = oracle_pass_alloc(pass, n * values);
    l.b = oracle_pass_alloc(pass, n * c->value_heads);
    l.a = oracle_pass_alloc(pass, n * c->value_heads);
    l.core = oracle_pass_alloc(pass, n * values);
    l.line = oracle_pass_alloc(pass, c->value_heads * (2 * c->value_dim + c->key_dim));
    if (!pass->out_of_memory)
        gdn_body(&l, u, y);
    double *const owned[] = {l.padded, l.conv, l.q, l.k, l.z, l.b, l.a, l.core, l.line};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}
