/* SPDX-License-Identifier: MIT
 *
 * What a session needs and reads, computed from shapes and formats before a pass runs: workspace of
 * its products, sizes of its weights.
 */
#include <string.h>

#include <sodium.h>

#include <assay/device.h>

#include "core/core.h"
#include "model/pass_weights.h"
#include "runtime/session_private.h"
#include "runtime/session_weights.h"

#define WHERE "session"

/* ---- workspace ----------------------------------------------------------------------------- */

/* The largest so far. */
struct plan {
    assay_context *context;
    int64_t tokens;
    size_t bytes;
};

static assay_status plan_product(struct plan *plan, enum assay_product product,
                                 const struct assay_weights *w)
{
    size_t bytes;
    ASSAY_TRY(pass_linear_workspace(plan->context, product, plan->tokens, w, &bytes));
    if (bytes > plan->bytes)
        plan->bytes = bytes;
    return ASSAY_OK;
}

static assay_status plan_layer(struct plan *plan, const struct assay_products *products,
                               const struct layer_weights *layer)
{
    const struct attention_weights *const attention = &layer->mixer.attention;
    const struct gdn_weights *const gdn = &layer->mixer.gdn;
    const struct assay_weights *const of_attention[] = {&attention->q_proj, &attention->k_proj,
                                                        &attention->v_proj, &attention->o_proj};
    const struct assay_weights *const of_gdn[] = {&gdn->in_proj_qkv, &gdn->in_proj_z,
                                                  &gdn->in_proj_b, &gdn->in_proj_a, &gdn->out_proj};
    const bool is_full = layer->kind == ASSAY_LAYER_FULL;
    const struct assay_weights *const *projections = is_full ? of_attention : of_gdn;
    const int count = is_full ? 4 : 5;
    for (int i = 0; i < count; i++)
        ASSAY_TRY(plan_product(plan, products->projections, projections[i]));
    ASSAY_TRY(plan_product(plan, products->gate_up, &layer->mlp.gate_proj));
    ASSAY_TRY(plan_product(plan, products->gate_up, &layer->mlp.up_proj));
    return plan_product(plan, products->down, &layer->mlp.down_proj);
}

static assay_status plan_pass(const assay_session *session, enum assay_pass_kind kind,
                              int64_t tokens, size_t *largest)
{
    struct plan plan = {.context = session->context, .tokens = tokens, .bytes = *largest};
    const struct assay_products products =
        assay_precision_products(&session->precision, kind, tokens);
    for (int64_t i = 0; i < session->config->num_layers; i++)
        ASSAY_TRY(plan_layer(&plan, &products, &session->schedule.weights->layers[i]));
    *largest = plan.bytes;
    return ASSAY_OK;
}

/* Widths that are powers of two, and the chunk: narrow passes may split their sums and take more
 * than wide ones. */
assay_status session_plan_workspace(assay_session *session, struct assay_error *error)
{
    const int64_t chunk = session->prefill_chunk;
    size_t *const bytes = &session->workspace_bytes;
    assay_status status = plan_pass(session, ASSAY_PASS_PREFILL, chunk, bytes);
    for (int64_t tokens = 1; tokens < chunk && status == ASSAY_OK; tokens *= 2) {
        status = plan_pass(session, ASSAY_PASS_PREFILL, tokens, bytes);
        if (status == ASSAY_OK && tokens <= ASSAY_VERIFY_COLUMNS)
            status = plan_pass(session, ASSAY_PASS_DECODE, tokens, bytes);
    }
    if (status == ASSAY_OK)
        status = assay_workspace_reserve(session->context, *bytes);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(error, status, WHERE, "workspace",
                      "%zu bytes for passes of %lld tokens: use a smaller prefill chunk, or a "
                      "context with a larger workspace (%s)",
                      *bytes, (long long)chunk, assay_context_error(session->context)->message);
}

/* ---- what there is ------------------------------------------------------------------------- */

assay_status assay_session_memory(const assay_session *session, struct assay_session_memory *memory,
                                  struct assay_error *error)
{
    if (session == NULL || memory == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, session == NULL ? "session" : "memory",
                          "must not be NULL");
    const struct model_weights *const weights = session->schedule.weights;
    const bool tied = weights->lm_head.base.data == weights->embed.base.data;
    const size_t row = session_weights_row_bytes(&weights->embed);
    const size_t table = row * (size_t)weights->embed.rows;
    memory->weights = session_weights_bytes(weights, session->config->num_layers);
    memory->decode_reads = memory->weights - (tied ? 0 : table) + row;
    memory->weight_copies = session_weights_copied(weights);
    memory->kv = session->kv_bytes;
    memory->states = session->state_bytes;
    memory->scratch = session->scratch_bytes;
    memory->workspace = session->workspace_bytes;
    return ASSAY_OK;
}

/* ---- the bytes of embedding and head ------------------------------------------------------- */

static assay_status hash_plane(const assay_session *session, const struct assay_tensor *plane,
                               crypto_generichash_state *state)
{
    const size_t bytes = assay_tensor_span(plane);
    if (plane->data == NULL)
        return ASSAY_OK;
    if (!session->on_device) {
        crypto_generichash_update(state, plane->data, bytes);
        return ASSAY_OK;
    }
    void *copy = assay_alloc(bytes);
    if (copy == NULL)
        return ASSAY_E_MEMORY;
    const assay_status status = assay_buffer_read(session->context, copy, plane->data, bytes);
    if (status == ASSAY_OK)
        crypto_generichash_update(state, copy, bytes);
    assay_free(copy);
    return status;
}

assay_status assay_session_weights_digest(const assay_session *session, char digest[65],
                                          struct assay_error *error)
{
    const struct assay_weights *const matrices[] = {&session->schedule.weights->embed,
                                                    &session->schedule.weights->lm_head};
    crypto_generichash_state state;
    unsigned char hash[32];
    digest[0] = '\0';
    if (sodium_init() < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, WHERE, "libsodium", "cannot be initialised");
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    for (int i = 0; i < 2; i++) {
        const struct assay_tensor *const planes[] = {&matrices[i]->base, &matrices[i]->high,
                                                     &matrices[i]->scales};
        for (int k = 0; k < 3; k++) {
            const assay_status status = hash_plane(session, planes[k], &state);
            if (status != ASSAY_OK)
                return assay_fail(error, status, WHERE, "weights", "cannot be read back");
        }
    }
    crypto_generichash_final(&state, hash, sizeof hash);
    sodium_bin2hex(digest, 65, hash, sizeof hash);
    return ASSAY_OK;
}
