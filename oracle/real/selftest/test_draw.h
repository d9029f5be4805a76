/* SPDX-License-Identifier: MIT
 *
 * Random operands for the oracle's own tests: fixed seeds, every exponent of binary64.
 */
#ifndef ORACLE_TEST_DRAW_H
#define ORACLE_TEST_DRAW_H

#include <math.h>
#include <stdint.h>

/* splitmix64 */
static inline uint64_t draw_bits(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Uniform in [0, 1). */
static inline double draw_unit(uint64_t *state)
{
    return (double)(draw_bits(state) >> 11) * 0x1p-53;
}

static inline double draw_between(uint64_t *state, double low, double high)
{
    return low + (high - low) * draw_unit(state);
}

/* Either sign, significand uniform, exponent uniform in [low, high]. */
static inline double draw_scaled(uint64_t *state, int low, int high)
{
    int exponent = low + (int)(draw_bits(state) % (uint64_t)(high - low + 1));
    double v = ldexp(1 + draw_unit(state), exponent);
    return draw_bits(state) & 1 ? -v : v;
}

/* Distance from |v| to the next larger binary64. */
static inline double draw_ulp(double v)
{
    return nextafter(fabs(v), INFINITY) - fabs(v);
}

#endif
