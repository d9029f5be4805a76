/* SPDX-License-Identifier: MIT
 *
 * Weight matrices in grouped integer formats: a code a weight, a scale of binary16 for each group
 * of consecutive columns; the weight is code * scale. docs/formats.md has the format bit by bit.
 *
 * A matrix [N, K] lies in up to three planes of N rows ("row-split"), K padded to a multiple of 128
 * with codes of zero and, for groups that hold padding only, scales of +0:
 *
 *   format   group  codes        base plane, bytes a row   high plane, bytes a row   scales a row
 *   q4g64    64     -8 .. 7      Kp / 2                    -                         Kp / 64
 *   q5g64    64     -16 .. 15    Kp / 2                    Kp / 8                    Kp / 64
 *   q6g64    64     -32 .. 31    Kp / 2                    Kp / 4                    Kp / 64
 *   q8g32    32     -127 .. 127  Kp                        -                         Kp / 32
 *
 * Of the formats with 4 to 6 bits u = code + 2^(bits - 1) is stored: its low four bits in the base
 * plane, column k in byte k / 2, even columns in the low half; its other bits in the high plane, as
 * a string of bits of which column k takes 1 (q5) or 2 (q6) from bit k or 2 k of the row on, least
 * significant first. q8g32 stores two's complement. Source: formats.md section 8.5.
 */
#ifndef ASSAY_WEIGHTS_H
#define ASSAY_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, name, columns of a group, bits of a code, largest code, meaning) */
#define ASSAY_WEIGHT_FORMAT_TABLE(X)                                     \
    X(BF16, "bf16", 1, 16, 0, "no groups: the base plane is the matrix") \
    X(Q4G64, "q4g64", 64, 4, 7, "4-bit codes in groups of 64")           \
    X(Q5G64, "q5g64", 64, 5, 15, "5-bit codes in groups of 64")          \
    X(Q6G64, "q6g64", 64, 6, 31, "6-bit codes in groups of 64")          \
    X(Q8G32, "q8g32", 32, 8, 127, "8-bit codes in groups of 32")

enum assay_weight_format {
#define ASSAY_WEIGHT_FORMAT_ENUM(enumerator, name, group, bits, largest, meaning) \
    ASSAY_WEIGHT_##enumerator,
    ASSAY_WEIGHT_FORMAT_TABLE(ASSAY_WEIGHT_FORMAT_ENUM)
#undef ASSAY_WEIGHT_FORMAT_ENUM
        ASSAY_NUM_WEIGHT_FORMATS
};

enum { ASSAY_WEIGHT_PADDING = 128 /* K is padded to a multiple of it */ };

/* A view: owns nothing. Rows of a plane may be strided; the elements of a row are contiguous. */
struct assay_weights {
    enum assay_weight_format format;
    int64_t rows, columns;      /* N, K */
    struct assay_tensor base;   /* [N, bytes a row] u8; bf16: [N, K] bf16 */
    struct assay_tensor high;   /* [N, bytes a row] u8; absent (data NULL) but for q5g64, q6g64 */
    struct assay_tensor scales; /* [N, groups a row] f16; absent for bf16 */
};

/* "q4g64"; "?" for a value outside the table. */
const char *assay_weight_format_name(enum assay_weight_format format);
const char *assay_weight_format_meaning(enum assay_weight_format format);
/* ASSAY_NUM_WEIGHT_FORMATS when there is none of this name. */
enum assay_weight_format assay_weight_format_from_name(const char *name);
/* Columns of a group (1 for bf16), bits of a code, the largest code. 0 outside the table. */
int64_t assay_weight_group(enum assay_weight_format format);
int assay_weight_bits(enum assay_weight_format format);
int assay_weight_largest(enum assay_weight_format format);

/* Bytes of the planes of [rows, columns] when they are contiguous. Each starts at a multiple of 256
 * bytes in a buffer of *total, which ends with the last plane; absent and empty planes have offset
 * 0 and 0 bytes. ASSAY_E_ARG: unknown format; ASSAY_E_SHAPE: negative extents, or about
 * SIZE_MAX / 2 bytes and more. */
struct assay_weight_layout {
    size_t base_offset, base_bytes;
    size_t high_offset, high_bytes;
    size_t scales_offset, scales_bytes;
    size_t total;
};
ASSAY_MUST_USE assay_status assay_weight_layout_of(enum assay_weight_format format, int64_t rows,
                                                   int64_t columns,
                                                   struct assay_weight_layout *layout,
                                                   struct assay_error *error);
/* The view of planes at `memory`, laid out as above; memory may be NULL for shapes alone. */
ASSAY_MUST_USE assay_status assay_weights_at(void *memory, enum assay_weight_format format,
                                             int64_t rows, int64_t columns,
                                             struct assay_weights *weights,
                                             struct assay_error *error);
/* Rows [first, first + count) of it. ASSAY_E_SHAPE where it has not that many. */
ASSAY_MUST_USE assay_status assay_weights_rows(const struct assay_weights *weights, int64_t first,
                                               int64_t count, struct assay_weights *view,
                                               struct assay_error *error);
/* Planes that are missing or not wanted, and formats, extents and strides that do not fit the
 * weights' format, rows and columns. Looks at no element. */
ASSAY_MUST_USE assay_status assay_weights_check(const struct assay_weights *weights,
                                                struct assay_error *error);

/* How a scale is chosen; codes are clamp(round(x * fl32(1 / scale)), ties to even).
 * X(enumerator, name, meaning) */
#define ASSAY_WEIGHT_ENCODER_TABLE(X)                                                        \
    X(MAXABS, "maxabs", "the largest magnitude over the largest code, in binary16")          \
    X(CLIP25, "clip25", "the best of 25 ratios 0.70 .. 1.18 of it: never worse than maxabs") \
    X(GROUPED, "grouped",                                                                    \
      "weighted squared error over ratios, least squares and neighbours; "                   \
      "scales may be negative where asked")

enum assay_weight_encoder {
#define ASSAY_WEIGHT_ENCODER_ENUM(enumerator, name, meaning) ASSAY_ENCODER_##enumerator,
    ASSAY_WEIGHT_ENCODER_TABLE(ASSAY_WEIGHT_ENCODER_ENUM)
#undef ASSAY_WEIGHT_ENCODER_ENUM
        ASSAY_NUM_WEIGHT_ENCODERS
};

const char *assay_weight_encoder_name(enum assay_weight_encoder encoder);
enum assay_weight_encoder assay_weight_encoder_from_name(const char *name);

struct assay_encode_options {
    enum assay_weight_encoder encoder;
    const float *importance;    /* [K] weights of the squared error (grouped), NULL: all 1 */
    bool allow_negative_scales; /* grouped */
};

/* Encodes the row values[0, K) as row `row` of *to; the padding too. The same bytes on every
 * machine. A group with a NaN or an infinity gets the scale 0x7e00, a NaN, and codes of zero: all
 * of it decodes to NaN. A group of zeros gets the scale +0, any other finite group a scale that is
 * not 0. bf16: rounds to nearest, whatever the encoder.
 * ASSAY_E_ARG: the scale that maxabs gives a finite group exceeds binary16 (the message names the
 * column; the row is then partly written), or an importance is negative or not finite. Errors of
 * assay_weights_check; ASSAY_E_SHAPE: no such row. */
ASSAY_MUST_USE assay_status assay_weights_encode_row(const struct assay_weights *to, int64_t row,
                                                     const float *values,
                                                     const struct assay_encode_options *options,
                                                     struct assay_error *error);
/* values[k] = code * scale in binary32 (exact products), k in [0, K). Of *from only what
 * assay_weights_check accepts; any codes, any scales. */
void assay_weights_decode_row(const struct assay_weights *from, int64_t row, float *values);

#ifdef __cplusplus
}
#endif
#endif
