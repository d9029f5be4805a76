/* SPDX-License-Identifier: MIT
 *
 * Weight formats: the first byte chooses between stored planes to decode, values to encode, and a
 * row of GGUF blocks; what follows are shapes and then content. The oracle reads the same memory.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/testing.h>
#include <assay/weights.h>

#include "oracle_formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ROWS = 3, MOST_COLUMNS = 320, MOST_BYTES = 8192, PADDED = 384 };

struct bytes {
    const uint8_t *data;
    size_t size, used;
};

/* Zeros once the input has ended. */
static unsigned take(struct bytes *b)
{
    return b->used < b->size ? b->data[b->used++] : 0;
}

static void take_all(struct bytes *b, void *memory, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((uint8_t *)memory)[i] = (uint8_t)take(b);
}

#define EXPECT(condition, ...)                                              \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                   \
            fprintf(stderr, "\n");                                          \
            abort();                                                        \
        }                                                                   \
    } while (0)

static bool same(float value, double expected)
{
    return isnan(expected) ? isnan(value) : (double)value == expected;
}

struct matrix {
    struct assay_weights weights;
    _Alignas(256) uint8_t memory[MOST_BYTES];
    size_t bytes;
};

static void create(struct matrix *matrix, enum assay_weight_format format, int64_t rows,
                   int64_t columns)
{
    struct assay_weight_layout layout;
    EXPECT(assay_weight_layout_of(format, rows, columns, &layout, NULL) == ASSAY_OK &&
               layout.total <= MOST_BYTES,
           "%zu bytes", layout.total);
    EXPECT(assay_weights_at(matrix->memory, format, rows, columns, &matrix->weights, NULL) ==
               ASSAY_OK,
           "no view");
    matrix->bytes = layout.total;
}

static void expect_decoded(const struct assay_weights *weights, int64_t row, float *values)
{
    assay_weights_decode_row(weights, row, values);
    for (int64_t k = 0; k < weights->columns; k++)
        EXPECT(same(values[k], oracle_weight_value(weights, row, k)), "row %d, column %d: %a",
               (int)row, (int)k, (double)values[k]);
}

/* Whether maxabs takes the row; the groups' bytes too where it is what was stored. */
static bool oracle_takes(const struct assay_weights *weights, const float *values, bool compare)
{
    struct oracle_weight_format f = oracle_weight_format(weights->format);
    float padded[PADDED] = {0};
    bool takes = true;
    memcpy(padded, values, (size_t)weights->columns * sizeof *values);
    for (int64_t first = 0; first < weights->columns; first += f.group) {
        struct oracle_group group;
        if (!oracle_group_maxabs(padded + first, f.group, f, &group)) {
            takes = false;
            continue;
        }
        for (int k = 0; k < f.group && compare; k++)
            EXPECT(oracle_weight_scale_word(weights, 0, first / f.group) == group.scale &&
                       oracle_weight_code(weights, 0, first + k) == group.code[k],
                   "column %d", (int)first + k);
    }
    return takes;
}

/* Encodes by maxabs into row 0; false where it is refused, as it must be then. */
static bool encode_maxabs(struct matrix *to, const float *values)
{
    const struct assay_encode_options options = {.encoder = ASSAY_ENCODER_MAXABS};
    struct assay_error error = {0};
    assay_status status = assay_weights_encode_row(&to->weights, 0, values, &options, &error);
    if (to->weights.format == ASSAY_WEIGHT_BF16) {
        EXPECT(status == ASSAY_OK, "bf16 refuses a row");
        return true;
    }
    bool takes = oracle_takes(&to->weights, values, status == ASSAY_OK);
    EXPECT(status == (takes ? ASSAY_OK : ASSAY_E_ARG), "%s", error.message);
    if (!takes)
        return false;
    int64_t row, column;
    const char *fault = oracle_weights_fault(&to->weights, false, &row, &column);
    EXPECT(fault == NULL, "%s at column %d", fault, (int)column);
    return true;
}

/* Any bytes decode; what was decoded is encoded again, and that once more: where the scales are
 * normal nothing changes the second time. */
static void planes(struct bytes *b)
{
    static struct matrix stored, first, second;
    float values[MOST_COLUMNS], again[MOST_COLUMNS];
    enum assay_weight_format format =
        (enum assay_weight_format)(take(b) % ASSAY_NUM_WEIGHT_FORMATS);
    int64_t rows = 1 + take(b) % MOST_ROWS;
    int64_t columns = 1 + (int64_t)(256 * take(b) + take(b)) % MOST_COLUMNS;
    create(&stored, format, rows, columns);
    create(&first, format, 1, columns);
    create(&second, format, 1, columns);
    take_all(b, stored.memory, stored.bytes);
    for (int64_t row = 0; row < rows; row++) {
        expect_decoded(&stored.weights, row, values);
        if (!encode_maxabs(&first, values))
            continue;
        expect_decoded(&first.weights, 0, again);
        EXPECT(encode_maxabs(&second, again), "a decoded row is refused");
        int group = oracle_weight_format(format).group;
        for (int64_t k = 0; k < columns && group > 0; k++) {
            uint16_t scale = oracle_weight_scale_word(&first.weights, 0, k / group);
            EXPECT((scale < 0x0400 && scale != 0) ||
                       (oracle_weight_scale_word(&second.weights, 0, k / group) == scale &&
                        oracle_weight_code(&second.weights, 0, k) ==
                            oracle_weight_code(&first.weights, 0, k)),
                   "row %d, column %d changes the second time", (int)row, (int)k);
        }
    }
}

/* Sum of the weighted errors of row 0, groups that are not finite left out. */
static long double row_error(const struct assay_weights *weights, const float *values,
                             const float *importance)
{
    struct oracle_weight_format f = oracle_weight_format(weights->format);
    long double sum = 0;
    for (int64_t k = 0; k < weights->columns; k++) {
        double value = oracle_weight_value(weights, 0, k);
        long double difference = values[k] - (long double)value;
        if (isfinite(oracle_weight_scale(weights, 0, k / f.group)))
            sum += (importance != NULL ? importance[k] : 1) * difference * difference;
    }
    return sum;
}

/* Any binary32 words as values and importances. */
static void rows(struct bytes *b)
{
    static struct matrix reference, searched;
    float values[MOST_COLUMNS], importance[MOST_COLUMNS];
    enum assay_weight_format format =
        (enum assay_weight_format)(1 + take(b) % (ASSAY_NUM_WEIGHT_FORMATS - 1));
    unsigned flags = take(b);
    int64_t columns = 1 + (int64_t)(256 * take(b) + take(b)) % MOST_COLUMNS;
    const struct assay_encode_options options = {
        .encoder = flags & 1 ? ASSAY_ENCODER_CLIP25 : ASSAY_ENCODER_GROUPED,
        .importance = (flags & 3) == 2 ? importance : NULL,
        .allow_negative_scales = (flags & 4) != 0,
    };
    take_all(b, values, (size_t)columns * sizeof *values);
    take_all(b, importance, (size_t)columns * sizeof *importance);
    create(&reference, format, 1, columns);
    create(&searched, format, 1, columns);
    bool takes = encode_maxabs(&reference, values), weights_good = true;
    for (int64_t k = 0; k < columns && options.importance != NULL; k++)
        weights_good = weights_good && importance[k] >= 0 && isfinite(importance[k]);
    assay_status status = assay_weights_encode_row(&searched.weights, 0, values, &options, NULL);
    EXPECT(status == (takes && weights_good ? ASSAY_OK : ASSAY_E_ARG), "%s",
           assay_status_name(status));
    if (status != ASSAY_OK)
        return;
    int64_t row, column;
    bool negative = options.encoder == ASSAY_ENCODER_GROUPED && options.allow_negative_scales;
    const char *fault = oracle_weights_fault(&searched.weights, negative, &row, &column);
    EXPECT(fault == NULL, "%s at column %d", fault, (int)column);
    long double best = row_error(&searched.weights, values, options.importance);
    long double plain = row_error(&reference.weights, values, options.importance);
    EXPECT(best <= plain * (1 + 1e-12L), "error %Lg, maxabs %Lg", best, plain);
    expect_decoded(&searched.weights, 0, values);
}

static void gguf(struct bytes *b)
{
    static const uint32_t types[] = {0, 1, 2, 8, 12, 13, 14, 30};
    uint32_t type = types[take(b) % (sizeof types / sizeof types[0])];
    struct oracle_gguf_block block = oracle_gguf_block(type);
    int64_t columns = block.values * (1 + (int64_t)take(b) % 4), bytes;
    uint8_t row[1024];
    float values[1024];
    EXPECT(assay_testing_gguf_row_bytes(type, columns, &bytes, NULL) == ASSAY_OK, "type %u", type);
    EXPECT(bytes == columns / block.values * block.bytes, "%d bytes", (int)bytes);
    take_all(b, row, (size_t)bytes);
    assay_testing_gguf_decode_row(type, row, columns, values);
    for (int64_t k = 0; k < columns; k++) {
        double expected = oracle_gguf_value(type, row, k);
        EXPECT(same(values[k], isnan(expected) ? expected : (double)(float)expected),
               "type %u, value %d: %a, not %a", type, (int)k, (double)values[k], expected);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = {data, size, 0};
    switch (take(&b) % 3) {
    case 0:
        planes(&b);
        break;
    case 1:
        rows(&b);
        break;
    default:
        gguf(&b);
        break;
    }
    return 0;
}
