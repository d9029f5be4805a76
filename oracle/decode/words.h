/* SPDX-License-Identifier: MIT
 *
 * The oracle's own reading of number formats, from their definitions (IEEE 754 binary16/binary32;
 * bf16 = high half of binary32). Nothing here is shared with engine/numeric.
 */
#ifndef ORACLE_DECODE_WORDS_H
#define ORACLE_DECODE_WORDS_H

#include <stdint.h>

#include <assay/tensor.h>

double oracle_bf16_value(uint16_t word); /* exact */
double oracle_f16_value(uint16_t word);  /* exact */
uint16_t oracle_bf16_word(
    double value); /* nearest, ties to even; overflow to infinity; NaN quiet */
uint16_t oracle_f16_word(double value);
/* Value after rounding into a float format (F32, BF16, F16), nearest, ties to even; other formats
 * leave it as it is. */
double oracle_round(double value, enum assay_dtype dtype);
/* Largest finite value, smallest normal, smallest subnormal, and unit roundoff u = 2^-p. The last
 * three are 0 for integer formats. */
double oracle_max_finite(enum assay_dtype dtype);
double oracle_min_normal(enum assay_dtype dtype);
double oracle_min_subnormal(enum assay_dtype dtype);
double oracle_unit_roundoff(enum assay_dtype dtype);
/* Bound on |round(v) - v| for any |v| <= magnitude: half an ulp of the format at magnitude, or the
 * magnitude itself where that is less (such values round to zero). Infinity when the rounding can
 * overflow or magnitude is not finite; 0 for integer formats. */
double oracle_half_ulp(double magnitude, enum assay_dtype dtype);

/* Element `index` (row-major over the logical extents) of a float or integer tensor. All strides
 * and any alignment are honoured. I64 beyond 2^53 is rounded to binary64; oracle_get_int is exact,
 * and INT64_MIN for a tensor that is not of integers. */
double oracle_get(const struct assay_tensor *tensor, int64_t index);
int64_t oracle_get_int(const struct assay_tensor *tensor, int64_t index);
/* Row `row` (all dimensions but the innermost, row-major) widened into out[extent of innermost]. */
void oracle_get_row(const struct assay_tensor *tensor, int64_t row, double *out);
/* The whole tensor widened into newly allocated memory (free()); NULL when out of memory. */
double *oracle_get_all(const struct assay_tensor *tensor);
/* Stores a value (rounded) at element `index`: for test inputs, never for outputs of the engine. */
void oracle_put(const struct assay_tensor *tensor, int64_t index, double value);
void oracle_put_int(const struct assay_tensor *tensor, int64_t index, int64_t value);

#endif
