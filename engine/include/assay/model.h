/* SPDX-License-Identifier: MIT
 *
 * Model folders: config.json, generation_config.json, safetensors, tokenizer files. The rules are
 * qwen3_5.md sections 2, 3 and 9; every rejection names file and field.
 */
#ifndef ASSAY_MODEL_H
#define ASSAY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_MAX_LAYERS      512
#define ASSAY_MAX_STOP_TOKENS 16

enum assay_layer_kind { ASSAY_LAYER_LINEAR, ASSAY_LAYER_FULL };

/* config.json after the rules of qwen3_5.md section 2. */
struct assay_model_config {
    int64_t vocab_size;        /* rows of the embedding, padding rows included */
    int64_t hidden_size;       /* H */
    int64_t intermediate_size; /* I; 0 for MoE */
    int64_t num_layers;        /* without MTP */
    int64_t num_heads;         /* Nq */
    int64_t num_kv_heads;      /* Nkv */
    int64_t head_dim;          /* D */
    int64_t rotary_dim;        /* R */
    double rope_theta;
    int64_t mrope_section[3];
    double rms_eps;
    int64_t max_positions;
    int64_t conv_taps;          /* Kc */
    int64_t linear_key_dim;     /* dk */
    int64_t linear_value_dim;   /* dv */
    int64_t linear_key_heads;   /* Hk */
    int64_t linear_value_heads; /* Hv */
    int64_t num_mtp_layers;     /* 0 when absent */
    bool is_moe;
    int64_t num_experts;        /* E; 0 for dense */
    int64_t experts_per_token;  /* k */
    int64_t expert_size;        /* Im */
    int64_t shared_expert_size; /* Is */
    bool tie_embeddings;
    enum assay_layer_kind layers[ASSAY_MAX_LAYERS];
    int64_t stop_tokens[ASSAY_MAX_STOP_TOKENS]; /* generation_config.json, else config.json */
    int num_stop_tokens;
};

/* Reads MODEL/config.json and, when present, MODEL/generation_config.json. */
ASSAY_MUST_USE assay_status assay_config_read(const char *model_dir,
                                              struct assay_model_config *config,
                                              struct assay_error *error);

/* An open model: mapped weights with every tensor bound and checked against the config. */
typedef struct assay_model assay_model;

/* Opens a model folder. *model is NULL on failure. Nothing is copied: tensors are views of the
 * mapped files. */
ASSAY_MUST_USE assay_status assay_model_open(const char *model_dir, assay_model **model,
                                             struct assay_error *error);
void assay_model_close(assay_model *model);
const struct assay_model_config *assay_model_config(const assay_model *model);
const char *assay_model_dir(const assay_model *model);
/* Stored tensors in name order, also those that no layer uses (MTP). */
int64_t assay_model_num_tensors(const assay_model *model);
struct assay_tensor assay_model_tensor_at(const assay_model *model, int64_t index,
                                          const char **name);
/* False when there is no tensor of this name. */
bool assay_model_tensor(const assay_model *model, const char *name, struct assay_tensor *tensor);
/* Hex digest (BLAKE2b-256, libsodium) over config.json and all weight files in name order;
 * 64 characters and a zero. Computed at the first call; reads every byte of the model. */
ASSAY_MUST_USE assay_status assay_model_digest(assay_model *model, char digest[65],
                                               struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
