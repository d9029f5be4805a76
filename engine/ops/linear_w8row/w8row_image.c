/* SPDX-License-Identifier: MIT
 *
 * linear_w8row's workspace, the factors of channels and the scales of rows: see w8row_image.h.
 */
#include "ops/linear_w8row/w8row_image.h"

#include "core/core.h"
#include "ops/linear_grouped/grouped_planes.h"

#define W8ROW_FUNCTION static inline
#include "ops/linear_w8row/w8row_geomean.h"

/* ---- places --------------------------------------------------------------------------------- */

enum { ALIGNMENT = 256, TILE_ROWS = 128 };

static void *take(char *memory, size_t *used, size_t bytes)
{
    void *at = memory != NULL ? memory + *used : NULL;
    *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

/* Rows whose sums take W8ROW_SUM_BYTES at most. */
static int64_t rows_in_tile(const struct w8row_image *image)
{
    int64_t rows = W8ROW_SUM_BYTES / 4 / image->w_rows;
    rows = rows >= TILE_ROWS ? rows / TILE_ROWS * TILE_ROWS : rows / W8ROW_ROWS * W8ROW_ROWS;
    rows = rows > 0 ? rows : W8ROW_ROWS;
    return rows < image->x_rows ? rows : image->x_rows;
}

size_t w8row_image_at(const struct assay_linear_w8row_args *a, void *memory, size_t library,
                      struct w8row_image *image)
{
    *image = (struct w8row_image){.pitch = w8row_rounded(a->w.columns, ASSAY_WEIGHT_PADDING),
                                  .x_rows = w8row_rounded(a->x.extent[0], W8ROW_ROWS),
                                  .w_rows = w8row_rounded(a->w.rows, W8ROW_ROWS)};
    size_t used = 0, pitch = (size_t)image->pitch;
    size_t x_rows = (size_t)image->x_rows, w_rows = (size_t)image->w_rows;
    if (library > 0)
        image->library = take(memory, &used, library);
    image->factor = take(memory, &used, pitch * sizeof(float));
    image->inverse = take(memory, &used, pitch * sizeof(float));
    image->most = take(memory, &used, pitch / W8ROW_GROUP_MIN * sizeof(float));
    image->token = take(memory, &used, x_rows * sizeof(float));
    image->row = take(memory, &used, w_rows * sizeof(float));
    image->x = take(memory, &used, x_rows * pitch);
    image->w = take(memory, &used, w_rows * pitch);
    if (library > 0) {
        image->in_tile = rows_in_tile(image);
        image->sums = take(memory, &used, (size_t)image->in_tile * w_rows * sizeof(int32_t));
    }
    return used;
}

size_t w8row_workspace(const assay_context *context, const void *args)
{
    struct w8row_image image;
    (void)context;
    return w8row_image_at(args, NULL, 0, &image);
}

/* ---- channels ------------------------------------------------------------------------------- */

struct channels {
    const struct assay_linear_w8row_args *a;
    const struct w8row_image *image;
};

/* The largest finite magnitudes of columns first .. last - 1, into `factor`. */
static void find_maxima(void *argument, int64_t first, int64_t last)
{
    enum { BLOCK = 256 };
    const struct channels *c = argument;
    const struct assay_tensor *x = &c->a->x;
    for (int64_t k = first; k < last; k += BLOCK) {
        int64_t count = last - k < BLOCK ? last - k : BLOCK;
        float largest[BLOCK], values[BLOCK];
        for (int64_t i = 0; i < count; i++)
            largest[i] = W8ROW_FLOOR;
        for (int64_t t = 0; t < x->extent[0]; t++) {
            const char *row = assay_tensor_row(x, t);
            words_to_f32(row + (size_t)k * assay_dtype_bytes(x->dtype), x->dtype, count, values);
            for (int64_t i = 0; i < count; i++) {
                float magnitude = f32_from_bits(f32_bits(values[i]) & 0x7fffffffu);
                if (magnitude > largest[i] && magnitude <= 0x1.fffffep127f)
                    largest[i] = magnitude;
            }
        }
        memcpy(c->image->factor + k, largest, (size_t)count * sizeof *largest);
    }
}

/* [LINEARW8ROW-2] */
static double geometric_mean(const float *values, int64_t count)
{
    struct w8row_product lane[W8ROW_LANES];
    for (int l = 0; l < W8ROW_LANES; l++)
        lane[l] = (struct w8row_product){1, 0};
    for (int64_t k = 0; k < count; k++) {
        struct w8row_product *at = &lane[k % W8ROW_LANES];
        *at = w8row_multiply(*at, w8row_factor(f32_bits(values[k])));
    }
    for (int width = W8ROW_LANES / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] = w8row_multiply(lane[l], lane[l + width]);
    return w8row_root(lane[0], count);
}

void w8row_channels(assay_context *context, const struct assay_linear_w8row_args *a,
                    const struct w8row_image *image)
{
    enum { RANGE = 512 };
    int64_t inner = a->w.columns;
    if (a->equalise) {
        struct channels c = {a, image};
        assay_parallel(context, inner, RANGE, find_maxima, &c);
        double geomean = geometric_mean(image->factor, inner);
        for (int64_t k = 0; k < inner; k++)
            image->factor[k] = w8row_channel_factor(image->factor[k], geomean);
    }
    for (int64_t g = 0; g < image->pitch / W8ROW_GROUP_MIN; g++)
        image->most[g] = 0;
    for (int64_t k = inner; k < image->pitch; k++)
        image->factor[k] = image->inverse[k] = 0;
    for (int64_t k = 0; k < inner; k++) {
        if (!a->equalise)
            image->factor[k] = 1;
        image->inverse[k] = 1 / image->factor[k];
        float *most = &image->most[k / W8ROW_GROUP_MIN];
        *most = image->factor[k] > *most ? image->factor[k] : *most;
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

float w8row_row_scale(const struct assay_linear_w8row_args *a, const struct w8row_image *image,
                      int64_t n)
{
    struct grouped_row w = grouped_row_of(&a->w, n);
    float largest = 0;
    for (int64_t k = 0; k < a->w.columns; k += W8ROW_GROUP_MIN) {
        float scale = f32_from_bits(f32_bits(f16_to_f32(w.scales[k / w.group])) & 0x7fffffffu);
        float product = scale * image->most[k / W8ROW_GROUP_MIN];
        if (!(scale <= 65504.0f)) /* false for a NaN */
            return NAN;
        largest = product > largest ? product : largest;
    }
    return largest > 0 ? largest * (float)w8row_code_range(a->w.format) / W8ROW_LARGEST : 1;
}

void w8row_store(const struct assay_linear_w8row_args *a, const struct w8row_image *image,
                 int64_t t, int64_t n, int32_t sum)
{
    float y = (float)((double)sum * ((double)image->row[n] * (double)image->token[t]));
    char *to = (char *)assay_tensor_row(&a->y, t) + (size_t)n * assay_dtype_bytes(a->y.dtype);
    words_from_f32(&y, 1, to, a->y.dtype);
}
