/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped, a second formulation: element by element, code times scale in MPFR.
 */
#include "embedding_grouped_oracle.h"

#include "oracle_formats.h"
#include "real.h"
#include "words.h"

assay_status oracle_embedding_grouped_mpfr(const void *args, long precision,
                                           struct oracle_output *outputs)
{
    const struct assay_embedding_grouped_args *a = args;
    struct oracle_output *y = &outputs[0];
    int64_t width = a->table.columns;
    int group = oracle_weight_format(a->table.format).group;
    mpfr_t value;
    mpfr_init2(value, precision);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t row = oracle_get_int(&a->ids, i / width), column = i % width;
        mpfr_set_d(value, oracle_weight_scale(&a->table, row, column / group), MPFR_RNDN);
        mpfr_mul_si(value, value, oracle_weight_code(&a->table, row, column), MPFR_RNDN);
        oracle_mpfr_result(value, 0, &y->value[i], &y->own[i]);
    }
    mpfr_clear(value);
    return ASSAY_OK;
}
