/* SPDX-License-Identifier: MIT
 *
 * Weights of any format for the cases of products: planes of random bytes, in which every code
 * occurs, also those that no encoder writes (-128 of q8g32), and scales of either sign; or numbers
 * in bf16. They go with the distribution of x, so that the product shows what x was drawn for.
 */
#ifndef PROPERTIES_GEN_PRODUCT_WEIGHTS_H
#define PROPERTIES_GEN_PRODUCT_WEIGHTS_H

#include <assay/weights.h>

#include "case.h"

/* Makes the inputs "w.base" and, where the format has them, "w.high" and "w.scales", for x of the
 * distribution `dist`, usually the case's. garbage: what no call may look at, codes and scales
 * behind column `inner`, is anything and NaN; else zeros, as encoders write it. */
void product_weights(struct trial *trial, enum case_dist dist, enum assay_weight_format format,
                     int64_t columns, int64_t inner, bool garbage, struct assay_weights *w);
/* The same under another name than "w": "gate", "w[2]". */
void product_weights_named(struct trial *trial, const char *name, enum case_dist dist,
                           enum assay_weight_format format, int64_t columns, int64_t inner,
                           bool garbage, struct assay_weights *w);
/* How x is drawn beside them. */
struct values product_weights_x(const struct assay_case *c, enum assay_weight_format format,
                                int64_t inner);
/* dist=exact has sums that are exact in binary32, with a residual of small integers too. */
bool product_weights_exact(enum assay_weight_format format, int64_t inner);

#endif
