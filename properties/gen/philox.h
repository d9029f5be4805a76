/* SPDX-License-Identifier: MIT
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, 2011),
 * the counter-based generator of all test inputs: any element of any stream on its own, the same
 * on every machine.
 */
#ifndef PROPERTIES_PHILOX_H
#define PROPERTIES_PHILOX_H

#include <stdint.h>

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]);
/* Four words of stream `stream` (a name) under `seed` at `index`. */
void philox_stream(uint64_t seed, const char *stream, uint64_t index, uint32_t output[4]);
/* One 64-bit word. */
uint64_t philox_u64(uint64_t seed, const char *stream, uint64_t index);

#endif
