/* SPDX-License-Identifier: MIT
 *
 * moe_experts with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "moe_experts_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

enum { TILE = 4 };

struct call {
    const struct assay_moe_experts_args *args;
    int64_t hidden, width, experts, k;
    double *h; /* [F] */
    enum fault fault;
};

/* Element (row, column) of matrix e of a bank. */
static double weight(const struct call *c, const struct assay_tensor *bank, int64_t e, int64_t row,
                     int64_t column)
{
    struct assay_tensor view = *bank;
    if (c->fault == EXPERTS_PACKED)
        view.stride[0] = view.extent[1] * view.extent[2];
    return oracle_get(&view, (e * bank->extent[1] + row) * bank->extent[2] + column);
}

static double silu(double g)
{
    return g / (1 + exp(-g));
}

static int64_t tail(int64_t count, bool is_cut)
{
    return is_cut && count > 8 ? count / 8 * 8 : count;
}

/* h of row t of x, times `scale`. */
static void hidden(const struct call *c, int64_t t, int64_t e, double scale)
{
    const struct assay_moe_experts_args *a = c->args;
    const int64_t length = tail(c->hidden, c->fault == H_TAIL);
    for (int64_t f = 0; f < c->width; f++) {
        int64_t gate_row = c->fault == INTERLEAVED ? 2 * f : f;
        int64_t up_row = c->fault == INTERLEAVED ? 2 * f + 1 : c->width + f;
        double g = 0, u = 0;
        for (int64_t i = 0; i < length; i++) {
            double x = oracle_get(&a->x, t * c->hidden + i) * scale;
            g += x * weight(c, &a->gate_up, e, gate_row, i);
            u += x * weight(c, &a->gate_up, e, up_row, i);
        }
        c->h[f] = c->fault == SWAPPED ? silu(u) * g : silu(g) * u;
        if (c->fault == H_IN_BF16)
            c->h[f] = oracle_round(c->h[f], ASSAY_BF16);
    }
}

static double down(const struct call *c, int64_t e, int64_t n)
{
    const struct assay_tensor *bank = &c->args->down;
    const int64_t width = tail(c->width, c->fault == F_TAIL);
    double sum = 0;
    if (c->fault == DOWN_OF_NEXT)
        e = (e + 1) % c->experts;
    for (int64_t f = 0; f < width; f++) {
        int64_t at = n * c->width + f; /* the same numbers as [F, H] */
        if (c->fault == DOWN_TRANSPOSED)
            at = f * c->hidden + n;
        sum += c->h[f] * weight(c, bank, e, at / c->width, at % c->width);
    }
    return c->fault == D_IN_BF16 ? oracle_round(sum, ASSAY_BF16) : sum;
}

static int64_t id_of(const struct call *c, int64_t pair)
{
    int64_t id = oracle_get_int(&c->args->ids, pair);
    if (c->fault == INVALID_WRAPPED)
        id = (id + c->experts) % c->experts;
    return id;
}

/* How many pairs of the same expert come before. */
static int64_t place_of(const struct call *c, int64_t pair)
{
    int64_t place = 0;
    for (int64_t p = 0; p < pair; p++)
        place += id_of(c, p) == id_of(c, pair);
    return place;
}

/* The pair of the expert that stands at `place`. */
static int64_t pair_at(const struct call *c, int64_t e, int64_t place)
{
    int64_t pair = 0;
    while (id_of(c, pair) != e || place_of(c, pair) != place)
        pair++;
    return pair;
}

static bool has_before(const struct call *c, int64_t t, int64_t i)
{
    for (int64_t j = 0; j < i; j++)
        if (id_of(c, t * c->k + j) == id_of(c, t * c->k + i))
            return true;
    return false;
}

static double weight_of(const struct call *c, int64_t t, int64_t i)
{
    const struct assay_tensor *weights = &c->args->weights;
    double own = oracle_get(weights, t * c->k + i), sum = 0;
    if (c->fault == WEIGHT_BY_PLACE && place_of(c, t * c->k + i) < t)
        return oracle_get(weights, place_of(c, t * c->k + i) * c->k + i);
    if (c->fault != WEIGHTS_NORMALISED)
        return own;
    for (int64_t j = 0; j < c->k; j++)
        sum += oracle_get(weights, t * c->k + j);
    return own / sum;
}

static bool is_left_out(const struct call *c, int64_t t, int64_t i, int64_t e)
{
    switch (c->fault) {
    case LAST_SLOT_DROPPED:
        return i > 0 && i == c->k - 1;
    case REPEATED_ONCE:
        return has_before(c, t, i);
    case EXPERT_0_EMPTY:
        return e == 0;
    case ZERO_SKIPPED:
        return weight_of(c, t, i) == 0;
    case CAPACITY:
        return place_of(c, t * c->k + i) >= TILE;
    case INVALID_IGNORED:
        return e < 0 || e >= c->experts;
    default:
        return false;
    }
}

static int64_t row_of(const struct call *c, int64_t t, int64_t i, int64_t e)
{
    int64_t place = c->fault == TILE_IDS ? place_of(c, t * c->k + i) : 0;
    if (place >= TILE)
        return pair_at(c, e, place % TILE) / c->k;
    return c->fault == ROW_OF_SLOT ? i % c->args->x.extent[0] : t;
}

static void add_slot(const struct call *c, int64_t t, int64_t i, double *sums)
{
    int64_t e = id_of(c, t * c->k + i);
    double own = weight_of(c, t, i), scale = c->fault == WEIGHT_ON_X ? own : 1;
    if (is_left_out(c, t, i, e))
        return;
    bool is_none = e < 0 || e >= c->experts;
    if (!is_none)
        hidden(c, row_of(c, t, i, e), e, scale);
    for (int64_t n = 0; n < c->hidden; n++) {
        double d = is_none ? (double)NAN : down(c, e, n);
        sums[n] += c->fault == WEIGHT_ON_X ? d : own * d;
        if (c->fault == SUM_IN_BF16)
            sums[n] = oracle_round(sums[n], ASSAY_BF16);
    }
}

/* The experts that the row does not have, with weight 0. */
static void add_others(const struct call *c, int64_t t, double *sums)
{
    for (int64_t e = 0; e < c->experts; e++) {
        bool is_there = false;
        for (int64_t i = 0; i < c->k; i++)
            is_there = is_there || id_of(c, t * c->k + i) == e;
        if (is_there)
            continue;
        hidden(c, t, e, 1);
        for (int64_t n = 0; n < c->hidden; n++)
            sums[n] += 0 * down(c, e, n);
    }
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_moe_experts_args *a = args;
    struct call c = {.args = a,
                     .hidden = a->x.extent[1],
                     .width = a->down.extent[2],
                     .experts = a->gate_up.extent[0],
                     .k = a->ids.extent[1],
                     .fault = fault};
    int64_t rows = a->x.extent[0];
    double *sums = malloc((size_t)(c.hidden + c.width) * sizeof *sums);
    if (sums == NULL)
        return ASSAY_E_MEMORY;
    c.h = sums + c.hidden;
    for (int64_t t = 0; t < (fault == TAIL_OF_TOKENS && rows > TILE ? rows / TILE * TILE : rows);
         t++) {
        for (int64_t n = 0; n < c.hidden; n++)
            sums[n] = 0;
        for (int64_t i = 0; i < c.k; i++)
            add_slot(&c, t, i, sums);
        if (fault == ALL_EXPERTS)
            add_others(&c, t, sums);
        for (int64_t n = 0; n < c.hidden; n++) {
            bool is_wrong = fault == ONE_WRONG_ELEMENT && t == rows / 2 && n == c.hidden / 2;
            oracle_put(&a->y, t * c.hidden + n, sums[n] * (is_wrong ? 1 + 0x1p-7 : 1));
        }
    }
    free(sums);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("moe_experts", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant moe_experts_mutants[MOE_EXPERTS_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
