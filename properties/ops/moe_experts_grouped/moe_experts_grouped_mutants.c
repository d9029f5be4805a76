/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped with one planted fault each, and the control: the same code with none, which
 * must pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "moe_experts_grouped_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "oracle_formats.h"
#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

enum { TILE = 4, TAIL = 32, PADDING = 128 };

struct call {
    const struct assay_moe_experts_grouped_args *args;
    struct assay_weights gate_up, down;
    int64_t hidden, width, experts, k;
    double *h, *row; /* [F], [H] or [F] */
    enum fault fault;
};

/* The code of row n of an expert whose matrix has `rows` rows. */
static int code(const struct call *c, const struct assay_weights *w, int64_t n, int64_t rows,
                int64_t k)
{
    const int bits = oracle_weight_format(w->format).bits;
    const int whole = oracle_weight_code(w, n, k), offset = 1 << (bits - 1);
    if (bits == 8)
        return c->fault == LOWEST_BYTE && whole == -128 ? -127 : whole;
    int u = whole + offset;
    if (c->fault == HIGH_IGNORED)
        u &= 15;
    if (c->fault == HIGH_OF_FIRST)
        u = (u & 15) | ((oracle_weight_code(w, n % rows, k) + offset) & ~15);
    return u - (c->fault == OFFSET_EIGHT ? 8 : offset);
}

/* The row whose scales row n takes. */
static int64_t scale_row(const struct call *c, int64_t n, int64_t rows)
{
    const bool is_up = rows == 2 * c->width && n % rows >= c->width;
    switch (c->fault) {
    case SCALES_OF_NEXT:
        return (n + rows) % (rows * c->experts);
    case SCALES_OF_FIRST:
        return n % rows;
    case UP_SCALES_OF_GATE:
        return is_up ? n - c->width : n;
    default:
        return n;
    }
}

static double scale(const struct call *c, const struct assay_weights *w, int64_t n, int64_t rows,
                    int64_t k)
{
    const int64_t groups = w->scales.extent[1];
    int64_t group = oracle_weight_format(w->format).group;
    if (c->fault == GROUP_SIZE)
        group = 96 - group;
    int64_t g = k / group + (c->fault == SCALE_OF_NEXT_GROUP);
    double value = oracle_weight_scale(w, scale_row(c, n, rows), g < groups ? g : groups - 1);
    return c->fault == NAN_HIDDEN && isnan(value) ? 0 : value;
}

/* Columns of a row that count. */
static int64_t length_of(const struct call *c, const struct assay_weights *w)
{
    const int64_t group = oracle_weight_format(w->format).group;
    if (c->fault == LAST_GROUP_DROPPED && w == &c->down && w->columns > group)
        return (w->columns - 1) / group * group;
    if (c->fault == HALF_TAIL_DROPPED && w == &c->gate_up && w->columns > TAIL)
        return w->columns / TAIL * TAIL;
    return w->columns;
}

/* Row n of expert e, whose matrix has `rows` rows, times x. */
static double product(const struct call *c, const struct assay_weights *w, int64_t e, int64_t rows,
                      int64_t n, const double *x)
{
    const int64_t length = length_of(c, w), group = oracle_weight_format(w->format).group;
    const int64_t padded = (w->columns + PADDING - 1) / PADDING * PADDING;
    double sum = 0, of_group = 0;
    n += e * rows;
    for (int64_t k = 0; k < length; k++) {
        if (k % TAIL == 0) /* groups of any size begin so */
            of_group = scale(c, w, n, rows, k);
        sum += x[k] * (code(c, w, n, rows, k) * of_group);
    }
    for (int64_t k = w->columns; c->fault == PADDING_READ && k < padded; k++)
        sum += 0 * oracle_weight_scale(w, n, k / group);
    return sum;
}

static double silu(double g)
{
    return g / (1 + exp(-g));
}

/* h of row t of x, times `factor`. */
static void hidden(const struct call *c, int64_t t, int64_t e, double factor)
{
    for (int64_t i = 0; i < c->hidden; i++)
        c->row[i] = oracle_get(&c->args->x, t * c->hidden + i) * factor;
    for (int64_t f = 0; f < c->width; f++) {
        int64_t gate_row = c->fault == INTERLEAVED ? 2 * f : f;
        int64_t up_row = c->fault == INTERLEAVED ? 2 * f + 1 : c->width + f;
        double g = product(c, &c->gate_up, e, 2 * c->width, gate_row, c->row);
        double u = product(c, &c->gate_up, e, 2 * c->width, up_row, c->row);
        c->h[f] = c->fault == SWAPPED ? silu(u) * g : silu(g) * u;
        if (c->fault == H_IN_BF16)
            c->h[f] = oracle_round(c->h[f], ASSAY_BF16);
    }
}

static int64_t id_of(const struct call *c, int64_t t, int64_t i)
{
    return oracle_get_int(&c->args->ids, t * c->k + (c->fault == SLOT_0 ? 0 : i));
}

static bool has_before(const struct call *c, int64_t t, int64_t i)
{
    for (int64_t j = 0; j < i; j++)
        if (id_of(c, t, j) == id_of(c, t, i))
            return true;
    return false;
}

static void add_slot(const struct call *c, int64_t t, int64_t i, double *sums)
{
    const int64_t e = id_of(c, t, i);
    const bool is_none = e < 0 || e >= c->experts;
    double own = oracle_get(&c->args->weights, t * c->k + i);
    if ((c->fault == REPEATED_ONCE && has_before(c, t, i)) ||
        (c->fault == INVALID_IGNORED && is_none) || (c->fault == ZERO_SKIPPED && own == 0))
        return;
    if (!is_none)
        hidden(c, t, e, c->fault == WEIGHT_ON_X ? own : 1);
    if (c->fault == WEIGHTS_IGNORED || c->fault == WEIGHT_ON_X)
        own = 1;
    for (int64_t n = 0; n < c->hidden; n++) {
        int64_t taken = c->fault == DOWN_OF_NEXT ? (e + 1) % c->experts : e;
        double d = is_none ? (double)NAN : product(c, &c->down, taken, c->hidden, n, c->h);
        sums[n] = own * d + (c->fault == SUM_LOST ? 0 : sums[n]);
    }
}

/* The experts that the row does not have, with weight 0. */
static void add_others(const struct call *c, int64_t t, double *sums)
{
    for (int64_t e = 0; e < c->experts; e++) {
        bool is_there = false;
        for (int64_t i = 0; i < c->k; i++)
            is_there = is_there || id_of(c, t, i) == e;
        if (is_there)
            continue;
        hidden(c, t, e, 1);
        for (int64_t n = 0; n < c->hidden; n++)
            sums[n] += 0 * product(c, &c->down, e, c->hidden, n, c->h);
    }
}

/* The planes as if their rows followed each other. */
static void pack(struct assay_weights *w)
{
    w->base.stride[0] = w->base.extent[1];
    w->scales.stride[0] = w->scales.extent[1];
    if (w->high.data != NULL)
        w->high.stride[0] = w->high.extent[1];
}

static struct call call_of(const struct assay_moe_experts_grouped_args *a, enum fault fault)
{
    struct call c = {.args = a,
                     .gate_up = a->gate_up,
                     .down = a->down,
                     .hidden = a->x.extent[1],
                     .width = a->down.columns,
                     .experts = a->down.rows / a->x.extent[1],
                     .k = a->ids.extent[1],
                     .fault = fault};
    if (fault == STRIDE_IGNORED) {
        pack(&c.gate_up);
        pack(&c.down);
    }
    return c;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_moe_experts_grouped_args *a = args;
    struct call c = call_of(a, fault);
    int64_t rows = a->x.extent[0];
    double *sums = malloc((size_t)(2 * c.hidden + c.width) * sizeof *sums);
    if (sums == NULL)
        return ASSAY_E_MEMORY;
    c.row = sums + c.hidden;
    c.h = c.row + c.hidden;
    if (fault == TAIL_OF_TOKENS && rows > TILE)
        rows = rows / TILE * TILE;
    for (int64_t t = 0; t < rows; t++) {
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

#define ROW(...) MUTANT("moe_experts_grouped", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant moe_experts_grouped_mutants[MOE_EXPERTS_GROUPED_NUM_MUTANTS] = {
    FAULT_TABLE(ROW)};
