/* SPDX-License-Identifier: MIT
 *
 * moe_router in bounded binary64, from the contract [MOEROUTER-1] [MOEROUTER-2] [MOEROUTER-4] and
 * qwen3_5.md (F19). Logits are exact, so that ids are integers without an error.
 */
#include "moe_router_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

/* An expert's rank is the number of experts that come before it: k counts, and no sorting. */
static int64_t rank_of(const double *logits, int64_t count, int64_t e)
{
    int64_t rank = 0;
    for (int64_t i = 0; i < count; i++)
        rank += logits[i] > logits[e] || (logits[i] == logits[e] && i < e);
    return rank;
}

bool oracle_moe_router_select(const double *logits, int64_t count, int64_t k, int64_t *ids)
{
    bool has_nan = false;
    for (int64_t e = 0; e < count; e++)
        has_nan = has_nan || isnan(logits[e]);
    for (int64_t i = 0; i < k; i++)
        ids[i] = i;
    if (has_nan)
        return false;
    for (int64_t e = 0; e < count; e++) {
        int64_t rank = rank_of(logits, count, e);
        if (rank < k)
            ids[rank] = e;
    }
    return isfinite(logits[ids[0]]);
}

static void put_row(const double *logits, const int64_t *ids, int64_t k, bool has_weights,
                    int64_t at, struct oracle_output *outputs)
{
    struct ball part[ASSAY_MOE_MOST], sum = ball_exact(0);
    for (int64_t i = 0; i < k && has_weights; i++) {
        double logit = logits[ids[i]];
        struct ball difference = ball_sub(ball_exact(logit), ball_exact(logits[ids[0]]));
        part[i] = logit == -INFINITY ? ball_exact(0) : ball_exp(difference);
        sum = ball_add(sum, part[i]);
    }
    for (int64_t i = 0; i < k; i++) {
        struct ball weight = has_weights ? ball_div(part[i], sum) : ball_exact(NAN);
        outputs[ROUTER_IDS].value[at + i] = (double)ids[i];
        outputs[ROUTER_WEIGHTS].value[at + i] = weight.v;
        outputs[ROUTER_WEIGHTS].own[at + i] = weight.e;
    }
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_moe_router_args *a = arguments;
    int64_t count = a->logits.extent[1], k = a->ids.extent[1], ids[ASSAY_MOE_MOST];
    double *logits = malloc((size_t)count * sizeof *logits);
    if (logits == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t t = 0; t < a->ids.extent[0]; t++) {
        oracle_get_row(&a->logits, t, logits);
        bool has_weights = oracle_moe_router_select(logits, count, k, ids);
        put_row(logits, ids, k, has_weights, t * k, outputs);
    }
    free(logits);
    return ASSAY_OK;
}

const struct oracle_op oracle_op_moe_router = {
    .name = "moe_router",
    .num_outputs = 2,
    .outputs = {"ids", "weights"},
    .ref = ref,
    .mpfr = oracle_moe_router_mpfr,
    .bound = oracle_moe_router_bound,
};
