/* SPDX-License-Identifier: MIT
 *
 * What a codec of grouped weights must do, as checks that take the codec: the engine's, for each
 * instruction set, must pass all of them; each faulty one must fail at least one.
 */
#ifndef PROPERTIES_WEIGHT_CHECKS_H
#define PROPERTIES_WEIGHT_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/weights.h>

struct weight_codec {
    const char *name;
    assay_status (*encode)(const struct assay_weights *to, int64_t row, const float *values,
                           const struct assay_encode_options *options, struct assay_error *error);
    void (*decode)(const struct assay_weights *from, int64_t row, float *values);
};

/* NULL, or what went wrong (static memory). `quick`: a sample, enough for planted faults. */
typedef const char *weight_check(const struct weight_codec *codec, bool quick);

weight_check weight_check_bytes;       /* codec bytes written out by hand */
weight_check weight_check_decode;      /* all scales times all codes = oracle */
weight_check weight_check_maxabs;      /* = oracle, every byte; planes valid */
weight_check weight_check_clip25;      /* = oracle's best; never worse than maxabs */
weight_check weight_check_grouped;     /* never worse than maxabs; near the optimum; signs */
weight_check weight_check_idempotence; /* maxabs of a decoded row; mirrored rows */
weight_check weight_check_edges;       /* zeros, tiny, NaN, infinity, overflow */
weight_check weight_check_guards;      /* strides, padding, tails, other rows */

/* Formats a fault into static memory. */
const char *weight_check_says(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct weight_check_row {
    const char *name;
    weight_check *run;
};
extern const struct weight_check_row weight_checks[];
extern const int num_weight_checks;

#endif
