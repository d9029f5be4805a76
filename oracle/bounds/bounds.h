/* SPDX-License-Identifier: MIT
 *
 * Rounding lemmas that the ops' bounds share. Derivations: docs/verdicts.md.
 */
#ifndef ORACLE_BOUNDS_H
#define ORACLE_BOUNDS_H

#include <stdint.h>

#include "oracle.h"

#define ORACLE_U32    0x1p-24  /* unit roundoff of binary32 */
#define ORACLE_U64    0x1p-53  /* unit roundoff of binary64 */
#define ORACLE_TINY32 0x1p-149 /* smallest binary32 subnormal: absolute error of one underflow */
/* Above what a binary64 route loses where exp(-x) overflows or a product underflows. */
#define ORACLE_TINY64 0x1p-1000

/* gamma(n) = n u / (1 - n u): |fl(sum of n terms, any order, chain <= n) - exact| <= gamma(n)
 * sum|.|
 */
double oracle_gamma(double n, double u);

/* The route's chain of additions for this inner length (route->depth or the length itself). */
int64_t oracle_depth(const struct oracle_route *route, int64_t inner_length);

/* Fills the OUTPUT term of every element of an output: half an ulp of the format at
 * |value| + own + the other terms (call it after they are set). */
void oracle_bound_output_rounding(struct oracle_output *output);

/* rms_share for roundings that are independent between elements: sqrt(1/2) of the half-ulp bound
 * (the worst grid of inputs) plus six standard errors at `count` samples, at most 1. */
double oracle_rms_share_rounding(int64_t count);

/* Sets all rms_share of an output whose OUTPUT term is set: OUTPUT from oracle_rms_share_rounding
 * of the elements that carry the norm when `independent`, the
 * ACCUMULATION term by 6 / sqrt(depth) (at most 1) when `independent`, else 1. */
void oracle_bound_rms(struct oracle_output *output, bool independent, int64_t depth);

/* True when the inputs' roundings may be taken as independent: set by verification from the input
 * distribution (normal, uniform, outliers), false for structured inputs. Thread local. */
bool oracle_inputs_independent(void);
void oracle_set_inputs_independent(bool independent);

#endif
