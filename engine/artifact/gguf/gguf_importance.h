/* SPDX-License-Identifier: MIT
 *
 * Importance matrices, private to the engine: GGUF files of the kind that llama.cpp's imatrix
 * writes. Of each matrix they have the summed squares of its input channels ("NAME.in_sum2") and
 * how many rows were summed ("NAME.counts"); names and the order of channels are those of GGUF
 * models.
 */
#ifndef ASSAY_ARTIFACT_GGUF_IMPORTANCE_H
#define ASSAY_ARTIFACT_GGUF_IMPORTANCE_H

#include "artifact/gguf/gguf.h"

struct gguf_importance {
    struct gguf_file file;
    bool open;
};

ASSAY_MUST_USE assay_status gguf_importance_open(const char *path,
                                                 struct gguf_importance *importance,
                                                 struct assay_error *error);
void gguf_importance_close(struct gguf_importance *importance);
/* The mean squares of the input channels of a matrix of the safetensors release, in its order, in
 * memory of the caller (assay_free); NULL when the file does not have the matrix. */
ASSAY_MUST_USE assay_status gguf_importance_of(const struct gguf_importance *importance,
                                               const struct assay_model_config *config,
                                               const char *name, int64_t columns, float **values,
                                               struct assay_error *error);

#endif
