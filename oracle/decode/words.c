/* SPDX-License-Identifier: MIT
 *
 * Number formats read from their definitions, and tensors widened through them.
 */
#include "words.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A binary interchange format: 1 sign bit, exponent_bits, fraction_bits; precision one bit more. */
struct format {
    int exponent_bits;
    int fraction_bits;
};

static const struct format format_bf16 = {8, 7};
static const struct format format_f16 = {5, 10};

/* All zero for a dtype that is not a float format. */
static struct format format_of(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_F32:
        return (struct format){8, 23};
    case ASSAY_BF16:
        return format_bf16;
    case ASSAY_F16:
        return format_f16;
    case ASSAY_F64:
        return (struct format){11, 52};
    default:
        return (struct format){0, 0};
    }
}

static int bias_of(struct format format)
{
    return (1 << (format.exponent_bits - 1)) - 1;
}

/* Exact: every 16-bit format's values are binary64 values. */
static double value_of(uint16_t word, struct format format)
{
    int biased = (word >> format.fraction_bits) & ((1 << format.exponent_bits) - 1);
    int fraction = word & ((1 << format.fraction_bits) - 1);
    double sign = word & 0x8000 ? -1.0 : 1.0;
    if (biased == (1 << format.exponent_bits) - 1) {
        return fraction != 0 ? copysign(NAN, sign) : sign * INFINITY;
    }
    /* Subnormals have the smallest exponent and no leading one. */
    int lead = biased != 0 ? 1 << format.fraction_bits : 0;
    int exponent = (biased != 0 ? biased : 1) - bias_of(format) - format.fraction_bits;
    return sign * ldexp(lead + fraction, exponent);
}

/* Nearest, ties to even, in one step from the 53 bits of the value: going through binary32 would
 * round twice. */
static uint16_t word_of(double value, struct format format)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t sign = bits >> 63 << 15;
    int biased = (int)(bits >> 52) & 0x7ff;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    uint64_t infinity = ((UINT64_C(1) << format.exponent_bits) - 1) << format.fraction_bits;
    uint64_t quiet = UINT64_C(1) << (format.fraction_bits - 1);
    if (biased == 0x7ff) {
        return (uint16_t)(sign | infinity | (fraction != 0 ? quiet : 0));
    }
    if (biased == 0) {
        return (uint16_t)sign; /* zero, or far below half of any smallest subnormal */
    }
    /* value = significand 2^(exponent - 52). Kept bits end at the format's last place for this
     * exponent, which stops falling at the smallest normal. */
    uint64_t significand = fraction | UINT64_C(1) << 52;
    int exponent = biased - 1023;
    int target = exponent + bias_of(format); /* biased exponent in the format */
    int shift = 52 - format.fraction_bits + (target < 1 ? 1 - target : 0);
    if (shift > 53) {
        return (uint16_t)sign; /* below half of the smallest subnormal */
    }
    uint64_t kept = significand >> shift;
    uint64_t rest = significand & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) {
        kept++;
    }
    /* The leading one of a normal adds one to the exponent field, and so does a carry. */
    uint64_t word = kept;
    if (target > 1) {
        word += (uint64_t)(target - 1) << format.fraction_bits;
    }
    return (uint16_t)(sign | (word < infinity ? word : infinity));
}

double oracle_bf16_value(uint16_t word)
{
    return value_of(word, format_bf16);
}

double oracle_f16_value(uint16_t word)
{
    return value_of(word, format_f16);
}

uint16_t oracle_bf16_word(double value)
{
    return word_of(value, format_bf16);
}

uint16_t oracle_f16_word(double value)
{
    return word_of(value, format_f16);
}

double oracle_round(double value, enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_F32:
        return (double)(float)value; /* IEEE 754 conversion: one rounding, to nearest even */
    case ASSAY_BF16:
        return oracle_bf16_value(oracle_bf16_word(value));
    case ASSAY_F16:
        return oracle_f16_value(oracle_f16_word(value));
    default:
        return value;
    }
}

double oracle_max_finite(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_I32:
        return INT32_MAX;
    case ASSAY_I64:
        return 0x1p63; /* 2^63 - 1 is no binary64 value */
    case ASSAY_U8:
        return UINT8_MAX;
    case ASSAY_F64:
        return DBL_MAX;
    default: {
        struct format format = format_of(dtype);
        if (format.exponent_bits == 0) {
            return 0;
        }
        return ldexp(2.0 - ldexp(1.0, -format.fraction_bits), bias_of(format));
    }
    }
}

double oracle_min_normal(enum assay_dtype dtype)
{
    struct format format = format_of(dtype);
    return format.exponent_bits != 0 ? ldexp(1.0, 1 - bias_of(format)) : 0;
}

double oracle_min_subnormal(enum assay_dtype dtype)
{
    struct format format = format_of(dtype);
    return format.exponent_bits != 0 ? ldexp(1.0, 1 - bias_of(format) - format.fraction_bits) : 0;
}

double oracle_unit_roundoff(enum assay_dtype dtype)
{
    struct format format = format_of(dtype);
    return format.exponent_bits != 0 ? ldexp(1.0, -format.fraction_bits - 1) : 0;
}

double oracle_half_ulp(double magnitude, enum assay_dtype dtype)
{
    struct format format = format_of(dtype);
    if (format.exponent_bits == 0) {
        return 0;
    }
    double m = fabs(magnitude);
    if (!isfinite(m)) {
        return INFINITY;
    }
    if (m == 0) {
        return 0;
    }
    int exponent = 0;
    frexp(m, &exponent);
    exponent--; /* m in [2^exponent, 2^(exponent + 1)) */
    int smallest = 1 - bias_of(format);
    if (exponent < smallest) {
        exponent = smallest;
    }
    double half = ldexp(1.0, exponent - format.fraction_bits - 1);
    if (half == 0) {
        half = DBL_TRUE_MIN; /* half of binary64's own smallest subnormal */
    }
    /* From max_finite + half an ulp upwards (a tie goes to even) rounding gives infinity. */
    if (m - oracle_max_finite(dtype) >= half) {
        return INFINITY;
    }
    /* Below half of the smallest subnormal a value rounds to zero: its error is itself. */
    return half < m ? half : m;
}

/* Offset in elements of row `row`. */
static int64_t row_offset(const struct assay_tensor *tensor, int64_t row)
{
    int64_t offset = 0;
    for (int d = tensor->rank - 2; d >= 0; d--) {
        offset += row % tensor->extent[d] * tensor->stride[d];
        row /= tensor->extent[d];
    }
    return offset;
}

static int64_t element_offset(const struct assay_tensor *tensor, int64_t index)
{
    int inner = tensor->rank - 1;
    int64_t width = tensor->extent[inner];
    return row_offset(tensor, index / width) + index % width * tensor->stride[inner];
}

/* Elements are copied out: a tensor may lie at any address. */
#define LOAD(type, name) \
    type name;           \
    memcpy(&name, (const char *)data + (size_t)offset * sizeof name, sizeof name)

static double load(const void *data, enum assay_dtype dtype, int64_t offset)
{
    switch (dtype) {
    case ASSAY_F32: {
        LOAD(float, value);
        return value;
    }
    case ASSAY_BF16: {
        LOAD(uint16_t, word);
        return oracle_bf16_value(word);
    }
    case ASSAY_F16: {
        LOAD(uint16_t, word);
        return oracle_f16_value(word);
    }
    case ASSAY_I32: {
        LOAD(int32_t, value);
        return value;
    }
    case ASSAY_F64: {
        LOAD(double, value);
        return value;
    }
    case ASSAY_I64: {
        LOAD(int64_t, value);
        return (double)value;
    }
    case ASSAY_U8: {
        LOAD(uint8_t, value);
        return value;
    }
    default:
        return NAN;
    }
}

double oracle_get(const struct assay_tensor *tensor, int64_t index)
{
    return load(tensor->data, tensor->dtype, element_offset(tensor, index));
}

int64_t oracle_get_int(const struct assay_tensor *tensor, int64_t index)
{
    const void *data = tensor->data;
    int64_t offset = element_offset(tensor, index);
    switch (tensor->dtype) {
    case ASSAY_I32: {
        LOAD(int32_t, value);
        return value;
    }
    case ASSAY_I64: {
        LOAD(int64_t, value);
        return value;
    }
    case ASSAY_U8: {
        LOAD(uint8_t, value);
        return value;
    }
    default:
        return INT64_MIN; /* no integer tensor, and no valid index anywhere */
    }
}

void oracle_get_row(const struct assay_tensor *tensor, int64_t row, double *out)
{
    int inner = tensor->rank - 1;
    int64_t offset = row_offset(tensor, row);
    for (int64_t i = 0; i < tensor->extent[inner]; i++) {
        out[i] = load(tensor->data, tensor->dtype, offset + i * tensor->stride[inner]);
    }
}

double *oracle_get_all(const struct assay_tensor *tensor)
{
    int64_t rows = 1;
    for (int d = 0; d < tensor->rank - 1; d++) {
        rows *= tensor->extent[d];
    }
    int64_t width = tensor->extent[tensor->rank - 1];
    size_t count = (size_t)rows * (size_t)width;
    double *all = malloc((count > 0 ? count : 1) * sizeof *all);
    if (all == NULL) {
        return NULL;
    }
    for (int64_t row = 0; row < rows && width > 0; row++) {
        oracle_get_row(tensor, row, all + row * width);
    }
    return all;
}

#define STORE(type, value)                                                                        \
    do {                                                                                          \
        type stored_ = (type)(value);                                                             \
        memcpy((char *)tensor->data + (size_t)offset * sizeof stored_, &stored_, sizeof stored_); \
    } while (0)

void oracle_put_int(const struct assay_tensor *tensor, int64_t index, int64_t value)
{
    int64_t offset = element_offset(tensor, index);
    switch (tensor->dtype) {
    case ASSAY_I32:
        STORE(int32_t, value);
        break;
    case ASSAY_I64:
        STORE(int64_t, value);
        break;
    case ASSAY_U8:
        STORE(uint8_t, value);
        break;
    default:
        oracle_put(tensor, index, (double)value);
        break;
    }
}

void oracle_put(const struct assay_tensor *tensor, int64_t index, double value)
{
    int64_t offset = element_offset(tensor, index);
    switch (tensor->dtype) {
    case ASSAY_F32:
        STORE(float, value);
        break;
    case ASSAY_BF16:
        STORE(uint16_t, oracle_bf16_word(value));
        break;
    case ASSAY_F16:
        STORE(uint16_t, oracle_f16_word(value));
        break;
    case ASSAY_F64:
        STORE(double, value);
        break;
    case ASSAY_I32:
    case ASSAY_I64:
    case ASSAY_U8:
        oracle_put_int(tensor, index, llrint(value));
        break;
    default:
        break;
    }
}
