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
/* The model's own weights and NULL are fine. */
void session_weights_release(const struct model_weights *weights);

#endif
