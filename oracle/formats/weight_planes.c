/* SPDX-License-Identifier: MIT
 *
 * Stored planes of grouped weights, one code at a time, as docs/formats.md has them.
 */
#include "oracle_formats.h"

#include <math.h>
#include <string.h>

#include "words.h"

struct oracle_weight_format oracle_weight_format(enum assay_weight_format format)
{
    switch (format) {
    case ASSAY_WEIGHT_Q4G64:
        return (struct oracle_weight_format){64, 4, -8, 7};
    case ASSAY_WEIGHT_Q5G64:
        return (struct oracle_weight_format){64, 5, -16, 15};
    case ASSAY_WEIGHT_Q6G64:
        return (struct oracle_weight_format){64, 6, -32, 31};
    case ASSAY_WEIGHT_Q8G32:
        return (struct oracle_weight_format){32, 8, -127, 127};
    default:
        return (struct oracle_weight_format){0, 16, 0, 0};
    }
}

static unsigned byte_of(const struct assay_tensor *plane, int64_t row, int64_t index)
{
    const uint8_t *data = plane->data;
    return data[row * plane->stride[0] + index];
}

/* Bit `index` of the string of bits that the row of the plane is. */
static int bit_of(const struct assay_tensor *plane, int64_t row, int64_t index)
{
    return (int)(byte_of(plane, row, index / 8) >> (index % 8) & 1u);
}

int oracle_weight_code(const struct assay_weights *weights, int64_t row, int64_t column)
{
    struct oracle_weight_format format = oracle_weight_format(weights->format);
    if (format.bits == 8) {
        int byte = (int)byte_of(&weights->base, row, column);
        return byte < 128 ? byte : byte - 256;
    }
    int u = (int)byte_of(&weights->base, row, column / 2);
    u = column % 2 == 0 ? u % 16 : u / 16;
    int extra = format.bits - 4; /* bits of the high plane a column */
    for (int bit = 0; bit < extra; bit++)
        u += bit_of(&weights->high, row, extra * column + bit) * (16 << bit);
    return u + format.lowest;
}

uint16_t oracle_weight_scale_word(const struct assay_weights *weights, int64_t row, int64_t group)
{
    unsigned char bytes[2];
    memcpy(bytes,
           (const char *)weights->scales.data + 2 * (row * weights->scales.stride[0] + group),
           sizeof bytes);
    return (uint16_t)(bytes[0] + 256 * bytes[1]);
}

double oracle_weight_scale(const struct assay_weights *weights, int64_t row, int64_t group)
{
    return oracle_f16_value(oracle_weight_scale_word(weights, row, group));
}

double oracle_weight_value(const struct assay_weights *weights, int64_t row, int64_t column)
{
    if (weights->format == ASSAY_WEIGHT_BF16)
        return oracle_get(&weights->base, row * weights->columns + column);
    int group = oracle_weight_format(weights->format).group;
    return (double)oracle_weight_code(weights, row, column) *
           oracle_weight_scale(weights, row, column / group);
}

void oracle_weight_row(const struct assay_weights *weights, int64_t row, double *values)
{
    const int group = oracle_weight_format(weights->format).group;
    double scale = 0;
    for (int64_t column = 0; column < weights->columns; column++) {
        if (group == 0) { /* bf16 */
            values[column] = oracle_weight_value(weights, row, column);
            continue;
        }
        if (column % group == 0)
            scale = oracle_weight_scale(weights, row, column / group);
        values[column] = (double)oracle_weight_code(weights, row, column) * scale;
    }
}

/* codes: any code of the group is not zero. */
static const char *scale_fault(uint16_t word, bool codes, bool padding, bool allow_negative_scales)
{
    double scale = oracle_f16_value(word);
    if (padding && word != 0)
        return "the scale of a group of padding is not +0";
    if (isnan(scale) && word != 0x7e00)
        return "a NaN scale is not 0x7e00";
    if (isnan(scale) && codes)
        return "a group with a NaN scale has codes that are not zero";
    if (isinf(scale))
        return "a scale is infinite";
    if (scale == 0 && signbit(scale))
        return "a scale is -0";
    if (scale == 0 && codes)
        return "a group with a zero scale has codes that are not zero";
    if (scale < 0 && !allow_negative_scales)
        return "a scale is negative";
    return NULL;
}

static const char *group_fault(const struct assay_weights *weights, int64_t row, int64_t group,
                               bool allow_negative_scales, int64_t *column)
{
    struct oracle_weight_format format = oracle_weight_format(weights->format);
    bool any = false;
    for (int k = 0; k < format.group; k++) {
        *column = group * format.group + k;
        int code = oracle_weight_code(weights, row, *column);
        if (code < format.lowest || code > format.largest)
            return "a code is out of range";
        if (*column >= weights->columns && code != 0)
            return "a code of the padding is not zero";
        any = any || code != 0;
    }
    *column = group * format.group;
    return scale_fault(oracle_weight_scale_word(weights, row, group), any,
                       *column >= weights->columns, allow_negative_scales);
}

const char *oracle_weights_fault(const struct assay_weights *weights, bool allow_negative_scales,
                                 int64_t *row, int64_t *column)
{
    struct oracle_weight_format format = oracle_weight_format(weights->format);
    if (format.group == 0)
        return NULL;
    int64_t groups = (weights->columns + 127) / 128 * (128 / format.group);
    for (*row = 0; *row < weights->rows; ++*row)
        for (int64_t group = 0; group < groups; group++) {
            const char *fault = group_fault(weights, *row, group, allow_negative_scales, column);
            if (fault != NULL)
                return fault;
        }
    return NULL;
}
