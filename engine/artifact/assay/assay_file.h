/* SPDX-License-Identifier: MIT
 *
 * .assay folders, private to the engine: what `assay convert` writes and the engine opens.
 * docs/containers.md has the fields.
 *
 *   NAME.assay/artifact.json   the directory: config, and of each tensor format, shape and planes
 *             /payload.bin     the planes, each at the next multiple of 256 bytes
 *
 * Where a plane lies follows from the formats and shapes before it; the directory states it all the
 * same, and a reader compares. Tensors are in name order.
 */
#ifndef ASSAY_ARTIFACT_ASSAY_FILE_H
#define ASSAY_ARTIFACT_ASSAY_FILE_H

#include "artifact/weight_store.h"

#define ASSAY_FILE_DIRECTORY "artifact.json"
#define ASSAY_FILE_PAYLOAD   "payload.bin"

enum { ASSAY_FILE_VERSION = 1, ASSAY_FILE_ALIGNMENT = 256, ASSAY_FILE_PLANES = 3 };

/* Names of the planes, in the order in which they lie: "base", "high", "scales". */
extern const char *const assay_file_plane_names[ASSAY_FILE_PLANES];

/* Sizes of an object's planes, 0 for absent ones; rows and columns as in weight_store.h.
 * Plain objects (dtype F32 or BF16) have a base plane. ASSAY_E_SHAPE: sizes overflow. */
struct assay_file_object {
    bool grouped;
    enum assay_weight_format format; /* grouped */
    enum assay_dtype dtype;          /* plain */
    int64_t rows, columns;
    uint64_t offset[ASSAY_FILE_PLANES];
    uint64_t bytes[ASSAY_FILE_PLANES];
};
ASSAY_MUST_USE assay_status assay_file_measure(struct assay_file_object *object,
                                               struct assay_error *error);
/* Places its planes from *end on, which becomes the end of the last. ASSAY_E_SHAPE: beyond 2^62. */
ASSAY_MUST_USE assay_status assay_file_place(struct assay_file_object *object, uint64_t *end,
                                             struct assay_error *error);
/* "q4g64", "bf16", "f32" */
const char *assay_file_format_name(const struct assay_file_object *object);

/* Compares every plane with its digest, and the padding with zeros. ASSAY_E_CORRUPT names the first
 * that differs; ASSAY_E_UNSUPPORTED: the store is of another container. */
ASSAY_MUST_USE assay_status assay_file_verify(const struct weight_store *store,
                                              struct assay_error *error);

#endif
