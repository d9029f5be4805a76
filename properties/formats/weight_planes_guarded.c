/* SPDX-License-Identifier: MIT
 *
 * Planes with guards; rows of values.
 */
#include "weight_planes_guarded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_formats.h"
#include "philox.h"
#include "words.h"

enum { GUARD = 64 };

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        abort();
    }
    return memory;
}

static unsigned char fill_byte(size_t place)
{
    return (unsigned char)(0xa5u ^ place * 29u);
}

static struct assay_tensor plane_of(unsigned char *memory, enum assay_dtype dtype, int64_t rows,
                                    int64_t extent, int64_t gap)
{
    struct assay_tensor plane = assay_tensor_2d(memory, dtype, rows, extent);
    plane.stride[0] += gap / (int64_t)assay_dtype_bytes(dtype);
    return plane;
}

/* Bytes of a plane with its gaps and a guard behind it. */
static size_t plane_bytes(int64_t rows, int64_t row_bytes, int64_t gap)
{
    return ((size_t)(rows * (row_bytes + gap)) + GUARD + 63) / 64 * 64;
}

void guarded_create(enum assay_weight_format format, int64_t rows, int64_t columns, int64_t gap,
                    struct guarded *planes)
{
    struct oracle_weight_format f = oracle_weight_format(format);
    int64_t padded = (columns + 127) / 128 * 128;
    int64_t base = f.bits == 16 ? columns : f.bits == 8 ? padded : padded / 2;
    int64_t high = f.bits == 5 || f.bits == 6 ? padded * (f.bits - 4) / 8 : 0;
    int64_t groups = f.group > 0 ? padded / f.group : 0;
    size_t base_bytes = plane_bytes(rows, f.bits == 16 ? 2 * base : base, gap);
    size_t high_bytes = plane_bytes(rows, high, gap);
    size_t scale_bytes = plane_bytes(rows, 2 * groups, gap);
    *planes = (struct guarded){.bytes = GUARD + base_bytes + high_bytes + scale_bytes};
    planes->memory = allocate(planes->bytes);
    for (size_t i = 0; i < planes->bytes; i++)
        planes->memory[i] = fill_byte(i);
    struct assay_weights *w = &planes->weights;
    w->format = format;
    w->rows = rows;
    w->columns = columns;
    unsigned char *at = planes->memory + GUARD;
    w->base = plane_of(at, f.bits == 16 ? ASSAY_BF16 : ASSAY_U8, rows, base, gap);
    planes->plane[0] = &w->base;
    if (high > 0) {
        w->high = plane_of(at + base_bytes, ASSAY_U8, rows, high, gap);
        planes->plane[1] = &w->high;
    }
    if (groups > 0) {
        w->scales = plane_of(at + base_bytes + high_bytes, ASSAY_F16, rows, groups, gap);
        planes->plane[2] = &w->scales;
    }
}

void guarded_destroy(struct guarded *planes)
{
    free(planes->memory);
    planes->memory = NULL;
}

/* Marks the bytes of the rows (or of one row) of a plane in owned[]. */
static void mark(const struct guarded *planes, const struct assay_tensor *plane, int64_t only,
                 unsigned char *owned)
{
    size_t size = assay_dtype_bytes(plane->dtype);
    for (int64_t row = 0; row < plane->extent[0]; row++)
        if (only < 0 || row == only) {
            size_t place = (size_t)((unsigned char *)plane->data - planes->memory) +
                           (size_t)(row * plane->stride[0]) * size;
            memset(owned + place, 1, (size_t)plane->extent[1] * size);
        }
}

bool guarded_intact(const struct guarded *planes, int64_t except)
{
    unsigned char *owned = allocate(planes->bytes);
    memset(owned, 0, planes->bytes);
    for (int i = 0; i < 3; i++)
        if (planes->plane[i] != NULL)
            mark(planes, planes->plane[i], except, owned);
    bool intact = true;
    for (size_t i = 0; i < planes->bytes && intact; i++)
        intact = owned[i] != 0 || planes->memory[i] == fill_byte(i);
    free(owned);
    return intact;
}

bool guarded_equal(const struct guarded *a, const struct guarded *b)
{
    for (int i = 0; i < 3; i++) {
        if (a->plane[i] == NULL)
            continue;
        size_t size = assay_dtype_bytes(a->plane[i]->dtype);
        for (int64_t row = 0; row < a->weights.rows; row++)
            if (memcmp((char *)a->plane[i]->data + (size_t)(row * a->plane[i]->stride[0]) * size,
                       (char *)b->plane[i]->data + (size_t)(row * b->plane[i]->stride[0]) * size,
                       (size_t)a->plane[i]->extent[1] * size) != 0)
                return false;
    }
    return true;
}

static void put_bit(unsigned char *row, int64_t index, unsigned bit)
{
    unsigned char mask = (unsigned char)(1u << index % 8);
    row[index / 8] = (unsigned char)((row[index / 8] & ~mask) | (bit != 0 ? mask : 0));
}

void guarded_put(const struct guarded *planes, int64_t row, int64_t column, unsigned u)
{
    const struct assay_weights *w = &planes->weights;
    int bits = oracle_weight_format(w->format).bits;
    unsigned char *base = (unsigned char *)w->base.data + row * w->base.stride[0];
    if (bits == 8) {
        base[column] = (unsigned char)u;
        return;
    }
    for (int bit = 0; bit < 4; bit++)
        put_bit(base, 4 * column + bit, u >> bit & 1);
    for (int bit = 4; bit < bits; bit++)
        put_bit((unsigned char *)w->high.data + row * w->high.stride[0],
                (bits - 4) * column + bit - 4, u >> bit & 1);
}

void guarded_put_scale(const struct guarded *planes, int64_t row, int64_t group, uint16_t word)
{
    const struct assay_tensor *scales = &planes->weights.scales;
    unsigned char *place = (unsigned char *)scales->data + 2 * (row * scales->stride[0] + group);
    place[0] = (unsigned char)(word & 0xff);
    place[1] = (unsigned char)(word >> 8);
}

double draw_uniform(uint64_t seed, const char *stream, uint64_t index)
{
    return (double)(philox_u64(seed, stream, index) >> 11) * 0x1p-53;
}

double draw_normal(uint64_t seed, const char *stream, uint64_t index)
{
    uint32_t words[4];
    philox_stream(seed, stream, index / 2, words);
    double u = ((double)words[0] * 0x1p21 + (double)(words[1] >> 11) + 0.5) * 0x1p-53;
    double v = ((double)words[2] * 0x1p21 + (double)(words[3] >> 11)) * 0x1p-53;
    double angle = 2 * M_PI * v;
    return sqrt(-2 * log(u)) * (index % 2 == 0 ? cos(angle) : sin(angle));
}

static const char *const kinds[NUM_ROW_KINDS] = {
    "normal",      "uniform",         "outliers",      "ties",         "subnormal",
    "tiny scales", "subnormal scale", "near overflow", "mostly zeros", "negative zero",
    "constant",    "one sign",        "scale ties",
};

const char *row_kind_name(int kind)
{
    return kinds[kind];
}

/* Values in the middle of two codes, and one binary32 ulp to either side; each group's largest
 * magnitude is the largest code, so that the scale is the step itself. Steps are powers of two and
 * any binary16 values in turn: only for the former is 1 / s exact. */
static float tie(struct oracle_weight_format f, uint64_t seed, uint64_t draw, int64_t k)
{
    int64_t group = k / f.group;
    float fraction = (float)(philox_u64(seed, "steps", (uint64_t)group) % 1024) / 1024;
    float step = ldexpf(group % 2 != 0 ? 1 : 1 + fraction, (int)(group % 7) - 5);
    if (k % f.group == group % f.group)
        return (group % 3 != 0 ? -step : step) * (float)f.largest;
    float middle = step * ((float)((int)(draw % (uint64_t)(2 * f.largest)) - f.largest) + 0.5f);
    switch (draw >> 32 & 3) {
    case 0:
        return nextafterf(middle, INFINITY);
    case 1:
        return nextafterf(middle, -INFINITY);
    default:
        return middle;
    }
}

/* All values are codes times the scale s but the largest, which makes maxabs' quotient the middle
 * of the binary16 below s and s, of which s is even: a ratio that is 1 but for an ulp misses s. */
static float scale_tie(struct oracle_weight_format f, uint64_t seed, uint64_t draw, int64_t k)
{
    int64_t group = k / f.group;
    uint16_t word = (uint16_t)(0x3002 + philox_u64(seed, "steps", (uint64_t)group) % 0x0f00 * 2);
    float s = (float)oracle_f16_value(word), below = (float)oracle_f16_value(word - 1);
    if (k % f.group == group % f.group)
        return (s + below) / 2 * (float)f.largest;
    return s * (float)((int)(draw % (uint64_t)(2 * f.largest + 1)) - f.largest);
}

void row_fill(int kind, uint64_t seed, enum assay_weight_format format, float *values,
              int64_t count)
{
    struct oracle_weight_format f = oracle_weight_format(format);
    if (f.group == 0)
        f = (struct oracle_weight_format){64, 4, -8, 7};
    for (int64_t k = 0; k < count; k++) {
        uint64_t index = (uint64_t)k, draw = philox_u64(seed, "rows", index);
        double normal = draw_normal(seed, "rows", index), size = f.largest;
        int64_t group = k / f.group;
        double value;
        switch (kind) {
        case 1:
            value = draw_uniform(seed, "rows", index) * 2 - 1;
            break;
        case 2:
            value = normal * (draw % 100 == 0 ? 50 : 1);
            break;
        case 3:
            value = (double)tie(f, seed, draw, k);
            break;
        case 4: /* of binary32 */
            value = normal * 0x1p-130;
            break;
        case 5: /* scales of about half the smallest binary16 and less */
            value = normal * size * 0x1p-26 * ldexp(1, -(int)(group % 5));
            break;
        case 6:
            value = normal * size * ldexp(1, -22 + (int)(group % 8));
            break;
        case 7: /* maxabs scales up to 65504; none that rounds to infinity */
            value = (draw_uniform(seed, "rows", index) * 2 - 1) * 65504 * size;
            break;
        case 8:
            value = draw % 23 == 0 ? normal : 0;
            break;
        case 9:
            value = draw % 5 == 0 ? normal : -0.0;
            break;
        case 10:
            value =
                (group % 2 != 0 ? -1 : 1) * ldexp(1 + (double)(group % 9) / 8, (int)(group % 11));
            break;
        case 11:
            value = (group % 2 != 0 ? -1 : 1) * fabs(normal);
            break;
        case 12:
            value = (double)scale_tie(f, seed, draw, k);
            break;
        default:
            value = normal;
            break;
        }
        values[k] = (float)value;
    }
}
