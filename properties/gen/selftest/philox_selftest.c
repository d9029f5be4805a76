/* SPDX-License-Identifier: MIT
 *
 * Philox4x32-10 against the known answers that its authors publish (Random123, kat_vectors), and
 * the properties of streams that cases rely on.
 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "philox.h"

Test(philox, known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], output[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t output[4];
        philox(rows[i].counter, rows[i].key, output);
        cr_assert(memcmp(output, rows[i].output, sizeof output) == 0, "row %zu: %08x", i,
                  output[0]);
    }
}

/* Seed, stream and index each change the words; all 64 bits of seed and index take part. */
Test(philox, streams)
{
    uint64_t base = philox_u64(1, "x", 0);
    cr_assert_eq(philox_u64(1, "x", 0), base);
    cr_assert_neq(philox_u64(2, "x", 0), base);
    cr_assert_neq(philox_u64(1, "y", 0), base);
    cr_assert_neq(philox_u64(1, "x", 1), base);
    for (int bit = 0; bit < 64; bit++) {
        cr_assert_neq(philox_u64(1 ^ (uint64_t)1 << bit, "x", 0), base, "seed bit %d", bit);
        cr_assert_neq(philox_u64(1, "x", (uint64_t)1 << bit), base, "index bit %d", bit);
    }
    int64_t ones = 0;
    for (uint64_t i = 0; i < 4096; i++)
        ones += __builtin_popcountll(philox_u64(7, "balance", i));
    /* 262144 bits: standard deviation 256. */
    cr_assert(llabs(ones - 131072) < 6 * 256, "%lld ones", (long long)ones);
}
