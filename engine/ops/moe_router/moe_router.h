/* SPDX-License-Identifier: MIT
 *
 * assay_moe_router -- the k experts of each token and their weights, from the router's logits
 *
 * [MOEROUTER-1] Row t of ids holds the indices of the k largest of logits[t, 0:E] in falling order;
 *     among equal logits the lower index comes first, -0 and +0 are equal. Softmax is monotonic, so
 *     that these are also the k largest probabilities. qwen3_5.md (F19).
 * [MOEROUTER-2] weights[t,i] = p[ids[t,i]] / sum_j p[ids[t,j]], p = softmax(logits[t]) over all E:
 *     always renormalised, which makes it exp(l_i - l_0) / sum_j exp(l_j - l_0) with l_i the logit
 *     of ids[t,i]. Binary32 or better throughout; no probability is rounded to a narrower format.
 * [MOEROUTER-3] logits: [T, E] bf16 or f32; ids: [T, k] i32; weights: [T, k] f32; rows contiguous
 *     and strided as they like; T >= 0, 1 <= E <= 65535, 1 <= k <= E and k <= 64.
 * [MOEROUTER-4] The ids of a row are distinct and in [0, E) whatever the logits hold. A row with a
 *     NaN among its logits has the ids 0 .. k-1 and NaN in all weights; +inf counts as the largest
 *     value, -inf as the smallest. Where the largest logit is infinite the formula gives NaN: all
 *     weights of the row are NaN. A weight of -inf below a finite largest logit is 0.
 * [MOEROUTER-5] No output may overlap the logits or the other output: ASSAY_E_ALIAS. Every element
 *     of ids and weights is written, nothing else.
 * [MOEROUTER-6] Rows t of the outputs depend on row t of the logits only: they have the same bits
 *     at every T, in every batch place and with every number of threads.
 * [MOEROUTER-7] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_MOE_ROUTER_H
#define ASSAY_OPS_MOE_ROUTER_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_MOE_MOST         64    /* experts a token */
#define ASSAY_MOE_EXPERTS_MOST 65535 /* experts */

struct assay_moe_router_args {
    struct assay_tensor logits;  /* [T, E] bf16, f32 */
    struct assay_tensor ids;     /* [T, k] i32 */
    struct assay_tensor weights; /* [T, k] f32 */
};

ASSAY_MUST_USE assay_status assay_moe_router(assay_context *context,
                                             const struct assay_moe_router_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_moe_router;

#ifdef __cplusplus
}
#endif
#endif
