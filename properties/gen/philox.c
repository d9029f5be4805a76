/* SPDX-License-Identifier: MIT
 *
 * Philox4x32-10.
 */
#include "philox.h"

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4])
{
    enum { ROUNDS = 10 };
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * c0, p1 = (uint64_t)0xcd9e8d57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    output[0] = c0;
    output[1] = c1;
    output[2] = c2;
    output[3] = c3;
}

/* FNV-1a: streams are short names. */
static uint64_t hash(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

void philox_stream(uint64_t seed, const char *stream, uint64_t index, uint32_t output[4])
{
    uint64_t h = hash(stream);
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)h,
                                 (uint32_t)(h >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    philox(counter, key, output);
}

uint64_t philox_u64(uint64_t seed, const char *stream, uint64_t index)
{
    uint32_t words[4];
    philox_stream(seed, stream, index, words);
    return (uint64_t)words[0] << 32 | words[1];
}
