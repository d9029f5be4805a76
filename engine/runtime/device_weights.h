/* SPDX-License-Identifier: MIT
 *
 * A model's weights on a device: uploaded by the first session of a context that needs them, shared
 * by its others, freed with the last.
 */
#ifndef ASSAY_RUNTIME_DEVICE_WEIGHTS_H
#define ASSAY_RUNTIME_DEVICE_WEIGHTS_H

#include <assay/context.h>
#include <assay/model.h>

#include "model/bind.h"

/* *weights: the model's weights with views of the context's device memory. NULL on failure. */
ASSAY_MUST_USE assay_status device_weights_acquire(assay_context *context, const assay_model *model,
                                                   const struct model_weights **weights,
                                                   struct assay_error *error);
/* NULL is fine. */
void device_weights_release(const struct model_weights *weights);

#endif
