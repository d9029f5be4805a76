/* SPDX-License-Identifier: MIT
 *
 * All ops, from the folders of engine/ops (op_list.inc is generated from their names).
 */
#include <assay/route.h>

#include <stdlib.h>
#include <string.h>

#define X(op) extern const struct assay_op assay_op_##op;
#include "op_list.inc"
#undef X

static const struct assay_op *const ops[] = {
#define X(op) &assay_op_##op,
#include "op_list.inc"
#undef X
};

const struct assay_op *const *assay_ops(int *num_ops)
{
    *num_ops = (int)(sizeof ops / sizeof ops[0]);
    return ops;
}

const struct assay_op *assay_op_find(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(ops[i]->name, name) == 0)
            return ops[i];
    return NULL;
}
