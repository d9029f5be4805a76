/* SPDX-License-Identifier: MIT
 *
 * The input distributions.
 */
#include "values.h"

#include <math.h>
#include <string.h>

#include "philox.h"
#include "words.h"

static const struct {
    const char *name;
    bool independent;
} dists[CASE_NUM_DISTS] = {
#define DIST_ROW(enumerator, name, independent) [CASE_DIST_##enumerator] = {name, independent},
    CASE_DIST_TABLE(DIST_ROW)
#undef DIST_ROW
};

const char *case_dist_name(enum case_dist dist)
{
    return (unsigned)dist < CASE_NUM_DISTS ? dists[dist].name : "?";
}

bool case_dist_independent(enum case_dist dist)
{
    return (unsigned)dist < CASE_NUM_DISTS && dists[dist].independent;
}

static double unit(uint32_t word)
{
    return (double)word * 0x1p-32;
}

/* The sum of four uniforms, centred, at unit variance: bell-shaped on [-3.47, 3.47]. */
static double bell(const uint32_t w[4])
{
    double sum = unit(w[0]) + unit(w[1]) + unit(w[2]) + unit(w[3]) - 2;
    return sum * 0x1.bb67ae8584caap+0; /* sqrt(3) */
}

/* Log-normal-like magnitude with a random sign, one in a hundred 50 times larger. */
static double outlier(const uint32_t w[4])
{
    double exponent = floor((unit(w[0]) + unit(w[1]) - 1) * 6);
    double magnitude = ldexp(1 + unit(w[2]), (int)exponent);
    if (w[3] % 100 == 0)
        magnitude *= 50;
    return w[3] & 0x10000u ? -magnitude : magnitude;
}

/* Exactly between two neighbouring bf16 values (binary32), or an odd bf16 word. */
static double tie(const uint32_t w[4])
{
    double significand = 128 + (double)(w[0] % 128) + 0.5;
    double value = ldexp(significand, -7 + (int)(w[1] % 5) - 2);
    return w[2] & 1u ? -value : value;
}

static double special(const uint32_t w[4], uint64_t seed, const char *stream, int64_t index,
                      int64_t count)
{
    static const double specials[3] = {NAN, INFINITY, -INFINITY};
    for (uint64_t k = 0; k < 3 && (int64_t)k < (count + 1) / 2; k++) {
        uint64_t at = philox_u64(seed ^ 0x5bd1e995u, stream, k) % (uint64_t)count;
        if ((int64_t)at == index)
            return specials[(k + seed) % 3];
    }
    return bell(w);
}

static double draw(enum case_dist dist, enum assay_dtype dtype, uint64_t seed, const char *stream,
                   int64_t index, int64_t count, int64_t inner)
{
    uint32_t w[4];
    philox_stream(seed, stream, (uint64_t)index, w);
    switch (dist) {
    case CASE_DIST_UNIFORM:
        return 2 * unit(w[0]) - 1;
    case CASE_DIST_OUTLIERS:
        return outlier(w);
    case CASE_DIST_MASSIVE: {
        uint64_t channel = philox_u64(seed, stream, UINT64_MAX) % (uint64_t)inner;
        return index % inner == (int64_t)channel ? 1000 * bell(w) : bell(w);
    }
    case CASE_DIST_CONSTANT:
    case CASE_DIST_ALTERNATING: {
        uint32_t one[4];
        philox_stream(seed, stream, UINT64_MAX, one);
        double value = 0.5 + 0.5 * unit(one[0]);
        return dist == CASE_DIST_ALTERNATING && index % 2 != 0 ? -value : value;
    }
    case CASE_DIST_SUBNORMAL:
        return ldexp(bell(w), (dtype == ASSAY_F16 ? -14 : -126) + 2 - (int)(w[3] % 10));
    case CASE_DIST_ZEROS:
        return w[0] & 1u ? -0.0 : 0.0;
    case CASE_DIST_LARGE:
        return (2 * unit(w[0]) - 1) * oracle_max_finite(dtype) / 4;
    case CASE_DIST_CANCEL: {
        uint32_t pair[4];
        philox_stream(seed, stream, (uint64_t)(index / 2), pair);
        double value = 1024 * bell(pair);
        /* 1/128 to 1/64 apart: never the same number of bf16, so that what is left is not zero. */
        double apart = 0x1p-7 * (1 + unit(w[0]));
        return index % 2 == 0 ? value : -value * (w[1] & 1u ? 1 + apart : 1 - apart);
    }
    case CASE_DIST_TIES:
        return tie(w);
    case CASE_DIST_EXACT:
        return (double)(w[0] % 9) - 4;
    case CASE_DIST_NONFINITE:
        return special(w, seed, stream, index, count);
    default:
        return bell(w);
    }
}

double values_draw(struct values values, enum assay_dtype dtype, uint64_t seed, const char *stream,
                   int64_t index, int64_t count, int64_t inner)
{
    double value = draw(values.dist, dtype, seed, stream, index, count, inner);
    value *= values.scale;
    return values.shift != 0 ? value + values.shift : value; /* -0 stays -0 */
}
