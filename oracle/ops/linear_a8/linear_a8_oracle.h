/* SPDX-License-Identifier: MIT
 *
 * The parts of linear_a8's oracle. Twice everything: in binary64, where each step is exact or is
 * rounded once for a stated reason, and in MPFR, where each rounding is asked for.
 */
#ifndef ORACLE_LINEAR_A8_H
#define ORACLE_LINEAR_A8_H

#include <assay/ops/linear_a8.h>

#include "oracle.h"

enum { ORACLE_A8_GROUP = 64 };

/* Quantises x[inner], binary32 values [LINEARA8-1]: codes[inner], and a scale for each group of
 * ORACLE_A8_GROUP columns that x has, NaN where [LINEARA8-6] says so (codes are then zero). */
void oracle_a8_quantise(const double *x, int64_t inner, int *codes, double *scales);
void oracle_a8_quantise_mpfr(const double *x, int64_t inner, int *codes, double *scales);

assay_status oracle_linear_a8_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_linear_a8_bound(const void *args, const struct oracle_route *route,
                            struct oracle_output *outputs);

/* What both evaluations walk: quantised x, and columns n of w one after the other. */
struct oracle_a8_product {
    const struct assay_linear_a8_args *a;
    int64_t groups;       /* of w, that hold a column below K */
    int group;            /* columns of one */
    int *codes;           /* [T][K] */
    double *scales;       /* [T][groups of x] */
    int *weights;         /* [K] of the row at hand */
    double *weight_scale; /* [groups] of the row at hand */
};
/* False when out of memory. Destroy in any case. */
bool oracle_a8_product_create(struct oracle_a8_product *p, const struct assay_linear_a8_args *a,
                              void (*quantise)(const double *, int64_t, int *, double *));
void oracle_a8_product_destroy(struct oracle_a8_product *p);
void oracle_a8_product_take(struct oracle_a8_product *p, int64_t n);
/* Of group g and row t: (sum of products of codes) * (weight scale * scale of x), which is exact
 * in binary64 where it is finite, and what IEEE 754 says where a scale is not. */
double oracle_a8_term(const struct oracle_a8_product *p, int64_t t, int64_t g);
/* residual[t,n], 0 where there is none. */
double oracle_a8_residual(const struct assay_linear_a8_args *a, int64_t t, int64_t n);

#endif
