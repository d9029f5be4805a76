/* SPDX-License-Identifier: MIT
 *
 * assay_gdn_gating -- g = -exp(a_log) * softplus(a + dt_bias), beta = sigmoid(b)
 *
 * [GDNGATE-1] g[t,h] = -exp(a_log[h]) * log(1 + exp(a[t,h] + dt_bias[h])). qwen3_5.md (F13).
 * [GDNGATE-2] beta[t,h] = 1 / (1 + exp(-b[t,h])). qwen3_5.md (F13).
 * [GDNGATE-3] a, b: [T, H] bf16 or f32; a_log, dt_bias: [H] bf16 or f32; g, beta: [T, H] f32;
 *     rows contiguous and strided as they like; T >= 0, H >= 1.
 * [GDNGATE-4] g <= 0. For strongly negative arguments softplus is exp of them, down to underflow,
 *     never a premature zero; for large ones it is the argument.
 * [GDNGATE-5] The only observable roundings are the ones into g and beta (binary32, nearest).
 * [GDNGATE-6] g and beta may not overlap each other, a_log or dt_bias; g may be a exactly and
 *     beta may be b exactly when those are f32; any other overlap is ASSAY_E_ALIAS. Every element
 *     of g and beta is written, nothing else.
 * [GDNGATE-7] NaN in an input makes the elements that use it NaN; infinities follow the formula.
 * [GDNGATE-8] Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT, each with the argument's name.
 */
#ifndef ASSAY_OPS_GDN_GATING_H
#define ASSAY_OPS_GDN_GATING_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_gdn_gating_args {
    struct assay_tensor a;       /* [T, H] bf16, f32 */
    struct assay_tensor b;       /* [T, H] bf16, f32 */
    struct assay_tensor a_log;   /* [H] bf16, f32 */
    struct assay_tensor dt_bias; /* [H] bf16, f32 */
    struct assay_tensor g;       /* [T, H] f32 */
    struct assay_tensor beta;    /* [T, H] f32 */
};

ASSAY_MUST_USE assay_status assay_gdn_gating(assay_context *context,
                                             const struct assay_gdn_gating_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_gdn_gating;

#ifdef __cplusplus
}
#endif
#endif
