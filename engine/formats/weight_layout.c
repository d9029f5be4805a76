/* SPDX-License-Identifier: MIT
 *
 * Grouped weight formats: names, sizes of planes, views of them.
 */
#include <assay/weights.h>

#include <string.h>

#include "core/core.h"
#include "formats/weight_group.h"

static const struct {
    const char *name, *meaning;
    int group, bits, largest;
} formats[ASSAY_NUM_WEIGHT_FORMATS] = {
#define FORMAT_ROW(enumerator, name, group, bits, largest, meaning) \
    [ASSAY_WEIGHT_##enumerator] = {name, meaning, group, bits, largest},
    ASSAY_WEIGHT_FORMAT_TABLE(FORMAT_ROW)
#undef FORMAT_ROW
};

static const char *const encoders[ASSAY_NUM_WEIGHT_ENCODERS] = {
#define ENCODER_ROW(enumerator, name, meaning) [ASSAY_ENCODER_##enumerator] = name,
    ASSAY_WEIGHT_ENCODER_TABLE(ENCODER_ROW)
#undef ENCODER_ROW
};

static bool known(enum assay_weight_format format)
{
    return (unsigned)format < ASSAY_NUM_WEIGHT_FORMATS;
}

const char *assay_weight_format_name(enum assay_weight_format format)
{
    return known(format) ? formats[format].name : "?";
}

const char *assay_weight_format_meaning(enum assay_weight_format format)
{
    return known(format) ? formats[format].meaning : "?";
}

enum assay_weight_format assay_weight_format_from_name(const char *name)
{
    for (int i = 0; i < ASSAY_NUM_WEIGHT_FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return (enum assay_weight_format)i;
    return ASSAY_NUM_WEIGHT_FORMATS;
}

int64_t assay_weight_group(enum assay_weight_format format)
{
    return known(format) ? formats[format].group : 0;
}

int assay_weight_bits(enum assay_weight_format format)
{
    return known(format) ? formats[format].bits : 0;
}

int assay_weight_largest(enum assay_weight_format format)
{
    return known(format) ? formats[format].largest : 0;
}

const char *assay_weight_encoder_name(enum assay_weight_encoder encoder)
{
    return (unsigned)encoder < ASSAY_NUM_WEIGHT_ENCODERS ? encoders[encoder] : "?";
}

enum assay_weight_encoder assay_weight_encoder_from_name(const char *name)
{
    for (int i = 0; i < ASSAY_NUM_WEIGHT_ENCODERS; i++)
        if (strcmp(encoders[i], name) == 0)
            return (enum assay_weight_encoder)i;
    return ASSAY_NUM_WEIGHT_ENCODERS;
}

/* Elements a row of each plane; 0: the plane is absent, or there are no columns. */
struct row_extents {
    int64_t base, high, scales;
};

/* columns <= INT64_MAX / 4 */
static struct row_extents row_extents(enum assay_weight_format format, int64_t columns)
{
    if (format == ASSAY_WEIGHT_BF16)
        return (struct row_extents){.base = columns};
    int64_t padded = weight_padded_columns(columns);
    int bits = formats[format].bits;
    return (struct row_extents){
        .base = bits == 8 ? padded : padded / 2,
        .high = bits == 5 || bits == 6 ? padded / 8 * (bits - 4) : 0,
        .scales = padded / formats[format].group,
    };
}

/* Every byte of a row is at most two columns' and every row at most 2 K + 256 bytes in all planes;
 * what passes here can be multiplied below without overflow. */
static bool size_fits(int64_t rows, int64_t columns)
{
    const uint64_t limit = SIZE_MAX / 2 < INT64_MAX ? SIZE_MAX / 2 : INT64_MAX;
    if (columns > INT64_MAX / 4)
        return false;
    uint64_t row_bytes = 2 * (uint64_t)weight_padded_columns(columns) + 2 * WEIGHT_PLANE_ALIGNMENT;
    return rows == 0 || row_bytes <= limit / (uint64_t)rows;
}

static size_t aligned(size_t offset)
{
    return (offset + WEIGHT_PLANE_ALIGNMENT - 1) / WEIGHT_PLANE_ALIGNMENT * WEIGHT_PLANE_ALIGNMENT;
}

assay_status assay_weight_layout_of(enum assay_weight_format format, int64_t rows, int64_t columns,
                                    struct assay_weight_layout *layout, struct assay_error *error)
{
    if (!known(format))
        return assay_fail(error, ASSAY_E_ARG, "weights", "format", "%d is none of the %d formats",
                          (int)format, ASSAY_NUM_WEIGHT_FORMATS);
    if (rows < 0 || columns < 0)
        return assay_fail(error, ASSAY_E_SHAPE, "weights", "shape",
                          "extents must not be negative, are [%lld, %lld]", (long long)rows,
                          (long long)columns);
    if (!size_fits(rows, columns))
        return assay_fail(error, ASSAY_E_SHAPE, "weights", "shape",
                          "planes of [%lld, %lld] exceed the address space", (long long)rows,
                          (long long)columns);
    struct row_extents row = row_extents(format, columns);
    size_t n = (size_t)rows;
    *layout = (struct assay_weight_layout){
        .base_bytes = n * (size_t)row.base * (format == ASSAY_WEIGHT_BF16 ? 2 : 1),
        .high_bytes = n * (size_t)row.high,
        .scales_bytes = n * (size_t)row.scales * 2,
    };
    layout->total = layout->base_bytes;
    if (layout->high_bytes > 0) {
        layout->high_offset = aligned(layout->total);
        layout->total = layout->high_offset + layout->high_bytes;
    }
    if (layout->scales_bytes > 0) {
        layout->scales_offset = aligned(layout->total);
        layout->total = layout->scales_offset + layout->scales_bytes;
    }
    return ASSAY_OK;
}

static struct assay_tensor plane(void *memory, size_t offset, enum assay_dtype dtype, int64_t rows,
                                 int64_t row_extent)
{
    return assay_tensor_2d(memory != NULL ? (char *)memory + offset : NULL, dtype, rows,
                           row_extent);
}

assay_status assay_weights_at(void *memory, enum assay_weight_format format, int64_t rows,
                              int64_t columns, struct assay_weights *weights,
                              struct assay_error *error)
{
    struct assay_weight_layout layout;
    ASSAY_TRY(assay_weight_layout_of(format, rows, columns, &layout, error));
    struct row_extents row = row_extents(format, columns);
    *weights = (struct assay_weights){.format = format, .rows = rows, .columns = columns};
    if (format == ASSAY_WEIGHT_BF16) {
        weights->base = plane(memory, 0, ASSAY_BF16, rows, row.base);
        return ASSAY_OK;
    }
    weights->base = plane(memory, layout.base_offset, ASSAY_U8, rows, row.base);
    weights->scales = plane(memory, layout.scales_offset, ASSAY_F16, rows, row.scales);
    if (formats[format].bits == 5 || formats[format].bits == 6)
        weights->high = plane(memory, layout.high_offset, ASSAY_U8, rows, row.high);
    return ASSAY_OK;
}

static struct assay_tensor plane_rows(struct assay_tensor plane, int64_t first, int64_t count)
{
    if (plane.rank == 0)
        return plane; /* absent */
    plane.extent[0] = count;
    if (plane.data != NULL)
        plane.data =
            (char *)plane.data + first * plane.stride[0] * (int64_t)assay_dtype_bytes(plane.dtype);
    return plane;
}

assay_status assay_weights_rows(const struct assay_weights *weights, int64_t first, int64_t count,
                                struct assay_weights *view, struct assay_error *error)
{
    if (first < 0 || count < 0 || first > weights->rows || count > weights->rows - first)
        return assay_fail(error, ASSAY_E_SHAPE, "weights", "rows",
                          "a matrix of %lld rows has no rows [%lld, %lld + %lld)",
                          (long long)weights->rows, (long long)first, (long long)first,
                          (long long)count);
    *view = *weights;
    view->rows = count;
    view->base = plane_rows(weights->base, first, count);
    view->high = plane_rows(weights->high, first, count);
    view->scales = plane_rows(weights->scales, first, count);
    return ASSAY_OK;
}

static assay_status check_plane(const struct assay_tensor *plane, const char *name,
                                enum assay_dtype dtype, int64_t rows, int64_t row_extent,
                                struct assay_error *error)
{
    if (plane->data == NULL && rows > 0 && row_extent > 0)
        return assay_fail(error, ASSAY_E_ARG, "weights", name, "the plane is missing");
    if (plane->dtype != dtype)
        return assay_fail(error, ASSAY_E_FORMAT, "weights", name, "must be %s, is %s",
                          assay_dtype_name(dtype), assay_dtype_name(plane->dtype));
    if (plane->rank != 2 || plane->extent[0] != rows || plane->extent[1] != row_extent)
        return assay_fail(error, ASSAY_E_SHAPE, "weights", name,
                          "must be [%lld, %lld], has rank %d and extents [%lld, %lld]",
                          (long long)rows, (long long)row_extent, plane->rank,
                          (long long)plane->extent[0], (long long)plane->extent[1]);
    if ((row_extent > 1 && plane->stride[1] != 1) || (rows > 1 && plane->stride[0] < row_extent))
        return assay_fail(error, ASSAY_E_LAYOUT, "weights", name,
                          "elements of a row must be contiguous and rows apart; strides are "
                          "[%lld, %lld] for rows of %lld",
                          (long long)plane->stride[0], (long long)plane->stride[1],
                          (long long)row_extent);
    return ASSAY_OK;
}

assay_status assay_weights_check(const struct assay_weights *weights, struct assay_error *error)
{
    struct assay_weight_layout layout;
    enum assay_weight_format format = weights->format;
    ASSAY_TRY(assay_weight_layout_of(format, weights->rows, weights->columns, &layout, error));
    struct row_extents row = row_extents(format, weights->columns);
    ASSAY_TRY(check_plane(&weights->base, "base",
                          format == ASSAY_WEIGHT_BF16 ? ASSAY_BF16 : ASSAY_U8, weights->rows,
                          row.base, error));
    if (row.high > 0)
        ASSAY_TRY(check_plane(&weights->high, "high", ASSAY_U8, weights->rows, row.high, error));
    else if (weights->high.data != NULL)
        return assay_fail(error, ASSAY_E_ARG, "weights", "high", "%s has no high plane",
                          formats[format].name);
    if (row.scales > 0)
        return check_plane(&weights->scales, "scales", ASSAY_F16, weights->rows, row.scales, error);
    if (weights->scales.data != NULL && format == ASSAY_WEIGHT_BF16)
        return assay_fail(error, ASSAY_E_ARG, "weights", "scales", "%s has no scales",
                          formats[format].name);
    return ASSAY_OK;
}
