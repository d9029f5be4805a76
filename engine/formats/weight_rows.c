/* SPDX-License-Identifier: MIT
 *
 * Rows of grouped weights: the driver of the group kernels.
 */
#include <assay/testing.h>
#include <assay/weights.h>

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/core.h"
#include "formats/weight_group.h"
#include "numeric/float_words.h"

static const struct weight_kernels *kernels_for(enum assay_isa isa)
{
#if defined(ASSAY_SIMD)
    if (isa == ASSAY_ISA_AVX512)
        return &weight_kernels_avx512;
    if (isa == ASSAY_ISA_AVX2)
        return &weight_kernels_avx2;
#endif
    (void)isa;
    return &weight_kernels_portable;
}

/* The processor's. Asked once: CPUID, which the question takes, is slower than a row where it
 * leaves a virtual machine. */
static const struct weight_kernels *best_kernels(void)
{
    static _Atomic(const struct weight_kernels *) known;
    const struct weight_kernels *kernels = atomic_load_explicit(&known, memory_order_relaxed);
    if (kernels == NULL) {
        kernels = kernels_for(assay_isa_detect());
        atomic_store_explicit(&known, kernels, memory_order_relaxed);
    }
    return kernels;
}

/* A row's bytes of one group. */
struct group_place {
    uint8_t *base, *high;
    char *scale;
};

static struct group_place place_of(const struct assay_weights *weights, int64_t row, int64_t group)
{
    int64_t columns = assay_weight_group(weights->format) * group;
    int bits = assay_weight_bits(weights->format);
    struct group_place place = {
        .base = (uint8_t *)weights->base.data + row * weights->base.stride[0] +
                (bits == 8 ? columns : columns / 2),
        .scale = (char *)weights->scales.data + 2 * (row * weights->scales.stride[0] + group),
    };
    if (bits == 5 || bits == 6)
        place.high = (uint8_t *)weights->high.data + row * weights->high.stride[0] +
                     columns / 8 * (bits - 4);
    return place;
}

static assay_status overflow(const struct assay_weights *to, int64_t first, const float *values,
                             int64_t count, struct assay_error *error)
{
    int64_t worst = 0;
    for (int64_t k = 1; k < count; k++)
        if (fabsf(values[k]) > fabsf(values[worst]))
            worst = k;
    char what[32];
    snprintf(what, sizeof what, "column %lld", (long long)(first + worst));
    return assay_fail(error, ASSAY_E_ARG, "weights", what,
                      "%g needs a scale beyond binary16: %s holds magnitudes below %g; scale the "
                      "matrix down or keep it in bf16",
                      (double)values[worst], assay_weight_format_name(to->format),
                      65520.0 * assay_weight_largest(to->format));
}

static assay_status check_call(const struct assay_weights *to, int64_t row,
                               const struct assay_encode_options *options,
                               struct assay_error *error)
{
    ASSAY_TRY(assay_weights_check(to, error));
    if (row < 0 || row >= to->rows)
        return assay_fail(error, ASSAY_E_SHAPE, "weights", "row", "%lld is not in [0, %lld)",
                          (long long)row, (long long)to->rows);
    if ((unsigned)options->encoder >= ASSAY_NUM_WEIGHT_ENCODERS)
        return assay_fail(error, ASSAY_E_ARG, "weights", "encoder", "%d is none of the %d encoders",
                          (int)options->encoder, ASSAY_NUM_WEIGHT_ENCODERS);
    if (options->encoder != ASSAY_ENCODER_GROUPED || options->importance == NULL)
        return ASSAY_OK;
    for (int64_t k = 0; k < to->columns; k++)
        if (!(options->importance[k] >= 0 && options->importance[k] < INFINITY))
            return assay_fail(error, ASSAY_E_ARG, "weights", "importance",
                              "must be finite and not negative, is %g for column %lld",
                              (double)options->importance[k], (long long)k);
    return ASSAY_OK;
}

static assay_status encode_row(const struct weight_kernels *kernels, const struct assay_weights *to,
                               int64_t row, const float *values,
                               const struct assay_encode_options *options,
                               struct assay_error *error)
{
    ASSAY_TRY(check_call(to, row, options, error));
    if (to->format == ASSAY_WEIGHT_BF16) {
        words_from_f32(values, to->columns, assay_tensor_row(&to->base, row), ASSAY_BF16);
        return ASSAY_OK;
    }
    const int bits = assay_weight_bits(to->format), largest = assay_weight_largest(to->format);
    const struct weight_encoding encoding = {
        .encoder = options->encoder,
        .allow_negative_scales = options->allow_negative_scales,
        .bits = bits,
        .lowest = bits == 8 ? (float)-largest : (float)(-largest - 1),
        .largest = (float)largest,
    };
    const int64_t group = assay_weight_group(to->format);
    const int64_t groups = weight_padded_columns(to->columns) / group;
    for (int64_t g = 0; g < groups; g++) {
        struct group_place place = place_of(to, row, g);
        int64_t first = g * group, count = to->columns - first;
        float x[WEIGHT_GROUP_MAX] = {0}, importance[WEIGHT_GROUP_MAX] = {0};
        const float *group_x = x, *group_importance = NULL;
        bool weighted = options->importance != NULL;
        if (count >= group) {
            group_x = values + first;
            group_importance = weighted ? options->importance + first : NULL;
        } else if (count > 0) {
            memcpy(x, values + first, (size_t)count * sizeof *x);
            if (weighted)
                memcpy(importance, options->importance + first, (size_t)count * sizeof *x);
            group_importance = weighted ? importance : NULL;
        }
        uint16_t scale =
            kernels->encode(&encoding, group_x, group_importance, place.base, place.high);
        if (scale == WEIGHT_SCALE_INFINITE)
            return overflow(to, first, values + first, count < group ? count : group, error);
        memcpy(place.scale, &scale, sizeof scale);
    }
    return ASSAY_OK;
}

assay_status assay_weights_encode_row(const struct assay_weights *to, int64_t row,
                                      const float *values,
                                      const struct assay_encode_options *options,
                                      struct assay_error *error)
{
    return encode_row(best_kernels(), to, row, values, options, error);
}

assay_status assay_testing_encode_row(enum assay_isa isa, const struct assay_weights *to,
                                      int64_t row, const float *values,
                                      const struct assay_encode_options *options,
                                      struct assay_error *error)
{
    return encode_row(kernels_for(isa), to, row, values, options, error);
}

static void decode_row(const struct weight_kernels *kernels, const struct assay_weights *from,
                       int64_t row, float *values)
{
    if (from->format == ASSAY_WEIGHT_BF16) {
        words_to_f32(assay_tensor_row(&from->base, row), ASSAY_BF16, from->columns, values);
        return;
    }
    const int bits = assay_weight_bits(from->format);
    const int64_t group = assay_weight_group(from->format);
    for (int64_t first = 0; first < from->columns; first += group) {
        struct group_place place = place_of(from, row, first / group);
        int64_t count = from->columns - first < group ? from->columns - first : group;
        uint16_t scale;
        memcpy(&scale, place.scale, sizeof scale);
        kernels->decode(bits, place.base, place.high, f16_to_f32(scale), (int)count,
                        values + first);
    }
}

void assay_weights_decode_row(const struct assay_weights *from, int64_t row, float *values)
{
    decode_row(best_kernels(), from, row, values);
}

void assay_testing_decode_row(enum assay_isa isa, const struct assay_weights *from, int64_t row,
                              float *values)
{
    decode_row(kernels_for(isa), from, row, values);
}
