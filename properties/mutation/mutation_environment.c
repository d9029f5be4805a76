/* SPDX-License-Identifier: MIT
 *
 * For programs over the copies that know nothing of mutants: ASSAY_MUTATION is the number of the
 * one that is on.
 */
#include <stdlib.h>

#include "mutation_switch.h"

int mutation_active = -1;
static uint32_t counters[MUTATION_MOST];
uint32_t *mutation_reached = counters;

__attribute__((constructor)) static void switch_on(void)
{
    const char *number = getenv("ASSAY_MUTATION");
    if (number != NULL)
        mutation_active = atoi(number);
}
