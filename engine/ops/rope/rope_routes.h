/* SPDX-License-Identifier: MIT
 *
 * The functions behind rope's route table, and the angles that its routes share.
 */
#ifndef ASSAY_ROPE_ROUTES_H
#define ASSAY_ROPE_ROUTES_H

#include <math.h>

#include <assay/ops/rope.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row of token t: what the routes of an instruction set share with the ops that rotate. Of the
 * args: formats, positions, rotary_dim, sections and the width of x. rotation: rope_rotation. */
void rope_row_plain(const struct assay_rope_args *a, const double *frequency, int64_t t,
                    const void *x, void *y);
void rope_row_avx2(const struct assay_rope_args *a, const float *rotation, const void *x, void *y);
void rope_row_avx512(const struct assay_rope_args *a, const float *rotation, const void *x,
                     void *y);

/* The checks of [ROPE-5] and of the shape of positions, and those of [ROPE-6], as errors of the op
 * that asks. x gives T and D. */
assay_status rope_check_rotation(assay_context *context, const char *op,
                                 const struct assay_rope_args *a);
assay_status rope_check_range(assay_context *context, const char *op,
                              const struct assay_rope_args *a);

assay_status rope_route_plain(assay_context *context, const void *args, void *workspace);
assay_status rope_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status rope_route_avx512(assay_context *context, const void *args, void *workspace);

DEVICE_ROUTE_DECLARE(rope_route_token)

#ifdef __cplusplus
}
#else /* host code is C */

/* [ROPE-3]: the row of positions that pair i follows. */
static inline int64_t rope_axis(const struct assay_rope_args *a, int64_t pair)
{
    if (a->positions.rank == 1)
        return 0;
    if (pair % 3 == 1 && pair < 3 * a->sections[1])
        return 1;
    if (pair % 3 == 2 && pair < 3 * a->sections[2])
        return 2;
    return 0;
}

/* f = theta^(-2i/R) of every pair. With x = (2i/R) ln theta >= 0: the exponent's rounding changes
 * f = e^-x by x e^-x 2^-53 < 0.4 * 2^-53, pow itself by two ulps at most. The product with the
 * position adds half an ulp of the angle: below 2^24 the angle is wrong by less than
 * 2^24 (0.4 + 2 + 1) 2^-53 < 7e-9 [ROPE-6]. */
static inline void rope_frequencies(const struct assay_rope_args *a, double *frequency)
{
    for (int64_t i = 0; i < a->rotary_dim / 2; i++)
        frequency[i] = pow(a->theta, (double)(-2 * i) / (double)a->rotary_dim);
}

/* phi of pair i at token t. */
static inline double rope_angle(const struct assay_rope_args *a, const double *frequency, int64_t t,
                                int64_t pair)
{
    const int32_t *axis = assay_tensor_row(&a->positions, rope_axis(a, pair));
    return (double)axis[t] * frequency[pair];
}

/* cos of all pairs at token t, then sin of all pairs, rounded to binary32. */
static inline void rope_rotation(const struct assay_rope_args *a, const double *frequency,
                                 int64_t t, float *rotation)
{
    int64_t half = a->rotary_dim / 2;
    for (int64_t i = 0; i < half; i++) {
        double phi = rope_angle(a, frequency, t, i);
        rotation[i] = (float)cos(phi);
        rotation[half + i] = (float)sin(phi);
    }
}

#endif
#endif
