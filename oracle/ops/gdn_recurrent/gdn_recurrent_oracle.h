/* SPDX-License-Identifier: MIT
 *
 * The parts of gdn_recurrent's oracle.
 */
#ifndef ORACLE_GDN_RECURRENT_H
#define ORACLE_GDN_RECURRENT_H

#include <assay/ops/gdn_recurrent.h>

#include "oracle.h"

/* aux arrays that ref leaves for bound. */
enum {
    GDN_AUX_PRODUCTS,     /* propagated arithmetic error */
    GDN_AUX_ACCUMULATION, /* of o's own sum */
    GDN_AUX_STORAGE       /* error by rounding the state between tokens */
};

assay_status oracle_gdn_recurrent_mpfr(const void *args, long precision,
                                       struct oracle_output *outputs);
void oracle_gdn_recurrent_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs);

#endif
