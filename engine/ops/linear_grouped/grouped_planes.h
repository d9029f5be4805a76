/* SPDX-License-Identifier: MIT
 *
 * Matrices of grouped formats as ops see them: argument checks, sizes, and one code at a time.
 */
#ifndef ASSAY_GROUPED_PLANES_H
#define ASSAY_GROUPED_PLANES_H

#include <stdint.h>

#include <assay/context.h>
#include <assay/route.h>
#include <assay/weights.h>

#if !defined(__cplusplus)
#include "numeric/float_words.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of the argument table for the planes of `field`, a struct assay_weights of the args:
 * "w.base", "w.high", "w.scales". */
#define GROUPED_ARGUMENTS(type, field)                                                            \
    ASSAY_ARGUMENT(type, field.base, ASSAY_INPUT), ASSAY_ARGUMENT(type, field.high, ASSAY_INPUT), \
        ASSAY_ARGUMENT(type, field.scales, ASSAY_INPUT)

/* The other members of struct assay_weights `field`, as rows of the op's scalars. */
#define GROUPED_SCALARS(type, field)                                  \
    ASSAY_SCALAR(type, field.format), ASSAY_SCALAR(type, field.rows), \
        ASSAY_SCALAR(type, field.columns)

/* Contract errors of `weights`, argument `name` ("w") of op: it has rows and columns, its format is
 * a grouped one, and the planes are what the format asks for. */
ASSAY_MUST_USE assay_status grouped_check(assay_context *context, const char *op, const char *name,
                                          const struct assay_weights *weights);
/* `output` has no byte in common with a plane. */
ASSAY_MUST_USE assay_status grouped_check_alias(assay_context *context, const char *op,
                                                const char *output_name,
                                                const struct assay_tensor *output, const char *name,
                                                const struct assay_weights *weights);
/* Bytes of one row in all planes, its padding included. */
double grouped_row_bytes(const struct assay_weights *weights);

#if !defined(__cplusplus)
/* A row's bytes in each plane; high NULL where the format has none. */
struct grouped_row {
    const uint8_t *base, *high;
    const uint16_t *scales;
    int group, bits;
};

static inline struct grouped_row grouped_row_of(const struct assay_weights *weights, int64_t row)
{
    struct grouped_row r = {NULL, NULL, NULL, (int)assay_weight_group(weights->format),
                            assay_weight_bits(weights->format)};
    r.base = (const uint8_t *)weights->base.data + row * weights->base.stride[0];
    r.scales = (const uint16_t *)weights->scales.data + row * weights->scales.stride[0];
    if (r.bits == 5 || r.bits == 6)
        r.high = (const uint8_t *)weights->high.data + row * weights->high.stride[0];
    return r;
}

/* Code of column k, which may be one of the padding. */
static inline int grouped_code(const struct grouped_row *r, int64_t k)
{
    if (r->bits == 8)
        return (int8_t)r->base[k];
    int u = r->base[k / 2] >> (k % 2 * 4) & 15;
    if (r->bits == 5)
        u |= (r->high[k / 8] >> (k % 8) & 1) << 4;
    else if (r->bits == 6)
        u |= (r->high[k / 4] >> (k % 4 * 2) & 3) << 4;
    return u - (1 << (r->bits - 1));
}

/* The weight, exact: at most 8 bits times 11. */
static inline float grouped_value(const struct grouped_row *r, int64_t k)
{
    return (float)grouped_code(r, k) * f16_to_f32(r->scales[k / r->group]);
}

#endif

#ifdef __cplusplus
}
#endif
#endif
