/* SPDX-License-Identifier: MIT
 *
 * Cases of matrix products: see product_case.h.
 */
#include "product_case.h"

static int64_t at_most(int64_t value, int64_t limit)
{
    if (limit < 1)
        limit = 1;
    return value < limit ? value : limit;
}

void product_case_shorten(struct assay_case *c, int64_t max_work)
{
    product_case_shorten_columns(c, "N", max_work);
}

void product_case_shorten_columns(struct assay_case *c, const char *param, int64_t max_work)
{
    const int64_t max_weights = 150000, max_outputs = 65536;
    int64_t rows = case_get(c, "T"), columns = case_get(c, param), inner = case_get(c, "K");
    if (rows > 0)
        rows = at_most(rows, max_outputs / columns);
    int64_t work_rows = rows > 0 ? rows : 1;
    if (columns > inner) {
        inner = at_most(inner, max_weights / columns);
        inner = at_most(inner, max_work / columns / work_rows);
    } else {
        columns = at_most(columns, max_weights / inner);
        columns = at_most(columns, max_work / inner / work_rows);
    }
    if (rows > 0)
        rows = at_most(rows, max_work / columns / inner);
    case_set(c, "T", rows);
    case_set(c, param, columns);
    case_set(c, "K", inner);
}

void product_case_claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "T"), columns = case_get(c, "N");
    if (c->dist != CASE_DIST_NORMAL || rows == 0 || case_get(c, "K") < 8)
        return;
    const double *y = outputs[0].value;
    if (columns > 1)
        trial_claim(trial, "the last two columns of y differ", y[columns - 1] != y[columns - 2]);
    if (rows > 1)
        trial_claim(trial, "the last two rows of y differ",
                    y[(rows - 1) * columns] != y[(rows - 2) * columns]);
}
