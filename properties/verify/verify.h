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
/* What random rounding makes of a case (oracle/real/noise.h): deviations of `samples` draws of the
 * oracle in binary32 from its exact values, their one rounding into the output included. */
enum { VERIFY_NOISE_BINS = 64 };
struct verify_noise {
    int samples;
    int64_t elements; /* finite values with a finite bound, over all draws */
    /* of deviation / bound, in steps of 1 / VERIFY_NOISE_BINS; the last: beyond the bound */
    int64_t share[VERIFY_NOISE_BINS + 1];
    double worst_share; /* largest deviation over the element's bound, */
    int64_t worst_at;   /* of this element */
    char worst_output[16];
    int64_t index;       /* the verdict's worst element, and of that one: */
    double rms, largest; /* deviations */
    double bound;
};
/* verdict: of the same case, NULL: no element is asked about. The bound is that of the case's
 * route, of profile f32 where the route computes in binary64. False: no memory. */
bool verify_noise(const struct assay_case *c, const struct verdict *verdict, int samples,
                  struct verify_noise *noise);
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
