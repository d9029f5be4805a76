/* SPDX-License-Identifier: MIT
 *
 * Where a pass meets the formats of its matrices, private to the engine: the two calls that take
 * one choose the op by its format.
 */
#ifndef ASSAY_MODEL_PASS_WEIGHTS_H
#define ASSAY_MODEL_PASS_WEIGHTS_H

#include <assay/context.h>
#include <assay/tensor.h>
#include <assay/weights.h>

/* y = x W^T. Errors are in the context. */
ASSAY_MUST_USE assay_status pass_linear(assay_context *context, struct assay_tensor x,
                                        const struct assay_weights *w, struct assay_tensor y);
/* y[t] = row ids[t] of the table. */
ASSAY_MUST_USE assay_status pass_embedding(assay_context *context, struct assay_tensor ids,
                                           const struct assay_weights *table,
                                           struct assay_tensor y);

#endif
