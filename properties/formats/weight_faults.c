/* SPDX-License-Identifier: MIT
 *
 * The faulty codec: plain arithmetic of one value at a time, with a fault where the table says.
 */
#include "weight_faults.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_formats.h"
#include "words.h"

static enum weight_fault planted;

static bool is(enum weight_fault fault)
{
    return planted == fault;
}

const char *weight_fault_text(enum weight_fault fault)
{
    static const char *const texts[] = {
#define WEIGHT_FAULT_ROW(enumerator, text) text,
        WEIGHT_FAULT_TABLE(WEIGHT_FAULT_ROW)
#undef WEIGHT_FAULT_ROW
    };
    return texts[fault];
}

/* ---- planes ---------------------------------------------------------------------------------- */

static uint8_t *row_of(const struct assay_tensor *plane, int64_t row)
{
    int64_t stride = is(FAULT_ROW_STRIDE) ? plane->extent[1] : plane->stride[0];
    return (uint8_t *)plane->data + row * stride * (int64_t)assay_dtype_bytes(plane->dtype);
}

struct place {
    int64_t byte;
    int shift;
};

static struct place nibble_of(int64_t column)
{
    struct place place = {column / 2, column % 2 == 0 ? 0 : 4};
    if (is(FAULT_SWAPPED_NIBBLES))
        place.shift = 4 - place.shift;
    if (is(FAULT_HALVES))
        place = (struct place){column / 64 * 32 + column % 32, column % 64 < 32 ? 0 : 4};
    return place;
}

/* Bits of the high plane of a column, `bits` of them. */
static struct place high_of(int64_t column, int bits)
{
    struct place place = {column * bits / 8, (int)(column * bits % 8)};
    if (is(FAULT_HIGH_BIT_ORDER))
        place.shift = 8 - bits - place.shift;
    return place;
}

static unsigned swapped_pair(unsigned pair)
{
    return is(FAULT_HIGH_PAIR_SWAPPED) ? (pair >> 1 | pair << 1) & 3 : pair;
}

static void put_bits(uint8_t *row, struct place place, int count, unsigned value)
{
    unsigned mask = ((1u << count) - 1) << place.shift;
    row[place.byte] = (uint8_t)((row[place.byte] & ~mask) | (value << place.shift & mask));
}

static void put_code(const struct assay_weights *to, int64_t row, int64_t column, int code)
{
    struct oracle_weight_format f = oracle_weight_format(to->format);
    if (f.bits == 8) {
        row_of(&to->base, row)[column] = (uint8_t)code;
        return;
    }
    unsigned u = (unsigned)(is(FAULT_NO_OFFSET) ? code : code - f.lowest);
    put_bits(row_of(&to->base, row), nibble_of(column), 4, u);
    if (f.bits == 5)
        put_bits(row_of(&to->high, row), high_of(column, 1), 1, u >> 4);
    if (f.bits == 6)
        put_bits(row_of(&to->high, row), high_of(column, 2), 2, swapped_pair(u >> 4 & 3));
}

static int get_code(const struct assay_weights *from, int64_t row, int64_t column)
{
    struct oracle_weight_format f = oracle_weight_format(from->format);
    if (f.bits == 8)
        return (int8_t)row_of(&from->base, row)[column];
    struct place place = nibble_of(column);
    int u = row_of(&from->base, row)[place.byte] >> place.shift & 15;
    if (f.bits > 4) {
        int extra = f.bits - 4;
        place = high_of(column, extra);
        unsigned high = row_of(&from->high, row)[place.byte] >> place.shift & ((1u << extra) - 1);
        u |= (int)(extra == 2 ? swapped_pair(high) : high) << 4;
    }
    if (is(FAULT_NO_OFFSET))
        return u > f.largest ? u + 2 * f.lowest : u;
    return u + f.lowest;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static uint16_t scale_word(float raw)
{
    uint16_t word = oracle_f16_word((double)raw);
    if (is(FAULT_SCALE_TRUNCATED) && fabs(oracle_f16_value(word)) > fabs((double)raw))
        word--;
    if ((word & 0x7fff) == 0 && !is(FAULT_NO_SMALLEST))
        word++;
    return word;
}

static int code_of(float x, float scale, float unrounded, struct oracle_weight_format f)
{
    float t = is(FAULT_DIVISION) ? x / scale : x * (1 / scale);
    if (is(FAULT_UNROUNDED_INVERSE) && unrounded != 0)
        t = x * (1 / unrounded);
    float rounded = is(FAULT_TRUNCATION)  ? truncf(t)
                    : is(FAULT_HALF_AWAY) ? roundf(t)
                    : is(FAULT_HALF_UP)   ? floorf(t + 0.5f)
                                          : rintf(t);
    int lowest = f.lowest;
    if (is(FAULT_CLAMP_LOWEST))
        lowest = -f.largest;
    if (is(FAULT_CLAMP_BEYOND))
        lowest = -f.largest - 1;
    return rounded < (float)lowest ? lowest : rounded > (float)f.largest ? f.largest : (int)rounded;
}

/* A group that is being encoded. */
struct group {
    struct oracle_weight_format f;
    const float *x, *importance;
    bool signed_scales;
    uint16_t best;
    float best_raw;
    double error;
};

static void consider(struct group *group, float raw)
{
    uint16_t word = scale_word(raw);
    if ((word & 0x7fff) > 0x7bff || (word & 0x7fff) == 0 ||
        ((word & 0x8000) != 0 && !group->signed_scales))
        return;
    float scale = (float)oracle_f16_value(word);
    double error = 0;
    for (int k = 0; k < group->f.group; k++) {
        double code = code_of(group->x[k], scale, raw, group->f);
        if (is(FAULT_UNCLIPPED_ERROR))
            code = (double)rintf(group->x[k] * (1 / scale));
        double difference = (double)group->x[k] - (double)scale * code;
        double importance = group->importance != NULL ? (double)group->importance[k] : 1;
        error += importance * difference * difference;
    }
    if (error < group->error) {
        group->error = error;
        group->best = word;
        group->best_raw = raw;
    }
}

static void consider_ratios(struct group *group, float extreme, float code)
{
    float sum = 0.70f;
    for (int i = 0; i < (is(FAULT_FEWER_RATIOS) ? 24 : 25); i++) {
        float ratio = is(FAULT_REPEATED_ADDITION) ? sum : 0.70f + 0.02f * (float)i;
        consider(group, ratio * extreme / code);
        sum += 0.02f;
    }
}

static void consider_word(struct group *group, int word)
{
    if ((word & 0x7fff) != 0)
        consider(group, (float)oracle_f16_value((uint16_t)word));
}

static void consider_steps(struct group *group, uint16_t word, int most)
{
    for (int step = -most; step <= most; step++)
        if (step != 0 && (word & 0x7fff) + step > 0)
            consider_word(group, word + step);
}

static void consider_multiple(struct group *group, uint16_t word, double factor)
{
    consider_word(group, oracle_f16_word(oracle_f16_value(word) * factor));
}

/* sum w x q / sum w q^2 for the codes of a scale. */
static uint16_t least_squares(const struct group *group, uint16_t word)
{
    double top = 0, bottom = 0;
    for (int k = 0; k < group->f.group; k++) {
        double code = code_of(group->x[k], (float)oracle_f16_value(word), 0, group->f);
        bool weighted = group->importance != NULL && !is(FAULT_LEAST_SQUARES_PLAIN);
        double importance = weighted ? (double)group->importance[k] : 1;
        top += importance * (double)group->x[k] * code;
        bottom += importance * code * code;
    }
    return bottom > 0 ? oracle_f16_word(top / bottom) : 0;
}

static void consider_grouped(struct group *group, float largest, float extreme)
{
    const uint16_t maxabs = group->best;
    consider(group, group->best_raw);
    consider_ratios(group, largest, (float)group->f.largest);
    if (group->f.lowest != -group->f.largest)
        consider_ratios(group, is(FAULT_EXTREME_UNSIGNED) ? largest : extreme,
                        (float)group->f.lowest);
    for (int power = -2; power <= 2; power++)
        if (power != 0)
            consider_multiple(group, maxabs, ldexp(1, power));
    consider_steps(group, maxabs, 2);
    uint16_t squares = least_squares(group, maxabs);
    consider_word(group, squares);
    consider_multiple(group, squares, 0.5);
    consider_multiple(group, squares, 2);
    consider_steps(group, squares, is(FAULT_FEWER_STEPS) ? 1 : 2);
    squares = least_squares(group, is(FAULT_NO_REFIT) ? maxabs : group->best);
    consider_word(group, squares);
    consider_steps(group, squares, 1);
}

static uint16_t choose(struct group *group, float largest, float extreme,
                       enum assay_weight_encoder encoder)
{
    group->best_raw = largest / (float)group->f.largest;
    group->best = scale_word(group->best_raw);
    group->error = HUGE_VAL;
    if (group->best > 0x7bff)
        return 0x7c00;
    if (encoder == ASSAY_ENCODER_CLIP25)
        consider_ratios(group, largest, (float)group->f.largest);
    if (encoder == ASSAY_ENCODER_GROUPED)
        consider_grouped(group, largest, extreme);
    return group->best;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static float largest_of(const float *x, int count, int *at)
{
    float largest = 0;
    for (int k = count - 1; k >= 0; k--) {
        float magnitude = is(FAULT_SIGNED_MAXIMUM) ? x[k] : fabsf(x[k]);
        if (!(magnitude < largest) && !(is(FAULT_NAN_IGNORED) && isnan(x[k]))) {
            largest = magnitude;
            *at = k;
        }
        if (isnan(largest))
            break;
    }
    return largest;
}

static void put_group(const struct assay_weights *to, int64_t row, int64_t first, uint16_t scale,
                      struct group *group)
{
    struct oracle_weight_format f = group->f;
    memcpy(row_of(&to->scales, row) + 2 * (first / f.group), &scale, sizeof scale);
    bool coded = scale % 0x8000 != 0 && (scale & 0x7fff) < 0x7c00;
    for (int k = 0; k < f.group; k++) {
        int code =
            coded ? code_of(group->x[k], (float)oracle_f16_value(scale), group->best_raw, f) : 0;
        if (first + k >= to->columns && is(FAULT_PADDING_ZERO_BYTES))
            code = f.bits == 8 ? 0 : f.lowest;
        if (first + k < to->columns || !is(FAULT_PADDING_LEFT))
            put_code(to, row, first + k, code);
    }
}

static assay_status encode_group(const struct assay_weights *to, int64_t row, int64_t first,
                                 const float *values, const struct assay_encode_options *options,
                                 struct assay_error *error)
{
    float x[ORACLE_GROUP_MAX] = {0}, importance[ORACLE_GROUP_MAX] = {0};
    struct group group = {.f = oracle_weight_format(to->format), .x = x};
    int64_t used = to->columns - first;
    used = used < 0 ? 0 : used > group.f.group ? group.f.group : used;
    bool weighted = options->importance != NULL && options->encoder == ASSAY_ENCODER_GROUPED &&
                    !is(FAULT_IMPORTANCE_IGNORED);
    for (int k = 0; k < (is(FAULT_PADDING_READ) && used > 0 ? group.f.group : used); k++)
        x[k] = values[first + k];
    for (int k = 0; weighted && k < used; k++)
        importance[k] = options->importance[is(FAULT_IMPORTANCE_FIRST_GROUP) ? k : first + k];
    group.importance = weighted ? importance : NULL;
    group.signed_scales = options->allow_negative_scales || is(FAULT_UNASKED_NEGATIVE);
    int at = 0;
    float largest = largest_of(x, group.f.group, &at);
    uint16_t scale = 0;
    if (!isfinite(largest))
        scale = is(FAULT_NAN_AS_ZERO) ? 0 : 0x7e00;
    else if (largest != 0)
        scale = choose(&group, largest, x[at], options->encoder);
    if (scale == 0x7c00 && !is(FAULT_INFINITE_SCALE)) {
        if (error != NULL)
            snprintf(error->what, sizeof error->what, "column %d",
                     (int)(is(FAULT_OVERFLOW_COLUMN) ? first : first + at));
        return ASSAY_E_ARG;
    }
    put_group(to, row, first, scale, &group);
    return ASSAY_OK;
}

static assay_status encode(const struct assay_weights *to, int64_t row, const float *values,
                           const struct assay_encode_options *options, struct assay_error *error)
{
    if (to->format == ASSAY_WEIGHT_BF16) {
        for (int64_t k = 0; k < to->columns; k++) {
            uint16_t word = oracle_bf16_word((double)values[k]);
            memcpy(row_of(&to->base, row) + 2 * k, &word, sizeof word);
        }
        return ASSAY_OK;
    }
    int group = oracle_weight_format(to->format).group;
    assay_status status = ASSAY_OK;
    for (int64_t first = 0; first < (to->columns + 127) / 128 * 128 && status == ASSAY_OK;
         first += group)
        status = encode_group(to, row, first, values, options, error);
    return status;
}

static void decode(const struct assay_weights *from, int64_t row, float *values)
{
    struct oracle_weight_format f = oracle_weight_format(from->format);
    uint16_t word;
    for (int64_t k = 0; k < from->columns; k++) {
        if (f.group == 0) {
            memcpy(&word, row_of(&from->base, row) + 2 * k, sizeof word);
            values[k] = (float)oracle_bf16_value(word);
            continue;
        }
        int64_t group = k / f.group;
        if (is(FAULT_NEXT_SCALE) && group + 1 < from->scales.extent[1])
            group++;
        memcpy(&word, row_of(&from->scales, row) + 2 * group, sizeof word);
        if (is(FAULT_SCALE_SIGN_LOST))
            word &= 0x7fff;
        if (is(FAULT_SUBNORMAL_SCALE_FLUSHED) && (word & 0x7c00) == 0)
            word &= 0x8000;
        values[k] = (float)get_code(from, row, k) * (float)oracle_f16_value(word);
    }
}

struct weight_codec weight_faulty(enum weight_fault fault)
{
    planted = fault;
    return (struct weight_codec){weight_fault_text(fault), encode, decode};
}
