/* SPDX-License-Identifier: MIT
 *
 * Random rounding: draws by a counter, neighbours by scaling to integers.
 */
#include "noise.h"

#include <math.h>

_Thread_local bool oracle_noise_on;
static _Thread_local uint64_t state;

void oracle_noise_begin(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
    oracle_noise_on = true;
}

void oracle_noise_end(void)
{
    oracle_noise_on = false;
}

/* Uniform in [0, 1): Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators"
 * (2014), its finaliser over a counter. */
static double draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* `lowest`: exponent of the unit that subnormal values have. */
static double round_to(double value, int digits, int lowest)
{
    int exponent;
    if (!isfinite(value) || value == 0)
        return value;
    frexp(value, &exponent);
    const int unit = exponent - digits > lowest ? exponent - digits : lowest;
    const double scaled = ldexp(value, -unit), below = floor(scaled);
    return ldexp(draw() < scaled - below ? below + 1 : below, unit);
}

double oracle_noise_draw(double value, int digits)
{
    return fabs(value) < 0x1p127 ? round_to(value, digits, digits == 24 ? -149 : -133) : value;
}

double oracle_noise_output(double value, enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_F32:
        return oracle_noise_draw(value, 24);
    case ASSAY_BF16:
        return oracle_noise_draw(value, 8);
    case ASSAY_F16:
        return fabs(value) < 0x1p15 ? round_to(value, 11, -24) : value;
    default:
        return value;
    }
}
