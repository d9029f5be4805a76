/* SPDX-License-Identifier: MIT
 *
 * One column of one head's state through the recurrence (F15), in binary64, with bounds on what a
 * route's roundings do to it. Columns do not see each other. gdn_recurrent_bound.md has the
 * derivation; gdn_chunked's oracle uses the same column for its values.
 */
#ifndef ORACLE_GDN_COLUMN_H
#define ORACLE_GDN_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/tensor.h>

/* What all columns of a head share at one token. */
struct gdn_token {
    const double *q, *k;   /* q scaled */
    double q_norm, k_norm; /* 2-norms, rounded upwards */
    double alpha, beta;
    double growth; /* 2-norm of S -> (I - beta k k^T) alpha S, rounded upwards */
};

/* Fills norms and growth from q, k, alpha and beta. */
void gdn_token_norms(struct gdn_token *token, int64_t key_dim);

/* state: exact but for binary64 roundings. arithmetic, storage: bounds on each element's error from
 * the route's binary32 arithmetic and from rounding the state to its format between tokens;
 * *_norm: bounds on the 2-norm of the same errors. Elementwise bounds are sharp for the first
 * tokens, the norms do not grow where the recurrence contracts; each is cut by the other. */
struct gdn_column {
    int64_t key_dim;
    double *state, *arithmetic, *storage; /* [key_dim] */
    double arithmetic_norm, storage_norm;
    bool undecided; /* an infinity has met what a route may have rounded to zero */
};

/* What a token gives: the output and the parts of its bound. */
struct gdn_step {
    double delta; /* d */
    double o;
    double propagated;   /* error of o by the state's arithmetic error */
    double accumulation; /* rounding of the products and the sum S^T q itself */
    double storage;      /* error of o by the state's storage error */
    bool undecided;      /* of o: infinity or NaN, as the route\'s roundings have it */
};

/* Starts at `state`, which is exact. */
void gdn_column_start(struct gdn_column *column);
void gdn_column_step(struct gdn_column *column, const struct gdn_token *token, double v,
                     struct gdn_step *step);
/* Rounds the state to the format between tokens: adds half an ulp to the storage bounds. */
void gdn_column_store(struct gdn_column *column, enum assay_dtype format);

/* The share of an arithmetic bound that the same recurrence in binary64 can be off by itself. */
#define GDN_OWN_SHARE 0x1p-29

/* bound, or infinity where it is NaN; 0 where the value is not finite (patterns are compared). */
double gdn_bound(double bound, double value);

#endif
