/* SPDX-License-Identifier: MIT
 *
 * All ops' case specs (case_list.inc is generated from the folders of properties/ops).
 */
#include "case.h"

#include <string.h>

#define X(op) extern const struct case_spec case_spec_##op;
#include "case_list.inc"
#undef X

static const struct case_spec *const specs[] = {
#define X(op) &case_spec_##op,
#include "case_list.inc"
#undef X
};

const struct case_spec *const *case_specs(int *num_specs)
{
    *num_specs = (int)(sizeof specs / sizeof specs[0]);
    return specs;
}

const struct case_spec *case_spec_find(const char *op)
{
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        if (strcmp(specs[i]->op->name, op) == 0)
            return specs[i];
    return NULL;
}
