/* SPDX-License-Identifier: MIT
 *
 * What the tensor core routes of attention share: a warp's step over 32 keys for 16 query rows.
 *
 * Scores stand in units of 2 ln 2, whole numbers of which are powers of four: x = q . k * factor,
 * factor = scale / (2 ln 2), weight = 2^(2 (x - m)). m is a whole number not below the largest x so
 * far, so that going over to a later m is a multiplication by a power of two, which is exact. Half
 * a logarithm to base 2 rather than a whole one: x does not overflow where scale q . k does not.
 *
 * Values that are not finite must not meet the weights of keys that a row does not attend, nor the
 * parts of a weight (an infinity times a negative part). A row whose sums are not finite is
 * therefore taken again, with other values in their place and the sums of the other rows left
 * alone:
 *
 *   PASS_PLAIN       all rows
 *   PASS_FINITE      zeros for what is not finite
 *   PASS_SMALL       the same with weights TENSOR_SMALL times as large, where sums overflowed
 *   PASS_PLUS        counts attended +infinities and NaN of a positive weight: adds +infinity
 *   PASS_MINUS       counts attended -infinities and NaN of a positive weight: adds -infinity
 *   PASS_ZERO        counts such values of weight 0: adds NaN
 *
 * A zero value and a zero weight add nothing to a sum, so that PASS_FINITE gives a row the bits
 * that it would have had, were the values beyond its own keys others.
 */
#ifndef ASSAY_ATTENTION_TENSOR_CUH
#define ASSAY_ATTENTION_TENSOR_CUH

#include "ops/attention/attention_device.cuh"

enum {
    STEP_KEYS = 32,
    STEP_TILES = STEP_KEYS / 8,   /* of scores */
    STEP_SLICES = STEP_KEYS / 16, /* of weights as operands */
    PLANES = 2                    /* of q and of the weights: high, low */
};

enum { PASS_PLAIN, PASS_FINITE, PASS_SMALL, PASS_PLUS, PASS_MINUS, PASS_ZERO, NUM_PASSES };

#define TENSOR_SMALL 0x1p-24f

SIMT_DEVICE bool tensor_is_finite(float value)
{
    return (simt_f32_bits(value) & 0x7f800000u) != 0x7f800000u;
}

/* x = high + low + r, |r| <= 2^-17 |x| + 2^-134. `high` keeps the class of x: a finite x does not
 * become infinite nor another one zero. */
SIMT_DEVICE void tensor_split(float x, uint32_t *high, uint32_t *low)
{
    uint32_t magnitude = simt_f32_bits(x) & 0x7fffffffu;
    uint32_t word = simt_bf16_from_f32(x);
    if (magnitude < 0x7f800000u && (word & 0x7fffu) == 0x7f80u)
        word -= 1;
    if (magnitude != 0 && (word & 0x7fffu) == 0)
        word |= 1;
    *high = word;
    *low = magnitude < 0x7f800000u
               ? simt_bf16_from_f32(x - simt_bf16_to_f32(static_cast<uint16_t>(word)))
               : 0u;
}

/* Two elements of a query as a pair for each part. */
SIMT_DEVICE void tensor_split_pair(const float *x, uint32_t *high, uint32_t *low)
{
    uint32_t h[2], l[2];
    tensor_split(x[0], &h[0], &l[0]);
    tensor_split(x[1], &h[1], &l[1]);
    *high = h[0] | h[1] << 16;
    *low = l[0] | l[1] << 16;
}

/* 2^(2 (from - to)), exact: from <= to are whole or infinite, the latter gives 0. */
SIMT_DEVICE float tensor_rescale(float from, float to)
{
    float difference = from - to;
    int n = difference > -75 ? 2 * static_cast<int>(difference) : -150;
    uint32_t bits = n >= -126   ? static_cast<uint32_t>(n + 127) << 23
                    : n >= -149 ? 1u << (n + 149)
                                : 0u;
    return simt_f32_from_bits(bits);
}

/* Of a pair of values in pass `pass`. */
SIMT_DEVICE uint32_t tensor_stand_in(uint32_t pair, int pass)
{
    uint32_t result = 0;
    SIMT_UNROLL for (int shift = 0; shift < 32; shift += 16)
    {
        uint32_t word = pair >> shift & 0xffffu, one = 0x3f80u;
        bool is_finite = (word & 0x7f80u) != 0x7f80u;
        if (pass <= PASS_SMALL)
            word = is_finite ? word : 0;
        else if (pass == PASS_PLUS)
            word = is_finite || word == 0xff80u ? 0 : one;
        else if (pass == PASS_MINUS)
            word = is_finite || word == 0x7f80u ? 0 : one;
        else
            word = is_finite ? 0 : one;
        result |= word << shift;
    }
    return result;
}

/* What a pass that counts adds to a value. */
SIMT_DEVICE float tensor_mark(float value, float count, int pass)
{
    if (count == 0)
        return value;
    return pass == PASS_PLUS ? value + INFINITY : pass == PASS_MINUS ? value - INFINITY : NAN;
}

/* A weight in a pass that is not plain: smaller, or whether it counts. */
SIMT_DEVICE float tensor_pass_weight(float weight, bool is_attended, int pass)
{
    if (pass == PASS_SMALL)
        return weight * TENSOR_SMALL; /* exact, where a larger m would round otherwise */
    if (pass < PASS_SMALL)
        return weight;
    return is_attended && (weight > 0) == (pass != PASS_ZERO) ? 1 : 0;
}

/* Two weights as a pair for each part. */
SIMT_DEVICE void tensor_weight_parts(const float *weights, uint32_t *high, uint32_t *low)
{
    *high = simt_bf16x2_from_f32(weights[0], weights[1]);
    *low = simt_bf16x2_from_f32(weights[0] - simt_f32_from_bits(*high << 16),
                                weights[1] - simt_f32_from_bits(*high & 0xffff0000u));
}

/* Keys that a row attends from `first` on, held within an int. */
SIMT_DEVICE int tensor_keys_left(int64_t keys, int64_t first)
{
    int64_t left = keys - first, most = 1 << 20;
    return left < 0 ? 0 : static_cast<int>(left < most ? left : most);
}

/* Brings 16 bytes of a cache row whose rows are not aligned into shared memory, zeros where absent.
 */
template <typename T>
SIMT_DEVICE void tensor_gather(struct simt_shared<T> to, int at, const unsigned char *from,
                               bool is_present)
{
    const int halves = static_cast<int>(sizeof(T)) / 2;
    const uint16_t *half = reinterpret_cast<const uint16_t *>(from);
    SIMT_ROLLED for (int i = 0; i < ROW_CHUNK / halves; i++)
    {
        uint32_t word = 0;
        SIMT_UNROLL for (int j = 0; j < halves; j++)
        {
            if (is_present)
                word |= static_cast<uint32_t>(simt_load_constant(half + i * halves + j)) << 16 * j;
        }
        to.store(at + i, static_cast<T>(word));
    }
}

/* 1 / (1 + e^-x); the exponential does not overflow. */
SIMT_DEVICE float tensor_sigmoid(float x)
{
    float e = expf(-fabsf(x));
    return (x < 0 ? e : 1.0f) / (1 + e);
}

SIMT_DEVICE float tensor_load(struct row_view v, const unsigned char *row, int64_t d)
{
    return v.is_bf16 ? simt_bf16_to_f32(simt_load(reinterpret_cast<const uint16_t *>(row) + d))
                     : simt_load(reinterpret_cast<const float *>(row) + d);
}

/* What an element is multiplied by last [ATTENTION-2]. */
SIMT_DEVICE float tensor_gate(const struct attention_call &p, int64_t token, int64_t head,
                              int64_t d)
{
    if (!p.has_gate)
        return 1;
    return tensor_sigmoid(tensor_load(p.gate, attention_row(p.gate, token, head), d));
}

SIMT_DEVICE void tensor_put(const struct attention_call &p, int64_t token, int64_t head, int64_t d,
                            float value)
{
    unsigned char *to = attention_row(p.y, token, head);
    if (p.y.is_bf16)
        simt_store(reinterpret_cast<uint16_t *>(to) + d, simt_bf16_from_f32(value));
    else
        simt_store(reinterpret_cast<float *>(to) + d, value);
}

/* The last step of an element: gate, the rounding into y. */
SIMT_DEVICE void tensor_store(const struct attention_call &p, int64_t token, int64_t head,
                              int64_t d, float value)
{
    tensor_put(p, token, head, d, value * tensor_gate(p, token, head, d));
}

/* 1 / (2 ln 2) */
static inline float tensor_factor(double scale)
{
    return static_cast<float>(scale * 0.72134752044448170368);
}

#endif
