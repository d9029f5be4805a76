/* SPDX-License-Identifier: MIT
 *
 * What a mutated sum calls.
 */
#include "mutation_switch.h"

void mutation_coarsen(void *value, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, value, bytes);
    word &= bytes == 4 ? 0xffff0000u : ~0ull << 45;
    memcpy(value, &word, bytes);
}
