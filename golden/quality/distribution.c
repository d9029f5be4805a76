/* SPDX-License-Identifier: MIT
 *
 * Softmax rows and their Kullback-Leibler divergence.
 *
 * sum p_i (log p_i - log q_i) is a sum of terms of both signs that cancel: for close distributions
 * the result is of second order in terms of first order. Since p and q both sum to 1, it equals
 *
 *   sum p_i (e^(r_i) - 1 - r_i),   r_i = log q_i - log p_i,
 *
 * whose terms are all >= 0, so that nothing cancels between tokens, and which is exactly 0 for
 * equal rows. Within a term, |r| < SMALL takes the series of e^r - 1 - r, the rest q - p - p r.
 */
#include "distribution.h"

#include <math.h>
#include <stdlib.h>

bool distribution_alloc(struct distribution *d, int64_t count)
{
    *d = (struct distribution){.count = count};
    d->log_p = malloc((size_t)count * sizeof *d->log_p);
    d->p = malloc((size_t)count * sizeof *d->p);
    return d->log_p != NULL && d->p != NULL;
}

void distribution_free(struct distribution *d)
{
    free(d->log_p);
    free(d->p);
    *d = (struct distribution){0};
}

/* Puts id into the list when it belongs there; ids come in rising order. */
static void offer(struct distribution *d, int32_t id)
{
    const double *value = d->log_p;
    int at = d->num_top;
    while (at > 0 && value[id] > value[d->top[at - 1]])
        at--;
    if (at == DISTRIBUTION_TOP)
        return;
    if (d->num_top < DISTRIBUTION_TOP)
        d->num_top++;
    for (int i = d->num_top - 1; i > at; i--)
        d->top[i] = d->top[i - 1];
    d->top[at] = id;
}

/* log_p holds the logits. */
static void normalise(struct distribution *d)
{
    double largest = -INFINITY, sum = 0.0;
    d->num_top = 0;
    d->finite = true;
    for (int64_t i = 0; i < d->count; i++) {
        const double x = d->log_p[i];
        /* -infinity is a token of probability 0; the other two have no softmax. */
        d->finite = d->finite && !isnan(x) && x != INFINITY;
        largest = fmax(largest, x);
        offer(d, (int32_t)i);
    }
    d->finite = d->finite && largest > -INFINITY;
    for (int64_t i = 0; i < d->count; i++) {
        d->p[i] = exp(d->log_p[i] - largest);
        sum += d->p[i];
    }
    const double log_sum = log(sum) + largest;
    for (int64_t i = 0; i < d->count; i++) {
        d->log_p[i] -= log_sum;
        d->p[i] /= sum;
    }
}

void distribution_of_f32(struct distribution *d, const float *logits)
{
    for (int64_t i = 0; i < d->count; i++)
        d->log_p[i] = (double)logits[i];
    normalise(d);
}

void distribution_of_f64(struct distribution *d, const double *logits)
{
    for (int64_t i = 0; i < d->count; i++)
        d->log_p[i] = logits[i];
    normalise(d);
}

/* p (e^r - 1 - r) with q = p e^r. */
static double divergence(double p, double q, double r)
{
    static const double SMALL = 0.05;
    if (p == 0.0) /* p log p is 0, q e.g. of another support */
        return q;
    if (fabs(r) >= SMALL) /* r = -infinity: q is 0 where p is not, and the divergence infinite */
        return q - p - p * r;
    /* r^2/2 (1 + r/3 (1 + r/4 (...))) up to r^9/9!; what is left out is below 2^-53 of it. */
    double sum = 0.0;
    for (int n = 9; n >= 2; n--)
        sum = r / (n + 1) * sum + 1.0;
    return p * (0.5 * r * r) * sum;
}

struct distribution_change distribution_compare(const struct distribution *base,
                                                const struct distribution *other, int32_t target)
{
    struct distribution_change change = {
        .right = other->p[target] - base->p[target],
        .same_top = base->top[0] == other->top[0],
    };
    for (int64_t i = 0; i < base->count; i++)
        change.kl += divergence(base->p[i], other->p[i], other->log_p[i] - base->log_p[i]);
    for (int a = 0; a < base->num_top; a++)
        for (int b = 0; b < other->num_top; b++)
            change.shared_top += base->top[a] == other->top[b];
    if (!base->finite || !other->finite)
        change.kl = change.right = NAN;
    return change;
}
