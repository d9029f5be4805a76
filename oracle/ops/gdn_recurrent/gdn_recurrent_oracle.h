/* SPDX-License-Identifier: MIT
 *
 * The parts of gdn_recurrent's oracle.
 */
#ifndef ORACLE_GDN_RECURRENT_H
#define ORACLE_GDN_RECURRENT_H

#include <assay/ops/gdn_recurrent.h>

#include "gdn_terms.h"
#include "oracle.h"

assay_status oracle_gdn_recurrent_mpfr(const void *args, long precision,
                                       struct oracle_output *outputs);
void oracle_gdn_recurrent_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs);

#endif
