/* SPDX-License-Identifier: MIT
 *
 * Angles of rotary positions and their cos and sin in kernels, for every op that rotates.
 */
#ifndef ASSAY_ROPE_ANGLE_CUH
#define ASSAY_ROPE_ANGLE_CUH

#include <assay/ops/rope.h>

#include "cuda/simt.cuh"

struct rope_angles {
    const int32_t *positions;
    int64_t axis_stride;    /* of positions, elements */
    int64_t limit[3];       /* pair i follows axis i % 3 if it is below that axis's limit, else 0 */
    double log_theta, step; /* pair i has the frequency exp(-(i * step) * log_theta) */
};

/* [ROPE-3] as limits. Of the args: positions, rotary_dim, theta, sections. */
static inline struct rope_angles rope_angles_of(const struct assay_rope_args *a)
{
    struct rope_angles p = {};
    p.positions = static_cast<const int32_t *>(a->positions.data);
    p.log_theta = log(a->theta);
    p.step = 2 / static_cast<double>(a->rotary_dim);
    if (a->positions.rank == 1)
        return p;
    p.axis_stride = a->positions.stride[0];
    p.limit[1] = 3 * a->sections[1];
    p.limit[2] = 3 * a->sections[2];
    return p;
}

struct rotation {
    float cosine, sine;
};

/* phi = n pi/2 + r, |r| <= pi/4 + 2^-27, n < 2^24. The product of n and the head of pi/2 is
 * exact within the fma, the difference is rounded by less than 2^-53, and so is the second one; the
 * two parts leave out less than n 2^-106. sin's series ends at r^11, cos's at r^12: what is left
 * out is below 2^-36 of sin and 2^-40 of cos. */
SIMT_DEVICE struct rotation rotation_by(double phi)
{
    double n = rint(phi * 0x1.45f306dc9c883p-1);
    double r = fma(-n, 0x1.1a62633145c07p-54, fma(-n, 0x1.921fb54442d18p0, phi));
    double z = r * r;
    double s = fma(z, -1.0 / 39916800, 1.0 / 362880);
    s = fma(z, s, -1.0 / 5040);
    s = fma(z, s, 1.0 / 120);
    s = fma(z, s, -1.0 / 6);
    s = fma(r * z, s, r);
    double c = fma(z, 1.0 / 479001600, -1.0 / 3628800);
    c = fma(z, c, 1.0 / 40320);
    c = fma(z, c, -1.0 / 720);
    c = fma(z, c, 1.0 / 24);
    c = fma(z, c, -0.5);
    c = fma(z, c, 1.0);
    int quadrant = static_cast<int>(n) & 3;
    double cosine = quadrant % 2 == 1 ? s : c, sine = quadrant % 2 == 1 ? c : s;
    return {static_cast<float>(quadrant == 1 || quadrant == 2 ? -cosine : cosine),
            static_cast<float>(quadrant >= 2 ? -sine : sine)};
}

/* With x = (2i/R) ln theta >= 0: the step's, ln theta's and the products' roundings change
 * f = e^-x by at most x e^-x 5 * 2^-53 < 1.9 * 2^-53, exp itself by an ulp. With half an ulp of the
 * product with the position, the angle is wrong by less than 2^24 (1.9 + 2 + 1) 2^-53 < 1e-8
 * [ROPE-6]. */
SIMT_DEVICE double rope_angle(const struct rope_angles &p, int64_t token, int64_t pair)
{
    int axis = static_cast<int>(pair % 3);
    if (pair >= p.limit[axis])
        axis = 0;
    int32_t position = simt_load_constant(p.positions + axis * p.axis_stride + token);
    return position * exp(-(static_cast<double>(pair) * p.step) * p.log_theta);
}

#endif
