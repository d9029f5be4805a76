/* SPDX-License-Identifier: MIT
 *
 * linear_topk, from the contract: the product's oracle gives all logits, which are sorted by value
 * and then by id [LINEARTOPK-1].
 */
#include "linear_topk_oracle.h"

#include <math.h>
#include <stdlib.h>

bool oracle_topk_logits_create(struct topk_logits *l, const struct assay_linear_topk_args *a)
{
    struct assay_weights w = a->w;
    struct assay_tensor *planes[] = {&w.base, &w.high, &w.scales};
    w.rows = a->limit;
    for (int i = 0; i < 3; i++)
        if (planes[i]->data != NULL)
            planes[i]->extent[0] = a->limit;
    struct assay_tensor y = assay_tensor_2d(NULL, ASSAY_F32, a->x.extent[0], a->limit);
    bool is_bf16 = w.format == ASSAY_WEIGHT_BF16;
    l->op = oracle_find(is_bf16 ? "linear" : "linear_grouped");
    if (is_bf16)
        l->args.bf16 = (struct assay_linear_args){.x = a->x, .w = w.base, .y = y};
    else
        l->args.grouped = (struct assay_linear_grouped_args){.x = a->x, .w = w, .y = y};
    return oracle_output_create(&l->y, "logits", ASSAY_F32, assay_tensor_count(&y));
}

void oracle_topk_logits_destroy(struct topk_logits *l)
{
    oracle_output_destroy(&l->y);
}

assay_status oracle_topk_logits_evaluate(struct topk_logits *l, const struct oracle_route *route)
{
    assay_status status = l->op->ref(&l->args, &l->y);
    if (status == ASSAY_OK)
        l->op->bound(&l->args, route, &l->y);
    return status;
}

assay_status oracle_topk_logits_sharpen(struct topk_logits *l, const struct oracle_route *route)
{
    assay_status status = l->op->mpfr(&l->args, ORACLE_DEFAULT_PRECISION, &l->y);
    if (status == ASSAY_OK)
        l->op->bound(&l->args, route, &l->y);
    return status;
}

double oracle_topk_logits_bound(const struct topk_logits *l, int64_t at)
{
    if (isinf(l->y.value[at]))
        return 0;
    double bound = l->y.own[at];
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        bound += l->y.term[t][at];
    return bound * (1 + 0x1p-48); /* these additions' own rounding */
}

struct ranked {
    double value, own;
    int64_t id;
};

static int by_rank(const void *first, const void *second)
{
    const struct ranked *a = first, *b = second;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* Row t. Where neighbours in rank differ by less than the oracle's own errors the other order is an
 * alternative; values that are equal are taken for that. */
static void put_row(const struct assay_linear_topk_args *a, const struct ranked *rank, int64_t t,
                    bool has_nan, struct oracle_output *outputs)
{
    int64_t k = a->values.extent[1];
    struct oracle_output *values = &outputs[TOPK_VALUES], *ids = &outputs[TOPK_IDS];
    for (int64_t i = 0; i < k; i++) {
        int64_t at = t * k + i;
        bool is_logit = i < a->limit && !has_nan;
        values->value[at] = is_logit ? rank[i].value : has_nan ? NAN : -INFINITY;
        values->own[at] = is_logit ? rank[i].own : 0;
        ids->value[at] = is_logit ? (double)rank[i].id : -1;
        for (int64_t j = i - 1; j <= i + 1 && is_logit; j += 2)
            if (j >= 0 && j < a->limit && rank[j].value != rank[i].value &&
                fabs(rank[j].value - rank[i].value) <= rank[j].own + rank[i].own)
                ids->alternative[at] = (double)rank[j].id;
    }
}

static assay_status sort_rows(const struct assay_linear_topk_args *a, const struct topk_logits *l,
                              struct oracle_output *outputs)
{
    struct ranked *rank = malloc((size_t)a->limit * sizeof *rank);
    if (rank == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t t = 0; t < a->x.extent[0]; t++) {
        bool has_nan = false;
        for (int64_t i = 0; i < a->limit; i++) {
            int64_t at = t * a->limit + i;
            rank[i] = (struct ranked){l->y.value[at], l->y.own[at], i};
            has_nan = has_nan || isnan(rank[i].value);
        }
        if (!has_nan)
            qsort(rank, (size_t)a->limit, sizeof *rank, by_rank);
        put_row(a, rank, t, has_nan, outputs);
    }
    free(rank);
    return ASSAY_OK;
}

assay_status oracle_topk_sorted(const struct assay_linear_topk_args *a, long precision,
                                struct oracle_output *outputs)
{
    struct topk_logits l;
    assay_status status = ASSAY_E_MEMORY;
    if (oracle_topk_logits_create(&l, a))
        status = precision > 0 ? l.op->mpfr(&l.args, precision, &l.y) : l.op->ref(&l.args, &l.y);
    if (status == ASSAY_OK)
        status = sort_rows(a, &l, outputs);
    oracle_topk_logits_destroy(&l);
    return status;
}

static assay_status ref(const void *args, struct oracle_output *outputs)
{
    return oracle_topk_sorted(args, 0, outputs);
}

static double work(const void *arguments)
{
    const struct assay_linear_topk_args *a = arguments;
    return (double)assay_tensor_count(&a->x) * (double)a->limit;
}

const struct oracle_op oracle_op_linear_topk = {
    .name = "linear_topk",
    .num_outputs = 2,
    .outputs = {"values", "ids"},
    .ref = ref,
    .mpfr = oracle_linear_topk_mpfr,
    .bound = oracle_linear_topk_bound,
    .settle = oracle_linear_topk_settle,
    .work = work,
};
