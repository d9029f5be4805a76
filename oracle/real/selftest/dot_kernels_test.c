/* SPDX-License-Identifier: MIT
 *
 * The same bits from every instruction set. Includes the source to reach its kernels.
 */
#include <criterion/criterion.h>

#include "../dot.c"
#include "test_draw.h"

#define MOST 64

struct set {
    const char *name;
    int present;
    kernel dot, sum;
};

Test(dot_kernels, same_bits)
{
    struct set sets[] = {
#if defined(__x86_64__)
        {"avx2", __builtin_cpu_supports("avx2"), dot_avx2, sum_avx2},
        {"avx512", __builtin_cpu_supports("avx512f"), dot_avx512, sum_avx512},
#endif
        {"chosen", 1, choose(1), choose(0)},
    };
    static double a[MOST * BLOCK], b[MOST * BLOCK];
    uint64_t state = 31;
    for (int i = 0; i < MOST * BLOCK; i++) {
        a[i] = draw_scaled(&state, -30, 30);
        b[i] = draw_scaled(&state, -30, 30);
    }
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        for (int64_t blocks = 0; blocks <= MOST && sets[k].present; blocks++) {
            struct lanes expected = {{0}, {0}};
            struct lanes got = {{0}, {0}};
            dot_plain(a, b, blocks, &expected);
            sets[k].dot(a, b, blocks, &got);
            cr_assert(memcmp(&got, &expected, sizeof got) == 0, "dot, %s", sets[k].name);
            sum_plain(a, NULL, blocks, &expected);
            sets[k].sum(a, NULL, blocks, &got);
            cr_assert(memcmp(&got, &expected, sizeof got) == 0, "sum, %s", sets[k].name);
        }
    }
}
