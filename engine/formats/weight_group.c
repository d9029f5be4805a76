/* SPDX-License-Identifier: MIT
 *
 * One group of a grouped weight format. Plain loops of constant length, which the compiler turns
 * into vector code for whatever instruction set this file is compiled for; no call in any of them.
 *
 * Sums over a group have one order everywhere: the terms of its upper half are added to those of
 * its lower half, term by term, and so on until one is left.
 */
#include "formats/weight_group.h"

#include <math.h>

#include "numeric/float_words.h"

#if !defined(SIMD_ISA)
#define SIMD_ISA portable
#endif
#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define LOCAL        static inline __attribute__((always_inline))

enum { NUM_RATIOS = 25, LARGEST_FINITE = 0x7bff, SIGN = 0x8000 };

/* A group while its scale is sought. */
struct search {
    const struct weight_encoding *encoding;
    const float *x;
    const double *weight; /* NULL: 1 */
    int count;            /* columns of a group */
    uint16_t word;        /* the best scale so far, and its error */
    double error;
};

/* Nearest integer, ties to even, limited to the codes. The limits are integers, so they may come
 * first, and then |t| <= 2^22: adding 1.5 * 2^23 leaves no place for a fraction. */
LOCAL float code_of(float x, float inverse, float lowest, float largest)
{
    const float shift = 0x1.8p23f;
    float t = x * inverse;
    t = t < lowest ? lowest : t;
    t = t > largest ? largest : t;
    return (t + shift) - shift;
}

LOCAL void fold(double *term, int half)
{
    for (int k = 0; k < half; k++)
        term[k] += term[k + half];
}

/* The last folds are written as vectors: left to itself the compiler takes single elements out. */
LOCAL double sum_of(double *term, int count)
{
    typedef double four __attribute__((vector_size(32)));
    typedef double two __attribute__((vector_size(16)));
    four low, high;
    two pair, other;
    if (count == 64)
        fold(term, 32);
    fold(term, 16);
    fold(term, 8);
    memcpy(&low, term, sizeof low);
    memcpy(&high, term + 4, sizeof high);
    low += high;
    memcpy(&pair, &low, sizeof pair);
    memcpy(&other, (const char *)&low + sizeof pair, sizeof other);
    pair += other;
    return pair[0] + pair[1];
}

/* sum w (x - s q)^2; s q is exact in binary64. */
LOCAL double squared_error(const struct search *search, uint16_t word, int count, bool weighted)
{
    const float scale = f16_to_f32(word), inverse = 1.0f / scale;
    const float lowest = search->encoding->lowest, largest = search->encoding->largest;
    const float *restrict x = search->x;
    const double *restrict weight = search->weight;
    float code[WEIGHT_GROUP_MAX];
    double term[WEIGHT_GROUP_MAX];
    for (int k = 0; k < count; k++)
        code[k] = code_of(x[k], inverse, lowest, largest);
    for (int k = 0; k < count; k++) {
        double difference = (double)x[k] - (double)scale * (double)code[k];
        double square = difference * difference;
        term[k] = weighted ? square * weight[k] : square;
    }
    return sum_of(term, count);
}

/* The scale with the least weighted error for the codes that `word` leads to:
 * sum w x q / sum w q^2, rounded once to binary16. 0 where all codes are. */
LOCAL uint16_t least_squares(const struct search *search, uint16_t word, int count)
{
    const float inverse = 1.0f / f16_to_f32(word);
    const float lowest = search->encoding->lowest, largest = search->encoding->largest;
    double top[WEIGHT_GROUP_MAX], bottom[WEIGHT_GROUP_MAX];
    for (int k = 0; k < count; k++) {
        double code = (double)code_of(search->x[k], inverse, lowest, largest);
        top[k] = search->weight[k] * ((double)search->x[k] * code);
        bottom[k] = search->weight[k] * (code * code);
    }
    uint16_t result = 0;
    double divisor = sum_of(bottom, count);
    if (divisor > 0)
        word_from_f64(sum_of(top, count) / divisor, &result, ASSAY_F16, 0);
    return result;
}

/* The scale of a group whose largest magnitude is not zero: what would round to zero, in binary16
 * or before in binary32, becomes the smallest subnormal. */
LOCAL uint16_t scale_word(float raw)
{
    uint16_t word = f16_from_f32(raw);
    return (word & ~SIGN) != 0 ? word : (uint16_t)(word | 1);
}

LOCAL void consider(struct search *search, uint16_t word)
{
    int magnitude = word & ~SIGN;
    if (magnitude == 0 || magnitude > LARGEST_FINITE)
        return;
    if ((word & SIGN) != 0 && !search->encoding->allow_negative_scales)
        return;
    double error;
    if (search->count == 32)
        error = search->weight != NULL ? squared_error(search, word, 32, true)
                                       : squared_error(search, word, 32, false);
    else
        error = search->weight != NULL ? squared_error(search, word, 64, true)
                                       : squared_error(search, word, 64, false);
    if (error < search->error) {
        search->error = error;
        search->word = word;
    }
}

/* Ratios are multiplied out: 0.70f + 0.02f * 15 is 1 exactly, which makes the search never worse
 * than maxabs; adding 0.02f again and again misses 1. */
static void consider_ratios(struct search *search, float extreme, float code)
{
    for (int i = 0; i < NUM_RATIOS; i++) {
        float ratio = 0.70f + 0.02f * (float)i;
        consider(search, scale_word(ratio * extreme / code));
    }
}

/* Neighbours of a scale among the binary16 words, by their magnitude. */
static void consider_steps(struct search *search, uint16_t word, int most)
{
    for (int step = -most; step <= most; step++) {
        int magnitude = (word & ~SIGN) + step;
        if (step != 0 && magnitude > 0)
            consider(search, (uint16_t)(magnitude | (word & SIGN)));
    }
}

static void consider_multiples(struct search *search, uint16_t word, const float *factor, int count)
{
    for (int i = 0; i < count; i++)
        consider(search, f16_from_f32(f16_to_f32(word) * factor[i]));
}

static uint16_t refit(const struct search *search, uint16_t word)
{
    return search->count == 32 ? least_squares(search, word, 32) : least_squares(search, word, 64);
}

/* docs/formats.md lists the candidates. Each replaces the best before it only where its error is
 * strictly less. */
static void search_grouped(struct search *search, float largest_magnitude, float extreme)
{
    static const float around[] = {0.25f, 0.5f, 2.0f, 4.0f}, fit[] = {1.0f, 0.5f, 2.0f};
    const struct weight_encoding *encoding = search->encoding;
    const uint16_t maxabs = search->word;
    consider(search, maxabs);
    consider_ratios(search, largest_magnitude, encoding->largest);
    /* In a symmetric range this is the same again, or its mirror image. */
    if (encoding->lowest != -encoding->largest)
        consider_ratios(search, extreme, encoding->lowest);
    consider_multiples(search, maxabs, around, 4);
    consider_steps(search, maxabs, 2);
    uint16_t squares = refit(search, maxabs);
    consider_multiples(search, squares, fit, 3);
    consider_steps(search, squares, 2);
    squares = refit(search, search->word);
    consider(search, squares);
    consider_steps(search, squares, 1);
}

/* Bits of the largest magnitude: above those of infinity for a NaN. */
LOCAL uint32_t largest_bits(const float *x, int count)
{
    int32_t most = 0;
    for (int k = 0; k < count; k++) {
        int32_t bits = (int32_t)(f32_bits(x[k]) & 0x7fffffffu);
        most = bits > most ? bits : most;
    }
    return (uint32_t)most;
}

static float first_of_magnitude(const float *x, int count, uint32_t bits)
{
    for (int k = 0; k < count; k++)
        if ((f32_bits(x[k]) & 0x7fffffffu) == bits)
            return x[k];
    return 0;
}

/* Bytes of the planes from u = code + 2^(bits - 1), or two's complement. */
LOCAL void pack(int bits, const uint8_t *restrict u, uint8_t *restrict base, uint8_t *restrict high)
{
    if (bits == 8) {
        memcpy(base, u, 32);
        return;
    }
    for (int i = 0; i < 32; i++)
        base[i] = (uint8_t)((u[2 * i] & 15) | (u[2 * i + 1] & 15) << 4);
    if (bits == 5)
        for (int i = 0; i < 8; i++) {
            unsigned byte = 0;
            for (int bit = 0; bit < 8; bit++)
                byte |= (unsigned)(u[8 * i + bit] >> 4) << bit;
            high[i] = (uint8_t)byte;
        }
    if (bits == 6)
        for (int i = 0; i < 16; i++)
            high[i] = (uint8_t)(u[4 * i] >> 4 | u[4 * i + 1] >> 4 << 2 | u[4 * i + 2] >> 4 << 4 |
                                u[4 * i + 3] >> 4 << 6);
}

/* inverse = 0: codes of zero for any values, even NaN. */
LOCAL void store(const struct weight_encoding *encoding, const float *x, float inverse, int bits,
                 uint8_t *base, uint8_t *high)
{
    uint8_t u[WEIGHT_GROUP_MAX];
    const int count = bits == 8 ? 32 : 64, offset = bits == 8 ? 0 : 1 << (bits - 1);
    const float lowest = encoding->lowest, largest = encoding->largest;
    if (inverse == 0)
        memset(u, offset, sizeof u);
    else
        for (int k = 0; k < count; k++)
            u[k] = (uint8_t)((int)code_of(x[k], inverse, lowest, largest) + offset);
    pack(bits, u, base, high);
}

static void store_group(const struct weight_encoding *encoding, const float *x, float inverse,
                        uint8_t *base, uint8_t *high)
{
    switch (encoding->bits) {
    case 4:
        store(encoding, x, inverse, 4, base, high);
        break;
    case 5:
        store(encoding, x, inverse, 5, base, high);
        break;
    case 6:
        store(encoding, x, inverse, 6, base, high);
        break;
    default:
        store(encoding, x, inverse, 8, base, high);
        break;
    }
}

static uint16_t encode(const struct weight_encoding *encoding, const float *values,
                       const float *importance, uint8_t *base, uint8_t *high)
{
    const int count = encoding->bits == 8 ? 32 : 64;
    uint32_t bits = count == 32 ? largest_bits(values, 32) : largest_bits(values, 64);
    if (bits == 0 || bits >= 0x7f800000u) {
        store_group(encoding, values, 0, base, high);
        return bits == 0 ? 0 : WEIGHT_SCALE_NAN;
    }
    float magnitude = f32_from_bits(bits);
    struct search search = {.encoding = encoding, .x = values, .count = count, .error = HUGE_VAL};
    search.word = scale_word(magnitude / encoding->largest);
    if (search.word > LARGEST_FINITE)
        return WEIGHT_SCALE_INFINITE;
    if (encoding->encoder == ASSAY_ENCODER_CLIP25)
        consider_ratios(&search, magnitude, encoding->largest);
    if (encoding->encoder == ASSAY_ENCODER_GROUPED) {
        double weight[WEIGHT_GROUP_MAX];
        for (int k = 0; k < count; k++)
            weight[k] = importance != NULL ? (double)importance[k] : 1.0;
        search.weight = weight;
        search_grouped(&search, magnitude, first_of_magnitude(values, count, bits));
    }
    store_group(encoding, values, 1.0f / f16_to_f32(search.word), base, high);
    return search.word;
}

/* All values of a group; `values` may be a buffer of the caller's. */
LOCAL void unpack(int bits, const uint8_t *restrict base, const uint8_t *restrict high, float scale,
                  float *restrict values)
{
    if (bits == 8) {
        for (int k = 0; k < 32; k++)
            values[k] = (float)(int8_t)base[k] * scale;
        return;
    }
    uint8_t u[WEIGHT_GROUP_MAX];
    for (int i = 0; i < 32; i++) {
        u[2 * i] = base[i] & 15;
        u[2 * i + 1] = base[i] >> 4;
    }
    if (bits == 5)
        for (int k = 0; k < 64; k++)
            u[k] = (uint8_t)(u[k] | (high[k / 8] >> k % 8 & 1) << 4);
    if (bits == 6)
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 4; j++)
                u[4 * i + j] = (uint8_t)(u[4 * i + j] | (high[i] >> 2 * j & 3) << 4);
    for (int k = 0; k < 64; k++)
        values[k] = (float)(u[k] - (1 << (bits - 1))) * scale;
}

static void decode(int bits, const uint8_t *base, const uint8_t *high, float scale, int count,
                   float *values)
{
    float whole[WEIGHT_GROUP_MAX];
    float *target = count == (bits == 8 ? 32 : 64) ? values : whole;
    switch (bits) {
    case 4:
        unpack(4, base, high, scale, target);
        break;
    case 5:
        unpack(5, base, high, scale, target);
        break;
    case 6:
        unpack(6, base, high, scale, target);
        break;
    default:
        unpack(8, base, high, scale, target);
        break;
    }
    if (target == whole)
        memcpy(values, whole, (size_t)count * sizeof *values);
}

const struct weight_kernels PASTE(weight_kernels, SIMD_ISA) = {.encode = encode, .decode = decode};
