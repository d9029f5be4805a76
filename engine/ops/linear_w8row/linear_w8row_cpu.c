/* SPDX-License-Identifier: MIT
 *
 * linear_w8row, the plain route: the contract line by line. Written to be read.
 */
#include <math.h>

#include "core/core.h"
#include "ops/linear_grouped/grouped_planes.h"
#include "ops/linear_w8row/linear_w8row_routes.h"

struct product {
    const struct assay_linear_w8row_args *a;
    struct w8row_image image;
};

static int8_t code_of(float value)
{
    float code = rintf(value);
    code = code > W8ROW_LARGEST ? W8ROW_LARGEST : code < -W8ROW_LARGEST ? -W8ROW_LARGEST : code;
    return (int8_t)code;
}

/* [LINEARW8ROW-3] */
static void tokens(void *argument, int64_t first, int64_t last)
{
    const struct product *p = argument;
    const struct w8row_image *image = &p->image;
    int64_t inner = p->a->w.columns;
    enum assay_dtype dtype = p->a->x.dtype;
    for (int64_t t = first; t < last; t++) {
        const char *x = assay_tensor_row(&p->a->x, t);
        int8_t *codes = image->x + t * image->pitch;
        float amax = W8ROW_FLOOR, value;
        bool is_finite = true;
        for (int64_t k = 0; k < inner; k++) {
            words_to_f32(x + (size_t)k * assay_dtype_bytes(dtype), dtype, 1, &value);
            float magnitude = fabsf(value * image->inverse[k]);
            is_finite = is_finite && magnitude <= 0x1.fffffep127f; /* false for a NaN */
            amax = magnitude > amax ? magnitude : amax;
        }
        image->token[t] = is_finite ? amax / W8ROW_LARGEST : NAN;
        float inverse = W8ROW_LARGEST / amax;
        for (int64_t k = 0; k < inner; k++) {
            words_to_f32(x + (size_t)k * assay_dtype_bytes(dtype), dtype, 1, &value);
            codes[k] = is_finite ? code_of(value * image->inverse[k] * inverse) : 0;
        }
    }
}

/* [LINEARW8ROW-4] and [LINEARW8ROW-5] */
static void columns(void *argument, int64_t first, int64_t last)
{
    const struct product *p = argument;
    const struct w8row_image *image = &p->image;
    int64_t inner = p->a->w.columns;
    for (int64_t n = first; n < last; n++) {
        struct grouped_row w = grouped_row_of(&p->a->w, n);
        int8_t *codes = image->w + n * image->pitch;
        image->row[n] = w8row_row_scale(p->a, image, n);
        float inverse = 1 / image->row[n];
        for (int64_t k = 0; k < inner; k++)
            codes[k] =
                isnan(inverse) ? 0 : code_of(grouped_value(&w, k) * image->factor[k] * inverse);
        for (int64_t t = 0; t < p->a->x.extent[0]; t++) {
            int32_t sum = 0;
            for (int64_t k = 0; k < inner; k++)
                sum += image->x[t * image->pitch + k] * codes[k];
            w8row_store(p->a, image, t, n, sum);
        }
    }
}

assay_status linear_w8row_route_plain(assay_context *context, const void *args, void *workspace)
{
    struct product p = {.a = args};
    (void)w8row_image_at(args, workspace, 0, &p.image);
    w8row_channels(context, p.a, &p.image);
    assay_parallel(context, p.a->x.extent[0], 4, tokens, &p);
    assay_parallel(context, p.a->w.rows, 16, columns, &p);
    return ASSAY_OK;
}
