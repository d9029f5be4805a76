/* SPDX-License-Identifier: MIT
 *
 * moe_experts' forward-error bound, from that of each slot's h. Derivation: moe_experts_bound.md.
 */
#include "moe_experts_oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds.h"
#include "matrix_product_oracle.h"
#include "words.h"

/* This file's own arithmetic is in binary64. */
#define UPWARDS (1 + 0x1p-40)

struct units {
    double u, tiny, limit;
    double products, all; /* of d: one rounding, and one more than its chain */
    bool is_tensor;       /* products of d in tensor cores: linear_grouped_bound.md */
    int64_t width;
};

/* What d[n] of a slot is: its size at most, sums of magnitudes, and the terms of h carried on. */
struct down {
    double reach;
    double term[ORACLE_NUM_TERMS];
};

/* h is rounded to binary32 by the product that its own PRODUCTS term counts. */
static double hidden_term(const struct oracle_output *h, int term, int64_t f)
{
    return term == ORACLE_TERM_OUTPUT ? 0 : h->term[term][f];
}

/* |high| + |low| of a split h are at most so many |h|. */
static double more_of(const struct units *units)
{
    return units->is_tensor ? 1 + 0x1p-6 : 1;
}

/* The terms of d's own sum. magnitude: sum |w| |h'|; weights: sum |w|. */
static void add_terms(const struct units *units, double magnitude, double weights, double underflow,
                      struct down *d)
{
    if (units->is_tensor)
        d->term[ORACLE_TERM_INPUT] += 0x1p-17 * UPWARDS * magnitude + 0x1p-134 * weights;
    d->term[ORACLE_TERM_PRODUCTS] += units->products * magnitude + underflow;
    d->term[ORACLE_TERM_ACCUMULATION] +=
        (units->all - units->products) * more_of(units) * magnitude;
}

/* `row` has the weights, behind them what their magnitudes reach in any order of the factors. */
static struct down down_of(const struct units *units, const struct oracle_output *h,
                           const double *row)
{
    struct down d = {.reach = 0};
    double magnitude = 0, spread = 0, weights = 0, reach = 0;
    for (int64_t f = 0; f < h->count; f++) {
        double w = fabs(row[f]), size = fabs(h->value[f]) + h->own[f], error = 0;
        magnitude += w * size;
        weights += w;
        for (int t = 0; t < ORACLE_NUM_TERMS; t++) {
            double part = w > 0 ? w * hidden_term(h, t, f) : 0;
            d.term[t] += part;
            spread += part;
            error += hidden_term(h, t, f);
        }
        reach += row[units->width + f] > 0 ? row[units->width + f] * (size + error) : 0;
    }
    magnitude = (magnitude + spread) * UPWARDS;
    double underflow = 0.5 * units->tiny * (double)h->count * (1 + units->all);
    add_terms(units, magnitude, weights, underflow, &d);
    d.reach = magnitude * (1 + units->all) + underflow;
    if (reach * UPWARDS * more_of(units) * (1 + units->all) + underflow > units->limit)
        d.term[ORACLE_TERM_ACCUMULATION] = INFINITY; /* a partial sum may overflow */
    return d;
}

/* Element `at` of y: one slot's terms, times its weight. `total`: sum |w| |d| so far. */
static void carry(const struct down *d, double weight, struct oracle_output *y, int64_t at,
                  double *total)
{
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        y->term[t][at] += weight > 0 || isinf(d->term[t]) ? weight * d->term[t] * UPWARDS : 0;
    *total += weight * d->reach;
}

static bool add_slot(const struct units *units, const struct moe_slot *slot,
                     const struct oracle_route *route, double *row, struct oracle_output *y,
                     int64_t first, double *total)
{
    struct oracle_output h = {.value = NULL};
    bool good = oracle_moe_hidden(slot, route, &h) == ASSAY_OK;
    for (int64_t n = 0; n < slot->down.rows && good; n++) {
        if (!isfinite(y->value[first + n]))
            continue; /* by its pattern */
        oracle_product_row(&slot->down, n, row, row + units->width);
        const struct down d = down_of(units, &h, row);
        carry(&d, fabs(slot->weight), y, first + n, &total[n]);
    }
    oracle_output_destroy(&h);
    return good;
}

/* The products with the weights and their sum, k additions long. */
static void finish(const struct units *units, int64_t k, double total, bool good,
                   struct oracle_output *y, int64_t at)
{
    double all = oracle_gamma((double)k + 1, units->u);
    if (!isfinite(y->value[at]))
        return;
    y->term[ORACLE_TERM_PRODUCTS][at] +=
        all * total * UPWARDS + 0.5 * units->tiny * (double)k * (1 + all);
    double sum = 0;
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        sum += y->term[t][at];
    if (!good || y->aux[MOE_AUX_OPEN][at] != 0 || !isfinite(sum) ||
        total * (1 + all) > units->limit)
        y->term[ORACLE_TERM_ACCUMULATION][at] = INFINITY; /* no promise */
}

static struct units units_of(const struct moe_call *c, const struct oracle_route *route)
{
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    struct units units = {.u = binary64 ? ORACLE_U64 : ORACLE_U32,
                          .tiny = binary64 ? ORACLE_TINY64 : ORACLE_TINY32,
                          .limit = binary64 ? DBL_MAX : oracle_max_finite(ASSAY_F32),
                          .is_tensor = route->profile == ASSAY_PROFILE_A16 ||
                                       route->profile == ASSAY_PROFILE_A16X2,
                          .width = c->down.columns};
    units.products = units.is_tensor ? 0 : oracle_gamma(1, units.u);
    units.all = oracle_gamma((double)oracle_depth(route, units.width) + 1, units.u);
    return units;
}

void oracle_moe_bound(const struct moe_call *c, const struct oracle_route *route,
                      struct oracle_output *outputs)
{
    const struct units units = units_of(c, route);
    int64_t columns = c->y.extent[1], k = c->ids.extent[1];
    double *row = malloc(2 * (size_t)units.width * sizeof *row);
    double *total = malloc((size_t)columns * sizeof *total);
    bool good = row != NULL && total != NULL;
    for (int64_t t = 0; t < c->x.extent[0]; t++) {
        for (int64_t n = 0; n < columns && good; n++)
            total[n] = 0;
        for (int64_t i = 0; i < k && good; i++) {
            const struct moe_slot slot = oracle_moe_slot(c, t, i);
            if (slot.expert >= 0)
                good = add_slot(&units, &slot, route, row, &outputs[0], t * columns, total);
        }
        for (int64_t n = 0; n < columns; n++)
            finish(&units, k, good ? total[n] : 0, good, &outputs[0], t * columns + n);
    }
    free(row);
    free(total);
    oracle_bound_output_rounding(&outputs[0]);
    oracle_bound_rms(&outputs[0], oracle_inputs_independent(), 0); /* share 1 of all sums */
}

void oracle_moe_experts_bound(const void *args, const struct oracle_route *route,
                              struct oracle_output *outputs)
{
    const struct moe_call c = oracle_moe_call(args);
    oracle_moe_bound(&c, route, outputs);
}
