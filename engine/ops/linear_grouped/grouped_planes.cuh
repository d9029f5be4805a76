/* SPDX-License-Identifier: MIT
 *
 * Matrices of grouped formats as kernels see them: chunks of 8 columns, whose codes are one or two
 * 32-bit words of the base plane and a byte or two of the high plane. A chunk lies in one group,
 * and rows of planes are padded to whole chunks.
 */
#ifndef ASSAY_GROUPED_PLANES_CUH
#define ASSAY_GROUPED_PLANES_CUH

#include "cuda/rows.cuh"
#include "ops/linear_grouped/grouped_planes.h"

struct grouped_view {
    const unsigned char *base, *high, *scales;
    int64_t base_stride, high_stride, scales_stride; /* bytes from row to row */
    int bits, group_shift;                           /* a group has 1 << group_shift columns */
    bool is_aligned; /* chunks of the base plane start at multiples of 4 bytes, of high of 2 */
};

static inline struct grouped_view grouped_view_of(const struct assay_weights *w)
{
    struct grouped_view v = {static_cast<const unsigned char *>(w->base.data),
                             static_cast<const unsigned char *>(w->high.data),
                             static_cast<const unsigned char *>(w->scales.data),
                             w->base.stride[0],
                             w->high.data != NULL ? w->high.stride[0] : 0,
                             2 * w->scales.stride[0],
                             assay_weight_bits(w->format),
                             assay_weight_group(w->format) == 64 ? 6 : 5,
                             false};
    v.is_aligned =
        (reinterpret_cast<uintptr_t>(v.base) | static_cast<uintptr_t>(v.base_stride)) % 4 == 0 &&
        (reinterpret_cast<uintptr_t>(v.high) | static_cast<uintptr_t>(v.high_stride)) % 2 == 0;
    return v;
}

/* `bytes` bytes, little-endian: 1, 2 or 4. */
SIMT_DEVICE uint32_t grouped_load(const unsigned char *p, int bytes, bool is_aligned)
{
    if (is_aligned && bytes == 4)
        return simt_load_constant(reinterpret_cast<const uint32_t *>(p));
    if (is_aligned && bytes == 2)
        return simt_load_constant(reinterpret_cast<const uint16_t *>(p));
    uint32_t word = 0;
    for (int i = 0; i < bytes; i++)
        word |= static_cast<uint32_t>(simt_load_constant(p + i)) << 8 * i;
    return word;
}

/* Codes of columns k .. k + 7 of a row, k a multiple of 8. */
SIMT_DEVICE void grouped_codes(const struct grouped_view &v, int64_t row, int64_t k, float *codes)
{
    const unsigned char *base = v.base + row * v.base_stride;
    if (v.bits == 8) {
        SIMT_UNROLL for (int half = 0; half < 2; half++)
        {
            uint32_t word = grouped_load(base + k + 4 * half, 4, v.is_aligned);
            SIMT_UNROLL for (int i = 0; i < 4; i++) codes[4 * half + i] =
                static_cast<float>(static_cast<int8_t>(word >> 8 * i & 0xff));
        }
        return;
    }
    int extra = v.bits - 4, offset = 1 << (v.bits - 1);
    uint32_t low = grouped_load(base + k / 2, 4, v.is_aligned), high = 0;
    if (extra > 0)
        high = grouped_load(v.high + row * v.high_stride + k / 8 * extra, extra, v.is_aligned);
    SIMT_UNROLL for (int i = 0; i < 8; i++)
    {
        uint32_t top = high >> extra * i & ((1u << extra) - 1);
        codes[i] = static_cast<float>(static_cast<int>((low >> 4 * i & 15) | top << 4) - offset);
    }
}

/* Of the group that column k is in. */
SIMT_DEVICE float grouped_scale(const struct grouped_view &v, int64_t row, int64_t k)
{
    const unsigned char *scales = v.scales + row * v.scales_stride;
    return simt_f16_to_f32(
        simt_load_constant(reinterpret_cast<const uint16_t *>(scales) + (k >> v.group_shift)));
}

#endif
