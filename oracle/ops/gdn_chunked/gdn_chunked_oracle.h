/* SPDX-License-Identifier: MIT
 *
 * The parts of gdn_chunked's oracle.
 */
#ifndef ORACLE_GDN_CHUNKED_H
#define ORACLE_GDN_CHUNKED_H

#include <assay/ops/gdn_chunked.h>

#include "oracle.h"
#include "ops/gdn_recurrent/gdn_column.h"
#include "ops/gdn_recurrent/gdn_terms.h"

/* What a head's chunk has for all of its columns. Matrices are rows x rows, row-major, j <= i. */
struct gdn_chunk {
    int64_t rows, key_dim;
    bool on_tensor_cores;           /* profile a16x2; else binary32 arithmetic */
    const struct gdn_token *tokens; /* [rows] */
    double *exponent;               /* sums of g over (j, i] */
    double *solve, *solve_error;    /* beta_i (k_i . k_j) decay_ij, and a bound on its error */
    double *mix, *mix_error;        /* (q_i . k_j) decay_ij */
    double *inverse;                /* |(I + solve)^-1| */
    double *since, *since_error;    /* [rows] exp(g_0 + ... + g_i) */
    double *remain, *remain_error;  /* [rows] what is left of token i after the last */
};

/* Errors of one column's chunk: outputs and state. Filled by gdn_chunk_errors. */
struct gdn_chunk_column {
    const double *start;                       /* [dk] the state before the chunk */
    const double *v, *delta;                   /* [rows] */
    double arithmetic_norm;                    /* in: of the start's error; out: of the end's */
    double storage_norm;                       /* the same for storage */
    double *products, *accumulation, *storage; /* [rows], of o */
    double *state_error;                       /* [dk] of the new state */
    double *reach, *spread; /* [rows] scratch: |delta| with errors, error of delta */
};

/* ref's values and, in aux, errors; without `values` the errors alone. */
assay_status gdn_chunked_evaluate(const struct assay_gdn_chunked_args *args, bool on_tensor_cores,
                                  bool values, struct oracle_output *outputs);

void gdn_chunk_prepare(struct gdn_chunk *chunk, const double *g);
void gdn_chunk_errors(const struct gdn_chunk *chunk, struct gdn_chunk_column *column);

assay_status oracle_gdn_chunked_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs);
void oracle_gdn_chunked_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs);

#endif
