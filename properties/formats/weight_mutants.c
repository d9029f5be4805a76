/* SPDX-License-Identifier: MIT
 *
 * The checks can fail: each faulty codec fails at least one, and the control passes all.
 */
#include <criterion/criterion.h>

#include <stdio.h>

#include "weight_faults.h"

Test(mutants, killed)
{
    int survivors = 0;
    for (int fault = FAULT_NONE; fault < NUM_WEIGHT_FAULTS; fault++) {
        const struct weight_codec codec = weight_faulty((enum weight_fault)fault);
        const char *found = NULL;
        int by = 0;
        for (; by < num_weight_checks && found == NULL; by++)
            found = weight_checks[by].run(&codec, true);
        if (fault == FAULT_NONE) {
            cr_assert(found == NULL, "the control fails %s: %s", weight_checks[by - 1].name, found);
            continue;
        }
        printf("%s: %s: %s\n", codec.name, found != NULL ? weight_checks[by - 1].name : "SURVIVES",
               found != NULL ? found : "");
        survivors += found == NULL;
    }
    cr_assert_eq(survivors, 0, "%d of %d survive", survivors, NUM_WEIGHT_FAULTS - 1);
}
