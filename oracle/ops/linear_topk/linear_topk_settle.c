/* SPDX-License-Identifier: MIT
 *
 * Which ids a route may have selected, looked at when it has. An id that the contract accepts
 * becomes the reference, and so does its logit for the value beside it. For one that is not
 * accepted the reference names an id that must stand there. linear_topk_bound.md.
 */
#include "linear_topk_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

struct row {
    const struct topk_logits *l;
    int64_t first;        /* its first logit's index */
    int64_t limit, count; /* count: places that hold a logit */
    const double *value;  /* what the route reported */
    const int64_t *id;
    bool *taken;      /* [limit] */
    double *expected; /* ids: the references */
    double *alternative;
};

/* An id that is not among the reported ones and is not `id`, if there is one. */
static int64_t another(const struct row *r, int64_t id)
{
    for (int64_t i = 0; i < r->limit; i++)
        if (!r->taken[i] && i != id)
            return i;
    return -2;
}

/* Each id is one, and stands there once. False: some are not. */
static bool settle_ids(const struct row *r)
{
    bool good = true;
    for (int64_t i = 0; i < r->count; i++)
        if (r->id[i] >= 0 && r->id[i] < r->limit)
            r->taken[r->id[i]] = true;
    for (int64_t i = 0; i < r->count; i++) {
        bool is_right = r->id[i] >= 0 && r->id[i] < r->limit;
        for (int64_t j = 0; j < i && is_right; j++)
            is_right = r->id[j] != r->id[i];
        r->expected[i] = (double)(is_right ? r->id[i] : another(r, r->id[i]));
        r->alternative[i] = NAN;
        good = good && is_right;
    }
    return good;
}

/* Values fall, and ids rise among equal ones: in the route's own words. */
static void settle_order(const struct row *r)
{
    for (int64_t i = 1; i < r->count; i++)
        if (r->value[i] > r->value[i - 1] ||
            (r->value[i] == r->value[i - 1] && r->id[i] < r->id[i - 1]))
            r->expected[i - 1] = (double)r->id[i];
}

/* No id is left out whose logit is larger than the last value in whatever way both were rounded. */
static void settle_rest(const struct row *r)
{
    double last = r->value[r->count - 1];
    for (int64_t i = 0; i < r->limit; i++) {
        double bound = oracle_topk_logits_bound(r->l, r->first + i);
        if (!r->taken[i] && r->l->y.value[r->first + i] - bound > last) {
            r->expected[r->count - 1] = (double)i;
            return;
        }
    }
}

/* The reference of the value at `to` is the logit of the id that stands beside it. */
static void take_logit(const struct topk_logits *l, int64_t from, struct oracle_output *values,
                       int64_t to)
{
    values->value[to] = l->y.value[from];
    values->own[to] = l->y.own[from];
    for (int term = 0; term < ORACLE_NUM_TERMS; term++)
        values->term[term][to] = l->y.term[term][from];
}

/* Rows without a promise or with a NaN stay as bound and ref left them. */
static bool is_open(const struct topk_logits *l, int64_t first, int64_t limit)
{
    for (int64_t i = 0; i < limit; i++)
        if (isnan(l->y.value[first + i]) || !isfinite(oracle_topk_logits_bound(l, first + i)))
            return false;
    return true;
}

static void settle_row(const struct assay_linear_topk_args *a, const struct topk_logits *l,
                       int64_t t, bool *taken, struct oracle_output *outputs)
{
    int64_t k = a->values.extent[1], id[ASSAY_TOPK_MOST];
    double value[ASSAY_TOPK_MOST];
    struct row r = {.l = l,
                    .first = t * a->limit,
                    .limit = a->limit,
                    .count = k < a->limit ? k : a->limit,
                    .value = value,
                    .id = id,
                    .taken = taken,
                    .expected = outputs[TOPK_IDS].value + t * k,
                    .alternative = outputs[TOPK_IDS].alternative + t * k};
    if (!is_open(l, r.first, r.limit))
        return;
    memset(taken, 0, (size_t)a->limit * sizeof *taken);
    for (int64_t i = 0; i < r.count; i++) {
        id[i] = oracle_get_int(&a->ids, t * k + i);
        value[i] = oracle_get(&a->values, t * k + i);
    }
    if (settle_ids(&r)) {
        settle_order(&r);
        settle_rest(&r);
    }
    for (int64_t i = 0; i < r.count; i++)
        if (id[i] >= 0 && id[i] < a->limit)
            take_logit(l, r.first + id[i], &outputs[TOPK_VALUES], t * k + i);
}

/* Every selected logit's own error is small against its bound, as in oracle_evaluate. Of the others
 * it only widens the rule for what is left out. */
static bool is_sure(const struct assay_linear_topk_args *a, const struct topk_logits *l)
{
    int64_t k = a->values.extent[1];
    for (int64_t i = 0; i < a->x.extent[0] * k; i++) {
        int64_t id = oracle_get_int(&a->ids, i);
        if (id < 0 || id >= a->limit)
            continue;
        int64_t at = i / k * a->limit + id;
        if (l->y.own[at] * 17 > oracle_topk_logits_bound(l, at))
            return false;
    }
    return true;
}

assay_status oracle_linear_topk_settle(const void *args, const struct oracle_route *route,
                                       struct oracle_output *outputs)
{
    const struct assay_linear_topk_args *a = args;
    struct topk_logits l;
    bool *taken = malloc((size_t)a->limit * sizeof *taken);
    assay_status status = ASSAY_E_MEMORY;
    if (oracle_topk_logits_create(&l, a) && taken != NULL)
        status = oracle_topk_logits_evaluate(&l, route);
    if (status == ASSAY_OK && !is_sure(a, &l))
        status = oracle_topk_logits_sharpen(&l, route);
    for (int64_t t = 0; t < a->x.extent[0] && status == ASSAY_OK; t++)
        settle_row(a, &l, t, taken, outputs);
    oracle_topk_logits_destroy(&l);
    free(taken);
    return status;
}
