/* SPDX-License-Identifier: MIT
 *
 * rope, vectorised over pairs: angles, cos and sin in binary64 once for each token and pair, all
 * heads of the token share them in binary32.
 *
 * Profile f32. Bound: rope_bound.md. Moves each input and output byte once.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/rope/rope_routes.h"

struct work {
    const struct assay_rope_args *a;
    const double *frequency; /* of each pair */
    float *rotations;        /* for each token: cos of all pairs, then sin of all pairs */
};

static void rotate_head(const struct assay_rope_args *a, const float *cosine, const void *x,
                        void *y)
{
    int64_t half = a->rotary_dim / 2, i = 0;
    const float *sine = cosine + half;
    for (; i + SIMD_LANES <= half; i += SIMD_LANES) { /* y may be x: read before written */
        vf c = vf_load(cosine + i), s = vf_load(sine + i);
        vf first = vf_load_any(x, a->x.dtype, i), second = vf_load_any(x, a->x.dtype, i + half);
        vf_store_any(y, a->y.dtype, i, vf_fma(first, c, -(second * s)));
        vf_store_any(y, a->y.dtype, i + half, vf_fma(second, c, first * s));
    }
    if (i < half) {
        int64_t rest = half - i;
        vf c = vf_load_tail(cosine, ASSAY_F32, i, rest), s = vf_load_tail(sine, ASSAY_F32, i, rest);
        vf first = vf_load_tail(x, a->x.dtype, i, rest);
        vf second = vf_load_tail(x, a->x.dtype, i + half, rest);
        vf_store_tail(y, a->y.dtype, i, rest, vf_fma(first, c, -(second * s)));
        vf_store_tail(y, a->y.dtype, i + half, rest, vf_fma(second, c, first * s));
    }
}

/* [ROPE-2] */
static void copy_rest(const struct assay_rope_args *a, const void *x, void *y)
{
    int64_t i = a->rotary_dim, width = a->x.extent[2];
    if (x == y)
        return;
    for (; i + SIMD_LANES <= width; i += SIMD_LANES)
        vf_store_any(y, a->y.dtype, i, vf_load_any(x, a->x.dtype, i));
    if (i < width)
        vf_store_tail(y, a->y.dtype, i, width - i, vf_load_tail(x, a->x.dtype, i, width - i));
}

void SIMD_NAME(rope_row)(const struct assay_rope_args *a, const float *rotation, const void *x,
                         void *y)
{
    rotate_head(a, rotation, x, y);
    copy_rest(a, x, y);
}

static void tokens(void *argument, int64_t first, int64_t last)
{
    const struct work *work = argument;
    const struct assay_rope_args *a = work->a;
    int64_t heads = a->x.extent[1];
    for (int64_t t = first; t < last; t++) {
        float *rotation = work->rotations + t * a->rotary_dim;
        rope_rotation(a, work->frequency, t, rotation);
        for (int64_t row = t * heads; row < (t + 1) * heads; row++) {
            const void *x = assay_tensor_row(&a->x, row);
            void *y = assay_tensor_row(&a->y, row);
            SIMD_NAME(rope_row)(a, rotation, x, y);
        }
    }
}

assay_status SIMD_NAME(rope_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_rope_args *a = args;
    double *frequency = workspace;
    struct work work = {
        .a = a, .frequency = frequency, .rotations = (float *)(frequency + a->rotary_dim / 2)};
    rope_frequencies(a, frequency);
    assay_parallel(context, a->x.extent[0], 4, tokens, &work);
    return ASSAY_OK;
}
