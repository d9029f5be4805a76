/* SPDX-License-Identifier: MIT
 *
 * A call of moe_experts_grouped as one of banks of any format.
 */
#ifndef ASSAY_GROUPED_BANKS_H
#define ASSAY_GROUPED_BANKS_H

#include <assay/ops/moe_experts_grouped.h>

#include "ops/moe_experts/expert_banks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first `rows` rows of `all`, and those of the other experts behind them. */
static inline struct expert_bank grouped_bank_of(const struct assay_weights *all, int64_t rows)
{
    struct expert_bank bank;
    bank.matrix = *all;
    bank.step = rows;
    bank.matrix = expert_rows(&bank, 0, 0, rows);
    return bank;
}

/* Matrices of `rows` rows in w. */
static inline int64_t grouped_bank_count(const struct assay_weights *w, int64_t rows)
{
    return rows > 0 ? w->rows / rows : 0;
}

static inline struct expert_call grouped_call_of(const struct assay_moe_experts_grouped_args *a)
{
    const int64_t hidden = a->gate_up.columns, width = a->down.columns;
    struct expert_call c;
    c.x = a->x;
    c.ids = a->ids;
    c.weights = a->weights;
    c.y = a->y;
    c.gate_up = grouped_bank_of(&a->gate_up, 2 * width);
    c.down = grouped_bank_of(&a->down, hidden);
    c.num_experts = grouped_bank_count(&a->down, hidden);
    return c;
}

#ifdef __cplusplus
}
#endif
#endif
