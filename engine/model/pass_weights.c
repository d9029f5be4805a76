/* SPDX-License-Identifier: MIT
 *
 * The ops of a matrix's format: see pass_weights.h.
 */
#include "model/pass_weights.h"

#include <assay/ops/embedding.h>
#include <assay/ops/embedding_grouped.h>
#include <assay/ops/linear.h>
#include <assay/ops/linear_grouped.h>

#include "core/core.h"

assay_status pass_linear(assay_context *context, struct assay_tensor x,
                         const struct assay_weights *w, struct assay_tensor y)
{
    if (w->format != ASSAY_WEIGHT_BF16) {
        const struct assay_linear_grouped_args args = {.x = x, .w = *w, .y = y};
        return assay_linear_grouped(context, &args);
    }
    const struct assay_linear_args args = {.x = x, .w = w->base, .y = y};
    return assay_linear(context, &args);
}

assay_status pass_embedding(assay_context *context, struct assay_tensor ids,
                            const struct assay_weights *table, struct assay_tensor y)
{
    if (table->format != ASSAY_WEIGHT_BF16) {
        const struct assay_embedding_grouped_args args = {.ids = ids, .table = *table, .y = y};
        return assay_embedding_grouped(context, &args);
    }
    const struct assay_embedding_args args = {.ids = ids, .table = table->base, .y = y};
    return assay_embedding(context, &args);
}
