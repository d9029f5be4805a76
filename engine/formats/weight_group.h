/* SPDX-License-Identifier: MIT
 *
 * One group of a grouped weight format: choosing its scale, packing and unpacking its codes.
 * weight_group.c is compiled once for each instruction set; all of them give the same bytes, since
 * every operation is rounded on its own and sums have one stated order.
 */
#ifndef ASSAY_FORMATS_WEIGHT_GROUP_H
#define ASSAY_FORMATS_WEIGHT_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/weights.h>

enum {
    WEIGHT_GROUP_MAX = 64,
    WEIGHT_PLANE_ALIGNMENT = 256,
    WEIGHT_SCALE_NAN = 0x7e00,
    WEIGHT_SCALE_INFINITE = 0x7c00,
};

static inline int64_t weight_padded_columns(int64_t columns)
{
    return (columns + ASSAY_WEIGHT_PADDING - 1) / ASSAY_WEIGHT_PADDING * ASSAY_WEIGHT_PADDING;
}

struct weight_encoding {
    enum assay_weight_encoder encoder;
    bool allow_negative_scales;
    int bits;      /* of a code: 4, 5, 6, 8 */
    float lowest;  /* code */
    float largest; /* code */
};

struct weight_kernels {
    /* Encodes one group, values[group] (zeros in the place of padding), into its bytes of the base
     * and high planes and returns its scale. WEIGHT_SCALE_INFINITE: the scale exceeds binary16, and
     * nothing was written. importance: [group] or NULL. */
    uint16_t (*encode)(const struct weight_encoding *encoding, const float *values,
                       const float *importance, uint8_t *base, uint8_t *high);
    /* values[0, count) of a group, count <= group. */
    void (*decode)(int bits, const uint8_t *base, const uint8_t *high, float scale, int count,
                   float *values);
};

extern const struct weight_kernels weight_kernels_portable;
#if defined(ASSAY_SIMD)
extern const struct weight_kernels weight_kernels_avx2, weight_kernels_avx512;
#endif

#endif
