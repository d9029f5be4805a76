/* SPDX-License-Identifier: MIT
 *
 * Philox4x32-10.
 */
#include "core/random.h"

uint64_t random_u64(uint64_t seed, uint64_t counter)
{
    enum { ROUNDS = 10 };
    uint32_t word[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = UINT64_C(0xd2511f53) * word[0], b = UINT64_C(0xcd9e8d57) * word[2];
        word[0] = (uint32_t)(b >> 32) ^ word[1] ^ key[0];
        word[2] = (uint32_t)(a >> 32) ^ word[3] ^ key[1];
        word[1] = (uint32_t)b;
        word[3] = (uint32_t)a;
        key[0] += 0x9e3779b9u; /* golden ratio */
        key[1] += 0xbb67ae85u; /* sqrt(3) - 1 */
    }
    return (uint64_t)word[1] << 32 | word[0];
}

double random_uniform(uint64_t seed, uint64_t counter)
{
    return (double)(random_u64(seed, counter) >> 11) * 0x1p-53;
}
