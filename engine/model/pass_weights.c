/* SPDX-License-Identifier: MIT
 *
 * The ops of a matrix's format: see pass_weights.h.
 */
#include "model/pass_weights.h"

#include <assay/ops/embedding.h>
#include <assay/ops/embedding_grouped.h>
#include <assay/ops/linear.h>
#include <assay/ops/linear_grouped.h>
#include <assay/ops/linear_pair.h>
#include <assay/ops/linear_swiglu.h>
#include <assay/ops/silu_mul.h>

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

/* Rows up to which products of one input are one call: decoding, where weights are read once and
 * calls cost as much as small matrices. More rows gain nothing by it. */
enum { FUSED_ROWS = 8 };

assay_status pass_swiglu(assay_context *context, struct assay_tensor x,
                         const struct assay_weights *gate, const struct assay_weights *up,
                         struct assay_tensor y, struct assay_tensor scratch)
{
    if (x.extent[0] <= FUSED_ROWS) {
        const struct assay_linear_swiglu_args args = {.x = x, .gate = *gate, .up = *up, .y = y};
        return assay_linear_swiglu(context, &args);
    }
    ASSAY_TRY(pass_linear(context, x, gate, y));
    ASSAY_TRY(pass_linear(context, x, up, scratch));
    const struct assay_silu_mul_args args = {.gate = y, .up = scratch, .y = y};
    return assay_silu_mul(context, &args);
}

assay_status pass_group(assay_context *context, struct assay_tensor x, int num_products,
                        const struct assay_weights *const *w, const struct assay_tensor *y)
{
    if (x.extent[0] <= FUSED_ROWS) {
        struct assay_linear_pair_args args = {.x = x, .num_products = num_products};
        for (int i = 0; i < num_products; i++) {
            args.w[i] = *w[i];
            args.y[i] = y[i];
        }
        return assay_linear_pair(context, &args);
    }
    for (int i = 0; i < num_products; i++)
        ASSAY_TRY(pass_linear(context, x, w[i], y[i]));
    return ASSAY_OK;
}
