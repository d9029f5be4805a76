/* SPDX-License-Identifier: MIT
 *
 * moe_router with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "moe_router_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

/* A row: its logits, what is taken, and the weights. */
struct row {
    const double *logits;
    int64_t count, k;
    int64_t id[ASSAY_MOE_MOST];
    double weight[ASSAY_MOE_MOST];
};

static double rank_of(double logit, enum fault fault)
{
    if (fault == BY_MAGNITUDE)
        return fabs(logit);
    return fault == BF16_COMPARED ? oracle_round(logit, ASSAY_BF16) : logit;
}

static bool is_taken(const struct row *r, int64_t places, int64_t e)
{
    for (int64_t i = 0; i < places; i++)
        if (r->id[i] == e)
            return true;
    return false;
}

/* False: there is a NaN. */
static bool select_experts(struct row *r, enum fault fault)
{
    int64_t count = r->count;
    if (fault == TAIL_SKIPPED && count / 32 * 32 >= r->k)
        count = count / 32 * 32;
    for (int64_t e = 0; e < r->count; e++)
        if (isnan(r->logits[e]) && fault != NAN_SKIPPED) {
            for (int64_t i = 0; i < r->k; i++)
                r->id[i] = fault == NAN_REPEATS ? 0 : i;
            return false;
        }
    for (int64_t i = 0; i < r->k; i++) {
        int64_t best = -1;
        for (int64_t e = 0; e < count; e++) {
            if (is_taken(r, i, e) || isnan(r->logits[e]))
                continue;
            double value = rank_of(r->logits[e], fault);
            double most = best < 0 ? 0 : rank_of(r->logits[best], fault);
            if (best < 0 || value > most || (value == most && fault == TIES_HIGHER))
                best = e;
        }
        r->id[i] = best < 0 ? i : best;
    }
    return true;
}

static double part_of(const struct row *r, int64_t i, double largest, enum fault fault)
{
    double logit = r->logits[r->id[i]];
    if (fault == SIGMOID)
        return 1 / (1 + exp(-logit));
    if (fault == UNSHIFTED)
        return (double)expf((float)logit);
    return exp(logit - largest);
}

static void weigh(struct row *r, enum fault fault)
{
    double sum = 0, largest = r->logits[r->id[0]];
    for (int64_t i = 1; i < r->k; i++)
        largest = fmax(largest, r->logits[r->id[i]]);
    for (int64_t i = 0; i < r->k; i++) {
        r->weight[i] = part_of(r, i, largest, fault);
        sum += fault == SUM_OF_32 && i >= 32 ? 0 : r->weight[i];
    }
    if (fault == NOT_RENORMALISED) {
        sum = 0;
        for (int64_t e = 0; e < r->count; e++)
            sum += exp(r->logits[e] - largest);
    }
    for (int64_t i = 0; i < r->k; i++) {
        bool is_left = (fault == EVEN_PLACES && i % 2 != 0) || (fault == HIGH_PLACES && i >= 32);
        r->weight[i] /= is_left ? 1 : sum;
        if (fault == RAW_LOGITS)
            r->weight[i] = r->logits[r->id[i]];
        if (fault == BF16_WEIGHTS)
            r->weight[i] = oracle_round(r->weight[i], ASSAY_BF16);
    }
}

static void swap_places(struct row *r, int64_t i, int64_t j)
{
    int64_t id = r->id[i];
    double weight = r->weight[i];
    r->id[i] = r->id[j];
    r->weight[i] = r->weight[j];
    r->id[j] = id;
    r->weight[j] = weight;
}

/* Faults in the finished row. */
static void spoil(struct row *r, enum fault fault)
{
    for (int64_t i = 0; i < r->k / 2 && fault == RISING; i++)
        swap_places(r, i, r->k - 1 - i);
    for (int64_t i = 1; i < r->k && fault == BY_INDEX; i++)
        for (int64_t j = i; j > 0 && r->id[j] < r->id[j - 1]; j--)
            swap_places(r, j, j - 1);
    for (int64_t i = r->k - 1; i > 0 && fault == WEIGHTS_SHIFTED; i--)
        r->weight[i] = r->weight[i - 1];
    if (fault == LAST_REPEATED && r->k > 1)
        r->id[r->k - 1] = r->id[r->k - 2];
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_moe_router_args *a = args;
    struct row r = {.count = a->logits.extent[1], .k = a->ids.extent[1]};
    double *logits = malloc((size_t)r.count * sizeof *logits);
    if (logits == NULL)
        return ASSAY_E_MEMORY;
    r.logits = logits;
    for (int64_t t = 0; t < a->ids.extent[0]; t++) {
        double above[ASSAY_MOE_MOST];
        for (int64_t i = 0; i < r.k; i++)
            above[i] = r.weight[i];
        oracle_get_row(&a->logits, t, logits);
        if (select_experts(&r, fault))
            weigh(&r, fault);
        else
            for (int64_t i = 0; i < r.k; i++)
                r.weight[i] = NAN;
        spoil(&r, fault);
        for (int64_t i = 0; i < r.k; i++) {
            bool is_above = fault == ROW_ABOVE && t > 0;
            oracle_put_int(&a->ids, t * r.k + i, r.id[i]);
            oracle_put(&a->weights, t * r.k + i, is_above ? above[i] : r.weight[i]);
        }
    }
    free(logits);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("moe_router", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant moe_router_mutants[MOE_ROUTER_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
