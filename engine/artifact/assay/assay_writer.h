/* SPDX-License-Identifier: MIT
 *
 * Writes .assay folders, private to the engine: objects are declared, then their rows arrive in
 * order, then the directory is written. The folder appears when all of it is on disk.
 */
#ifndef ASSAY_ARTIFACT_ASSAY_WRITER_H
#define ASSAY_ARTIFACT_ASSAY_WRITER_H

#include <sodium.h>

#include "artifact/assay/assay_file.h"
#include "core/new_folder.h"

struct assay_writer {
    struct assay_new_folder folder;
    struct assay_new_file payload;
    crypto_generichash_state digests[ASSAY_FILE_PLANES]; /* of the object being written */
    const struct assay_file_object *object;
    int64_t row; /* the next */
};

/* payload_bytes: the end of the last plane. */
ASSAY_MUST_USE assay_status assay_writer_open(const char *path, uint64_t payload_bytes,
                                              struct assay_writer *writer,
                                              struct assay_error *error);
void assay_writer_begin(struct assay_writer *writer, const struct assay_file_object *object);
/* The next `count` rows: planes[i] has them contiguous; NULL for absent planes. */
ASSAY_MUST_USE assay_status assay_writer_rows(struct assay_writer *writer, int64_t count,
                                              const void *const planes[ASSAY_FILE_PLANES],
                                              struct assay_error *error);
/* The "planes" member of the object's entry; NULL: no memory. All rows must have come. */
json_t *assay_writer_end(struct assay_writer *writer);
/* Copies DIR/NAME into the folder; nothing when there is no such file. */
ASSAY_MUST_USE assay_status assay_writer_copy(struct assay_writer *writer, const char *dir,
                                              const char *name, struct assay_error *error);
/* Writes the directory and makes the folder appear. */
ASSAY_MUST_USE assay_status assay_writer_commit(struct assay_writer *writer,
                                                const json_t *directory, struct assay_error *error);
/* Leaves nothing behind. Does nothing after a commit. */
void assay_writer_abort(struct assay_writer *writer);

#endif
