/* SPDX-License-Identifier: MIT
 *
 * embedding, a second formulation: element by element through MPFR, which holds every stored value
 * exactly. Nothing is shared with the row-wise lookup but the word decoder.
 */
#include "embedding_oracle.h"

#include "real.h"
#include "words.h"

assay_status oracle_embedding_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_embedding_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t width = a->table.extent[1];
    mpfr_t value;
    mpfr_init2(value, precision);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t row = oracle_get_int(&a->ids, i / width);
        mpfr_set_d(value, oracle_get(&a->table, row * width + i % width), MPFR_RNDN);
        oracle_mpfr_result(value, 0, &y->value[i], &y->own[i]);
    }
    mpfr_clear(value);
    return ASSAY_OK;
}
