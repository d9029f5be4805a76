/* SPDX-License-Identifier: MIT
 *
 * assay_linear_pair -- y[i][t,n] = sum_k x[t,k] w[i][n,k] for 2 to 4 matrices of one input
 *
 * [LINEARPAIR-1] Products with the transposed weights, no bias: what meets one normed row, as the
 *     query, key and value projections do. qwen3_5.md section 0.
 * [LINEARPAIR-2] x: [T, K] bf16 or f32; num_products from 2 to 4; w[i]: N_i rows and K columns,
 *     each bf16 or of q4g64, q5g64, q6g64, q8g32 (<assay/weights.h>), with rows strided as they
 *     like; y[i]: [T, N_i] bf16 or f32; T >= 0, K >= 1, N_i >= 1. Entries from num_products on are
 *     absent: data NULL in every tensor.
 * [LINEARPAIR-3] Observable rounding: the one into y[i]'s format (nearest, ties to even). Products
 *     and sums are binary32 or better. Where partial sums may overflow (linear, linear_grouped),
 *     an element may be infinite or NaN.
 * [LINEARPAIR-4] No y[i] may overlap an input or another y: ASSAY_E_ALIAS. Every element of each
 *     is written, nothing else; nothing beyond K columns and N_i rows of the inputs changes it.
 * [LINEARPAIR-5] The bits of y[i] are those of linear (bf16) or linear_grouped with w[i] alone,
 *     where both take the routes of the same method.
 * [LINEARPAIR-6] NaN and infinities follow the formula, as there.
 * [LINEARPAIR-7] num_products out of range, missing or unwanted tensors are ASSAY_E_ARG, wrong
 * ranks or extents ASSAY_E_SHAPE, formats ASSAY_E_FORMAT, strides ASSAY_E_LAYOUT, each with the
 *     argument's name; outputs are then untouched.
 */
#ifndef ASSAY_OPS_LINEAR_PAIR_H
#define ASSAY_OPS_LINEAR_PAIR_H

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ASSAY_LINEAR_PAIR_MAX = 4 };

struct assay_linear_pair_args {
    struct assay_tensor x;                         /* [T, K] bf16, f32 */
    int64_t num_products;                          /* 2 .. 4 */
    struct assay_weights w[ASSAY_LINEAR_PAIR_MAX]; /* N_i rows, K columns; any format */
    struct assay_tensor y[ASSAY_LINEAR_PAIR_MAX];  /* [T, N_i] bf16, f32 */
};

ASSAY_MUST_USE assay_status assay_linear_pair(assay_context *context,
                                              const struct assay_linear_pair_args *args);

/* The op's row in assay_ops(). */
extern const struct assay_op assay_op_linear_pair;

#ifdef __cplusplus
}
#endif
#endif
