/* SPDX-License-Identifier: MIT
 *
 * linear_topk with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "linear_topk_mutants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_formats.h"
#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

enum { TILE = 32, ID_PART = 64 };

/* A place of the list; id -1: none. */
struct place {
    double value;
    int64_t id;
};

static double rank_of(double value, enum fault fault)
{
    if (fault == BY_MAGNITUDE)
        return fabs(value);
    return fault == BF16_COMPARED ? oracle_round(value, ASSAY_BF16) : value;
}

static bool is_before(const struct place *a, const struct place *b, enum fault fault)
{
    if (b->id < 0)
        return true;
    double x = rank_of(a->value, fault), y = rank_of(b->value, fault);
    if (x != y)
        return x > y;
    return fault == TIES_HIGHER ? a->id > b->id : a->id < b->id;
}

/* `length` places of the list are in use at most. */
static void insert(struct place *list, int64_t length, double value, int64_t id, enum fault fault)
{
    struct place place = {value, id};
    for (int64_t i = 0; i < length; i++)
        if (is_before(&place, &list[i], fault)) {
            struct place next = list[i];
            list[i] = place;
            place = next;
        }
}

static void clear(struct place *list, enum fault fault)
{
    for (int i = 0; i < ASSAY_TOPK_MOST; i++)
        list[i] = (struct place){fault == ABOVE_ZERO ? 0 : -INFINITY, -1};
}

/* All ids into the list, in parts of TILE where the fault is in the merge. False: there is a NaN.
 */
static bool select_row(const struct assay_linear_topk_args *a, const double *logits, int64_t limit,
                       struct place *list, enum fault fault)
{
    int64_t k = a->values.extent[1], length = fault == CUT_AT_32 && k > 32 ? 32 : k;
    for (int64_t v = 0; v < limit; v++)
        if (isnan(logits[v]) && fault != NAN_SKIPPED)
            return false;
    for (int64_t first = 0; first < limit; first += TILE) {
        int64_t count = limit - first < TILE ? limit - first : TILE;
        struct place part[ASSAY_TOPK_MOST];
        if (fault == TILE_SKIPPED && count < TILE && first > 0)
            break;
        clear(part, NONE);
        for (int64_t v = first; v < first + count; v++)
            if (!isnan(logits[v]))
                insert(part, fault == PART_SHORT ? k / 2 + 1 : length, logits[v], v, fault);
        for (int64_t i = 0; i < length && part[i].id >= 0; i++)
            if (fault != ABOVE_ZERO || part[i].value > 0)
                insert(list, length, part[i].value, part[i].id, fault);
    }
    return true;
}

/* Faults in the finished list. */
static void spoil(struct place *list, int64_t k, enum fault fault)
{
    int64_t count = 0;
    while (count < k && list[count].id >= 0)
        count++;
    if (fault == RISING)
        for (int64_t i = 0; i < count / 2; i++) {
            struct place other = list[i];
            list[i] = list[count - 1 - i];
            list[count - 1 - i] = other;
        }
    if (fault == LAST_TWO_SWAPPED && count > 1) {
        struct place last = list[count - 1];
        list[count - 1] = list[count - 2];
        list[count - 2] = last;
    }
    for (int64_t i = count - 1; i > 0 && fault == VALUES_SHIFTED; i--)
        list[i].value = list[i - 1].value;
    if (fault == FIRST_TWICE && count > 1)
        list[1] = list[0];
    for (int64_t i = 0; i < count; i++) {
        if (fault == ID_IN_PART)
            list[i].id %= ID_PART;
        if (fault == ID_NEXT)
            list[i].id++;
    }
}

static void put_row(const struct assay_linear_topk_args *a, int64_t t, const struct place *list,
                    bool has_nan, enum fault fault)
{
    int64_t k = a->values.extent[1];
    for (int64_t i = 0; i < k; i++) {
        bool is_none = has_nan || list[i].id < 0;
        double none = has_nan ? NAN : -INFINITY;
        oracle_put(&a->values, t * k + i, is_none ? none : list[i].value);
        oracle_put_int(&a->ids, t * k + i,
                       !is_none                    ? list[i].id
                       : fault == FILLED_WITH_ZERO ? 0
                                                   : -1);
    }
}

static void run_row(const struct assay_linear_topk_args *a, int64_t t, double *logits,
                    int64_t limit, struct place *list, enum fault fault)
{
    int64_t k = a->values.extent[1];
    if (t == 0 || fault != LIST_KEPT)
        clear(list, fault);
    bool has_nan = !select_row(a, logits, limit, list, fault);
    if (fault == SECOND_LOST && !has_nan && k > 1 && limit > k) { /* others move up */
        logits[list[1].id] = NAN;
        clear(list, fault);
        (void)select_row(a, logits, limit, list, NAN_SKIPPED);
    }
    struct place out[ASSAY_TOPK_MOST];
    memcpy(out, list, sizeof out);
    spoil(out, k, fault);
    put_row(a, t, out, has_nan, fault);
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_linear_topk_args *a = args;
    int64_t inner = a->w.columns, limit = fault == LIMIT_IGNORED ? a->w.rows : a->limit;
    int64_t rows = a->x.extent[0];
    double *logits = malloc((size_t)((rows + 1) * limit + 2 * inner) * sizeof *logits);
    double *x = logits + (rows + 1) * limit, *w = x + inner;
    struct place list[ASSAY_TOPK_MOST];
    if (logits == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t v = 0; v < limit; v++) {
        if (a->w.format == ASSAY_WEIGHT_BF16)
            oracle_get_row(&a->w.base, v, w);
        else
            oracle_weight_row(&a->w, v, w);
        for (int64_t t = 0; t < rows; t++) {
            double sum = 0;
            oracle_get_row(&a->x, t, x);
            for (int64_t k = 0; k < inner; k++)
                sum += x[k] * w[k];
            logits[t * limit + v] =
                oracle_round(sum, fault == BF16_LOGITS ? ASSAY_BF16 : ASSAY_F32);
        }
    }
    for (int64_t t = 0; t < rows; t++)
        run_row(a, t, logits + t * limit, limit, list, fault);
    free(logits);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("linear_topk", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant linear_topk_mutants[LINEAR_TOPK_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
