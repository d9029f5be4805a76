/* SPDX-License-Identifier: MIT
 *
 * What every route of linear_w8row keeps in its workspace: factors of channels, both operands as
 * 8-bit integers, one scale a row of each.
 */
#ifndef ASSAY_W8ROW_IMAGE_H
#define ASSAY_W8ROW_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/ops/linear_w8row.h>

#define W8ROW_FLOOR 1e-20f /* of magnitudes, before anything is divided by them */

enum {
    W8ROW_LARGEST = 127,        /* code */
    W8ROW_GROUP_MIN = 32,       /* columns that have one maximum of s */
    W8ROW_ROWS = 8,             /* operands have whole multiples of it for cuBLAS; zeros */
    W8ROW_SUM_BYTES = 256 << 20 /* of sums, at most, that are kept at a time */
};

/* Rows of x and w are `pitch` bytes long, zero from column K on. */
struct w8row_image {
    int64_t pitch;                   /* K as w pads it */
    int64_t x_rows, w_rows, in_tile; /* T, N rounded up; rows of x that `sums` has room for */
    float *factor, *inverse;         /* s, i [pitch]; 0 from column K on */
    float *most;                     /* [pitch / W8ROW_GROUP_MIN] largest s, below column K */
    float *token, *row;              /* [x_rows], [w_rows]; NaN: [LINEARW8ROW-7] */
    int8_t *x, *w;                   /* [x_rows][pitch], [w_rows][pitch] */
    int32_t *sums;                   /* [in_tile][w_rows], for cuBLAS */
    void *library;                   /* cuBLAS's own workspace */
};

static inline int64_t w8row_rounded(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

/* Q: no code of the format is larger. */
static inline int w8row_code_range(enum assay_weight_format format)
{
    return format == ASSAY_WEIGHT_Q8G32 ? 127 : 1 << (assay_weight_bits(format) - 1);
}

#ifdef __cplusplus
extern "C" {
#endif

/* Places in `memory`, for a library's workspace of `library` bytes (0: none, and no sums). Returns
 * the bytes of all; memory may be NULL. */
size_t w8row_image_at(const struct assay_linear_w8row_args *a, void *memory, size_t library,
                      struct w8row_image *image);
size_t w8row_workspace(const assay_context *context, const void *args);

#ifdef __cplusplus
}
#endif

/* Rows first .. first + rows - 1 of y, whose sums are in `sums`. What a launch takes for args. */
struct w8row_tile {
    struct assay_linear_w8row_args a; /* first: it is what the executor looks at */
    int64_t first, rows;
};

/* ---- for the cpu routes (w8row_image.c) ------------------------------------------------------ */

/* factor, inverse and most, from all of x. */
void w8row_channels(assay_context *context, const struct assay_linear_w8row_args *a,
                    const struct w8row_image *image);
/* row[n] [LINEARW8ROW-4]. */
float w8row_row_scale(const struct assay_linear_w8row_args *a, const struct w8row_image *image,
                      int64_t n);
/* y[t,n] [LINEARW8ROW-5]. */
void w8row_store(const struct assay_linear_w8row_args *a, const struct w8row_image *image,
                 int64_t t, int64_t n, int32_t sum);

#endif
