/* SPDX-License-Identifier: MIT
 *
 * Schedule of the model oracle: decoder layers (F4), FFN (F18), head (F20), MTP (F22)-(F24).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_model_private.h"

#define THREAD_WORTH 4e6 /* multiply-adds below which starting threads costs more than it saves */
#define COLUMN_BLOCK 32  /* columns of a linear layer that make one unit of work */

/* ---- pass */

double *oracle_pass_alloc(struct oracle_pass *pass, int64_t count)
{
    double *values = oracle_model_alloc(count);
    if (values == NULL)
        pass->out_of_memory = true;
    return values;
}

void oracle_report(const struct oracle_pass *pass, const char *name, const double *values,
                   int64_t rows, int64_t cols)
{
    if (pass->observe == NULL)
        return;
    char full[96];
    (void)snprintf(full, sizeof full, "%s%s%s", pass->prefix != NULL ? pass->prefix : "",
                   pass->prefix != NULL ? "." : "", name);
    pass->observe(pass->data, full, values, rows, cols);
}

struct crew {
    void (*run)(void *data, int64_t i);
    void *data;
    int64_t count;
    atomic_llong next;
};

static void *work_off(void *argument)
{
    struct crew *crew = argument;
    for (;;) {
        int64_t i = atomic_fetch_add(&crew->next, 1);
        if (i >= crew->count)
            return NULL;
        crew->run(crew->data, i);
    }
}

void oracle_parallel(const struct oracle_pass *pass, int64_t count, double work,
                     void (*run)(void *data, int64_t i), void *data)
{
    struct crew crew = {.run = run, .data = data, .count = count};
    atomic_init(&crew.next, 0);
    int wanted = pass->session->options.num_threads - 1, started = 0;
    pthread_t thread[ORACLE_MAX_THREADS];
    if (work < THREAD_WORTH)
        wanted = 0;
    while (started < wanted && started < ORACLE_MAX_THREADS && started < count - 1 &&
           pthread_create(&thread[started], NULL, work_off, &crew) == 0)
        started++;
    (void)work_off(&crew); /* also does everything when no thread could be started */
    while (started > 0)
        (void)pthread_join(thread[--started], NULL);
}

static void linear_block(void *data, int64_t block)
{
    struct oracle_product p = *(const struct oracle_product *)data;
    int64_t first = block * COLUMN_BLOCK;
    p.w += first * p.w_stride;
    p.y += first;
    p.cols = p.cols - first < COLUMN_BLOCK ? p.cols - first : COLUMN_BLOCK;
    oracle_product(&p);
}

void oracle_linear(const struct oracle_pass *pass, const double *x, const double *w, double *y,
                   int64_t rows, int64_t in, int64_t out)
{
    struct oracle_product p = {.x = x,
                               .w = w,
                               .y = y,
                               .rows = rows,
                               .cols = out,
                               .inner = in,
                               .x_stride = in,
                               .w_stride = in,
                               .y_stride = out};
    oracle_parallel(pass, (out + COLUMN_BLOCK - 1) / COLUMN_BLOCK,
                    (double)rows * (double)in * (double)out, linear_block, &p);
}

/* ---- decoder layer */

/* (F18): y = W_down(silu(W_gate u) * W_up u), and (F19), whose shared expert that is. */
static void feed_forward(struct oracle_pass *pass, const struct oracle_layer *layer,
                         const double *u, double *y)
{
    const struct oracle_config *c = pass->config;
    int64_t n = pass->n, wide = c->intermediate;
    const bool is_mixture = c->experts > 0;
    double *gate = oracle_pass_alloc(pass, n * wide);
    double *up = oracle_pass_alloc(pass, n * wide);
    if (!pass->out_of_memory) {
        oracle_linear(pass, u, layer->gate_proj, gate, n, c->hidden, wide);
        oracle_linear(pass, u, layer->up_proj, up, n, c->hidden, wide);
        oracle_report(pass, is_mixture ? "shared.mlp_gate" : "mlp_gate", gate, n, wide);
        oracle_report(pass, is_mixture ? "shared.mlp_up" : "mlp_up", up, n, wide);
        for (int64_t i = 0; i < n * wide; i++)
            up[i] *= oracle_silu(gate[i]);
        oracle_linear(pass, up, layer->down_proj, y, n, wide, c->hidden);
        oracle_report(pass, is_mixture ? "shared.mlp_down" : "mlp_down", y, n, c->hidden);
        if (is_mixture)
            oracle_mixture(pass, layer, u, y);
    }
    free(gate);
    free(up);
}

static void add_rows(double *x, const double *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] += y[i];
}

/* (F4) for one layer, x [n, H] in place. kv for full attention, else gdn. */
static void decoder_layer(struct oracle_pass *pass, const struct oracle_layer *layer,
                          struct oracle_kv *kv, struct oracle_gdn_state *gdn, int64_t position,
                          double *x)
{
    int64_t n = pass->n, h = pass->config->hidden;
    double *u = oracle_pass_alloc(pass, n * h), *y = oracle_pass_alloc(pass, n * h);
    if (!pass->out_of_memory) {
        oracle_offset_norm(pass, x, layer->input_norm, u, n, h);
        oracle_report(pass, "input_norm", u, n, h);
        if (kv != NULL)
            oracle_attention(pass, layer, kv, position, u, y);
        else
            oracle_gdn(pass, layer, gdn, u, y);
    }
    if (!pass->out_of_memory) {
        add_rows(x, y, n * h);
        oracle_report(pass, "after_mixer", x, n, h);
        oracle_offset_norm(pass, x, layer->post_norm, u, n, h);
        oracle_report(pass, "post_norm", u, n, h);
        feed_forward(pass, layer, u, y);
    }
    if (!pass->out_of_memory) {
        add_rows(x, y, n * h);
        oracle_report(pass, "output", x, n, h);
    }
    free(u);
    free(y);
}

/* ---- entry points */

static assay_status check_ids(const struct oracle_config *c, const int32_t *ids, int64_t n,
                              const struct oracle_outputs *outputs, char *message, size_t size)
{
    if (n < 1)
        return oracle_model_fail(ASSAY_E_ARG, message, size, "n: must be >= 1, is %lld",
                                 (long long)n);
    if (outputs->first_logits < 0 || outputs->first_logits > n)
        return oracle_model_fail(ASSAY_E_ARG, message, size,
                                 "first_logits: must be in [0, %lld], is %lld", (long long)n,
                                 (long long)outputs->first_logits);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= c->vocab)
            return oracle_model_fail(ASSAY_E_RANGE, message, size,
                                     "token %lld: id %d outside [0, %lld)", (long long)i, ids[i],
                                     (long long)c->vocab);
    return ASSAY_OK;
}

static struct oracle_pass start_pass(struct oracle_session *session, int64_t n,
                                     const struct oracle_outputs *outputs)
{
    return (struct oracle_pass){.session = session,
                                .config = &session->model->config,
                                .n = n,
                                .observe = outputs->observe,
                                .data = outputs->data};
}

/* rows [n, H] after the last norm -> what the caller asked for. */
static void deliver(const struct oracle_pass *pass, const double *rows,
                    const struct oracle_outputs *outputs)
{
    const struct oracle_config *c = pass->config;
    int64_t first = outputs->first_logits, h = c->hidden;
    if (outputs->hidden != NULL)
        memcpy(outputs->hidden, rows, (size_t)(pass->n * h) * sizeof *rows);
    if (outputs->logits != NULL && first < pass->n)
        oracle_linear(pass, rows + first * h, pass->session->model->head, outputs->logits,
                      pass->n - first, h, c->vocab);
}

static void embed(const struct oracle_pass *pass, const int32_t *ids, double *x)
{
    int64_t h = pass->config->hidden;
    for (int64_t t = 0; t < pass->n; t++)
        memcpy(x + t * h, pass->session->model->embed + ids[t] * h, (size_t)h * sizeof *x);
}

static assay_status finish_pass(const struct oracle_pass *pass, char *message, size_t size)
{
    return pass->out_of_memory ? oracle_model_fail(ASSAY_E_MEMORY, message, size, "out of memory")
                               : ASSAY_OK;
}

assay_status oracle_model_forward(struct oracle_session *session, const int32_t *ids, int64_t n,
                                  const struct oracle_outputs *outputs, char *message, size_t size)
{
    static const struct oracle_outputs nothing;
    const struct oracle_model *m = session->model;
    outputs = outputs != NULL ? outputs : &nothing;
    assay_status status = check_ids(&m->config, ids, n, outputs, message, size);
    if (status != ASSAY_OK)
        return status;
    struct oracle_pass pass = start_pass(session, n, outputs);
    int64_t h = m->config.hidden;
    double *x = oracle_pass_alloc(&pass, n * h);
    if (x != NULL) {
        embed(&pass, ids, x);
        oracle_report(&pass, "embed", x, n, h);
    }
    for (int64_t i = 0; !pass.out_of_memory && i < m->config.num_layers; i++) {
        char prefix[32];
        (void)snprintf(prefix, sizeof prefix, "layers.%lld", (long long)i);
        pass.prefix = prefix;
        decoder_layer(&pass, &m->layer[i], m->config.full[i] ? &session->kv[i] : NULL,
                      &session->gdn[i], session->length, x);
        pass.prefix = NULL;
    }
    if (!pass.out_of_memory) {
        oracle_offset_norm(&pass, x, m->final_norm, x, n, h);
        oracle_report(&pass, "final_norm", x, n, h);
        deliver(&pass, x, outputs);
        session->length += n;
    }
    free(x);
    return finish_pass(&pass, message, size);
}

/* (F22) up to the decoder layer: fc [norm(embedding) ; norm(hidden)] -> x [n, H]. */
static void mtp_stem(struct oracle_pass *pass, const int32_t *next_ids, const double *hidden,
                     double *x)
{
    const struct oracle_model *m = pass->session->model;
    int64_t n = pass->n, h = m->config.hidden;
    double *e = oracle_pass_alloc(pass, n * h), *t = oracle_pass_alloc(pass, n * h);
    double *both = oracle_pass_alloc(pass, 2 * n * h);
    if (!pass->out_of_memory) {
        embed(pass, next_ids, e);
        oracle_offset_norm(pass, e, m->mtp_embedding_norm, e, n, h);
        if (oracle_faulty(pass, ORACLE_FAULT_MTP_HIDDEN_RAW))
            memcpy(t, hidden, (size_t)(n * h) * sizeof *t);
        else
            oracle_offset_norm(pass, hidden, m->mtp_hidden_norm, t, n, h);
        oracle_report(pass, "embedding_norm", e, n, h);
        oracle_report(pass, "hidden_norm", t, n, h);
        bool swapped = oracle_faulty(pass, ORACLE_FAULT_MTP_INPUTS_SWAPPED);
        for (int64_t i = 0; i < n; i++) {
            memcpy(both + 2 * i * h, (swapped ? t : e) + i * h, (size_t)h * sizeof *both);
            memcpy(both + (2 * i + 1) * h, (swapped ? e : t) + i * h, (size_t)h * sizeof *both);
        }
        oracle_linear(pass, both, m->mtp_fc, x, n, 2 * h, h);
        oracle_report(pass, "fc", x, n, h);
    }
    free(e);
    free(t);
    free(both);
}

assay_status oracle_mtp_forward(struct oracle_session *session, const int32_t *next_ids,
                                const double *hidden, int64_t n,
                                const struct oracle_outputs *outputs, char *message, size_t size)
{
    static const struct oracle_outputs nothing;
    const struct oracle_model *m = session->model;
    outputs = outputs != NULL ? outputs : &nothing;
    if (!m->has_mtp)
        return oracle_model_fail(ASSAY_E_UNSUPPORTED, message, size, "the model has no MTP layer");
    assay_status status = check_ids(&m->config, next_ids, n, outputs, message, size);
    if (status != ASSAY_OK)
        return status;
    struct oracle_pass pass = start_pass(session, n, outputs);
    int64_t h = m->config.hidden;
    double *x = oracle_pass_alloc(&pass, n * h);
    pass.prefix = "mtp";
    if (x != NULL)
        mtp_stem(&pass, next_ids, hidden, x);
    pass.prefix = "mtp.layer";
    if (!pass.out_of_memory)
        decoder_layer(&pass, &m->mtp_layer, &session->mtp_kv, NULL, session->mtp_kv.length, x);
    pass.prefix = "mtp";
    if (!pass.out_of_memory) {
        oracle_offset_norm(&pass, x, m->mtp_norm, x, n, h);
        oracle_report(&pass, "norm", x, n, h);
        deliver(&pass, x, outputs);
    }
    free(x);
    return finish_pass(&pass, message, size);
}

int32_t oracle_argmax(const double *logits, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}
