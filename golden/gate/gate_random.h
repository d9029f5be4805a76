/* SPDX-License-Identifier: MIT
 *
 * SplitMix64: the draws of the bootstrap, the same on every machine for one seed.
 */
#ifndef GATE_RANDOM_H
#define GATE_RANDOM_H

#include <stdint.h>

struct gate_random {
    uint64_t state;
};

static inline uint64_t gate_random_next(struct gate_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In [0, n), n below 2^32: the bias of the multiplication is below 2^-32. */
static inline int64_t gate_random_below(struct gate_random *random, int64_t n)
{
    return (int64_t)((gate_random_next(random) >> 32) * (uint64_t)n >> 32);
}

#endif
