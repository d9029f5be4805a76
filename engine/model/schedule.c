/* SPDX-License-Identifier: MIT
 *
 * The forward pass of the Qwen3.5 family (qwen3_5.md section 5). Activations are f32 and
 * stay in a handful of buffers; heads are read and written through strided views of the
 * projections, so no pass copies a row to regroup it.
 */
#include "model/schedule.h"

#include <math.h>

#include <assay/ops/add.h>
#include <assay/ops/add_rmsnorm.h>
#include <assay/ops/attention.h>
#include <assay/ops/causal_conv1d.h>
#include <assay/ops/gated_rmsnorm.h>
#include <assay/ops/gdn_chunked.h>
#include <assay/ops/gdn_gating.h>
#include <assay/ops/gdn_recurrent.h>
#include <assay/ops/l2norm.h>
#include <assay/ops/moe_router.h>
#include <assay/ops/qk_norm_rope_append.h>
#include <assay/ops/rmsnorm.h>
#include <assay/ops/sigmoid_mul.h>

#include "core/core.h"
#include "model/pass_weights.h"

/* (F3): a constant of the architecture, not the config's RMS epsilon. */
#define L2NORM_EPS 1e-6

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of the dense MLP, or of the shared expert. */
static int64_t mlp_width(const struct assay_model_config *config)
{
    return config->is_moe ? config->shared_expert_size : config->intermediate_size;
}

/* Floats a token of what a mixture keeps in the gates: the router's logits, then the shared
 * expert's gate, the experts' ids and weights. */
static int64_t routing_width(const struct assay_model_config *config)
{
    return config->is_moe ? config->num_experts + 1 + 2 * config->experts_per_token : 0;
}

struct schedule_widths schedule_widths(const struct assay_model_config *config)
{
    const int64_t query = config->num_heads * config->head_dim;
    const int64_t key = config->num_kv_heads * config->head_dim;
    const int64_t linear_key = config->linear_key_heads * config->linear_key_dim;
    const int64_t linear_value = config->linear_value_heads * config->linear_value_dim;
    const int64_t mlp = mlp_width(config);
    struct schedule_widths widths = {
        .residual = config->hidden_size,
        .first = larger(larger(2 * query, 2 * linear_key + linear_value), mlp),
        .second = larger(larger(query, linear_value), mlp),
        .third = larger(larger(2 * key, linear_value), config->is_moe ? config->hidden_size : 0),
        .gates = larger(2 * config->linear_value_heads, routing_width(config)),
    };
    return widths;
}

/* [tokens, width] f32, contiguous. */
static struct assay_tensor rows(float *data, int64_t tokens, int64_t width)
{
    return assay_tensor_2d(data, ASSAY_F32, tokens, width);
}

/* [tokens, heads, width] f32 inside wider rows: element 0 at data, rows and heads as far apart as
 * the strides say. */
static struct assay_tensor heads(float *data, int64_t tokens, int64_t num_heads, int64_t width,
                                 int64_t row_stride, int64_t head_stride)
{
    struct assay_tensor view = assay_tensor_3d(data, ASSAY_F32, tokens, num_heads, width);
    view.stride[0] = row_stride;
    view.stride[1] = head_stride;
    return view;
}

/* ---- lanes --------------------------------------------------------------------------------- */

static int64_t num_lanes(const struct schedule_block *block)
{
    return block->lanes == NULL ? 1 : block->num_lanes;
}

static const struct layer_state *state_of(const struct schedule *schedule,
                                          const struct schedule_block *block, int64_t lane,
                                          int64_t layer)
{
    return (block->lanes == NULL ? schedule->layers : block->lanes[lane].layers) + layer;
}

/* A lane's tokens in a view whose outermost extent is the block's. */
static struct assay_tensor part(struct assay_tensor all, const struct schedule_block *block,
                                int64_t lane)
{
    const int64_t tokens = all.extent[0] / num_lanes(block);
    const int64_t bytes = (int64_t)assay_dtype_bytes(all.dtype);
    all.data = (char *)all.data + lane * tokens * all.stride[0] * bytes;
    all.extent[0] = tokens;
    return all;
}

/* ---- calls --------------------------------------------------------------------------------- */

/* y = x W^T, into and out of the mixers. */
static assay_status project(const struct schedule *schedule, struct assay_tensor x,
                            const struct assay_weights *w, struct assay_tensor y)
{
    return pass_linear(schedule->context, schedule->products.projections, x, w, y);
}

/* y = F1(x, w), or F2 where the stored weights are final; x and y may be one view. */
static assay_status norm(const struct schedule *schedule, struct assay_tensor x,
                         struct assay_tensor w, struct assay_tensor y)
{
    const struct assay_rmsnorm_args args = {.x = x,
                                            .w = w,
                                            .y = y,
                                            .unit_offset = !schedule->weights->final_norms,
                                            .eps = schedule->config->rms_eps};
    return assay_rmsnorm(schedule->context, &args);
}

/* x = x + y, the residual of (F4), and y = F1(x, w); without w the sum alone. */
static assay_status add_and_norm(const struct schedule *schedule, struct assay_tensor x,
                                 const struct assay_tensor *w, struct assay_tensor y)
{
    if (w == NULL) {
        const struct assay_add_args args = {.a = x, .b = y, .y = x};
        return assay_add(schedule->context, &args);
    }
    const struct assay_add_rmsnorm_args args = {.residual = x,
                                                .x = y,
                                                .w = *w,
                                                .s = x,
                                                .y = y,
                                                .unit_offset = !schedule->weights->final_norms,
                                                .eps = schedule->config->rms_eps};
    return assay_add_rmsnorm(schedule->context, &args);
}

/* What attention reads of a block, and writes. */
struct attention_views {
    struct assay_tensor q, k, v, gate, y;
};

/* (F6), (F7) and the cache: q in place, k and v into their slots. Text positions are equal on the
 * three axes of (F8), so one axis is enough. Then (F9) and (F10). */
static assay_status attend(const struct schedule *schedule, const struct attention_weights *weights,
                           const struct layer_state *state, const struct attention_views *views,
                           const struct schedule_block *block, int64_t lane)
{
    const struct assay_model_config *config = schedule->config;
    const struct assay_tensor q = part(views->q, block, lane);
    const int64_t start = block->lanes == NULL ? block->start : block->lanes[lane].start;
    const struct assay_qk_norm_rope_append_args place = {
        .q = q,
        .k = part(views->k, block, lane),
        .v = part(views->v, block, lane),
        .q_weight = weights->q_norm,
        .k_weight = weights->k_norm,
        .positions = part(block->positions, block, lane),
        .q_out = q,
        .k_cache = state->k_cache,
        .v_cache = state->v_cache,
        .start = start,
        .start_at = block->start_at,
        .rotary_dim = config->rotary_dim,
        .theta = config->rope_theta,
        .sections = {config->mrope_section[0], config->mrope_section[1], config->mrope_section[2]},
        .unit_offset = !schedule->weights->final_norms,
        .eps = config->rms_eps,
    };
    ASSAY_TRY(assay_qk_norm_rope_append(schedule->context, &place));
    const struct assay_attention_args args = {
        .q = q,
        .k_cache = state->k_cache,
        .v_cache = state->v_cache,
        .gate = part(views->gate, block, lane),
        .y = part(views->y, block, lane),
        .start = start,
        .start_at = block->start_at,
        .scale = 1.0 / sqrt((double)config->head_dim),
    };
    return assay_attention(schedule->context, &args);
}

/* (F5) to (F10): normed -> mixer output, in place of normed. */
static assay_status attention_mixer(const struct schedule *schedule,
                                    const struct attention_weights *weights, int64_t layer,
                                    struct assay_tensor normed, const struct schedule_block *block)
{
    const struct assay_model_config *config = schedule->config;
    const struct schedule_scratch *scratch = &schedule->scratch;
    const int64_t tokens = normed.extent[0];
    const int64_t num_heads = config->num_heads, num_kv_heads = config->num_kv_heads;
    const int64_t dim = config->head_dim, key_width = num_kv_heads * dim;
    float *const k_data = scratch->third, *const v_data = k_data + tokens * key_width;
    const struct assay_tensor k_rows = rows(k_data, tokens, key_width);
    const struct assay_tensor v_rows = rows(v_data, tokens, key_width);
    const struct assay_tensor attended = rows(scratch->second, tokens, num_heads * dim);
    const int64_t packed = 2 * num_heads * dim; /* a row of q_proj: query and gate of each head */

    const struct assay_weights *const projections[] = {&weights->q_proj, &weights->k_proj,
                                                       &weights->v_proj};
    const struct assay_tensor projected[] = {rows(scratch->first, tokens, packed), k_rows, v_rows};
    ASSAY_TRY(pass_group(schedule->context, schedule->products.projections, normed, 3, projections,
                         projected));

    const struct attention_views views = {
        .q = heads(scratch->first, tokens, num_heads, dim, packed, 2 * dim),
        .k = heads(k_data, tokens, num_kv_heads, dim, key_width, dim),
        .v = heads(v_data, tokens, num_kv_heads, dim, key_width, dim),
        .gate = heads(scratch->first + dim, tokens, num_heads, dim, packed, 2 * dim),
        .y = heads(scratch->second, tokens, num_heads, dim, num_heads * dim, dim),
    };
    for (int64_t i = 0; i < num_lanes(block); i++)
        ASSAY_TRY(attend(schedule, weights, state_of(schedule, block, i, layer), &views, block, i));
    return project(schedule, attended, &weights->o_proj, normed);
}

/* (F15), or (F17) for blocks longer than the limit that are no decode step. channel_rows: the rows
 * of (F12), whose q and k heads are normalised already. */
static assay_status delta_rule(const struct schedule *schedule, const struct layer_state *state,
                               struct assay_tensor channel_rows, struct assay_tensor g,
                               struct assay_tensor beta, struct assay_tensor o)
{
    const struct assay_model_config *config = schedule->config;
    float *const channels = channel_rows.data;
    const int64_t tokens = o.extent[0], width = channel_rows.extent[1];
    const int64_t dk = config->linear_key_dim, dv = config->linear_value_dim;
    const int64_t key_width = config->linear_key_heads * dk;
    const struct assay_tensor q = heads(channels, tokens, config->linear_key_heads, dk, width, dk);
    const struct assay_tensor k =
        heads(channels + key_width, tokens, config->linear_key_heads, dk, width, dk);
    const struct assay_tensor v =
        heads(channels + 2 * key_width, tokens, config->linear_value_heads, dv, width, dv);
    const double scale = 1.0 / sqrt((double)dk);

    if (schedule->is_decode || tokens <= schedule->recurrent_limit) {
        const struct assay_gdn_recurrent_args args = {.q = q,
                                                      .k = k,
                                                      .v = v,
                                                      .g = g,
                                                      .beta = beta,
                                                      .state = state->gdn,
                                                      .o = o,
                                                      .scale = scale};
        return assay_gdn_recurrent(schedule->context, &args);
    }
    const struct assay_gdn_chunked_args args = {.q = q,
                                                .k = k,
                                                .v = v,
                                                .g = g,
                                                .beta = beta,
                                                .state = state->gdn,
                                                .o = o,
                                                .scale = scale,
                                                .chunk = schedule->gdn_chunk};
    return assay_gdn_chunked(schedule->context, &args);
}

/* (F11) to (F16): normed -> mixer output, in place of normed. */
static assay_status gdn_mixer(const struct schedule *schedule, const struct gdn_weights *weights,
                              int64_t layer, struct assay_tensor normed,
                              const struct schedule_block *block)
{
    const struct assay_model_config *config = schedule->config;
    const struct schedule_scratch *scratch = &schedule->scratch;
    const int64_t tokens = normed.extent[0];
    const int64_t dk = config->linear_key_dim, dv = config->linear_value_dim;
    const int64_t key_heads = config->linear_key_heads, value_heads = config->linear_value_heads;
    const int64_t value_width = value_heads * dv, width = 2 * key_heads * dk + value_width;
    const struct assay_tensor channels = rows(scratch->first, tokens, width);
    const struct assay_tensor z_rows = rows(scratch->second, tokens, value_width);
    const struct assay_tensor a = rows(scratch->gates, tokens, value_heads);
    const struct assay_tensor b = rows(scratch->gates + tokens * value_heads, tokens, value_heads);

    const struct assay_weights *const projections[] = {&weights->in_proj_qkv, &weights->in_proj_z,
                                                       &weights->in_proj_b, &weights->in_proj_a};
    const struct assay_tensor projected[] = {channels, z_rows, b, a};
    ASSAY_TRY(pass_group(schedule->context, schedule->products.projections, normed, 4, projections,
                         projected));

    for (int64_t i = 0; i < num_lanes(block); i++) {
        const struct assay_tensor x = part(channels, block, i);
        const struct assay_causal_conv1d_args convolve = {
            .x = x,
            .w = weights->conv,
            .state = state_of(schedule, block, i, layer)->conv,
            .y = x,
            .silu = true};
        ASSAY_TRY(assay_causal_conv1d(schedule->context, &convolve));
    }
    /* Query and key heads are neighbours in a row: one call normalises both. */
    const struct assay_tensor qk = heads(scratch->first, tokens, 2 * key_heads, dk, width, dk);
    const struct assay_l2norm_args normalise = {.x = qk, .y = qk, .eps = L2NORM_EPS};
    ASSAY_TRY(assay_l2norm(schedule->context, &normalise));
    const struct assay_gdn_gating_args gating = {
        .a = a, .b = b, .a_log = weights->a_log, .dt_bias = weights->dt_bias, .g = a, .beta = b};
    ASSAY_TRY(assay_gdn_gating(schedule->context, &gating));

    const struct assay_tensor o = heads(scratch->third, tokens, value_heads, dv, value_width, dv);
    const struct assay_tensor z = heads(scratch->second, tokens, value_heads, dv, value_width, dv);
    for (int64_t i = 0; i < num_lanes(block); i++)
        ASSAY_TRY(delta_rule(schedule, state_of(schedule, block, i, layer),
                             part(channels, block, i), part(a, block, i), part(b, block, i),
                             part(o, block, i)));
    const struct assay_gated_rmsnorm_args gated = {
        .x = o, .z = z, .w = weights->norm, .y = z, .eps = config->rms_eps};
    ASSAY_TRY(assay_gated_rmsnorm(schedule->context, &gated));
    return project(schedule, z_rows, &weights->out_proj, normed);
}

/* (F18): normed -> MLP output, in place of normed; of a mixture, the shared expert. */
static assay_status mlp(const struct schedule *schedule, const struct mlp_weights *weights,
                        struct assay_tensor normed)
{
    const struct schedule_scratch *scratch = &schedule->scratch;
    const int64_t tokens = normed.extent[0], width = mlp_width(schedule->config);
    const struct assay_tensor gate = rows(scratch->first, tokens, width);
    const struct assay_tensor up = rows(scratch->second, tokens, width);

    ASSAY_TRY(pass_swiglu(schedule->context, schedule->products.gate_up, normed,
                          &weights->gate_proj, &weights->up_proj, gate, up));
    return pass_linear(schedule->context, schedule->products.down, gate, &weights->down_proj,
                       normed);
}

/* (F19): normed -> MLP output, in place of normed. Routing stays where the ops are: ids and weights
 * are never read here. The routed sum waits in `third` while the shared expert takes normed. */
static assay_status mixture(const struct schedule *schedule, const struct layer_weights *weights,
                            struct assay_tensor normed)
{
    const struct assay_model_config *config = schedule->config;
    const struct moe_weights *moe = &weights->moe;
    const int64_t tokens = normed.extent[0], k = config->experts_per_token;
    float *const gate_data = schedule->scratch.gates + tokens * config->num_experts;
    const struct assay_tensor logits = rows(schedule->scratch.gates, tokens, config->num_experts);
    const struct assay_tensor gate = rows(gate_data, tokens, 1);
    const struct assay_tensor chosen = rows(gate_data + tokens, tokens, k);
    const struct assay_tensor ids =
        assay_tensor_2d(gate_data + tokens + tokens * k, ASSAY_I32, tokens, k);
    const struct assay_tensor routed = rows(schedule->scratch.third, tokens, config->hidden_size);

    ASSAY_TRY(pass_linear(schedule->context, ASSAY_PRODUCT_A16, normed, &moe->router, logits));
    const struct assay_moe_router_args route = {.logits = logits, .ids = ids, .weights = chosen};
    ASSAY_TRY(assay_moe_router(schedule->context, &route));
    ASSAY_TRY(
        pass_experts(schedule->context, normed, ids, chosen, &moe->gate_up, &moe->down, routed));
    ASSAY_TRY(pass_linear(schedule->context, ASSAY_PRODUCT_A16, normed, &moe->shared_gate, gate));
    ASSAY_TRY(mlp(schedule, &weights->mlp, normed));
    const struct assay_sigmoid_mul_args gated = {.x = normed, .gate = gate, .y = normed};
    ASSAY_TRY(assay_sigmoid_mul(schedule->context, &gated));
    const struct assay_add_args sum = {.a = normed, .b = routed, .y = normed};
    return assay_add(schedule->context, &sum);
}

assay_status schedule_layers(const struct schedule *schedule, const struct schedule_block *block)
{
    const struct schedule_scratch *scratch = &schedule->scratch;
    const int64_t tokens = block->ids.extent[0], hidden = schedule->config->hidden_size;
    const struct assay_tensor x = rows(scratch->x, tokens, hidden);
    const struct assay_tensor normed = rows(scratch->normed, tokens, hidden);

    ASSAY_TRY(pass_embedding(schedule->context, block->ids, &schedule->weights->embed, x));
    /* A layer's sum and the norm of what follows are one call; after the last layer the head norms
     * the rows that it is asked for. */
    const int64_t num_layers = schedule->config->num_layers;
    if (num_layers > 0)
        ASSAY_TRY(norm(schedule, x, schedule->weights->layers[0].input_norm, normed));
    for (int64_t i = 0; i < num_layers; i++) {
        const struct layer_weights *weights = &schedule->weights->layers[i];
        const struct assay_tensor *next = i + 1 < num_layers ? &weights[1].input_norm : NULL;
        if (weights->kind == ASSAY_LAYER_FULL)
            ASSAY_TRY(attention_mixer(schedule, &weights->mixer.attention, i, normed, block));
        else
            ASSAY_TRY(gdn_mixer(schedule, &weights->mixer.gdn, i, normed, block));
        ASSAY_TRY(add_and_norm(schedule, x, &weights->post_attention_norm, normed));
        if (schedule->config->is_moe)
            ASSAY_TRY(mixture(schedule, weights, normed));
        else
            ASSAY_TRY(mlp(schedule, &weights->mlp, normed));
        ASSAY_TRY(add_and_norm(schedule, x, next, normed));
    }
    return ASSAY_OK;
}

assay_status schedule_head(const struct schedule *schedule, float *x, int64_t num_rows,
                           float *logits)
{
    const int64_t hidden = schedule->config->hidden_size;
    const struct assay_tensor normed = rows(schedule->scratch.normed, num_rows, hidden);
    ASSAY_TRY(norm(schedule, rows(x, num_rows, hidden), schedule->weights->final_norm, normed));
    return pass_linear(schedule->context, ASSAY_PRODUCT_A16, normed, &schedule->weights->lm_head,
                       rows(logits, num_rows, schedule->config->vocab_size));
}
