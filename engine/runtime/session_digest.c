/* SPDX-License-Identifier: MIT
 *
 * Digests of what a session computes with: the planes as its ops read them.
 */
#include <string.h>

#include <sodium.h>

#include <assay/device.h>

#include "core/core.h"
#include "runtime/session_private.h"
#include "runtime/session_weights.h"

#define WHERE "session"

/* A plane that the host can read. */
static void hash_bytes(const struct assay_tensor *plane, const void *bytes,
                       crypto_generichash_state *state)
{
    crypto_generichash_update(state, bytes, assay_tensor_span(plane));
}

static assay_status hash_plane(const assay_session *session, const struct assay_tensor *plane,
                               crypto_generichash_state *state)
{
    const size_t bytes = assay_tensor_span(plane);
    if (plane->data == NULL)
        return ASSAY_OK;
    if (!session->on_device) {
        hash_bytes(plane, plane->data, state);
        return ASSAY_OK;
    }
    void *copy = assay_alloc(bytes);
    if (copy == NULL)
        return ASSAY_E_MEMORY;
    const assay_status status = assay_buffer_read(session->context, copy, plane->data, bytes);
    if (status == ASSAY_OK)
        hash_bytes(plane, copy, state);
    assay_free(copy);
    return status;
}

static assay_status hash_matrix(const assay_session *session, const struct assay_weights *matrix,
                                crypto_generichash_state *state)
{
    const struct assay_tensor *const planes[] = {&matrix->base, &matrix->high, &matrix->scales};
    for (int i = 0; i < 3; i++)
        ASSAY_TRY(hash_plane(session, planes[i], state));
    return ASSAY_OK;
}

static assay_status start(crypto_generichash_state *state, struct assay_error *error)
{
    if (sodium_init() < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, WHERE, "libsodium", "cannot be initialised");
    crypto_generichash_init(state, NULL, 0, PART_DIGEST_BYTES);
    return ASSAY_OK;
}

static assay_status not_read(assay_status status, struct assay_error *error)
{
    return assay_fail(error, status, WHERE, "weights", "cannot be read back");
}

assay_status assay_session_weights_digest(const assay_session *session, char digest[65],
                                          struct assay_error *error)
{
    const struct model_weights *const weights = session->schedule.weights;
    crypto_generichash_state state;
    unsigned char hash[PART_DIGEST_BYTES];
    digest[0] = '\0';
    ASSAY_TRY(start(&state, error));
    assay_status status = hash_matrix(session, &weights->embed, &state);
    if (status == ASSAY_OK)
        status = hash_matrix(session, &weights->lm_head, &state);
    if (status != ASSAY_OK)
        return not_read(status, error);
    crypto_generichash_final(&state, hash, sizeof hash);
    sodium_bin2hex(digest, 65, hash, sizeof hash);
    return ASSAY_OK;
}

/* ---- all parts ----------------------------------------------------------------------------- */

static void hash_number(crypto_generichash_state *state, int64_t number)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)number >> 8 * i);
    crypto_generichash_update(state, bytes, sizeof bytes);
}

static void hash_real(crypto_generichash_state *state, double real)
{
    int64_t word;
    memcpy(&word, &real, sizeof word);
    hash_number(state, word);
}

/* Of the numbers that passes take beside the weights. Positions beyond the capacity decide nothing
 * and stop tokens are the caller's. */
static void hash_config(const assay_session *session, crypto_generichash_state *state)
{
    const struct assay_model_config *const c = session->config;
    const int64_t numbers[] = {
        c->vocab_size,         c->hidden_size,      c->intermediate_size,
        c->num_layers,         c->num_heads,        c->num_kv_heads,
        c->head_dim,           c->rotary_dim,       c->mrope_section[0],
        c->mrope_section[1],   c->mrope_section[2], c->conv_taps,
        c->linear_key_dim,     c->linear_value_dim, c->linear_key_heads,
        c->linear_value_heads, c->tie_embeddings,   session->schedule.weights->final_norms,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash_number(state, numbers[i]);
    hash_real(state, c->rope_theta);
    hash_real(state, c->rms_eps);
    for (int64_t i = 0; i < c->num_layers; i++)
        hash_number(state, c->layers[i]);
}

/* Layers are hashed where the model has them: no trade stores them otherwise, and what a device
 * holds is a copy of these bytes. */
struct layer_hashes {
    const struct layer_weights *layers;
    unsigned char (*digests)[PART_DIGEST_BYTES];
};

static void hash_layers(void *argument, int64_t first, int64_t last)
{
    const struct layer_hashes *const hashes = argument;
    for (int64_t i = first; i < last; i++) {
        struct assay_tensor views[SESSION_LAYER_TENSORS];
        crypto_generichash_state state;
        const int count = session_weights_list(&hashes->layers[i], views);
        crypto_generichash_init(&state, NULL, 0, PART_DIGEST_BYTES);
        for (int k = 0; k < count; k++) {
            hash_number(&state, views[k].dtype);
            for (int d = 0; d < views[k].rank; d++)
                hash_number(&state, views[k].extent[d]);
            hash_bytes(&views[k], views[k].data, &state);
        }
        crypto_generichash_final(&state, hashes->digests[i], PART_DIGEST_BYTES);
    }
}

static assay_status hash_all_layers(const assay_session *session, crypto_generichash_state *state,
                                    struct assay_error *error)
{
    const struct model_weights *const stored = model_bound_weights(session->model);
    const int64_t num_layers = session->config->num_layers;
    struct layer_hashes hashes = {.layers = stored->layers,
                                  .digests =
                                      assay_alloc_zero((size_t)num_layers, sizeof *hashes.digests)};
    if (hashes.digests == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "digests", "no memory for %lld layers",
                          (long long)num_layers);
    assay_parallel(session->context, num_layers, 1, hash_layers, &hashes);
    crypto_generichash_update(state, hashes.digests[0], (size_t)num_layers * PART_DIGEST_BYTES);
    assay_free(hashes.digests);
    hash_bytes(&stored->final_norm, stored->final_norm.data, state);
    return ASSAY_OK;
}

assay_status session_digests(const assay_session *session,
                             unsigned char digests[NUM_SESSION_PARTS][PART_DIGEST_BYTES],
                             struct assay_error *error)
{
    const struct model_weights *const weights = session->schedule.weights;
    const struct assay_weights *const matrices[] = {
        [PART_EMBEDDING] = &weights->embed, [PART_HEAD] = &weights->lm_head};
    crypto_generichash_state state;
    for (int part = 0; part < NUM_SESSION_PARTS; part++) {
        assay_status status = ASSAY_OK;
        ASSAY_TRY(start(&state, error));
        if (part == PART_CONFIG)
            hash_config(session, &state);
        else if (part == PART_LAYERS)
            ASSAY_TRY(hash_all_layers(session, &state, error));
        else
            status = hash_matrix(session, matrices[part], &state);
        if (status != ASSAY_OK)
            return not_read(status, error);
        crypto_generichash_final(&state, digests[part], PART_DIGEST_BYTES);
    }
    return ASSAY_OK;
}
