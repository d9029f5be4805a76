/* SPDX-License-Identifier: MIT
 *
 * Philox4x32-10, written from the paper's definition: ten rounds of two 32-bit multiplications, the
 * key raised by Weyl constants between rounds.
 */
#include "sample_oracle.h"

static uint32_t high_half(uint64_t product)
{
    return (uint32_t)(product >> 32);
}

static void philox_round(uint32_t x[4], const uint32_t key[2])
{
    const uint64_t multiplier[2] = {0xd2511f53u, 0xcd9e8d57u};
    uint64_t first = multiplier[0] * x[0], second = multiplier[1] * x[2];
    uint32_t y[4] = {high_half(second) ^ x[1] ^ key[0], (uint32_t)second,
                     high_half(first) ^ x[3] ^ key[1], (uint32_t)first};
    for (int i = 0; i < 4; i++)
        x[i] = y[i];
}

void oracle_sample_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4])
{
    const uint32_t weyl[2] = {0x9e3779b9u, 0xbb67ae85u};
    for (int i = 0; i < 4; i++)
        output[i] = counter[i];
    for (uint32_t round = 0; round < 10; round++) {
        uint32_t round_key[2] = {key[0] + round * weyl[0], key[1] + round * weyl[1]};
        philox_round(output, round_key);
    }
}

double oracle_sample_uniform(uint64_t seed, uint64_t counter)
{
    const uint32_t key[2] = {(uint32_t)(seed & 0xffffffffu), (uint32_t)(seed >> 32)};
    const uint32_t block[4] = {(uint32_t)(counter & 0xffffffffu), (uint32_t)(counter >> 32), 0, 0};
    uint32_t word[4];
    oracle_sample_philox(block, key, word);
    /* 21 of word 0 and 32 of word 1: the upper 53 bits of word 1 before word 0 */
    return ((double)word[1] * 0x1p21 + (double)(word[0] >> 11)) * 0x1p-53;
}
