/* SPDX-License-Identifier: MIT
 *
 * Quantising activations: see a8_activations.h.
 */
#include "ops/linear_a8/a8_activations.h"

#include <math.h>

#include "core/core.h"
#include "numeric/float_words.h"

struct a8_activations a8_activations_at(const struct assay_linear_a8_args *a, void *workspace)
{
    int64_t rows = a->x.extent[0], pitch = a8_padded(a->w.columns);
    struct a8_activations q = {NULL, workspace, pitch, pitch / A8_GROUP};
    if (workspace != NULL)
        q.codes = (int16_t *)(void *)(q.scales + rows * q.groups);
    return q;
}

size_t a8_workspace(const assay_context *context, const void *args)
{
    const struct assay_linear_a8_args *a = args;
    (void)context;
    size_t pitch = (size_t)a8_padded(a->w.columns);
    return (size_t)a->x.extent[0] * (pitch / A8_GROUP * sizeof(float) + pitch * sizeof(int16_t));
}

/* x[count], count <= A8_GROUP; codes[A8_GROUP]. Returns the scale. */
static float quantise_group(const float *x, int64_t count, int16_t *codes)
{
    float amax = 1e-20f;
    bool is_finite = true;
    for (int64_t i = 0; i < count; i++) {
        float magnitude = fabsf(x[i]);
        is_finite = is_finite && magnitude <= 0x1.fffffep127f; /* false for a NaN */
        amax = magnitude > amax ? magnitude : amax;
    }
    float scale = f16_to_f32(f16_from_f32(amax / A8_LARGEST));
    if (!is_finite || scale > 65504.0f) {
        memset(codes, 0, A8_GROUP * sizeof *codes);
        return NAN;
    }
    float inverse = A8_LARGEST / amax;
    for (int64_t i = 0; i < count; i++) {
        float code = rintf(x[i] * inverse);
        code = code > A8_LARGEST ? A8_LARGEST : code < -A8_LARGEST ? -A8_LARGEST : code;
        codes[i] = (int16_t)code;
    }
    memset(codes + count, 0, (size_t)(A8_GROUP - count) * sizeof *codes);
    return scale;
}

struct quantising {
    const struct assay_linear_a8_args *a;
    const struct a8_activations *to;
};

static void quantise_rows(void *argument, int64_t first, int64_t last)
{
    const struct quantising *q = argument;
    int64_t inner = q->a->w.columns;
    size_t size = assay_dtype_bytes(q->a->x.dtype);
    for (int64_t t = first; t < last; t++) {
        const char *x = assay_tensor_row(&q->a->x, t);
        int16_t *codes = q->to->codes + t * q->to->pitch;
        float *scales = q->to->scales + t * q->to->groups;
        for (int64_t g = 0; g < q->to->groups; g++) {
            int64_t k = g * A8_GROUP, count = inner - k < A8_GROUP ? inner - k : A8_GROUP;
            float values[A8_GROUP];
            if (count <= 0) { /* padding only */
                memset(codes + k, 0, A8_GROUP * sizeof *codes);
                scales[g] = 0;
                continue;
            }
            words_to_f32(x + (size_t)k * size, q->a->x.dtype, count, values);
            scales[g] = quantise_group(values, count, codes + k);
        }
    }
}

void a8_quantise(assay_context *context, const struct assay_linear_a8_args *a,
                 const struct a8_activations *to)
{
    enum { RANGE_VALUES = 16384 }; /* work of one range of the thread pool */
    struct quantising q = {a, to};
    assay_parallel(context, a->x.extent[0], RANGE_VALUES / to->pitch + 1, quantise_rows, &q);
}
