/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped: rows looked up and decoded, exact [EMBEDDINGGROUPED-1].
 */
#include "embedding_grouped_oracle.h"

#include "oracle_formats.h"
#include "words.h"

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_embedding_grouped_args *a = arguments;
    struct oracle_output *y = &outputs[0];
    for (int64_t t = 0; t < a->ids.extent[0]; t++) {
        int64_t row = oracle_get_int(&a->ids, t);
        if (row < 0 || row >= a->table.rows)
            return ASSAY_E_RANGE;
        oracle_weight_row(&a->table, row, &y->value[t * a->table.columns]);
    }
    return ASSAY_OK; /* own stays 0 */
}

const struct oracle_op oracle_op_embedding_grouped = {
    .name = "embedding_grouped",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_embedding_grouped_mpfr,
    .bound = oracle_embedding_grouped_bound,
};
