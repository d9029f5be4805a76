/* SPDX-License-Identifier: MIT
 *
 * What a session needs and reads, computed from shapes and formats before a pass runs: workspace of
 * its products, sizes of its weights.
 */
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

static assay_status plan_experts(struct plan *plan, const struct assay_model_config *config,
                                 const struct moe_weights *moe)
{
    size_t bytes;
    ASSAY_TRY(plan_product(plan, ASSAY_PRODUCT_A16, &moe->router));
    ASSAY_TRY(plan_product(plan, ASSAY_PRODUCT_A16, &moe->shared_gate));
    ASSAY_TRY(pass_experts_workspace(plan->context, plan->tokens, config->experts_per_token,
                                     &moe->gate_up, &moe->down, &bytes));
    if (bytes > plan->bytes)
        plan->bytes = bytes;
    return ASSAY_OK;
}

static assay_status plan_layer(struct plan *plan, const struct assay_products *products,
                               const struct assay_model_config *config,
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
    if (config->is_moe)
        ASSAY_TRY(plan_experts(plan, config, &layer->moe));
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
        ASSAY_TRY(
            plan_layer(&plan, &products, session->config, &session->schedule.weights->layers[i]));
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

/* Of the banks of all layers, the experts that a token does not have. */
static size_t idle_experts(const assay_session *session)
{
    const struct assay_model_config *const config = session->config;
    size_t bytes = 0;
    for (int64_t i = 0; i < config->num_layers && config->is_moe; i++) {
        const struct moe_weights *const moe = &session->schedule.weights->layers[i].moe;
        const size_t expert =
            session_weights_row_bytes(&moe->gate_up) * (size_t)(2 * config->expert_size) +
            session_weights_row_bytes(&moe->down) * (size_t)config->hidden_size;
        bytes += expert * (size_t)(config->num_experts - config->experts_per_token);
    }
    return bytes;
}

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
    memory->decode_reads = memory->weights - (tied ? 0 : table) + row - idle_experts(session);
    memory->weight_copies = session_weights_copied(weights);
    memory->kv = session->kv_bytes;
    memory->states = session->state_bytes;
    memory->scratch = session->scratch_bytes;
    memory->workspace = session->workspace_bytes;
    return ASSAY_OK;
}
