/* SPDX-License-Identifier: MIT
 *
 * Weights for the cases of products: see product_weights.h.
 */
#include "product_weights.h"

#include <math.h>
#include <stdio.h>

#include "words.h"

/* ---- grouped formats ------------------------------------------------------------------------ */

/* Scales that go with the distribution of x, so that the product shows what x was drawn for. */
static struct values scales_for(enum case_dist dist)
{
    struct values scales = {.dist = CASE_DIST_NORMAL, .scale = 0.02};
    switch (dist) {
    case CASE_DIST_EXACT:
        return (struct values){.dist = CASE_DIST_EXACT, .scale = 0.5};
    case CASE_DIST_TIES:
    case CASE_DIST_CANCEL: /* equal weights leave what is left of each pair */
        return (struct values){.dist = CASE_DIST_CONSTANT, .scale = 0, .shift = 1};
    case CASE_DIST_OUTLIERS:
        scales.dist = dist;
        return scales;
    default:
        return scales;
    }
}

static struct values bytes_for(enum case_dist dist)
{
    if (dist == CASE_DIST_CANCEL) /* one code, not zero in any format */
        return (struct values){.dist = CASE_DIST_CONSTANT, .scale = 0, .shift = 0xff};
    return (struct values){.dist = CASE_DIST_UNIFORM, .scale = 127.5, .shift = 127.5};
}

/* Zeros the code of a column; its byte of a plane holds columns before K, too, or it does not. */
static void put_zero(struct trial *trial, const struct assay_tensor *plane, int64_t row,
                     int64_t bit, int bits, int value)
{
    int64_t at = row * plane->extent[1] + bit / 8;
    int mask = ((1 << bits) - 1) << bit % 8;
    int64_t byte = oracle_get_int(plane, at);
    trial_put_int(trial, plane, at, (byte & ~mask) | (value << bit % 8 & mask));
}

static void write_padding(struct trial *trial, const struct assay_weights *w)
{
    int bits = assay_weight_bits(w->format), low = bits == 8 ? 8 : 4, extra = bits - low;
    int zero = bits == 8 ? 0 : 1 << (bits - 1);
    int64_t padded = w->base.extent[1] * 8 / low, group = assay_weight_group(w->format);
    for (int64_t n = 0; n < w->rows; n++) {
        for (int64_t k = w->columns; k < padded; k++) {
            put_zero(trial, &w->base, n, low * k, low, zero & 15);
            if (extra > 0)
                put_zero(trial, &w->high, n, extra * k, extra, zero >> 4);
        }
        for (int64_t g = (w->columns + group - 1) / group; g < w->scales.extent[1]; g++)
            trial_put(trial, &w->scales, n * w->scales.extent[1] + g, 0);
    }
}

/* Groups of nothing but padding get a NaN. */
static void spoil_padding(struct trial *trial, const struct assay_weights *w)
{
    int64_t group = assay_weight_group(w->format);
    for (int64_t n = 0; n < w->rows; n++)
        for (int64_t g = (w->columns + group - 1) / group; g < w->scales.extent[1]; g++)
            trial_put(trial, &w->scales, n * w->scales.extent[1] + g, NAN);
}

/* "w.base" */
struct plane_name {
    char text[24];
};

static struct plane_name plane_of(const char *matrix, const char *plane)
{
    struct plane_name name;
    snprintf(name.text, sizeof name.text, "%s.%s", matrix, plane);
    return name;
}

static void grouped(struct trial *trial, const char *name, enum case_dist dist, int64_t columns,
                    int64_t inner, bool garbage, struct assay_weights *w)
{
    const struct assay_case *c = trial->c;
    int64_t padded = (inner + 127) / 128 * 128, group = assay_weight_group(w->format);
    int bits = assay_weight_bits(w->format);
    int64_t base[] = {columns, bits == 8 ? padded : padded / 2};
    int64_t high[] = {columns, padded / 8 * (bits - 4)}, scale[] = {columns, padded / group};
    struct values scales = scales_for(dist);
    if (dist == CASE_DIST_SUBNORMAL && c->layout == CASE_STRIDED)
        scales = values_of(c);
    w->base = trial_input(trial, plane_of(name, "base").text, ASSAY_U8, 2, base, bytes_for(dist));
    if (bits == 5 || bits == 6)
        w->high =
            trial_input(trial, plane_of(name, "high").text, ASSAY_U8, 2, high, bytes_for(dist));
    w->scales = trial_input(trial, plane_of(name, "scales").text, ASSAY_F16, 2, scale, scales);
    int64_t used = (inner + group - 1) / group;
    if (columns >= 3 && dist != CASE_DIST_CANCEL)
        trial_put(trial, &w->scales, columns / 2 * scale[1], 0);
    if (dist == CASE_DIST_NONFINITE)
        trial_put(trial, &w->scales,
                  trial_below(trial, "nan row", 0, columns) * scale[1] +
                      trial_below(trial, "nan group", 0, used),
                  NAN);
    if (inner == padded)
        return;
    if (garbage)
        spoil_padding(trial, w);
    else
        write_padding(trial, w);
}

/* ---- bf16 ----------------------------------------------------------------------------------- */

static struct values numbers_for(enum case_dist dist, enum case_layout layout, int64_t inner)
{
    struct values weights = {.dist = CASE_DIST_NORMAL, .scale = 0.25};
    switch (dist) {
    case CASE_DIST_EXACT:
    case CASE_DIST_TIES:
        return (struct values){.dist = CASE_DIST_EXACT, .scale = 1};
    case CASE_DIST_CANCEL: /* equal weights leave what is left of each pair */
        return (struct values){.dist = CASE_DIST_CONSTANT, .scale = 1};
    case CASE_DIST_LARGE: /* the sum of magnitudes stays finite: the contract asks for it */
        return (struct values){.dist = CASE_DIST_UNIFORM, .scale = 1 / (double)inner};
    case CASE_DIST_SUBNORMAL:
        if (layout == CASE_STRIDED)
            return (struct values){.dist = CASE_DIST_SUBNORMAL, .scale = 0.25};
        return weights;
    case CASE_DIST_OUTLIERS:
    case CASE_DIST_NONFINITE:
        weights.dist = dist;
        return weights;
    default:
        return weights;
    }
}

/* ---- any ------------------------------------------------------------------------------------ */

void product_weights(struct trial *trial, enum case_dist dist, enum assay_weight_format format,
                     int64_t columns, int64_t inner, bool garbage, struct assay_weights *w)
{
    product_weights_named(trial, "w", dist, format, columns, inner, garbage, w);
}

void product_weights_named(struct trial *trial, const char *name, enum case_dist dist,
                           enum assay_weight_format format, int64_t columns, int64_t inner,
                           bool garbage, struct assay_weights *w)
{
    int64_t extent[] = {columns, inner};
    *w = (struct assay_weights){.format = format, .rows = columns, .columns = inner};
    if (format == ASSAY_WEIGHT_BF16)
        w->base = trial_input(trial, plane_of(name, "base").text, ASSAY_BF16, 2, extent,
                              numbers_for(dist, trial->c->layout, inner));
    else
        grouped(trial, name, dist, columns, inner, garbage, w);
}

struct values product_weights_x(const struct assay_case *c, enum assay_weight_format format,
                                int64_t inner)
{
    struct values x = values_of(c);
    if (c->dist == CASE_DIST_SUBNORMAL && c->layout == CASE_STRIDED) /* the weights' turn */
        x = (struct values){.dist = CASE_DIST_NORMAL, .scale = 1};
    if (c->dist == CASE_DIST_LARGE && format != ASSAY_WEIGHT_BF16)
        x.scale = 1 / (128 * (double)inner); /* the sum of |x code| stays finite */
    return x;
}

/* Activations up to 4; numbers up to 4, or codes up to 128 with scales up to 2 in steps of 1/2:
 * partial sums below 2^24 steps are exact. */
bool product_weights_exact(enum assay_weight_format format, int64_t inner)
{
    return inner * 4 * (format == ASSAY_WEIGHT_BF16 ? 4 : 128 * 4) < 1 << 24;
}
