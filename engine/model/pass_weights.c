/* SPDX-License-Identifier: MIT
 *
 * The ops of a matrix's format and of a product's kind: see pass_weights.h.
 */
#include "model/pass_weights.h"

#include <assay/ops/embedding.h>
#include <assay/ops/embedding_grouped.h>
#include <assay/ops/linear.h>
#include <assay/ops/linear_a8.h>
#include <assay/ops/linear_grouped.h>
#include <assay/ops/linear_pair.h>
#include <assay/ops/linear_swiglu.h>
#include <assay/ops/linear_w8row.h>
#include <assay/ops/moe_experts.h>
#include <assay/ops/moe_experts_grouped.h>
#include <assay/ops/silu_mul.h>

#include "core/core.h"

/* A product as a call of the op that it is: `op` says which member of `args` holds. */
struct linear_call {
    const struct assay_op *op;
    union {
        struct assay_linear_args plain;
        struct assay_linear_grouped_args grouped;
        struct assay_linear_a8_args a8;
        struct assay_linear_w8row_args w8row;
    } args;
};

static struct linear_call call_of(enum assay_product product, struct assay_tensor x,
                                  const struct assay_weights *w, struct assay_tensor y)
{
    struct linear_call call;
    if (w->format == ASSAY_WEIGHT_BF16) {
        call.op = &assay_op_linear;
        call.args.plain = (struct assay_linear_args){.x = x, .w = w->base, .y = y};
        return call;
    }
    switch (product) {
    case ASSAY_PRODUCT_A8:
        call.op = &assay_op_linear_a8;
        call.args.a8 = (struct assay_linear_a8_args){.x = x, .w = *w, .y = y};
        return call;
    case ASSAY_PRODUCT_W8ROW:
        call.op = &assay_op_linear_w8row;
        call.args.w8row =
            (struct assay_linear_w8row_args){.x = x, .w = *w, .y = y, .equalise = true};
        return call;
    case ASSAY_PRODUCT_A16:
        break;
    }
    call.op = &assay_op_linear_grouped;
    call.args.grouped = (struct assay_linear_grouped_args){.x = x, .w = *w, .y = y};
    return call;
}

assay_status pass_linear(assay_context *context, enum assay_product product, struct assay_tensor x,
                         const struct assay_weights *w, struct assay_tensor y)
{
    const struct linear_call call = call_of(product, x, w, y);
    return assay_run_op(context, call.op, &call.args);
}

assay_status pass_linear_workspace(assay_context *context, enum assay_product product,
                                   int64_t tokens, const struct assay_weights *w, size_t *bytes)
{
    /* Nothing is read; routes may look at the alignment, which is that of buffers. */
    void *const nowhere = (void *)(uintptr_t)4096;
    const struct linear_call call =
        call_of(product, assay_tensor_2d(nowhere, ASSAY_F32, tokens, w->columns), w,
                assay_tensor_2d(nowhere, ASSAY_F32, tokens, w->rows));
    return assay_op_workspace(context, call.op, &call.args, bytes);
}

struct experts_call {
    const struct assay_op *op;
    union {
        struct assay_moe_experts_args plain;
        struct assay_moe_experts_grouped_args grouped;
    } args;
};

/* A bf16 bank as `count` matrices. */
static struct assay_tensor split_bank(const struct assay_weights *bank, int64_t count)
{
    return assay_tensor_3d(bank->base.data, ASSAY_BF16, count, bank->rows / count, bank->columns);
}

static struct experts_call experts_call_of(struct assay_tensor x, struct assay_tensor ids,
                                           struct assay_tensor weights,
                                           const struct assay_weights *gate_up,
                                           const struct assay_weights *down, struct assay_tensor y)
{
    const int64_t count = down->rows / gate_up->columns;
    struct experts_call call;
    if (gate_up->format == ASSAY_WEIGHT_BF16) {
        call.op = &assay_op_moe_experts;
        call.args.plain = (struct assay_moe_experts_args){.x = x,
                                                          .ids = ids,
                                                          .weights = weights,
                                                          .gate_up = split_bank(gate_up, count),
                                                          .down = split_bank(down, count),
                                                          .y = y};
        return call;
    }
    call.op = &assay_op_moe_experts_grouped;
    call.args.grouped = (struct assay_moe_experts_grouped_args){
        .x = x, .ids = ids, .weights = weights, .gate_up = *gate_up, .down = *down, .y = y};
    return call;
}

assay_status pass_experts(assay_context *context, struct assay_tensor x, struct assay_tensor ids,
                          struct assay_tensor weights, const struct assay_weights *gate_up,
                          const struct assay_weights *down, struct assay_tensor y)
{
    const struct experts_call call = experts_call_of(x, ids, weights, gate_up, down, y);
    return assay_run_op(context, call.op, &call.args);
}

assay_status pass_experts_workspace(assay_context *context, int64_t tokens, int64_t k,
                                    const struct assay_weights *gate_up,
                                    const struct assay_weights *down, size_t *bytes)
{
    void *const nowhere = (void *)(uintptr_t)4096;
    const struct assay_tensor rows = assay_tensor_2d(nowhere, ASSAY_F32, tokens, gate_up->columns);
    const struct experts_call call =
        experts_call_of(rows, assay_tensor_2d(nowhere, ASSAY_I32, tokens, k),
                        assay_tensor_2d(nowhere, ASSAY_F32, tokens, k), gate_up, down, rows);
    return assay_op_workspace(context, call.op, &call.args, bytes);
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

assay_status pass_swiglu(assay_context *context, enum assay_product product, struct assay_tensor x,
                         const struct assay_weights *gate, const struct assay_weights *up,
                         struct assay_tensor y, struct assay_tensor scratch)
{
    if (product == ASSAY_PRODUCT_A16 && x.extent[0] <= FUSED_ROWS) {
        const struct assay_linear_swiglu_args args = {.x = x, .gate = *gate, .up = *up, .y = y};
        return assay_linear_swiglu(context, &args);
    }
    ASSAY_TRY(pass_linear(context, product, x, gate, y));
    ASSAY_TRY(pass_linear(context, product, x, up, scratch));
    const struct assay_silu_mul_args args = {.gate = y, .up = scratch, .y = y};
    return assay_silu_mul(context, &args);
}

static struct assay_linear_pair_args pair_of(struct assay_tensor x, int num_products,
                                             const struct assay_weights *const *w,
                                             const struct assay_tensor *y)
{
    struct assay_linear_pair_args args = {.x = x, .num_products = num_products};
    for (int i = 0; i < num_products; i++) {
        args.w[i] = *w[i];
        args.y[i] = y[i];
    }
    return args;
}

assay_status pass_group(assay_context *context, enum assay_product product, struct assay_tensor x,
                        int num_products, const struct assay_weights *const *w,
                        const struct assay_tensor *y)
{
    if (product == ASSAY_PRODUCT_A16 && x.extent[0] <= FUSED_ROWS) {
        const struct assay_linear_pair_args args = pair_of(x, num_products, w, y);
        return assay_linear_pair(context, &args);
    }
    for (int i = 0; i < num_products; i++)
        ASSAY_TRY(pass_linear(context, product, x, w[i], y[i]));
    return ASSAY_OK;
}
