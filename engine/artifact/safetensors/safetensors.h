/* SPDX-License-Identifier: MIT
 *
 * Reader of safetensors files, private to the engine: one model.safetensors, or the shards that
 * model.safetensors.index.json lists. Files are mapped, never copied; everything in a header is
 * checked before a tensor's address is formed.
 *
 * Layout of a file: header length (u64, little endian), header (a JSON object, padded with
 * spaces), data. The header maps each tensor's name to dtype, shape and data_offsets [begin, end)
 * from the start of the data. The reader demands that tensors cover the data without overlap or
 * hole: two roles on the same bytes, or bytes nobody names, are signs of a damaged file.
 */
#ifndef ASSAY_ARTIFACT_SAFETENSORS_H
#define ASSAY_ARTIFACT_SAFETENSORS_H

#include "core/core.h"

#define SAFETENSORS_MAX_RANK 8 /* vision towers store rank 5 */

struct safetensors_entry {
    const char *name;        /* owned by the set */
    const char *dtype;       /* as in the file: "BF16"; static text */
    enum assay_dtype format; /* ASSAY_NUM_DTYPES: a dtype that the engine has no format for */
    int file;                /* index into the set's files */
    int rank;                /* 0 .. SAFETENSORS_MAX_RANK */
    int64_t extent[SAFETENSORS_MAX_RANK];
    uint64_t begin; /* in the file's data */
    uint64_t bytes;
    const uint8_t *data; /* aligned to the element size; NULL when bytes is 0 */
};

struct safetensors_file {
    char *name; /* inside the model folder */
    struct assay_map map;
    char *names; /* the entries' names, each zero-terminated */
};

struct safetensors_set {
    struct safetensors_file *files; /* in name order */
    int num_files;
    struct safetensors_entry *entries; /* in name order, names are unique */
    int64_t num_entries;
};

/* Opens all weight files of a model folder; model.safetensors is taken before the index. On
 * failure the set is empty. Errors: ASSAY_E_NOT_FOUND (no weights, missing shard or tensor),
 * ASSAY_E_CORRUPT, ASSAY_E_UNSUPPORTED, ASSAY_E_PARSE (index), ASSAY_E_IO, ASSAY_E_MEMORY. */
ASSAY_MUST_USE assay_status assay_safetensors_open(const char *dir, struct safetensors_set *set,
                                                   struct assay_error *error);
void assay_safetensors_close(struct safetensors_set *set);

/* The entry's index, or -1. */
int64_t assay_safetensors_find(const struct safetensors_set *set, const char *name);
/* Index of the first entry whose name is not below `name`. */
int64_t assay_safetensors_lower_bound(const struct safetensors_set *set, const char *name);

/* ---- between the reader's own files --------------------------------------------------------- */

/* Maps DIR/NAME and appends its tensors to the set's entries (not yet sorted by name). The file
 * is added to the set even when its content is refused, so that closing the set frees it. */
ASSAY_MUST_USE assay_status assay_safetensors_add_file(const char *dir, const char *name,
                                                       struct safetensors_set *set,
                                                       struct assay_error *error);
/* Reads the value of one header key into the entry: dtype, format, rank, extent, begin, bytes.
 * `value` is a json_t. Offsets are checked against data_bytes. */
ASSAY_MUST_USE assay_status assay_safetensors_read_entry(const char *file, const void *value,
                                                         uint64_t data_bytes,
                                                         struct safetensors_entry *entry,
                                                         struct assay_error *error);
/* Opens the shards of an index that is already mapped and checks index and shards against each
 * other. */
ASSAY_MUST_USE assay_status assay_safetensors_add_index(const char *dir,
                                                        const struct assay_map *index,
                                                        struct safetensors_set *set,
                                                        struct assay_error *error);
/* Sorts entries by name. */
void assay_safetensors_sort(struct safetensors_set *set);

#define SAFETENSORS_INDEX  "model.safetensors.index.json"
#define SAFETENSORS_SINGLE "model.safetensors"

#endif
