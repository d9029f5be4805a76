/* SPDX-License-Identifier: MIT
 *
 * The state of one sequence.
 */
#include <stdlib.h>
#include <string.h>

#include "oracle_model_private.h"

double *oracle_model_alloc(int64_t count)
{
    const int64_t largest = (int64_t)1 << 40; /* elements */
    if (count < 0 || count > largest)
        return NULL;
    /* aligned_alloc wants a multiple of the alignment; one line more also makes 0 elements valid */
    size_t bytes = ((size_t)count * sizeof(double) + 127) / 64 * 64;
    return aligned_alloc(64, bytes);
}

static double *zeroed(int64_t count)
{
    double *values = oracle_model_alloc(count);
    if (values != NULL)
        memset(values, 0, (size_t)count * sizeof *values);
    return values;
}

static double *duplicate(const double *values, int64_t count)
{
    double *copy = oracle_model_alloc(count);
    if (copy != NULL)
        memcpy(copy, values, (size_t)count * sizeof *copy);
    return copy;
}

static int64_t state_count(const struct oracle_config *c)
{
    return c->value_heads * c->key_dim * c->value_dim;
}

static int64_t conv_count(const struct oracle_config *c)
{
    return (c->taps - 1) * oracle_conv_channels(c);
}

/* [Nkv, old capacity, D] into [Nkv, capacity, D]; NULL when out of memory. */
static double *spread(const double *values, const struct oracle_kv *kv,
                      const struct oracle_config *c, int64_t capacity)
{
    double *grown = oracle_model_alloc(c->kv_heads * capacity * c->head_dim);
    for (int64_t h = 0; grown != NULL && kv->length > 0 && h < c->kv_heads; h++)
        memcpy(grown + h * capacity * c->head_dim, values + h * kv->capacity * c->head_dim,
               (size_t)(kv->length * c->head_dim) * sizeof *grown);
    return grown;
}

bool oracle_kv_reserve(struct oracle_kv *kv, const struct oracle_config *c, int64_t length)
{
    if (length <= kv->capacity)
        return true;
    int64_t capacity = 2 * kv->capacity > length ? 2 * kv->capacity : length;
    double *key = spread(kv->key, kv, c, capacity);
    double *value = spread(kv->value, kv, c, capacity);
    if (key == NULL || value == NULL) {
        free(key);
        free(value);
        return false;
    }
    free(kv->key);
    free(kv->value);
    *kv = (struct oracle_kv){key, value, kv->length, capacity};
    return true;
}

struct oracle_session *oracle_session_new(const struct oracle_model *model,
                                          const struct oracle_session_options *options)
{
    const struct oracle_config *c = &model->config;
    struct oracle_session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->model = model;
    if (options != NULL)
        s->options = *options;
    s->kv = calloc((size_t)c->num_layers, sizeof *s->kv);
    s->gdn = calloc((size_t)c->num_layers, sizeof *s->gdn);
    bool complete = s->kv != NULL && s->gdn != NULL;
    for (int64_t i = 0; complete && i < c->num_layers; i++) {
        if (c->full[i])
            continue;
        s->gdn[i].state = zeroed(state_count(c));
        s->gdn[i].conv = zeroed(conv_count(c));
        complete = s->gdn[i].state != NULL && s->gdn[i].conv != NULL;
    }
    if (!complete) {
        oracle_session_free(s);
        return NULL;
    }
    return s;
}

static bool copy_kv(struct oracle_kv *to, const struct oracle_kv *from,
                    const struct oracle_config *c)
{
    if (from->length == 0)
        return true;
    to->key = spread(from->key, from, c, from->length);
    to->value = spread(from->value, from, c, from->length);
    to->length = to->capacity = from->length;
    return to->key != NULL && to->value != NULL;
}

struct oracle_session *oracle_session_fork(const struct oracle_session *session)
{
    const struct oracle_config *c = &session->model->config;
    struct oracle_session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->model = session->model;
    s->options = session->options;
    s->length = session->length;
    s->kv = calloc((size_t)c->num_layers, sizeof *s->kv);
    s->gdn = calloc((size_t)c->num_layers, sizeof *s->gdn);
    bool complete = s->kv != NULL && s->gdn != NULL && copy_kv(&s->mtp_kv, &session->mtp_kv, c);
    for (int64_t i = 0; complete && i < c->num_layers; i++) {
        if (c->full[i]) {
            complete = copy_kv(&s->kv[i], &session->kv[i], c);
            continue;
        }
        s->gdn[i].state = duplicate(session->gdn[i].state, state_count(c));
        s->gdn[i].conv = duplicate(session->gdn[i].conv, conv_count(c));
        complete = s->gdn[i].state != NULL && s->gdn[i].conv != NULL;
    }
    if (!complete) {
        oracle_session_free(s);
        return NULL;
    }
    return s;
}

void oracle_session_free(struct oracle_session *session)
{
    if (session == NULL)
        return;
    for (int64_t i = 0; i < session->model->config.num_layers; i++) {
        if (session->kv != NULL) {
            free(session->kv[i].key);
            free(session->kv[i].value);
        }
        if (session->gdn != NULL) {
            free(session->gdn[i].state);
            free(session->gdn[i].conv);
        }
    }
    free(session->mtp_kv.key);
    free(session->mtp_kv.value);
    free(session->kv);
    free(session->gdn);
    free(session);
}

int64_t oracle_session_length(const struct oracle_session *session)
{
    return session->length;
}

const double *oracle_session_state(const struct oracle_session *session, int64_t layer)
{
    return layer >= 0 && layer < session->model->config.num_layers ? session->gdn[layer].state
                                                                   : NULL;
}

int64_t oracle_mtp_length(const struct oracle_session *session)
{
    return session->mtp_kv.length;
}

void oracle_mtp_rewind(struct oracle_session *session, int64_t length)
{
    if (length >= 0 && length < session->mtp_kv.length)
        session->mtp_kv.length = length;
}
