/* SPDX-License-Identifier: MIT
 *
 * The engine's counter-based generator, Philox4x32-10 (Salmon, Moraes, Dror, Shaw, 2011): a draw is
 * a function of seed and counter, whatever was drawn before.
 */
#ifndef ASSAY_CORE_RANDOM_H
#define ASSAY_CORE_RANDOM_H

#include <stdint.h>

/* First 64-bit word (low word first) of Philox4x32-10 with key `seed`, counter `counter`. */
uint64_t random_u64(uint64_t seed, uint64_t counter);
/* The same as a number in [0, 1): its upper 53 bits times 2^-53. */
double random_uniform(uint64_t seed, uint64_t counter);

#endif
