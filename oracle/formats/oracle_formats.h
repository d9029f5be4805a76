/* SPDX-License-Identifier: MIT
 *
 * The oracle's own reading and writing of weight formats, from docs/formats.md: it takes the public
 * struct and enumerations of <assay/weights.h> and calls none of its functions.
 */
#ifndef ORACLE_FORMATS_H
#define ORACLE_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/weights.h>

/* ---- stored planes (weight_planes.c) -------------------------------------------------------- */

/* What a format is; group 0 for bf16. */
struct oracle_weight_format {
    int group, bits, lowest, largest;
};
struct oracle_weight_format oracle_weight_format(enum assay_weight_format format);

/* Code of (row, column), the padding's columns included; -128 of q8g32 as it stands. */
int oracle_weight_code(const struct assay_weights *weights, int64_t row, int64_t column);
/* Word and exact value of the scale of a group. */
uint16_t oracle_weight_scale_word(const struct assay_weights *weights, int64_t row, int64_t group);
double oracle_weight_scale(const struct assay_weights *weights, int64_t row, int64_t group);
/* code * scale, exact. NaN and infinite scales as IEEE has it: 0 * infinity is NaN. */
double oracle_weight_value(const struct assay_weights *weights, int64_t row, int64_t column);
/* values[0, K) of a row. */
void oracle_weight_row(const struct assay_weights *weights, int64_t row, double *values);

/* What no encoder of the format writes: NULL, or what is wrong at (*row, *column): a code out of
 * range, padding that is not zero, an infinite scale, a zero scale with codes, -0, a NaN scale with
 * codes or another NaN than 0x7e00, a negative scale where they are not allowed. */
const char *oracle_weights_fault(const struct assay_weights *weights, bool allow_negative_scales,
                                 int64_t *row, int64_t *column);

/* ---- encoding (weight_encoding.c) ------------------------------------------------------------ */

enum { ORACLE_GROUP_MAX = 64 };

/* One encoded group. Binary16 words for scales; codes as integers. */
struct oracle_group {
    uint16_t scale;
    int code[ORACLE_GROUP_MAX];
};
/* The codes that the scale leads to, clamp(RNE(fl32(x fl32(1 / s)))): every rounding to binary32
 * is made by MPFR from the exact result. */
void oracle_group_codes(const float *x, int count, struct oracle_weight_format format,
                        struct oracle_group *group);
/* maxabs, every rounding as above. False: the scale exceeds binary16. NaN and infinity: NaN scale,
 * codes of zero. */
bool oracle_group_maxabs(const float *x, int count, struct oracle_weight_format format,
                         struct oracle_group *group);
/* Scale of ratio i of 25 on extreme / code, i in [0, 25); extreme and code may be negative. */
uint16_t oracle_ratio_scale(int i, float extreme, int code);
/* sum importance (x - s q)^2 in extended precision (importance NULL: 1): relative error below
 * 2^-55. */
long double oracle_group_error(const float *x, const float *importance, int count,
                               const struct oracle_group *group);
/* clip25, the least of 25 such errors. *runner_up: the least error of a ratio that leads to other
 * bytes; where it is above the best by more than rounding, the choice is not a matter of order. */
void oracle_group_clip25(const float *x, int count, struct oracle_weight_format format,
                         struct oracle_group *group, long double *error, long double *runner_up);
/* grouped, candidate by candidate. False where a choice hangs on the rounding of the encoder's
 * sums: then other bytes are right, too. The group is one that maxabs takes. */
bool oracle_group_grouped(const float *x, const float *importance, int count,
                          struct oracle_weight_format format, bool negative,
                          struct oracle_group *group);
/* Least sum importance (x - s q)^2 over all finite binary16 scales s > 0 (and with `negative` all
 * s < 0) and all codes. */
double oracle_group_optimum(const double *x, const double *importance, int count,
                            struct oracle_weight_format format, bool negative, uint16_t *scale);

/* ---- expected errors (weight_theory.c) ------------------------------------------------------- */

/* Mean squared error over mean square of maxabs on independent N(0, 1) values, by integration: the
 * density of the largest of n half-normals times the error of a uniform quantiser on a truncated
 * normal, cell by cell in closed form. The scale is a real number (binary16 changes less than
 * 1e-3 of it). */
double oracle_theory_maxabs(struct oracle_weight_format format);
/* The same of the best of 25 ratios, and of the best scale over a fine grid (with `negative` both
 * signs): what no encoder can be below. Monte Carlo in binary64, generator of its own; the standard
 * error goes to *deviation. */
double oracle_theory_clip25(struct oracle_weight_format format, int groups, double *deviation);
double oracle_theory_optimum(struct oracle_weight_format format, bool negative, int groups,
                             double *deviation);

/* ---- GGUF (gguf_block_values.c) ---------------------------------------------------------- */

/* Values and bytes of a block of the type with this id; 0 values for a type that is not known. */
struct oracle_gguf_block {
    int values, bytes;
};
struct oracle_gguf_block oracle_gguf_block(uint32_t type);
/* Element of a row, exact in binary64. */
double oracle_gguf_value(uint32_t type, const void *row, int64_t column);

#endif
