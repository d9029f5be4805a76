/* SPDX-License-Identifier: MIT
 *
 * From weights to the acceptable ids. Sums are kept as pairs of binary64, so that only the
 * contract's own tolerance [SAMPLE-7] and the weights' errors blur an edge. Each decision that lies
 * within the tolerance of its edge is followed both ways; the exact one gives the value.
 */
#include "sample_oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "words.h"

/* high + low = a + b exactly (Knuth). */
static struct two two_sum(double a, double b)
{
    double high = a + b, part = high - a;
    return (struct two){high, isfinite(high) ? (a - (high - part)) + (b - part) : 0};
}

static struct two two_add(struct two a, struct two b)
{
    struct two sum = two_sum(a.high, b.high);
    return two_sum(sum.high, sum.low + (a.low + b.low));
}

static double two_minus(struct two a, struct two b)
{
    return (a.high - b.high) + (a.low - b.low);
}

static struct two two_times(struct two a, double b)
{
    double product = a.high * b;
    return two_sum(product, fma(a.high, b, -product) + a.low * b);
}

static struct two penalised(const struct assay_sample_args *args, int64_t row, int64_t i,
                            double *error)
{
    double logit = oracle_get(&args->logits, row * args->logits.extent[1] + i);
    *error = 0;
    if (args->counts.data == NULL || !isfinite(logit))
        return (struct two){logit, 0};
    double count = (double)oracle_get_int(&args->counts, i);
    struct two each = two_times((struct two){args->frequency, 0}, count);
    struct two once = {count > 0 ? args->presence : 0, 0};
    struct two sum = two_add((struct two){-each.high, -each.low}, (struct two){-once.high, 0});
    struct two value = two_add((struct two){logit, 0}, sum);
    /* Exact at every step in binary64: exact for every route. Otherwise three roundings. */
    if (each.low != 0 || sum.low != 0 || value.low != 0)
        *error = 0x1p-51 * (fabs(logit) + fabs(once.high) + fabs(each.high));
    return value;
}

bool oracle_sample_logits(const struct assay_sample_args *args, int64_t row,
                          struct sample_token *token, int64_t *best)
{
    *best = 0;
    for (int64_t i = 0; i < args->limit; i++) {
        token[i].logit = penalised(args, row, i, &token[i].logit_error);
        if (isnan(token[i].logit.high))
            return false;
        if (two_minus(token[i].logit, token[*best].logit) > 0 ||
            (isinf(token[i].logit.high) && token[i].logit.high > token[*best].logit.high))
            *best = i;
    }
    return token[*best].logit.high > -INFINITY;
}

/* ---- ranks ---------------------------------------------------------------------------------- */

struct ranked {
    const struct sample_token *token;
    int64_t id;
};

static int by_rank(const void *first, const void *second)
{
    const struct ranked *a = first, *b = second;
    struct two x = a->token->logit, y = b->token->logit;
    if (x.high != y.high)
        return x.high > y.high ? -1 : 1;
    if (x.low != y.low)
        return x.low > y.low ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

static bool may_swap(const struct sample_token *a, const struct sample_token *b)
{
    double error = a->logit_error + b->logit_error;
    return error > 0 && fabs(two_minus(a->logit, b->logit)) <= error;
}

/* In a correct route a token beyond rank k may come before one that is not: not only their
 * neighbours, as between tokens without an error there may be one with. */
static bool rank_unsure(const struct ranked *rank, int64_t k, int64_t limit, double most_error)
{
    if (k + 1 >= limit)
        return false;
    for (int64_t a = k; a >= 0; a--) {
        if (!(two_minus(rank[a].token->logit, rank[k + 1].token->logit) <= 2 * most_error))
            break;
        for (int64_t b = k + 1; b < limit; b++) {
            if (may_swap(rank[a].token, rank[b].token))
                return true;
            if (!(two_minus(rank[k].token->logit, rank[b].token->logit) <= 2 * most_error))
                break;
        }
        if (most_error == 0)
            break;
    }
    return false;
}

/* ---- the ids found so far ------------------------------------------------------------------- */

static void accept(struct sample_choice *choice, bool *any, int64_t id)
{
    if (!*any) {
        choice->id = choice->alternative = id;
        *any = true;
    } else if (id != choice->id && choice->alternative == choice->id) {
        choice->alternative = id;
    } else if (id != choice->id && id != choice->alternative) {
        choice->undecided = true;
    }
}

struct search {
    const struct assay_sample_args *args;
    const struct sample_token *token;
    struct ranked *rank;
    bool *kept;
    double tolerance;  /* of sums of weights */
    double most_error; /* of any token's logit */
    double u;
    struct sample_choice *choice;
    bool any;
};

/* The first kept token at which the running sum exceeds u times the total, for u as it is and then
 * with the edge moved by the tolerance either way. */
static void draw(struct search *s)
{
    struct two total = {0, 0};
    int64_t limit = s->args->limit;
    for (int64_t i = 0; i < limit; i++)
        if (s->kept[i])
            total = two_add(total, s->token[i].weight);
    struct two edge = two_times(total, s->u);
    const double shift[3] = {0, -s->tolerance, s->tolerance};
    for (int k = 0; k < 3; k++) {
        struct two sum = {-shift[k], 0};
        int64_t id = -1;
        for (int64_t i = 0; i < limit; i++) {
            if (!s->kept[i] || s->token[i].weight.high <= 0)
                continue;
            id = i; /* the last one, should the edge be moved beyond the total */
            sum = two_add(sum, s->token[i].weight);
            if (two_minus(sum, edge) > 0)
                break;
        }
        accept(s->choice, &s->any, id);
    }
}

/* The first `kept` ranks, then min_p [SAMPLE-4], then the draw. */
static void min_p_and_draw(struct search *s, int64_t kept)
{
    const double slack = 1e-12; /* of one weight; the largest is 1 */
    bool near = false;
    for (int variant = 0; variant < 2; variant++) {
        for (int64_t k = 0; k < s->args->limit; k++) {
            struct two weight = s->rank[k].token->weight;
            double above = two_minus(weight, (struct two){s->args->min_p, 0});
            bool is_edge = fabs(above) <= slack && weight.high != 1 && s->args->min_p > 0;
            near = near || (is_edge && k < kept);
            bool in = is_edge && variant > 0 ? above < 0 : above >= 0;
            s->kept[s->rank[k].id] = k < kept && in;
        }
        draw(s);
        if (!near)
            break;
    }
}

/* Numbers of ranks that top_p may keep out of the first `within`, the exact one first [SAMPLE-3].
 */
static void top_p_and_draw(struct search *s, int64_t within)
{
    struct two mass = {0, 0};
    for (int64_t k = 0; k < within; k++)
        mass = two_add(mass, s->rank[k].token->weight);
    struct two edge = two_times(mass, s->args->top_p);
    struct two sum = {0, 0};
    int64_t exact = within, first = 0, last = within;
    double first_sum = 0, last_sum = mass.high;
    for (int64_t k = 0; k < within; k++) {
        sum = two_add(sum, s->rank[k].token->weight);
        double above = two_minus(sum, edge);
        if (first == 0 && above >= -s->tolerance) {
            first = k + 1;
            first_sum = sum.high;
        }
        if (exact == within && above >= 0)
            exact = k + 1;
        if (above > s->tolerance) {
            last = k + 1;
            last_sum = sum.high;
            break;
        }
    }
    min_p_and_draw(s, exact);
    if (exact < within && s->args->top_p < 1 &&
        rank_unsure(s->rank, exact - 1, s->args->limit, s->most_error))
        s->choice->undecided = true;
    /* Prefixes that differ by next to nothing draw alike; the tolerance of the draw covers them. */
    if (first == last || last_sum - first_sum <= s->tolerance)
        return;
    enum { MAX_VARIANTS = 16 };
    if (last - first > MAX_VARIANTS)
        s->choice->undecided = true;
    for (int64_t kept = first; kept <= last && !s->choice->undecided; kept++)
        min_p_and_draw(s, kept);
}

bool oracle_sample_choose(const struct assay_sample_args *args, const struct sample_token *token,
                          double weight_error, double u, struct sample_choice *choice)
{
    size_t limit = (size_t)args->limit;
    struct search s = {.args = args, .token = token, .u = u, .choice = choice};
    *choice = (struct sample_choice){.id = -1, .alternative = -1};
    s.rank = calloc(limit, sizeof *s.rank);
    s.kept = calloc(limit, sizeof *s.kept);
    bool good = s.rank != NULL && s.kept != NULL;
    if (good) {
        double total = 0;
        for (size_t i = 0; i < limit; i++) {
            s.rank[i] = (struct ranked){&token[i], (int64_t)i};
            total += token[i].weight.high;
            s.most_error = fmax(s.most_error, token[i].logit_error);
        }
        s.tolerance = (1e-12 + (double)limit * 0x1p-51) * total + 2 * weight_error;
        bool all = args->top_k == 0 || args->top_k >= args->limit;
        int64_t within = all ? args->limit : args->top_k;
        if (!all || args->top_p < 1)
            qsort(s.rank, limit, sizeof *s.rank, by_rank);
        top_p_and_draw(&s, within);
        if (!all && rank_unsure(s.rank, within - 1, args->limit, s.most_error))
            choice->undecided = true;
    }
    free(s.rank);
    free(s.kept);
    return good;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* s of [SAMPLE-5]. */
static uint64_t more_steps(const struct assay_sample_args *args)
{
    int64_t more = args->step_at.data != NULL ? oracle_get_int(&args->step_at, 0) : 0;
    return more > 0 ? (uint64_t)more : 0;
}

static bool choose_row(const struct assay_sample_args *args, int64_t row,
                       struct sample_token *token, oracle_sample_weight *weight, void *arithmetic,
                       struct sample_choice *choice)
{
    int64_t best;
    *choice = (struct sample_choice){.id = -1, .alternative = -1};
    if (!oracle_sample_logits(args, row, token, &best))
        return true;
    if (args->temperature == 0) {
        choice->id = choice->alternative = best;
        for (int64_t i = 0; i < args->limit; i++) {
            double error = token[i].logit_error + token[best].logit_error;
            if (i != best && error > 0 && two_minus(token[best].logit, token[i].logit) <= error)
                choice->undecided = true;
        }
        return true;
    }
    double error = 0;
    for (int64_t i = 0; i < args->limit; i++)
        token[i].weight = weight(args, token[i].logit, token[best].logit, arithmetic, &error);
    uint64_t counter = args->step + more_steps(args) + (uint64_t)row;
    double u = oracle_sample_uniform(args->seed, counter);
    return oracle_sample_choose(args, token, error, u, choice);
}

assay_status oracle_sample_rows(const struct assay_sample_args *args, oracle_sample_weight *weight,
                                void *arithmetic, struct oracle_output *ids)
{
    struct sample_token *token = calloc((size_t)args->limit, sizeof *token);
    bool good = token != NULL;
    for (int64_t t = 0; t < ids->count && good; t++) {
        struct sample_choice choice;
        good = choose_row(args, t, token, weight, arithmetic, &choice);
        if (!good)
            break;
        bool other = choice.alternative != choice.id;
        ids->value[t] = (double)choice.id;
        ids->own[t] = 0;
        ids->alternative[t] = other ? (double)choice.alternative : NAN;
        ids->aux[SAMPLE_AUX_UNDECIDED][t] = choice.undecided;
    }
    free(token);
    return good ? ASSAY_OK : ASSAY_E_MEMORY;
}
