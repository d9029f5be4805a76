/* SPDX-License-Identifier: MIT
 *
 * The oracle's Philox4x32-10 against the known answers that its authors publish with Random123
 * (kat_vectors, lines "philox4x32 10"), and u of [SAMPLE-5] against the first of them.
 */
#include <criterion/criterion.h>

#include "sample_oracle.h"

Test(sample_philox, known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], output[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        uint32_t output[4];
        oracle_sample_philox(known[k].counter, known[k].key, output);
        for (int i = 0; i < 4; i++)
            cr_assert_eq(output[i], known[k].output[i], "vector %zu, word %d is %08x", k, i,
                         output[i]);
    }
}

/* x = w0 + 2^32 w1, u = floor(x / 2^11) 2^-53: the low word comes first. */
Test(sample_philox, uniform)
{
    const uint64_t x = UINT64_C(0xe169c58d6627e8d5);
    cr_assert_eq(oracle_sample_uniform(0, 0), (double)(x >> 11) * 0x1p-53);
    for (uint64_t i = 0; i < 100000; i++) {
        double u = oracle_sample_uniform(i * UINT64_C(0x9e3779b97f4a7c15), ~i);
        cr_assert(u >= 0 && u < 1);
    }
    cr_assert_neq(oracle_sample_uniform(0, UINT64_C(1) << 32), oracle_sample_uniform(0, 0));
    cr_assert_neq(oracle_sample_uniform(UINT64_C(1) << 32, 0), oracle_sample_uniform(0, 0));
}
