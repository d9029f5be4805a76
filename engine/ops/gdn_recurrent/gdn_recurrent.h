/* SPDX-License-Identifier: MIT
 *
 * assay_gdn_recurrent -- gated delta rule, token by token: S = e^g S; S += k (beta (v - S^T k))^T;
 * o = scale S^T q
 *
 * [GDNREC-1] For t = 0 .. T-1 and each value head: S = exp(g_t) S; p = S^T k_t; d = beta_t (v_t -
 *     p); S = S + k_t d^T; o_t = S^T (scale q_t). The prediction p reads the already decayed
 *     state. qwen3_5.md (F15).
 * [GDNREC-2] Value head h uses q and k of key head h / (Hv / Hk), integer division. qwen3_5.md
 *     (F14).
 * [GDNREC-3] q, k: [T, Hk, dk], v: [T, Hv, dv], o: [T, Hv, dv], each bf16 or f32; g, beta: [T,
 *     Hv] f32; state: [Hv, dk, dv] f32 or f16, read and written; innermost contiguous, outer
 *     dimensions strided; T >= 0; Hk, dk, dv >= 1; Hv a positive multiple of Hk.
 * [GDNREC-4] Arithmetic on the state is binary32 or better. A state in f16 is widened, stepped
 *     and rounded once for every token (nearest, ties to even; overflow gives an infinity), after
 *     o has read it: a run of T tokens has the same bits as T runs of one.
 * [GDNREC-5] Observable roundings: o's format, the state's format after each token. g is used as
 *     exp(g) of the stored value; no assumption on beta's range.
 * [GDNREC-6] T = 0 leaves the state unchanged. beta = 0 leaves only the decay, g = 0 decays
 *     nothing, exp(g) = 0 forgets everything before the token.
 * [GDNREC-7] o may be v exactly when the formats agree; any other overlap among o, state and the
 *     inputs is ASSAY_E_ALIAS. Every element of o and state is written, nothing else.
 * [GDNREC-8] NaN and infinities follow the formula and never cross to another head. scale must be
 *     finite: ASSAY_E_ARG. Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT,
 *     strides ASSAY_E_LAYOUT; state and o are then untouched.
 */
#ifndef ASSAY_OPS_GDN_RECURRENT_H
#define ASSAY_OPS_GDN_RECURRENT_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_gdn_recurrent_args {
    struct assay_tensor q;     /* [T, Hk, dk] bf16, f32; not yet scaled */
    struct assay_tensor k;     /* [T, Hk, dk] bf16, f32 */
    struct assay_tensor v;     /* [T, Hv, dv] bf16, f32 */
    struct assay_tensor g;     /* [T, Hv] f32, <= 0: log of the decay */
    struct assay_tensor beta;  /* [T, Hv] f32 */
    struct assay_tensor state; /* [Hv, dk, dv] f32, f16; in and out */
    struct assay_tensor o;     /* [T, Hv, dv] bf16, f32 */
    double scale;              /* of q; dk^(-1/2) in the models */
};

ASSAY_MUST_USE assay_status assay_gdn_recurrent(assay_context *context,
                                                const struct assay_gdn_recurrent_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_gdn_recurrent;

#ifdef __cplusplus
}
#endif
#endif
