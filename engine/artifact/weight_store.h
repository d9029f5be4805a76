/* SPDX-License-Identifier: MIT
 *
 * The tensors of a model, whichever container they come from, private to the engine: a folder of
 * safetensors, an .assay folder or a .gguf file. Names, shapes and value order are those of the
 * safetensors release (qwen3_5.md section 3); what a container stores otherwise is undone here or
 * stated as a property of the store.
 *
 * Opening has two steps, as the config decides which tensors a GGUF file must have:
 *   weight_store_open    finds the container, checks its directory, gives the config
 *   weight_store_load    lists the tensors
 */
#ifndef ASSAY_ARTIFACT_WEIGHT_STORE_H
#define ASSAY_ARTIFACT_WEIGHT_STORE_H

#include <jansson.h>

#include <assay/model.h>
#include <assay/weights.h>

#include "core/core.h"

enum { STORE_MAX_RANK = 8 /* vision towers store rank 5 */ };

/* A tensor whose rows lie in several places of the files, `rows` of them in each. */
struct stored_parts {
    enum assay_dtype dtype; /* BF16, F16 or F32 */
    int64_t rows, count;
    const uint8_t *data[]; /* [count] */
};

struct stored_tensor {
    const char *name;        /* owned by the store */
    const char *format_name; /* as in the file: "BF16", "Q8_0", "q4g64" */
    int file;                /* index into the store's files */
    int rank;
    int64_t extent[STORE_MAX_RANK];
    uint64_t bytes; /* in the file */
    /* Values that ops can take, in the file or in memory of the store. Plain: dtype and data;
     * grouped: planes. Neither (dtype ASSAY_NUM_DTYPES, grouped false): rows can be read only, from
     * parts if there are any. */
    enum assay_dtype dtype;
    const uint8_t *data; /* aligned to the element size; NULL when there are no elements */
    bool grouped;
    struct assay_weights planes;
    const struct stored_parts *parts;  /* of a joined tensor (joined.h); else NULL */
    enum assay_weight_encoder encoder; /* .assay: what chose the scales; else the number of them */
    int64_t view;                      /* GGUF: index into its views */
};

struct store_file {
    const char *name;
    struct assay_map map;
};

/* What a store is made of; each container has its own. */
struct weight_container;

struct weight_store {
    const struct store_kind *kind;
    char *dir;               /* where tokenizer.json and generation_config.json lie */
    char *path;              /* what was opened */
    const char *config_file; /* which file has the config, for errors */
    json_t *config;
    struct assay_map config_map; /* config.json of a safetensors folder, for the digest */
    struct store_file *files;    /* weight files in name order; the digest covers them */
    int num_files;
    struct stored_tensor *tensors; /* in name order, names are unique */
    int64_t num_tensors;
    bool final_norms; /* offset norms are stored as 1 + w: use (F2) with them, not (F1) */
    bool f32_vectors; /* vectors and convolutions may be binary32 */
    /* Memory beside the files that holds weights once the model is open to run; known of one that
     * is open for its rows, too. */
    int64_t copied_bytes;
    struct joined_tensor *joined; /* joined.h */
    struct weight_container *container;
};

/* A row is what the last extent spans: a matrix [N, K] has N, a vector one. */
struct store_kind {
    const char *list_name; /* the file to name when a tensor is in none */
    const char *remedy;    /* for a tensor in a format that cannot be used in place */
    assay_status (*load)(struct weight_store *store, const struct assay_model_config *config,
                         bool rows_only, struct assay_error *error);
    /* NULL: decode from data or planes. */
    void (*read_row)(const struct weight_store *store, const struct stored_tensor *tensor,
                     int64_t row, float *values);
    /* The row in planes of q8g32, code for code; false where it is not stored so. May be NULL. */
    bool (*read_q8)(const struct weight_store *store, const struct stored_tensor *tensor,
                    int64_t row, const struct assay_weights *to, int64_t to_row);
    void (*close)(struct weight_container *container);
};

/* *store is empty on failure. */
ASSAY_MUST_USE assay_status weight_store_open(const char *path, struct weight_store *store,
                                              struct assay_error *error);
/* rows_only: no tensor is copied or converted to make it usable by ops. */
ASSAY_MUST_USE assay_status weight_store_load(struct weight_store *store,
                                              const struct assay_model_config *config,
                                              bool rows_only, struct assay_error *error);
void weight_store_close(struct weight_store *store);

/* The index of the first name that is not below `name`. */
int64_t weight_store_lower_bound(const struct weight_store *store, const char *name);
/* -1 when there is none. */
int64_t weight_store_find(const struct weight_store *store, const char *name);
int64_t stored_rows(const struct stored_tensor *tensor);
int64_t stored_columns(const struct stored_tensor *tensor);
/* A bank of experts: by its name, since a convolution has three extents as well. */
bool stored_is_bank(const struct stored_tensor *tensor);
/* False for formats of which nothing is known but their size. */
bool weight_store_has_rows(const struct weight_store *store, const struct stored_tensor *tensor);
/* The row as binary32: exact for every format that has rows. */
void weight_store_read_row(const struct weight_store *store, const struct stored_tensor *tensor,
                           int64_t row, float *values);

/* ---- for the containers ---------------------------------------------------------------------- */

/* Each fills kind, config_file, config, files and container. */
ASSAY_MUST_USE assay_status store_open_safetensors(struct weight_store *store,
                                                   struct assay_error *error);
ASSAY_MUST_USE assay_status store_open_assay(struct weight_store *store, bool *present,
                                             struct assay_error *error);
ASSAY_MUST_USE assay_status store_open_gguf(struct weight_store *store, struct assay_error *error);
/* Sorts tensors by name. */
void weight_store_sort(struct weight_store *store);
/* What is stored in other pieces than the model has (joined.h). */
ASSAY_MUST_USE assay_status weight_store_join(struct weight_store *store,
                                              const struct assay_model_config *config,
                                              bool rows_only, struct assay_error *error);
void weight_store_free_joined(struct weight_store *store);

#endif
