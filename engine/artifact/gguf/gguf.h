/* SPDX-License-Identifier: MIT
 *
 * Reader of GGUF files, private to the engine (qwen3_5.md section 8). The file is mapped, never
 * copied; everything in it is checked before it is used.
 *
 * gguf_file.c     the container: header, metadata, tensor list (8.1)
 * gguf_values.c   typed access to metadata
 * gguf_config.c   metadata to the fields of a config.json (8.2)
 * gguf_names.c    tensors by the names of the safetensors release (8.3)
 * gguf_rows.c     rows of them in the order of the safetensors release (8.4, 8.5)
 * gguf_store.c    the weight store
 */
#ifndef ASSAY_ARTIFACT_GGUF_H
#define ASSAY_ARTIFACT_GGUF_H

#include <jansson.h>

#include "artifact/weight_store.h"

enum gguf_value_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_NUM_VALUE_TYPES
};

enum { GGUF_MAX_RANK = 4 };

/* One key of the metadata. Text in the file has no terminating zero. */
struct gguf_entry {
    const char *key;
    size_t key_bytes;
    enum gguf_value_type type; /* of the value, of the elements of an array */
    bool is_array;
    uint64_t count;      /* elements; 1 for a single value */
    const uint8_t *data; /* the first element; texts: their length (u64) and bytes */
};

struct gguf_tensor {
    const char *name; /* zero-terminated, owned by the file */
    int rank;
    int64_t ne[GGUF_MAX_RANK]; /* ne[0] is the innermost extent; 1 beyond the rank */
    uint32_t type;             /* of formats/gguf_blocks.h */
    uint64_t offset;           /* from the start of the data */
    uint64_t bytes;
    const uint8_t *data;
};

struct gguf_file {
    char *name; /* without its folder */
    struct assay_map map;
    struct gguf_entry *entries; /* in key order, keys are unique */
    int64_t num_entries;
    struct gguf_tensor *tensors; /* in name order, names are unique */
    int64_t num_tensors;
    char *names;
};

/* On failure the file is closed. Errors: ASSAY_E_NOT_FOUND, ASSAY_E_IO, ASSAY_E_MEMORY,
 * ASSAY_E_CORRUPT, ASSAY_E_UNSUPPORTED (versions and types of which nothing is known). */
ASSAY_MUST_USE assay_status gguf_open(const char *path, struct gguf_file *file,
                                      struct assay_error *error);
void gguf_close(struct gguf_file *file);
/* NULL when there is none. */
const struct gguf_tensor *gguf_find(const struct gguf_file *file, const char *name);
/* Bytes of one element of metadata, 0 for texts and arrays. */
size_t gguf_value_bytes(enum gguf_value_type type);

/* ---- metadata (gguf_values.c). Keys longer than GGUF_KEY_SIZE are unknown to us. ------------- */
enum { GGUF_KEY_SIZE = 128 };

const struct gguf_entry *gguf_entry_find(const struct gguf_file *file, const char *key);
/* Absent: *present false and *result left alone. ASSAY_E_PARSE: another type, beyond 63 bits. */
ASSAY_MUST_USE assay_status gguf_integer(const struct gguf_file *file, const char *key,
                                         bool *present, int64_t *result, struct assay_error *error);
/* Element of an array of integers or flags. */
ASSAY_MUST_USE assay_status gguf_element(const struct gguf_file *file,
                                         const struct gguf_entry *entry, uint64_t index,
                                         int64_t *result, struct assay_error *error);
/* A number. Of a binary32 the shortest decimal that rounds to it, in binary64: the producer had a
 * decimal, such as 1e-6, and this is the one. */
ASSAY_MUST_USE assay_status gguf_number(const struct gguf_file *file, const char *key,
                                        bool *present, double *result, struct assay_error *error);
/* A text of less than `size` bytes without zeros, copied. */
ASSAY_MUST_USE assay_status gguf_text(const struct gguf_file *file, const char *key, bool *present,
                                      char *text, size_t size, struct assay_error *error);
/* A failure about a key. */
assay_status gguf_refuse(const struct gguf_file *file, assay_status status, const char *key,
                         struct assay_error *error, const char *format, ...) ASSAY_PRINTF(5, 6);

/* ---- the model (gguf_config.c, gguf_names.c, gguf_rows.c) ------------------------------------ */

/* A flat config.json. tiled: value heads are stored in tiled order (8.4). */
ASSAY_MUST_USE assay_status gguf_config(const struct gguf_file *file, json_t **config, bool *tiled,
                                        struct assay_error *error);

/* Rows of a tensor that holds a block for each key head: those of the view from `first` on are runs
 * of `run` rows, one a key head, each `offset` rows into the head's block. */
struct gguf_section {
    int64_t first, run, offset;
};

enum { GGUF_MAX_SECTIONS = 3 };

/* How to read a tensor of the safetensors release from one of the file, or from two. Heads in
 * grouped order are h = g * ratio + j, in tiled order j * key_heads + g; both of key_heads * ratio.
 */
struct gguf_view {
    int64_t tensor; /* index in the file */
    /* > 0: rows are by turns so many of `tensor` and of `second`, as a bank of gate and up is. */
    int64_t half, second;
    int64_t rows, columns;
    int64_t block_rows; /* of a key head; 0: no blocks, else first_row and tiles are not used */
    struct gguf_section sections[GGUF_MAX_SECTIONS]; /* in order; beyond the last, run is 0 */
    int64_t first_row;                               /* where they begin: parts of fused tensors */
    int64_t tiled_from;                              /* first row that belongs to value heads */
    int64_t tile_rows;    /* rows of a value head; 0: rows are not tiled */
    int64_t tile_columns; /* columns of a value head; 0: columns are not tiled */
    int64_t key_heads, ratio;
    bool is_decay; /* stored as -exp(A_log) */
};

/* True when the view is a contiguous part of the file's tensor, in order. */
bool gguf_view_in_place(const struct gguf_view *view);
/* The file's tensor that holds row `row` of the view, and which of its rows that is. */
int64_t gguf_view_tensor(const struct gguf_view *view, int64_t row);
int64_t gguf_view_row(const struct gguf_view *view, int64_t row);
/* The same of columns. */
int64_t gguf_view_column(const struct gguf_view *view, int64_t column);
/* Type and first byte of the file's row that holds row `row`. */
uint32_t gguf_row_type(const struct gguf_file *file, const struct gguf_view *view, int64_t row);
const uint8_t *gguf_row_data(const struct gguf_file *file, const struct gguf_view *view,
                             int64_t row);
/* Row `row` as binary32. */
void gguf_read_row(const struct gguf_file *file, const struct gguf_view *view, int64_t row,
                   float *values);
/* A_log of the stored -exp(A_log): see gguf_rows.c for the error. */
float gguf_a_log(float stored);
/* Q8_0 in the planes of q8g32, code for code. False when some code is -128, which q8g32 lacks, or
 * when tiled columns do not fall on blocks. */
bool gguf_row_to_q8(const struct gguf_file *file, const struct gguf_view *view, int64_t row,
                    const struct assay_weights *to, int64_t to_row);

/* Lists the tensors and their views for a model of this config. */
struct gguf_listing {
    const struct gguf_file *file;
    const struct assay_model_config *config;
    bool tiled;
    struct stored_tensor *tensors; /* [capacity] */
    struct gguf_view *views;       /* [capacity] */
    char *names;                   /* [capacity * GGUF_KEY_SIZE] */
    int64_t count, capacity;
    bool *used; /* [file->num_tensors] */
    struct assay_error *error;
};
ASSAY_MUST_USE assay_status gguf_list(struct gguf_listing *listing);
/* Tensors of a model of this config, at most. */
int64_t gguf_list_capacity(const struct assay_model_config *config);

#endif
