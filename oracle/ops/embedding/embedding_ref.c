/* SPDX-License-Identifier: MIT
 *
 * embedding: rows looked up and widened, exact [EMBEDDING-1].
 */
#include "embedding_oracle.h"

#include "words.h"

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_embedding_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    int64_t width = a->table.extent[1];
    for (int64_t t = 0; t < a->ids.extent[0]; t++) {
        int64_t row = oracle_get_int(&a->ids, t);
        if (row < 0 || row >= a->table.extent[0])
            return ASSAY_E_RANGE;
        oracle_get_row(&a->table, row, &y->value[t * width]);
    }
    return ASSAY_OK; /* own stays 0 */
}

const struct oracle_op oracle_op_embedding = {
    .name = "embedding",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_embedding_mpfr,
    .bound = oracle_embedding_bound,
};
