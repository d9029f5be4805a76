/* SPDX-License-Identifier: MIT
 *
 * attention's arguments as its kernels see them.
 */
#ifndef ASSAY_ATTENTION_DEVICE_CUH
#define ASSAY_ATTENTION_DEVICE_CUH

#include "cuda/rows.cuh"
#include "ops/attention/attention_routes.h"

struct attention_call {
    struct row_view q, k, v, gate, y;
    bool has_gate;
    int64_t tokens, heads, key_heads, group; /* group: query heads of a key head */
    int64_t width, value_width;              /* D, Dv */
    int64_t start;                           /* of query 0, or its bound */
    const int32_t *start_at;                 /* NULL: start */
    double scale;
};

static inline struct attention_call attention_call_of(const struct assay_attention_args *a)
{
    bool has_gate = a->gate.data != NULL;
    return {row_view_of(&a->q),
            row_view_of(&a->k_cache),
            row_view_of(&a->v_cache),
            has_gate ? row_view_of(&a->gate) : row_view_of(&a->y),
            row_view_of(&a->y),
            has_gate,
            a->q.extent[0],
            a->q.extent[1],
            a->k_cache.extent[1],
            a->q.extent[1] / a->k_cache.extent[1],
            a->q.extent[2],
            a->v_cache.extent[2],
            a->start,
            static_cast<const int32_t *>(a->start_at.data),
            a->scale};
}

/* Where query 0 stands [ATTENTION-9]. */
SIMT_DEVICE int64_t attention_start_of(const struct attention_call &p)
{
    if (p.start_at == NULL)
        return p.start;
    int64_t at = simt_load_constant(p.start_at);
    return at < 0 ? 0 : at < p.start ? at : p.start;
}

/* Row `head` of slot or token `place`. */
SIMT_DEVICE unsigned char *attention_row(struct row_view v, int64_t place, int64_t head)
{
    return v.data + place * v.outer_stride + head * v.inner_stride;
}

/* A weight before its division: of a score below a maximum that is no NaN. An infinite maximum
 * gives what IEEE 754 gives, but that a score of -infinity has no weight. */
SIMT_DEVICE float attention_weight(float score, float largest)
{
    return score == -INFINITY ? 0.0f : expf(score - largest);
}

SIMT_DEVICE float attention_score(float dot, double scale)
{
    return static_cast<float>(static_cast<double>(dot) * scale);
}

/* The last step of an element: gate [ATTENTION-2], the rounding into y. The sigmoid is taken in
 * binary64, whose exp does not overflow where the sigmoid is a binary32 number. */
SIMT_DEVICE void attention_store(const struct attention_call &p, int64_t token, int64_t head,
                                 int64_t d, float value)
{
    if (p.has_gate) {
        const unsigned char *row = attention_row(p.gate, token, head);
        float gate =
            p.gate.is_bf16
                ? simt_bf16_to_f32(simt_load_constant(reinterpret_cast<const uint16_t *>(row) + d))
                : simt_load_constant(reinterpret_cast<const float *>(row) + d);
        value *= static_cast<float>(1 / (1 + exp(-static_cast<double>(gate))));
    }
    unsigned char *to = attention_row(p.y, token, head);
    if (p.y.is_bf16)
        simt_store(reinterpret_cast<uint16_t *>(to) + d, simt_bf16_from_f32(value));
    else
        simt_store(reinterpret_cast<float *>(to) + d, value);
}

#endif
