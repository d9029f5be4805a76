/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped in bounded binary64, from the contract [MOEEXPERTSGROUPED-1].
 */
#include "moe_experts_grouped_oracle.h"

/* Expert 0 of all of a bank's rows. */
static struct assay_weights first_of(struct assay_weights all, int64_t rows)
{
    all.rows = all.base.extent[0] = all.scales.extent[0] = all.high.extent[0] = rows;
    return all;
}

struct moe_call oracle_moe_grouped_call(const struct assay_moe_experts_grouped_args *a)
{
    int64_t hidden = a->x.extent[1], width = a->down.columns;
    return (struct moe_call){.x = a->x,
                             .ids = a->ids,
                             .weights = a->weights,
                             .y = a->y,
                             .gate_up = first_of(a->gate_up, 2 * width),
                             .down = first_of(a->down, hidden),
                             .gate_up_step = 2 * width,
                             .down_step = hidden,
                             .experts = a->down.rows / hidden};
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct moe_call c = oracle_moe_grouped_call(arguments);
    return oracle_moe_ref(&c, outputs);
}

static double work(const void *arguments)
{
    const struct moe_call c = oracle_moe_grouped_call(arguments);
    return oracle_moe_work(&c);
}

const struct oracle_op oracle_op_moe_experts_grouped = {
    .name = "moe_experts_grouped",
    .num_outputs = 1,
    .outputs = {"y"},
    .ref = ref,
    .mpfr = oracle_moe_experts_grouped_mpfr,
    .bound = oracle_moe_experts_grouped_bound,
    .work = work,
};
