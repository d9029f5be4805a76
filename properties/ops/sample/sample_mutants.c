/* SPDX-License-Identifier: MIT
 *
 * sample with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "sample_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "philox.h"
#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

/* One row being drawn; arrays have all columns of the vocabulary. */
struct row {
    double *logit, *weight;
    int64_t *rank;
    int64_t limit, best;
    enum fault fault;
};

static double penalised(const struct assay_sample_args *a, int64_t t, int64_t i, enum fault fault)
{
    double logit = oracle_get(&a->logits, t * a->logits.extent[1] + i);
    if (fault == MASKED_SENTINEL && logit == -INFINITY)
        logit = 0;
    if (fault == TEMPERATURE_FIRST && a->temperature > 0)
        logit /= a->temperature;
    if (a->counts.data == NULL)
        return logit;
    double count = (double)oracle_get_int(&a->counts, i), seen = count > 0;
    double once = fault == PRESENCE_PER_COUNT ? count : seen;
    double each = fault == FREQUENCY_IGNORED ? seen : count;
    return logit - a->presence * once - a->frequency * each;
}

static double total(const struct row *r)
{
    double sum = 0;
    for (int64_t i = 0; i < r->limit; i++)
        sum += r->weight[i];
    return sum;
}

static void keep_top_k(const struct assay_sample_args *a, struct row *r)
{
    int64_t k = a->top_k == 0 ? r->limit : a->top_k;
    if (r->fault == TOP_K_ZERO && a->top_k == 0)
        k = 1;
    if (r->fault == TOP_K_CAP && (k > 20 || a->top_k == 0))
        k = 20;
    for (int64_t rank = k; rank < r->limit; rank++)
        r->weight[r->rank[rank]] = 0;
}

static void keep_top_p(const struct assay_sample_args *a, struct row *r, double whole)
{
    double sum = 0;
    if (a->top_p >= 1)
        return;
    for (int64_t rank = 0; rank < r->limit; rank++) {
        double *weight = &r->weight[r->rank[rank]];
        bool reached = sum >= a->top_p * whole;
        sum += *weight;
        if (r->fault == TOP_P_WITHOUT_LAST && rank > 0)
            reached = sum >= a->top_p * whole; /* the sum with this token */
        if (reached)
            *weight = 0;
    }
}

struct ranked {
    double logit;
    int64_t id, order; /* order breaks ties: smaller first */
};

static int by_rank(const void *first, const void *second)
{
    const struct ranked *a = first, *b = second;
    if (a->logit != b->logit)
        return a->logit > b->logit ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static bool rank(struct row *r)
{
    struct ranked *sorted = malloc((size_t)r->limit * sizeof *sorted);
    if (sorted == NULL)
        return false;
    for (int64_t i = 0; i < r->limit; i++)
        sorted[i] = (struct ranked){r->logit[i], i, r->fault == TIES_TO_HIGHER ? -i : i};
    qsort(sorted, (size_t)r->limit, sizeof *sorted, by_rank);
    for (int64_t i = 0; i < r->limit; i++)
        r->rank[i] = sorted[i].id;
    free(sorted);
    return true;
}

static void filter(const struct assay_sample_args *a, struct row *r)
{
    double before = total(r);
    bool filtered = a->top_k > 0 || a->top_p < 1 || r->fault == TOP_K_ZERO || r->fault == TOP_K_CAP;
    filtered = filtered && rank(r);
    if (r->fault == TOP_P_FIRST && filtered)
        keep_top_p(a, r, before);
    if (filtered)
        keep_top_k(a, r);
    if (r->fault != TOP_P_FIRST && filtered)
        keep_top_p(a, r, r->fault == TOP_P_UNNORMALISED ? before : total(r));
    double least = r->fault == MIN_P_ABSOLUTE ? a->min_p * total(r) : a->min_p;
    for (int64_t i = 0; i < r->limit; i++)
        if (r->weight[i] < least && (r->fault != MIN_P_ABSOLUTE || i != r->best))
            r->weight[i] = 0;
}

static double uniform(const struct assay_sample_args *a, int64_t t, enum fault fault)
{
    uint64_t counter = (fault == STEP_IGNORED ? 0 : a->step);
    int64_t more = a->step_at.data != NULL ? oracle_get_int(&a->step_at, 0) : 0;
    if (fault != STEP_AT_IGNORED && (more > 0 || fault == STEP_AT_SIGNED))
        counter += (uint64_t)more;
    counter += fault == ROW_IGNORED ? 0 : (uint64_t)t;
    uint64_t seed = fault == SEED_CUT ? (uint32_t)a->seed : a->seed;
    const uint32_t block[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t word[4];
    philox(block, key, word);
    int high = fault == HIGH_WORD_FIRST ? 0 : 1;
    uint64_t x = (uint64_t)word[high] << 32 | word[1 - high];
    return (double)(x >> 11) * 0x1p-53;
}

static int64_t draw(const struct row *r, double u)
{
    double edge = u * total(r), sum = 0;
    int64_t last = -1;
    if (r->fault == LAST_ON_FALL_THROUGH) /* a total that was rounded upwards, exaggerated */
        edge *= 1 + 0x1p-8;
    for (int64_t i = 0; i < r->limit; i++) {
        double before = sum;
        sum += r->weight[i];
        if (r->weight[i] > 0)
            last = i;
        if ((r->fault == SUM_EXCLUSIVE ? before : sum) > edge)
            return i;
    }
    return r->fault == LAST_ON_FALL_THROUGH ? r->limit - 1 : last;
}

static int64_t sample_row(const struct assay_sample_args *a, int64_t t, struct row *r)
{
    int64_t from = r->fault == FIRST_ROW ? 0 : t;
    r->limit = r->fault == PADDING_SAMPLED ? a->logits.extent[1] : a->limit;
    r->best = 0;
    for (int64_t i = 0; i < r->limit; i++) {
        r->logit[i] = penalised(a, from, i, r->fault);
        if (r->fault == IN_PLACE)
            oracle_put(&a->logits, from * a->logits.extent[1] + i, r->logit[i]);
        if (r->fault == NAN_TO_ZERO && isnan(r->logit[i]))
            r->logit[i] = 0;
        if (isnan(r->logit[i]) && r->fault != NAN_IGNORED)
            return -1;
        if (r->logit[i] > r->logit[r->best])
            r->best = i;
    }
    double best = r->logit[r->best], temperature = a->temperature;
    if (best == -INFINITY)
        return -1;
    if (temperature == 0 && r->fault == GREEDY_DRAWS)
        temperature = 1;
    if (temperature == 0)
        return r->best;
    if (r->fault == TEMPERATURE_FIRST)
        temperature = 1;
    for (int64_t i = 0; i < r->limit; i++)
        r->weight[i] = isinf(best) ? r->logit[i] == best : exp((r->logit[i] - best) / temperature);
    filter(a, r);
    return draw(r, uniform(a, t, r->fault));
}

static int64_t raw_argmax(const struct assay_sample_args *a, int64_t t)
{
    struct assay_sample_args raw = *a;
    int64_t best = 0;
    raw.counts.data = NULL;
    for (int64_t i = 0; i < a->limit; i++)
        if (penalised(&raw, t, i, NONE) > penalised(&raw, t, best, NONE))
            best = i;
    return best;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_sample_args *a = args;
    size_t columns = (size_t)a->logits.extent[1];
    struct row r = {.fault = fault};
    r.logit = calloc(columns, sizeof *r.logit);
    r.weight = calloc(columns, sizeof *r.weight);
    r.rank = calloc(columns, sizeof *r.rank);
    bool good = r.logit != NULL && r.weight != NULL && r.rank != NULL;
    for (int64_t t = 0; t < a->ids.extent[0] && good; t++) {
        int64_t id = fault == GREEDY_UNPENALISED && a->temperature == 0 ? raw_argmax(a, t)
                                                                        : sample_row(a, t, &r);
        oracle_put_int(&a->ids, t, id);
    }
    free(r.logit);
    free(r.weight);
    free(r.rank);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("sample", ASSAY_PROFILE_F64, __VA_ARGS__)

const struct case_mutant sample_mutants[SAMPLE_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
