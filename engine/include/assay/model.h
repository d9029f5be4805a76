/* SPDX-License-Identifier: MIT
 *
 * Models: config, generation_config.json, weights, tokenizer files. A model is a folder of
 * safetensors, an .assay folder (docs/containers.md) or a .gguf file with the tokenizer's files
 * beside it. The rules are qwen3_5.md sections 2, 3, 8 and 9; every rejection names file and field.
 */
#ifndef ASSAY_MODEL_H
#define ASSAY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>
#include <assay/tensor.h>
#include <assay/weights.h>

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

/* Reads a model's config and, when present, generation_config.json beside it. */
ASSAY_MUST_USE assay_status assay_config_read(const char *model_dir,
                                              struct assay_model_config *config,
                                              struct assay_error *error);

/* An open model: mapped weights with every tensor bound and checked against the config. */
typedef struct assay_model assay_model;

/* Opens a model to run it. *model is NULL on failure. Tensors are views of the mapped files but for
 * those that are stored otherwise than ops take them, which are copied: some of GGUF files, and
 * what safetensors store in other pieces, such as experts one by one, which become banks.
 * ASSAY_E_FORMAT: a matrix in a format that cannot be had without rounding; `assay convert` reads
 * it. */
ASSAY_MUST_USE assay_status assay_model_open(const char *model_dir, assay_model **model,
                                             struct assay_error *error);
/* Opens a model to read its tensors' rows, whatever their formats: it cannot be run. */
ASSAY_MUST_USE assay_status assay_model_open_rows(const char *path, assay_model **model,
                                                  struct assay_error *error);
void assay_model_close(assay_model *model);
const struct assay_model_config *assay_model_config(const assay_model *model);
/* What was opened: a folder or a .gguf file. */
const char *assay_model_dir(const assay_model *model);
bool assay_model_can_run(const assay_model *model);
/* Bytes of such copies; of a model that is open for its rows, what opening it to run would copy. */
int64_t assay_model_copied_bytes(const assay_model *model);
/* Offset norms (F1) are stored as 1 + w, as GGUF files have them: 1 cannot be taken away without an
 * error, so the norms use (F2) with them. */
bool assay_model_final_norms(const assay_model *model);
/* Stored tensors in name order, also those that no layer uses (MTP). The view of a matrix in groups
 * has its extents, dtype ASSAY_NUM_DTYPES and no data. */
int64_t assay_model_num_tensors(const assay_model *model);
struct assay_tensor assay_model_tensor_at(const assay_model *model, int64_t index,
                                          const char **name);
/* False when there is no tensor of this name, or it is a matrix in groups. */
bool assay_model_tensor(const assay_model *model, const char *name, struct assay_tensor *tensor);
/* A matrix, bf16 or in groups, or a bank in groups as a matrix of all its rows; false when there is
 * none of this name. */
bool assay_model_weights(const assay_model *model, const char *name, struct assay_weights *weights);

#define ASSAY_STORED_RANK 8

/* A tensor as its file has it. */
struct assay_stored {
    const char *name;
    const char *format;  /* "BF16", "Q8_0", "q4g64" */
    const char *encoder; /* NULL: not known */
    int rank;
    int64_t extent[ASSAY_STORED_RANK];
    int64_t rows, columns; /* a row is what the last extent spans */
    int64_t bytes;         /* in the file */
};
/* False when the index is outside [0, assay_model_num_tensors). */
bool assay_model_stored_at(const assay_model *model, int64_t index, struct assay_stored *stored);
/* -1 when there is none of this name. */
int64_t assay_model_find(const assay_model *model, const char *name);
/* values[0, columns) of a row, as binary32: exact, but for what the format's decoder rounds
 * (weights.h; Q4_K and Q5_K) and A_log of GGUF files, which is stored as -exp(A_log). */
ASSAY_MUST_USE assay_status assay_model_read_row(const assay_model *model, int64_t index,
                                                 int64_t row, float *values,
                                                 struct assay_error *error);
/* Compares the tensors of an .assay folder with their digests. ASSAY_E_CORRUPT: the first that
 * differs; ASSAY_E_UNSUPPORTED: another container. */
ASSAY_MUST_USE assay_status assay_model_verify(const assay_model *model, struct assay_error *error);
/* Hex digest (BLAKE2b-256, libsodium) over config and weight files in name order;
 * 64 characters and a zero. Computed at the first call; reads every byte of the model. */
ASSAY_MUST_USE assay_status assay_model_digest(assay_model *model, char digest[65],
                                               struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
