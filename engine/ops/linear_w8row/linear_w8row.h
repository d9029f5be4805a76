/* SPDX-License-Identifier: MIT
 *
 * assay_linear_w8row -- y[t,n] = row[n] * token[t] * sum_k x8[t,k] * w8[n,k], about sum_k x w
 *
 * The product of linear_grouped in one multiplication of 8-bit integers over all of K: weights of
 * a row share one scale, activations of a token share one, and what stands out in a channel is
 * first shared between both operands. x8 and w8 depend on all T rows of the call (its "chunk").
 * formats.md section 8.4.
 *
 * fl32(v): v rounded to binary32, fl64 to binary64; round: to the nearest integer; all to nearest,
 * ties to even, each operation on its own.
 *
 * [LINEARW8ROW-1] Channels. a[k] = the largest finite |x[t,k]| of the chunk, at least 1e-20f; what
 *     is not finite is passed over. With equalise s[k] = fl32(fl64(sqrt(fl64(a[k] / geomean)))),
 *     else s[k] = 1; i[k] = fl32(1 / s[k]).
 * [LINEARW8ROW-2] The geometric mean. A product is a pair (p, e) of value p 2^e, p in [1, 2) of
 *     binary64; (p, e) (q, f) = (fl64(p q), e + f), p halved and e raised where fl64(p q) >= 2.
 *     Lane l of 256 has the product of a[k], k = l, l + 256, ... in rising order from the left
 *     ((1, 0) when it has none); then lane l takes l + 128 as its right factor, for l < 128, then
 *     l + 64, ..., l + 1. Of the result (p, e): L = e; 32 times, i = 1 .. 32: p = fl64(p p), and
 *     where p >= 2 it is halved and 2^-i added to L. G = fl64(L / K). f = G - floor(G), q = 1,
 *     h = 2; 32 times, i = 1 .. 32: h = fl64(sqrt(h)), and where f >= 2^-i that is taken from f
 *     and q = fl64(q h). geomean = q 2^floor(G). (So log2 and 2^x are 32 binary digits long, made
 *     of correctly rounded operations; geomean is within 2^-30 of itself.)
 * [LINEARW8ROW-3] Activations. x'[t,k] = fl32(x[t,k] * i[k]); amax = max over k of |x'|, at least
 *     1e-20f; token[t] = fl32(amax / 127); inv = fl32(127 / amax);
 *     x8 = clamp(round(fl32(x' * inv)), -127, 127).
 * [LINEARW8ROW-4] Weights. m = max over the groups g of row n that have a column below K, of
 *     fl32(|scale[n,g]| * max s[k] of these columns); row[n] = fl32(fl32(m * Q) / 127) with
 *     Q = 8, 16, 32, 127 for q4g64, q5g64, q6g64, q8g32, 1 where m is 0; u = fl32(1 / row[n]);
 *     w8 = clamp(round(fl32(fl32((code * scale) * s[k]) * u)), -127, 127). The code -128 of q8g32,
 *     which no encoder writes, is taken as it stands; where its group sets m it is clamped, and so
 *     counts as about -127.
 * [LINEARW8ROW-5] Sum. C = sum over k of x8 * w8 is exact: |C| <= K * 127^2 < 2^31 since K is below
 *     133,000. y[t,n] = fl64(C * (row[n] * token[t])) (the second product is exact), rounded to
 *     binary32, and once more where y's format is bf16.
 * [LINEARW8ROW-6] All of it is stated, so every route gives the same bits, whatever the number of
 *     threads or the backend (of a NaN that it is one). They are those of this chunk: in another
 *     one a token has others, unless equalise is off, when a row of y depends on its row of x only.
 * [LINEARW8ROW-7] A NaN or an infinity in row t of x makes row t of y NaN, and so does x' beyond
 *     binary32's range; other rows stay numbers. A scale of row n that is NaN or infinite, of a
 *     group that has a column below K, makes column n of y NaN.
 * [LINEARW8ROW-8] x: [T, K] bf16 or f32; w: N rows and K columns of q4g64, q5g64, q6g64 or q8g32;
 *     y: [T, N] bf16 or f32; rows strided as they like; T >= 0, K >= 1, N >= 1. y may not overlap
 *     x or w: ASSAY_E_ALIAS. Every element of y is written, nothing else. Padding of w does not
 *     matter: codes and groups beyond column K count as 0.
 * [LINEARW8ROW-9] Wrong ranks or extents, and K of 133,000 and more, are ASSAY_E_SHAPE, formats
 *     ASSAY_E_FORMAT, strides ASSAY_E_LAYOUT, missing or unwanted planes ASSAY_E_ARG, each with the
 *     argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_LINEAR_W8ROW_H
#define ASSAY_OPS_LINEAR_W8ROW_H

#include <stdbool.h>

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ASSAY_W8ROW_COLUMNS_END = 133000 }; /* K stays below it */

struct assay_linear_w8row_args {
    struct assay_tensor x;  /* [T, K] bf16, f32 */
    struct assay_weights w; /* N rows, K columns; grouped formats */
    struct assay_tensor y;  /* [T, N] bf16, f32 */
    bool equalise;          /* false: every s[k] is 1 */
};

ASSAY_MUST_USE assay_status assay_linear_w8row(assay_context *context,
                                               const struct assay_linear_w8row_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_linear_w8row;

#ifdef __cplusplus
}
#endif
#endif
