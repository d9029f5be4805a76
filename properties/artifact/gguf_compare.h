/* SPDX-License-Identifier: MIT
 *
 * Models that are read from written GGUF files, against the models they were written from.
 */
#ifndef ASSAY_PROPERTIES_GGUF_COMPARE_H
#define ASSAY_PROPERTIES_GGUF_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/model.h>

#include "gguf_writer.h"

#define GGUF_FILE "model.gguf"

/* Of the last model that was opened. */
extern struct assay_error gguf_error;

/* Opens a folder, which must succeed. */
assay_model *gguf_source(const char *dir);
/* Writes the image into the folder and opens it; NULL when it is refused. */
assay_model *gguf_opened(const char *dir, const struct gguf_image *image, bool rows_only);
/* The caller frees it. */
float *gguf_row_of(const assay_model *model, int64_t index, int64_t row, int64_t columns);
/* Tensors of `source` that `read` does not have with the same shape and values; offset norms as
 * 1 + w. Those of the MTP block may be left out. */
int gguf_differences(const assay_model *source, const assay_model *read);

#endif
