/* SPDX-License-Identifier: MIT
 *
 * What law suites of products share: matrices of any format that hold noise, and the product alone.
 */
#ifndef PROPERTIES_PRODUCT_LAWS_H
#define PROPERTIES_PRODUCT_LAWS_H

#include <stdint.h>

#include <assay/context.h>
#include <assay/weights.h>

uint64_t noise_bits(int64_t i);
/* In [-2, 2), with many significant bits, so that any change of the order of a sum changes its
 * bits. */
double noise(int64_t i);

/* [rows, columns] f32 in memory of its own, filled with noise; free(x.data). */
struct assay_tensor noise_tensor(int64_t rows, int64_t columns, int64_t seed);
/* Any bytes as codes, scales of either sign; bf16: noise. free(w.base.data). */
struct assay_weights noise_matrix(enum assay_weight_format format, int64_t rows, int64_t columns,
                                  int64_t seed);

/* y = x W^T by linear or linear_grouped. */
void product_alone(assay_context *context, const struct assay_tensor *x,
                   const struct assay_weights *w, const struct assay_tensor *y);
/* Forces the products, and silu_mul, to their routes "OP.METHOD.cpu". */
void force_products(assay_context *context, const char *method);
/* "OP.METHOD.cpu" forced in the context; false when this machine cannot run it. */
bool force_method(assay_context *context, const char *op, const char *method);
/* NULL in a build without the executor. */
assay_context *new_simt_context(void);

#define EACH_FORMAT(format)                                                                      \
    for (enum assay_weight_format format = ASSAY_WEIGHT_BF16; format < ASSAY_NUM_WEIGHT_FORMATS; \
         format = (enum assay_weight_format)(format + 1))

#endif
