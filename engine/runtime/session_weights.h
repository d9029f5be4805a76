/* SPDX-License-Identifier: MIT
 *
 * A model's weights where a context's ops read them, in the formats that the trades ask for: the
 * model's own where nothing differs, else a copy that the first session makes (device memory;
 * matrices encoded again), others of the same context and formats share, and the last frees.
 */
#ifndef ASSAY_RUNTIME_SESSION_WEIGHTS_H
#define ASSAY_RUNTIME_SESSION_WEIGHTS_H

#include <assay/context.h>
#include <assay/model.h>
#include <assay/precision.h>

#include "model/bind.h"

/* NULL on failure. ASSAY_E_UNSUPPORTED: a stored format that a trade cannot be made from. */
ASSAY_MUST_USE assay_status session_weights_acquire(assay_context *context,
                                                    const assay_model *model,
                                                    const struct assay_precision *precision,
                                                    const struct model_weights **weights,
                                                    struct assay_error *error);
/* Bytes of the planes of all weights, and of one row of the embedding. */
size_t session_weights_bytes(const struct model_weights *weights, int64_t num_layers);
size_t session_weights_row_bytes(const struct assay_weights *matrix);
/* Views of a layer's tensors, each plane of a matrix one; the number of them. */
enum { SESSION_LAYER_TENSORS = 48 };
int session_weights_list(const struct layer_weights *layer,
                         struct assay_tensor views[SESSION_LAYER_TENSORS]);
/* Memory that the copy takes; 0 for the model's own weights. */
size_t session_weights_copied(const struct model_weights *weights);
/* The model's own weights and NULL are fine. */
void session_weights_release(const struct model_weights *weights);

#endif
