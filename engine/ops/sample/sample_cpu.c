/* SPDX-License-Identifier: MIT
 *
 * sample: penalties, temperature, filters, draw, all in binary64. Tokens are ranked by a heap,
 * which is taken apart only as far as top-k and top-p need, instead of being sorted.
 */
#include "core/core.h"
#include "core/random.h"
#include "numeric/float_words.h"
#include "ops/sample/sample_routes.h"

#include <math.h>

struct candidates {
    double *logit;  /* [limit] penalised, over temperature */
    double *weight; /* [limit] exp(logit - maximum); 0: filtered out */
    int32_t *heap;  /* [limit] ids */
    int64_t limit;
    double maximum;
};

size_t sample_workspace_plain(const assay_context *context, const void *args)
{
    const struct assay_sample_args *a = args;
    (void)context;
    return (size_t)a->limit * (2 * sizeof(double) + sizeof(int32_t));
}

static double penalised(const struct assay_sample_args *a, const void *row, int64_t i)
{
    double logit = word_to_f64(row, a->logits.dtype, i);
    if (a->counts.data == NULL)
        return logit;
    double count = (double)((const int32_t *)a->counts.data)[i];
    return logit - (count > 0 ? a->presence : 0) - a->frequency * count;
}

/* Larger logit first, then smaller id. */
static bool before(const struct candidates *c, int32_t a, int32_t b)
{
    return c->logit[a] > c->logit[b] || (c->logit[a] == c->logit[b] && a < b);
}

static void sift_down(const struct candidates *c, int64_t at, int64_t count)
{
    int32_t id = c->heap[at];
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(c, c->heap[child + 1], c->heap[child]))
            child++;
        if (!before(c, c->heap[child], id))
            break;
        c->heap[at] = c->heap[child];
    }
    c->heap[at] = id;
}

/* Zeroes the weights of what top_k and top_p drop: the heap gives ids in rank order; the tail that
 * was never taken is dropped. */
static void filter_by_rank(const struct assay_sample_args *a, const struct candidates *c)
{
    bool all = a->top_k == 0 || a->top_k >= c->limit;
    if (all && a->top_p >= 1)
        return;
    int64_t kept_by_k = all ? c->limit : a->top_k, count = c->limit;
    for (int64_t i = 0; i < count; i++)
        c->heap[i] = (int32_t)i;
    for (int64_t i = count / 2 - 1; i >= 0; i--)
        sift_down(c, i, count);
    /* Taken ids collect behind the shrinking heap; their sum is what top_p measures against. */
    double within = 0;
    for (int64_t k = 0; k < kept_by_k; k++) {
        int32_t id = c->heap[0];
        within += c->weight[id];
        c->heap[0] = c->heap[--count];
        c->heap[count] = id;
        if (count > 0)
            sift_down(c, 0, count);
    }
    for (int64_t i = 0; i < count; i++)
        c->weight[c->heap[i]] = 0;
    double sum = 0;
    bool reached = false;
    for (int64_t k = 0; k < kept_by_k; k++) { /* rank k stands at limit - 1 - k */
        int32_t id = c->heap[c->limit - 1 - k];
        if (reached)
            c->weight[id] = 0;
        else
            sum += c->weight[id];
        reached = reached || sum >= a->top_p * within;
    }
}

/* Inversion: the first kept token at which the running sum exceeds u times the total. */
static int32_t draw(const struct candidates *c, double u)
{
    double total = 0, sum = 0;
    int32_t last = -1;
    for (int64_t i = 0; i < c->limit; i++)
        total += c->weight[i];
    for (int64_t i = 0; i < c->limit; i++) {
        if (c->weight[i] == 0)
            continue;
        last = (int32_t)i;
        sum += c->weight[i];
        if (sum > u * total)
            return last;
    }
    return last; /* u * total rounded up to the total */
}

static int32_t sample_row(const struct assay_sample_args *a, const void *row, double u,
                          struct candidates *c)
{
    int32_t best = 0;
    for (int64_t i = 0; i < c->limit; i++) {
        c->logit[i] = penalised(a, row, i);
        if (isnan(c->logit[i]))
            return -1;
        if (c->logit[i] > c->logit[best])
            best = (int32_t)i;
    }
    double maximum = c->logit[best];
    if (maximum == -INFINITY)
        return -1;
    if (a->temperature == 0)
        return best;
    for (int64_t i = 0; i < c->limit; i++) {
        if (isinf(maximum))
            c->weight[i] = c->logit[i] == maximum;
        else
            c->weight[i] = exp((c->logit[i] - maximum) / a->temperature);
    }
    filter_by_rank(a, c);
    for (int64_t i = 0; i < c->limit; i++) /* the largest weight is 1 */
        if (c->weight[i] < a->min_p)
            c->weight[i] = 0;
    return draw(c, u);
}

/* The counter of row 0 [SAMPLE-5]. */
static uint64_t first_counter(const struct assay_sample_args *a)
{
    int32_t more = a->step_at.data != NULL ? *(const int32_t *)a->step_at.data : 0;
    return a->step + (more > 0 ? (uint64_t)more : 0);
}

assay_status sample_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_sample_args *a = args;
    (void)context;
    struct candidates c = {.limit = a->limit, .logit = workspace};
    c.weight = c.logit + a->limit;
    c.heap = (int32_t *)(void *)(c.weight + a->limit);
    int32_t *ids = a->ids.data;
    uint64_t counter = first_counter(a);
    for (int64_t t = 0; t < a->ids.extent[0]; t++) {
        double u = random_uniform(a->seed, counter + (uint64_t)t);
        ids[t] = sample_row(a, assay_tensor_row(&a->logits, t), u, &c);
    }
    return ASSAY_OK;
}
