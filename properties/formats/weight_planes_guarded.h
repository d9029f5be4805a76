/* SPDX-License-Identifier: MIT
 *
 * Planes of grouped weights with gaps between rows and guard bytes around, and values to encode.
 */
#ifndef PROPERTIES_WEIGHT_PLANES_GUARDED_H
#define PROPERTIES_WEIGHT_PLANES_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/weights.h>

struct guarded {
    struct assay_weights weights;
    unsigned char *memory;
    size_t bytes;
    struct assay_tensor *plane[3]; /* of weights */
};

/* Rows stand `gap` bytes (even) apart; every byte has a value that depends on its place. Aborts
 * when out of memory. */
void guarded_create(enum assay_weight_format format, int64_t rows, int64_t columns, int64_t gap,
                    struct guarded *planes);
void guarded_destroy(struct guarded *planes);
/* No byte outside the rows has changed; with except >= 0 none outside that row. */
bool guarded_intact(const struct guarded *planes, int64_t except);
/* Same bytes in all rows of both; shapes and formats are equal. */
bool guarded_equal(const struct guarded *a, const struct guarded *b);

/* Stores u = code + 2^(bits - 1) (q8g32: the byte) at (row, column): the format's definition bit by
 * bit. */
void guarded_put(const struct guarded *planes, int64_t row, int64_t column, unsigned u);
void guarded_put_scale(const struct guarded *planes, int64_t row, int64_t group, uint16_t word);

/* Normal with standard deviation 1 (Box and Muller), element `index` of the stream. */
double draw_normal(uint64_t seed, const char *stream, uint64_t index);
/* In [0, 1). */
double draw_uniform(uint64_t seed, const char *stream, uint64_t index);

/* Rows to encode: kinds of values by number. Every kind stays below the scales' overflow. */
enum { NUM_ROW_KINDS = 13 };
const char *row_kind_name(int kind);
void row_fill(int kind, uint64_t seed, enum assay_weight_format format, float *values,
              int64_t count);

#endif
