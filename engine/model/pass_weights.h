/* SPDX-License-Identifier: MIT
 *
 * Where a pass meets the formats of its matrices and the kinds of its products, private to the
 * engine: the calls that take a matrix choose the op by both.
 */
#ifndef ASSAY_MODEL_PASS_WEIGHTS_H
#define ASSAY_MODEL_PASS_WEIGHTS_H

#include <stddef.h>

#include <assay/context.h>
#include <assay/precision.h>
#include <assay/tensor.h>
#include <assay/weights.h>

/* y = x W^T. The product is that of a grouped W; a bf16 one is multiplied as it is. Errors are in
 * the context. */
ASSAY_MUST_USE assay_status pass_linear(assay_context *context, enum assay_product product,
                                        struct assay_tensor x, const struct assay_weights *w,
                                        struct assay_tensor y);
/* Workspace that pass_linear would take for `tokens` rows of f32, wherever they lie. */
ASSAY_MUST_USE assay_status pass_linear_workspace(assay_context *context,
                                                  enum assay_product product, int64_t tokens,
                                                  const struct assay_weights *w, size_t *bytes);
/* y[t] = row ids[t] of the table. */
ASSAY_MUST_USE assay_status pass_embedding(assay_context *context, struct assay_tensor ids,
                                           const struct assay_weights *table,
                                           struct assay_tensor y);
/* y = silu(x gate^T) * (x up^T), y in f32, one call where it is A16 and of few rows. scratch: of
 * y's shape and format, apart from it; used where these are separate calls. */
ASSAY_MUST_USE assay_status pass_swiglu(assay_context *context, enum assay_product product,
                                        struct assay_tensor x, const struct assay_weights *gate,
                                        const struct assay_weights *up, struct assay_tensor y,
                                        struct assay_tensor scratch);
/* y[t] = the sum of its slots' experts, from banks of all experts' rows: moe_experts or
 * moe_experts_grouped. */
ASSAY_MUST_USE assay_status pass_experts(assay_context *context, struct assay_tensor x,
                                         struct assay_tensor ids, struct assay_tensor weights,
                                         const struct assay_weights *gate_up,
                                         const struct assay_weights *down, struct assay_tensor y);
/* Workspace that pass_experts would take for `tokens` rows of f32, k slots each. */
ASSAY_MUST_USE assay_status pass_experts_workspace(assay_context *context, int64_t tokens,
                                                   int64_t k, const struct assay_weights *gate_up,
                                                   const struct assay_weights *down, size_t *bytes);
/* y[i] = x w[i]^T, 2 to 4 products of one input. */
ASSAY_MUST_USE assay_status pass_group(assay_context *context, enum assay_product product,
                                       struct assay_tensor x, int num_products,
                                       const struct assay_weights *const *w,
                                       const struct assay_tensor *y);

#endif
