/* SPDX-License-Identifier: MIT
 *
 * The oracle's own reader of safetensors files, for weights and for reference tensors. Input is
 * checked (lengths, offsets, types), not repaired.
 */
#ifndef ORACLE_ARCHIVE_H
#define ORACLE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

#define ORACLE_ARCHIVE_MAX_RANK 4

struct oracle_archive; /* one mapped file, or all files of a model folder */

/* One stored tensor; extents of missing dimensions are 1. */
struct oracle_stored {
    const unsigned char *bytes;
    char dtype[8]; /* "BF16", "F16", "F32", "F64", "I32", "I64" */
    int rank;
    int64_t extent[ORACLE_ARCHIVE_MAX_RANK];
    int64_t count; /* elements */
};

/* *archive is NULL on failure; message[size] then says what is wrong and where. */
assay_status oracle_archive_open(const char *path, struct oracle_archive **archive, char *message,
                                 size_t size);
/* model.safetensors, or else every file that model.safetensors.index.json names. */
assay_status oracle_archive_open_model(const char *dir, struct oracle_archive **archive,
                                       char *message, size_t size);
void oracle_archive_close(struct oracle_archive *archive); /* NULL is allowed */

/* ASSAY_E_NOT_FOUND when there is no tensor of this name. */
assay_status oracle_archive_find(const struct oracle_archive *archive, const char *name,
                                 struct oracle_stored *stored, char *message, size_t size);
/* Widens the whole tensor into newly allocated memory (free()). Exact for every stored type but
 * integers of more than 53 bits. */
assay_status oracle_archive_read(const struct oracle_archive *archive, const char *name,
                                 double **values, int64_t *count, char *message, size_t size);

#endif
