/* SPDX-License-Identifier: MIT
 *
 * The parts of causal_conv1d's oracle.
 */
#ifndef ORACLE_CAUSAL_CONV1D_H
#define ORACLE_CAUSAL_CONV1D_H

#include <assay/ops/causal_conv1d.h>

#include "oracle.h"

enum { ORACLE_CONV1D_MAX_TAPS = 8 };

/* aux arrays of y that ref leaves for bound. */
enum {
    CONV1D_AUX_SUM,      /* the sum before SiLU */
    CONV1D_AUX_MAGNITUDE /* sum |w x| */
};

/* w[c, 0 .. taps) and the inputs x[t - (taps-1) .. t, c] that meet them. */
void oracle_conv1d_window(const struct assay_causal_conv1d_args *args, int64_t t, int64_t c,
                          double *w, double *x);
/* Fills the state's values: what must be stored, rounded to its format; nothing else is right. */
void oracle_conv1d_state(const struct assay_causal_conv1d_args *args, struct oracle_output *state);

assay_status oracle_causal_conv1d_mpfr(const void *args, long precision,
                                       struct oracle_output *outputs);
void oracle_causal_conv1d_bound(const void *args, const struct oracle_route *route,
                                struct oracle_output *outputs);

#endif
