/* SPDX-License-Identifier: MIT
 *
 * assay_linear_topk -- the k largest of sum_k x[t,k] * w[v,k] over v < limit, and their v
 *
 * [LINEARTOPK-1] The logits l[t,v], sums over all columns of x[t] w[v], are rounded to binary32;
 *     row t of values holds the largest of them in falling order, row t of ids their v. Among equal
 *     logits the lower id comes first; -0 and +0 are equal, and given as +0. qwen3_5.md (F20).
 * [LINEARTOPK-2] x: [T, K] bf16 or f32; w: V rows and K columns of any format, in the planes that
 *     assay_weight_layout_of() sizes, each with rows strided as they like; values: [T, k] f32; ids:
 *     [T, k] i32; T >= 0, K >= 1, 1 <= V < 2^31, 1 <= k <= 64.
 * [LINEARTOPK-3] Rows of w at or beyond limit are never read: padding rows of a vocabulary are no
 *     tokens. 1 <= limit <= V, else ASSAY_E_ARG. Where k > limit the places that are left hold
 *     -inf and the id -1.
 * [LINEARTOPK-4] Products of the stored operands are not rounded to less than binary32, sums are
 *     binary32 or better; the order is that of the logits as they were rounded, so that ids differ
 *     from the exact ones only where logits differ by less than their errors. Where the sum over k
 *     of |x w| - of grouped formats |x code| max(1, |scale|) - of some id below limit exceeds
 *     binary32's range, its logit may be infinite or NaN, and so there is no promise for the row.
 * [LINEARTOPK-5] A row with a NaN among its logits gives NaN in all values and -1 in all ids, never
 *     a valid token; +inf counts as the largest value, -inf is a value like others. An infinite
 *     scale, which no encoder writes, makes its logits infinite or NaN in no promised way.
 * [LINEARTOPK-6] No output may overlap an input or the other output: ASSAY_E_ALIAS. Every element
 *     of values and ids is written, nothing else.
 * [LINEARTOPK-7] Rows t of the outputs depend on row t of x only: within a route they have the same
 *     bits at every T, in every batch place and with every number of threads. Backend cuda takes
 *     other routes at other T, whose sums have another order.
 * [LINEARTOPK-8] Values have the bits that linear or linear_grouped writes into f32 by the route of
 *     the same name, signs of zeros apart.
 * [LINEARTOPK-9] Padding columns do not matter: x counts as 0 beyond column K, whatever codes stand
 *     there, and so does a NaN scale of a group that holds padding only.
 * [LINEARTOPK-10] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, missing or unwanted planes ASSAY_E_ARG, each with the argument's name;
 *     outputs are then untouched.
 */
#ifndef ASSAY_OPS_LINEAR_TOPK_H
#define ASSAY_OPS_LINEAR_TOPK_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_TOPK_MOST 64

struct assay_linear_topk_args {
    struct assay_tensor x;      /* [T, K] bf16, f32 */
    struct assay_weights w;     /* V rows, K columns; any format */
    struct assay_tensor values; /* [T, k] f32 */
    struct assay_tensor ids;    /* [T, k] i32 */
    int64_t limit;              /* addressable tokens, 1 .. V */
};

ASSAY_MUST_USE assay_status assay_linear_topk(assay_context *context,
                                              const struct assay_linear_topk_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_linear_topk;

#ifdef __cplusplus
}
#endif
#endif
