/* SPDX-License-Identifier: MIT
 *
 * What a set of trades gains in memory: bytes of all that a trade may store in another format, for
 * one sequence, without the set and with it.
 */
#include "gate_bench.h"

#include <math.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The format that the model stores the matrix in; ASSAY_NUM_WEIGHT_FORMATS when it has none. */
static enum assay_weight_format stored_format(const assay_model *model, const char *end)
{
    for (int64_t i = 0; i < assay_model_num_tensors(model); i++) {
        const char *name;
        struct assay_weights weights;
        (void)assay_model_tensor_at(model, i, &name);
        if (ends_with(name, end) && assay_model_weights(model, name, &weights))
            return weights.format;
    }
    return ASSAY_NUM_WEIGHT_FORMATS;
}

static double matrix_bytes(enum assay_weight_format format, const struct assay_model_config *config)
{
    struct assay_weight_layout layout;
    if (assay_weight_layout_of(format, config->vocab_size, config->hidden_size, &layout, NULL) !=
        ASSAY_OK)
        return NAN;
    return (double)(layout.base_bytes + layout.high_bytes + layout.scales_bytes);
}

static double bytes_of(const assay_model *model, assay_trade_set set)
{
    const struct assay_model_config *config = assay_model_config(model);
    struct assay_precision precision;
    int64_t linear_layers = 0;
    if (assay_precision_resolve(set, &precision, NULL) != ASSAY_OK)
        return NAN;
    enum assay_weight_format embedding = precision.embedding, head = precision.lm_head;
    const enum assay_weight_format stored = stored_format(model, "embed_tokens.weight");
    const enum assay_weight_format stored_head =
        config->tie_embeddings ? stored : stored_format(model, "lm_head.weight");
    if (embedding == ASSAY_NUM_WEIGHT_FORMATS)
        embedding = stored;
    if (head == ASSAY_NUM_WEIGHT_FORMATS)
        head = stored_head;
    for (int64_t i = 0; i < config->num_layers; i++)
        linear_layers += config->layers[i] != ASSAY_LAYER_FULL;
    const double state = (double)(linear_layers * config->linear_value_heads *
                                  config->linear_value_dim * config->linear_key_dim) *
                         (double)assay_dtype_bytes(precision.gdn_state);
    const bool shared = config->tie_embeddings && head == embedding;
    return state + matrix_bytes(embedding, config) + (shared ? 0.0 : matrix_bytes(head, config));
}

void gate_bench_storage(const struct gate_bench *bench)
{
    bench->result->bytes_without = bytes_of(bench->model, bench->trades_without);
    bench->result->bytes_with = bytes_of(bench->model, bench->trades_with);
}
