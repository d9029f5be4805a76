/* SPDX-License-Identifier: MIT
 *
 * The vector routes' products, a block of y at a time: included, like simd.h, by sources that are
 * compiled once for each instruction set.
 */
#ifndef ASSAY_MATRIX_PRODUCT_SIMD_H
#define ASSAY_MATRIX_PRODUCT_SIMD_H

#include "numeric/simd.h"
#include "ops/linear/linear_routes.h"
#include "ops/linear_grouped/linear_grouped_routes.h"

/* x as one matrix wants it; grouped formats have it prepared. */
struct product_part {
    struct assay_linear_args bf16;
    struct assay_linear_grouped_args grouped;
    float *prepared; /* x for `grouped` */
    bool is_grouped;
};

/* Floats that a prepared x takes; 0 for bf16. */
static inline int64_t product_part_floats(const struct assay_tensor *x,
                                          const struct assay_weights *w)
{
    return w->format == ASSAY_WEIGHT_BF16 ? 0 : x->extent[0] * linear_grouped_padded(w->columns);
}

/* The codes' order is that of one of two kinds: a part may use the x that another prepared. */
static inline bool product_part_shares(const struct assay_weights *a, const struct assay_weights *b)
{
    return a->format != ASSAY_WEIGHT_BF16 && b->format != ASSAY_WEIGHT_BF16 &&
           (a->format == ASSAY_WEIGHT_Q8G32) == (b->format == ASSAY_WEIGHT_Q8G32);
}

/* y: where the product goes. memory: product_part_floats of it, or `ready`, a part whose prepared x
 * this one shares. */
static inline void product_part_begin(assay_context *context, struct product_part *part,
                                      const struct assay_tensor *x, const struct assay_weights *w,
                                      const struct assay_tensor *y, float *memory,
                                      const struct product_part *ready)
{
    part->is_grouped = w->format != ASSAY_WEIGHT_BF16;
    part->bf16 = (struct assay_linear_args){.x = *x, .w = w->base, .y = *y};
    part->grouped = (struct assay_linear_grouped_args){.x = *x, .w = *w, .y = *y};
    part->prepared = ready != NULL ? ready->prepared : memory;
    if (part->is_grouped && ready == NULL)
        SIMD_NAME(linear_grouped_prepare)(context, &part->grouped, memory);
}

/* Columns first .. last - 1 of all rows of y. */
static inline void product_part_columns(const struct product_part *part, int64_t first,
                                        int64_t last)
{
    if (part->is_grouped)
        SIMD_NAME(linear_grouped_columns)(&part->grouped, part->prepared, first, last);
    else
        SIMD_NAME(linear_columns)(&part->bf16, first, last);
}

static inline void product_drop_rows(struct assay_tensor *tensor, int64_t rows)
{
    tensor->data =
        (char *)tensor->data + rows * tensor->stride[0] * (int64_t)assay_dtype_bytes(tensor->dtype);
}

/* Rows t .. t + rows - 1 and columns n .. n + columns - 1 alone into tile [rows, columns], with the
 * bits that they have in y. */
static inline void product_part_tile(const struct product_part *part, int64_t t, int64_t rows,
                                     int64_t n, int64_t columns, float *tile)
{
    const struct assay_tensor y = assay_tensor_2d(tile, ASSAY_F32, rows, columns);
    if (!part->is_grouped) {
        struct assay_linear_args a = part->bf16;
        product_drop_rows(&a.x, t);
        product_drop_rows(&a.w, n);
        a.x.extent[0] = rows;
        a.w.extent[0] = columns;
        a.y = y;
        SIMD_NAME(linear_columns)(&a, 0, columns);
        return;
    }
    struct assay_linear_grouped_args a = part->grouped;
    const float *x = part->prepared + t * linear_grouped_padded(a.w.columns);
    a.x.extent[0] = rows;
    product_drop_rows(&a.w.base, n);
    product_drop_rows(&a.w.scales, n);
    if (a.w.high.data != NULL)
        product_drop_rows(&a.w.high, n);
    a.w.rows = columns;
    a.y = y;
    SIMD_NAME(linear_grouped_columns)(&a, x, 0, columns);
}

#endif
