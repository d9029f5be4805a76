/* SPDX-License-Identifier: MIT
 *
 * What the cases of matrix products y [T, N] = x [T, K] w [N, K]^T share: parameters "T", "N" and
 * "K", and one output.
 */
#ifndef PROPERTIES_GEN_PRODUCT_CASE_H
#define PROPERTIES_GEN_PRODUCT_CASE_H

#include "case.h"

/* Keeps a case below max_work multiply-adds, and short otherwise: a long K keeps all of K and gives
 * up rows of w, a large N gives up K, then T. */
void product_case_shorten(struct assay_case *c, int64_t max_work);
/* The same where another parameter counts the rows of w. */
void product_case_shorten_columns(struct assay_case *c, const char *param, int64_t max_work);
/* A repeated row or column shows only where neighbours differ. Short sums may agree by chance. */
void product_case_claims(struct trial *trial, const struct oracle_output *outputs);

#endif
