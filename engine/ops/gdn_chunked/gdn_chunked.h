/* SPDX-License-Identifier: MIT
 *
 * assay_gdn_chunked -- the gated delta rule of gdn_recurrent, computed chunk by chunk for prefill
 *
 * [GDNCHUNK-1] The same function of the same inputs as gdn_recurrent, in the chunked form.
 *     qwen3_5.md (F17), equal to (F15) in exact arithmetic.
 * [GDNCHUNK-2] Value head h uses q and k of key head h / (Hv / Hk), integer division. qwen3_5.md
 *     (F14).
 * [GDNCHUNK-3] q, k: [T, Hk, dk], v: [T, Hv, dv], o: [T, Hv, dv], each bf16 or f32; g, beta: [T,
 *     Hv] f32; state: [Hv, dk, dv] f32 or f16, read and written; innermost contiguous, outer
 *     dimensions strided; T >= 0; Hk, dk, dv >= 1; Hv a positive multiple of Hk.
 * [GDNCHUNK-4] chunk is 1 to 256: tokens handled together. It changes rounding only, within the
 *     profile's bound.
 * [GDNCHUNK-5] A state in f16 is widened at the start and rounded once at the end of each chunk
 *     (nearest, ties to even); arithmetic is binary32 or better.
 * [GDNCHUNK-6] g may be any value <= 0, down to -inf: all exponents formed are <= 0 and nothing
 *     overflows; else (g > 0 or NaN) results follow the formula as far as they are finite.
 * [GDNCHUNK-7] T = 0 leaves the state unchanged; a ragged last chunk gives what the formula gives
 *     for its own tokens.
 * [GDNCHUNK-8] o may be v exactly when the formats agree; any other overlap among o, state and
 *     the inputs is ASSAY_E_ALIAS. Every element of o and state is written, nothing else.
 * [GDNCHUNK-9] NaN and infinities never cross to another head or an earlier chunk; which of the two
 *     appears from their chunk on is left free. scale must be finite and chunk in range:
 *     ASSAY_E_ARG. Wrong ranks or extents are ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides
 *     ASSAY_E_LAYOUT; state and o are then untouched.
 */
#ifndef ASSAY_OPS_GDN_CHUNKED_H
#define ASSAY_OPS_GDN_CHUNKED_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_gdn_chunked_args {
    struct assay_tensor q;     /* [T, Hk, dk] bf16, f32; not yet scaled */
    struct assay_tensor k;     /* [T, Hk, dk] bf16, f32 */
    struct assay_tensor v;     /* [T, Hv, dv] bf16, f32 */
    struct assay_tensor g;     /* [T, Hv] f32, <= 0: log of the decay */
    struct assay_tensor beta;  /* [T, Hv] f32 */
    struct assay_tensor state; /* [Hv, dk, dv] f32, f16; in and out */
    struct assay_tensor o;     /* [T, Hv, dv] bf16, f32 */
    double scale;              /* of q; dk^(-1/2) in the models */
    int64_t chunk;             /* tokens a chunk, 1 .. 256 */
};

ASSAY_MUST_USE assay_status assay_gdn_chunked(assay_context *context,
                                              const struct assay_gdn_chunked_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_gdn_chunked;

#ifdef __cplusplus
}
#endif
#endif
