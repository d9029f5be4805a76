/* SPDX-License-Identifier: MIT
 *
 * argmax, from the contract [ARGMAX-1] [ARGMAX-4] and qwen3_5.md (F20). Two passes, so that each
 * rule stands alone: is there a NaN, what is the maximum, where does it stand first.
 */
#include "argmax_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

static double row_argmax(const double *row, int64_t limit)
{
    double maximum = -INFINITY;
    for (int64_t i = 0; i < limit; i++) {
        if (isnan(row[i]))
            return -1;
        maximum = fmax(maximum, row[i]);
    }
    int64_t first = 0;
    while (row[first] != maximum) /* -0 equals +0 */
        first++;
    return (double)first;
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_argmax_args *a = arguments;
    double *row = malloc((size_t)a->logits.extent[1] * sizeof *row);
    if (row == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t t = 0; t < outputs[0].count; t++) {
        oracle_get_row(&a->logits, t, row);
        outputs[0].value[t] = row_argmax(row, a->limit);
    }
    free(row);
    return ASSAY_OK;
}

const struct oracle_op oracle_op_argmax = {
    .name = "argmax",
    .num_outputs = 1,
    .outputs = {"ids"},
    .ref = ref,
    .mpfr = oracle_argmax_mpfr,
    .bound = oracle_argmax_bound,
};
