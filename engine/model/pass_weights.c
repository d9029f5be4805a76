/* SPDX-License-Identifier: MIT
 *
 * The ops of a matrix's format: see pass_weights.h.
 */
#include "model/pass_weights.h"

#include <assay/ops/embedding.h>
#include <assay/ops/linear.h>

#include "core/core.h"

static assay_status refuse(assay_context *context, const char *op, const char *argument,
                           const struct assay_weights *weights)
{
    return assay_refuse(context, ASSAY_E_UNSUPPORTED, op, argument,
                        "weights of format %s cannot be run by this version; use a bf16 model",
                        assay_weight_format_name(weights->format));
}

assay_status pass_linear(assay_context *context, struct assay_tensor x,
                         const struct assay_weights *w, struct assay_tensor y)
{
    if (w->format != ASSAY_WEIGHT_BF16)
        return refuse(context, "linear", "w", w);
    const struct assay_linear_args args = {.x = x, .w = w->base, .y = y};
    return assay_linear(context, &args);
}

assay_status pass_embedding(assay_context *context, struct assay_tensor ids,
                            const struct assay_weights *table, struct assay_tensor y)
{
    if (table->format != ASSAY_WEIGHT_BF16)
        return refuse(context, "embedding", "table", table);
    const struct assay_embedding_args args = {.ids = ids, .table = table->base, .y = y};
    return assay_embedding(context, &args);
}
