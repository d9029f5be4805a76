/* SPDX-License-Identifier: MIT
 *
 * Runs cases: build, poison, run, compare, repeat, shrink.
 */
#ifndef PROPERTIES_VERIFY_H
#define PROPERTIES_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/context.h>

#include "case.h"
#include "vectors.h"
#include "verdict.h"

struct verify_outcome {
    struct assay_case c;
    struct verdict verdict;
    char route[64]; /* the route that ran */
    bool refused;   /* the forced route does not accept this case: not counted */
    bool used_mpfr; /* the FP64 oracle was not sure enough */
    double seconds; /* of the route alone, first run */
};

/* Runs one case in the given context. Never fails: trouble becomes a finding. */
void verify_case(assay_context *context, const struct assay_case *c,
                 struct verify_outcome *outcome);
/* Smallest case, by the parameters' shrink order, that still gives the same finding. */
void verify_shrink(assay_context *context, const struct assay_case *failing,
                   struct assay_case *smallest);
/* Compares the FP64 oracle of the case with MPFR at `precision` and at twice that: false and a
 * message when they differ by more than their own bounds. */
bool verify_oracle(const struct assay_case *c, long precision, char *message, size_t message_bytes);
/* What the case's rows, on its forced route, were seen not to depend on, as a mask of enum
 * assay_invariance; tried: what could be tried (the route must take the narrower calls). False: a
 * call failed, see the message. */
bool verify_invariance(assay_context *context, const struct assay_case *c, unsigned *tried,
                       unsigned *holds, char *message, size_t message_bytes);
/* The golden vector against both oracles (false: message), then against the forced or dispatched
 * route of the case (outcome). */
bool verify_vector(assay_context *context, struct vector *vector, const char *route,
                   struct verify_outcome *outcome, char *message, size_t message_bytes);

#endif
