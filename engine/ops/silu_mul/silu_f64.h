/* SPDX-License-Identifier: MIT
 *
 * silu in binary64, for plain routes.
 */
#ifndef ASSAY_SILU_F64_H
#define ASSAY_SILU_F64_H

#include <float.h>
#include <math.h>

/* The sigmoid is not zero for a finite g, so that an infinite factor gives an infinity. */
static inline double silu_f64(double g)
{
    double s = 1 / (1 + exp(-g)); /* exp overflows below -709 */
    return g * (s == 0 && isfinite(g) ? DBL_TRUE_MIN : s);
}

#endif
