/* SPDX-License-Identifier: MIT
 *
 * What the oracles of gdn_recurrent and gdn_chunked share beside the recurrence (gdn_column.h): the
 * parts of a bound that ref leaves, and how they become its terms.
 */
#ifndef ORACLE_GDN_TERMS_H
#define ORACLE_GDN_TERMS_H

#include "oracle.h"

/* aux arrays that ref leaves for bound. */
enum {
    GDN_AUX_PRODUCTS,     /* operands, products, propagated arithmetic errors */
    GDN_AUX_ACCUMULATION, /* the sums of this output */
    GDN_AUX_STORAGE       /* error by rounding the state between tokens or chunks */
};

/* The terms of o and state (outputs[0] and [1]) of a call with q: [T, Hk, dk]. */
void gdn_bound_terms(const struct assay_tensor *q, struct oracle_output *outputs);

/* A state of subnormal numbers may be lost altogether, token by token: no relative allowance holds
 * then, and the elements' bounds alone decide. */
double gdn_ceiling(const void *args, enum assay_profile profile);

#endif
