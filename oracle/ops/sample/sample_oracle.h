/* SPDX-License-Identifier: MIT
 *
 * The parts of sample's oracle.
 */
#ifndef ORACLE_SAMPLE_H
#define ORACLE_SAMPLE_H

#include <assay/ops/sample.h>

#include "oracle.h"

/* What ref and mpfr leave for bound: 1 where more ids are acceptable than value and alternative can
 * hold. */
enum { SAMPLE_AUX_UNDECIDED };

assay_status oracle_sample_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_sample_bound(const void *args, const struct oracle_route *route,
                         struct oracle_output *outputs);

/* Philox4x32-10 from its definition (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
 * as 1, 2, 3, SC 2011). */
void oracle_sample_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]);
/* u of [SAMPLE-5]. */
double oracle_sample_uniform(uint64_t seed, uint64_t counter);

/* A number as an unevaluated sum, |low| <= ulp(high)/2: 106 bits. */
struct two {
    double high;
    double low;
};

/* One token: its penalised logit, how far that may be off (0: exact in any order of evaluation),
 * and its probability as a multiple of the largest one. */
struct sample_token {
    struct two logit;
    double logit_error;
    struct two weight;
};

/* The ids that the contract accepts for one row. */
struct sample_choice {
    int64_t id;          /* the exact one, -1 where there is none */
    int64_t alternative; /* the other acceptable one, or id again */
    bool undecided;      /* more than two are acceptable */
};

/* Penalised logits of row t into token[limit] ([SAMPLE-1]); false when the row has no distribution
 * (NaN, or -inf only). *best is the first of the largest. */
bool oracle_sample_logits(const struct assay_sample_args *args, int64_t row,
                          struct sample_token *token, int64_t *best);
/* Filters and draws ([SAMPLE-2] to [SAMPLE-5]) from tokens whose weights are off by at most
 * `weight_error` in sum. False: out of memory. */
bool oracle_sample_choose(const struct assay_sample_args *args, const struct sample_token *token,
                          double weight_error, double u, struct sample_choice *choice);
/* Weight of token i, in whatever arithmetic; adds its error to *error. */
typedef struct two oracle_sample_weight(const struct assay_sample_args *args, struct two logit,
                                        struct two maximum, void *arithmetic, double *error);
/* All rows. */
assay_status oracle_sample_rows(const struct assay_sample_args *args, oracle_sample_weight *weight,
                                void *arithmetic, struct oracle_output *ids);

#endif
