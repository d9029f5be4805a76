/* SPDX-License-Identifier: MIT
 *
 * The steps of linear_w8row, from [LINEARW8ROW-1] to [LINEARW8ROW-4] read as formulas of real
 * numbers: logarithms and exponentials are the library's, nothing is rounded to binary32.
 */
#include <math.h>
#include <stdlib.h>

#include "linear_w8row_oracle.h"
#include "oracle_formats.h"
#include "words.h"

static const double magnitude_floor = 1e-20;

/* From x itself: finite numbers beside a NaN count. */
static void find_channels(double *channel, const struct oracle_w8row_operands *o,
                          const struct assay_linear_w8row_args *a, double *x)
{
    double logarithms = 0;
    for (int64_t k = 0; k < o->inner; k++)
        channel[k] = a->equalise ? magnitude_floor : 1;
    for (int64_t t = 0; a->equalise && t < o->rows; t++) {
        oracle_get_row(&a->x, t, x);
        for (int64_t k = 0; k < o->inner; k++)
            if (isfinite(x[k]))
                channel[k] = fmax(channel[k], fabs(x[k]));
    }
    for (int64_t k = 0; k < o->inner; k++)
        logarithms += log(channel[k]);
    for (int64_t k = 0; a->equalise && k < o->inner; k++)
        channel[k] = exp((log(channel[k]) - logarithms / (double)o->inner) / 2);
}

bool oracle_w8row_steps_create(struct oracle_w8row_steps *s, const struct oracle_w8row_operands *o,
                               const struct assay_linear_w8row_args *a)
{
    double *x = malloc((size_t)o->inner * sizeof *x);
    s->channel = malloc((size_t)o->inner * sizeof *s->channel);
    s->token = malloc((size_t)(o->rows + 1) * sizeof *s->token);
    s->row = malloc((size_t)o->columns * sizeof *s->row);
    bool good = x != NULL && s->channel != NULL && s->token != NULL && s->row != NULL;
    if (good)
        find_channels(s->channel, o, a, x);
    free(x);
    for (int64_t t = 0; good && t < o->rows; t++) {
        double largest = magnitude_floor;
        for (int64_t k = 0; k < o->inner; k++)
            largest = fmax(largest, fabs(o->x[t * o->inner + k]) / s->channel[k]);
        s->token[t] = largest / 127;
    }
    struct oracle_weight_format format = oracle_weight_format(a->w.format);
    for (int64_t n = 0; good && n < o->columns; n++) {
        double largest = 0;
        for (int64_t k = 0; k < o->inner && !o->w_is_nan[n]; k++) {
            double scale = oracle_weight_scale(&a->w, n, k / format.group);
            largest = fmax(largest, fabs(scale) * s->channel[k]);
        }
        double range = format.bits == 8 ? 127 : -format.lowest;
        s->row[n] = largest > 0 ? largest * range / 127 : 1;
    }
    return good;
}

void oracle_w8row_steps_destroy(struct oracle_w8row_steps *s)
{
    free(s->channel);
    free(s->token);
    free(s->row);
}
