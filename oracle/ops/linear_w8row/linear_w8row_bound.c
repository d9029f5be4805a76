/* SPDX-License-Identifier: MIT
 *
 * linear_w8row's forward-error bound and relative L2 allowance. Derivation: linear_w8row_bound.md.
 */
#include <math.h>
#include <stdlib.h>

#include "bounds.h"
#include "linear_w8row_oracle.h"

/* Half a step, and the roundings to binary32 of a code's value before it becomes an integer. */
#define HALF_STEP (0.5 + 127 * 8 * ORACLE_U32)
/* A route's steps against the real ones. */
#define STEPS_DIFFER (1 + 0x1p-20)

/* Of one operand's row, v: sums of |v| for the bound and of v^2 for the allowance; the mean square
 * of its roundings in steps. */
struct moments {
    double sum, squares, rounding;
};

struct measure {
    struct oracle_w8row_operands o;
    struct oracle_w8row_steps s;
    struct moments *x, *w; /* x / s [T], w * s [N] */
};

/* What clamping takes from w * s in steps of a row: above rounding for the code -128 only. */
static double clamped(const struct measure *m, int64_t n, int64_t k)
{
    double lacks = fabs(m->o.w[n * m->o.inner + k]) * m->s.channel[k] - 127 * m->s.row[n];
    return lacks > 0x1p-20 * m->s.row[n] ? lacks : 0;
}

/* ... times what it meets, for one output. */
static double clamping(const struct measure *m, int64_t t, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < m->o.inner; k++) {
        double lacks = clamped(m, n, k);
        if (lacks > 0)
            sum += lacks *
                   (fabs(m->o.x[t * m->o.inner + k]) / m->s.channel[k] + HALF_STEP * m->s.token[t]);
    }
    return sum;
}

static bool has_clamped(const struct measure *m, int64_t n)
{
    for (int64_t k = 0; k < m->o.inner; k++)
        if (clamped(m, n, k) > 0)
            return true;
    return false;
}

/* Evenly spread roundings have 1/12; short codes times one ratio may sit near half steps. */
static struct moments moments_of(const double *values, const double *channel, int64_t count,
                                 double sign, double step)
{
    struct moments sum = {0, 0, 0};
    for (int64_t k = 0; k < count; k++) {
        double v = fabs(values[k]) * (sign > 0 ? channel[k] : 1 / channel[k]);
        double rest = v / step - floor(v / step), lacks = fmin(rest, 1 - rest);
        sum.sum += v;
        sum.squares += v * v;
        sum.rounding += lacks * lacks / (double)count;
    }
    sum.rounding = fmax(sum.rounding, 1.0 / 12);
    return sum;
}

/* How many equal terms scatter as these do. */
struct spread {
    double sum, squares;
};

static void spread_add(struct spread *s, double value)
{
    s->sum += value;
    s->squares += value * value;
}

static double spread_count(const struct spread *s)
{
    return s->squares > 0 ? s->sum / s->squares * s->sum : 0;
}

/* Of the independent roundings of one operand: rows of `step` by channels in which `other` meets
 * them. sign: power of the channel factor that `other` carries. */
static double count_roundings(const struct measure *m, const double *step, int64_t num_steps,
                              const double *other, int64_t num_others, double sign)
{
    struct spread rows = {0, 0}, channels = {0, 0};
    for (int64_t i = 0; i < num_steps; i++)
        spread_add(&rows, step[i] * step[i]);
    for (int64_t k = 0; k < m->o.inner; k++) {
        double met = 0, factor = sign > 0 ? m->s.channel[k] : 1 / m->s.channel[k];
        for (int64_t i = 0; i < num_others; i++)
            met += other[i * m->o.inner + k] * other[i * m->o.inner + k];
        spread_add(&channels, met * factor * factor);
    }
    return spread_count(&rows) * spread_count(&channels);
}

/* Share of the worst case that the root mean square of independent roundings may reach. */
static double share_of(const struct measure *m, const struct oracle_output *y)
{
    enum { RARE = 21 }; /* exp(-21): one in 10^9, as six standard errors are */
    double expected = 0, worst = 0;
    struct spread outputs = {0, 0};
    for (int64_t at = 0; at < y->count; at++) {
        int64_t t = at / m->o.columns, n = at % m->o.columns;
        if (!isfinite(y->value[at]))
            continue;
        double token = m->s.token[t] * m->s.token[t] * m->x[t].rounding;
        double row = m->s.row[n] * m->s.row[n] * m->w[n].rounding;
        double clamp = y->aux[0][at];
        double variance =
            token * m->w[n].squares + row * m->x[t].squares + token * row * (double)m->o.inner;
        double bound = y->term[ORACLE_TERM_INPUT][at] + y->term[ORACLE_TERM_STORAGE][at];
        spread_add(&outputs, variance);
        expected += variance + clamp * clamp;
        worst += bound * bound;
    }
    double of_x = count_roundings(m, m->s.token, m->o.rows, m->o.w, m->o.columns, 1);
    double of_w = count_roundings(m, m->s.row, m->o.columns, m->o.x, m->o.rows, -1);
    double count = fmin(spread_count(&outputs), fmin(of_x, of_w));
    if (!(count > 0))
        return 1;
    double tail = 1 + 2 * sqrt(RARE / count) + 2 * RARE / count;
    double share = sqrt(expected / worst * tail);
    return share < 1 ? share : 1;
}

static bool measure_create(struct measure *m, const struct assay_linear_w8row_args *a)
{
    *m = (struct measure){.s = {NULL, NULL, NULL}};
    if (!oracle_w8row_operands_create(&m->o, a) || !oracle_w8row_steps_create(&m->s, &m->o, a))
        return false;
    m->x = malloc((size_t)(m->o.rows + 1) * sizeof *m->x);
    m->w = malloc((size_t)m->o.columns * sizeof *m->w);
    if (m->x == NULL || m->w == NULL)
        return false;
    for (int64_t t = 0; t < m->o.rows; t++)
        m->x[t] = moments_of(m->o.x + t * m->o.inner, m->s.channel, m->o.inner, -1, m->s.token[t]);
    for (int64_t n = 0; n < m->o.columns; n++)
        m->w[n] = moments_of(m->o.w + n * m->o.inner, m->s.channel, m->o.inner, 1, m->s.row[n]);
    return true;
}

static void measure_destroy(struct measure *m)
{
    oracle_w8row_operands_destroy(&m->o);
    oracle_w8row_steps_destroy(&m->s);
    free(m->x);
    free(m->w);
}

/* Outputs of column n. */
static void bound_column(const struct measure *m, int64_t n, struct oracle_output *y)
{
    bool clamps = has_clamped(m, n);
    for (int64_t t = 0; t < m->o.rows; t++) {
        int64_t at = t * m->o.columns + n;
        if (!isfinite(y->value[at]))
            continue; /* compared by its pattern */
        double token = m->s.token[t] * HALF_STEP * STEPS_DIFFER;
        double row = m->s.row[n] * HALF_STEP * STEPS_DIFFER;
        y->aux[0][at] = clamps ? clamping(m, t, n) * STEPS_DIFFER : 0;
        y->term[ORACLE_TERM_INPUT][at] = token * m->w[n].sum;
        y->term[ORACLE_TERM_STORAGE][at] =
            row * m->x[t].sum + token * row * (double)m->o.inner + y->aux[0][at];
        double reach =
            fabs(y->value[at]) + y->term[ORACLE_TERM_INPUT][at] + y->term[ORACLE_TERM_STORAGE][at];
        y->term[ORACLE_TERM_PRODUCTS][at] =
            (y->dtype == ASSAY_F32 ? 2 * ORACLE_U64 : ORACLE_U32 + 2 * ORACLE_U64) * reach +
            (y->dtype == ASSAY_F32 ? 0 : ORACLE_TINY32 / 2);
    }
}

void oracle_linear_w8row_bound(const void *args, const struct oracle_route *route,
                               struct oracle_output *outputs)
{
    struct oracle_output *y = &outputs[0];
    struct measure m;
    (void)route;
    bool good = measure_create(&m, args);
    if (good)
        for (int64_t n = 0; n < m.o.columns; n++)
            bound_column(&m, n, y);
    oracle_bound_output_rounding(y);
    oracle_bound_rms(y, oracle_inputs_independent(), 0);
    if (good && oracle_inputs_independent())
        y->rms_share[ORACLE_TERM_INPUT] = y->rms_share[ORACLE_TERM_STORAGE] = share_of(&m, y);
    /* Out of memory: no bound is set, and every rounding is reported. */
    measure_destroy(&m);
}
