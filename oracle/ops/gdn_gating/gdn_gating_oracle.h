/* SPDX-License-Identifier: MIT
 *
 * The parts of gdn_gating's oracle.
 */
#ifndef ORACLE_GDN_GATING_H
#define ORACLE_GDN_GATING_H

#include <assay/ops/gdn_gating.h>

#include "oracle.h"

/* aux arrays of g that ref leaves for bound. */
enum {
    GDN_GATING_AUX_X,        /* |a + dt_bias| */
    GDN_GATING_AUX_SOFTPLUS, /* softplus of it, or of exp where that underflows */
    GDN_GATING_AUX_EXPONENT  /* |a_log + x| where g is exp of that sum, else 0 */
};

/* Below this, softplus(x) and exp(x) differ by less than 2^-57 of themselves. */
#define GDN_GATING_TAIL (-40.0)

assay_status oracle_gdn_gating_mpfr(const void *args, long precision,
                                    struct oracle_output *outputs);
void oracle_gdn_gating_bound(const void *args, const struct oracle_route *route,
                             struct oracle_output *outputs);

#endif
