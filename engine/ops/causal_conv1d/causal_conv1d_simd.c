/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d, vectorised over channels. The window of the last inputs stays in registers, so
 * each input byte is read once. Sums are taken in binary64: no finite input overflows on the way,
 * and at two to eight taps it costs nothing beside the memory traffic. SiLU is binary32.
 *
 * Profile f32. Bound: causal_conv1d_bound.md.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/causal_conv1d/causal_conv1d_routes.h"

#include <float.h>

/* Channels [channel, channel + count), count <= SIMD_LANES. */
struct tile {
    const struct assay_causal_conv1d_args *args;
    int64_t channel, count;
};

static vf load(const struct tile *tile, const struct assay_tensor *tensor, int64_t row)
{
    const void *p = assay_tensor_row(tensor, row);
    if (tile->count == SIMD_LANES)
        return vf_load_any(p, tensor->dtype, tile->channel);
    return vf_load_tail(p, tensor->dtype, tile->channel, tile->count);
}

static void store(const struct tile *tile, const struct assay_tensor *tensor, int64_t row, vf v)
{
    void *p = assay_tensor_row(tensor, row);
    if (tile->count == SIMD_LANES)
        vf_store_any(p, tensor->dtype, tile->channel, v);
    else
        vf_store_tail(p, tensor->dtype, tile->channel, tile->count, v);
}

/* The taps of the tile's channels, one vector a tap. */
static void load_taps(const struct tile *tile, vf *taps)
{
    const struct assay_tensor *w = &tile->args->w;
    float lane[CAUSAL_CONV1D_MAX_TAPS][SIMD_WIDTH] = {{0}};
    for (int64_t i = 0; i < tile->count; i++) {
        const void *row = assay_tensor_row(w, tile->channel + i);
        for (int64_t j = 0; j < w->extent[1]; j++)
            lane[j][i] = (float)word_to_f64(row, w->dtype, j);
    }
    for (int64_t j = 0; j < w->extent[1]; j++)
        taps[j] = vf_load(lane[j]);
}

/* A finite sum below the range of binary32 stays finite: SiLU of it is -0, while that of an
 * infinity is NaN. */
static vd keep_finite(vd sum)
{
    typedef int64_t vl __attribute__((vector_size(sizeof(vd))));
    vd lowest = vd_set(-(double)FLT_MAX);
    vl beyond = (vl)(sum < lowest) & (vl)(sum >= vd_set(-DBL_MAX));
    return (vd)((beyond & (vl)lowest) | (~beyond & (vl)sum));
}

static void convolve(const struct tile *tile)
{
    const struct assay_causal_conv1d_args *a = tile->args;
    int64_t num_taps = a->w.extent[1], tokens = a->x.extent[0];
    vf taps[CAUSAL_CONV1D_MAX_TAPS], window[CAUSAL_CONV1D_MAX_TAPS];
    load_taps(tile, taps);
    for (int64_t j = 0; j < num_taps - 1; j++)
        window[j] = load(tile, &a->state, j);
    for (int64_t t = 0; t < tokens; t++) {
        window[num_taps - 1] = load(tile, &a->x, t);
        vd low = vd_set(0), high = vd_set(0);
        for (int64_t j = 0; j < num_taps; j++) {
            low = vd_fma(vd_low(taps[j]), vd_low(window[j]), low);
            high = vd_fma(vd_high(taps[j]), vd_high(window[j]), high);
        }
        vf y;
        if (a->silu) {
            vf sum = vf_from_vd(keep_finite(low), keep_finite(high));
            y = sum * vf_sigmoid(sum);
        } else {
            y = vf_from_vd(low, high);
        }
        store(tile, &a->y, t, y);
        for (int64_t j = 0; j < num_taps - 1; j++)
            window[j] = window[j + 1];
    }
    for (int64_t j = 0; j < num_taps - 1; j++)
        store(tile, &a->state, j, window[j]);
}

static void tiles(void *argument, int64_t first, int64_t last)
{
    const struct assay_causal_conv1d_args *a = argument;
    for (int64_t i = first; i < last; i++) {
        int64_t channel = i * SIMD_LANES, left = a->w.extent[0] - channel;
        convolve(&(struct tile){a, channel, left < SIMD_LANES ? left : SIMD_LANES});
    }
}

assay_status SIMD_NAME(causal_conv1d_route)(assay_context *context, const void *args,
                                            void *workspace)
{
    const struct assay_causal_conv1d_args *a = args;
    (void)workspace;
    int64_t count = (a->w.extent[0] + SIMD_LANES - 1) / SIMD_LANES;
    assay_parallel(context, count, 16, tiles, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
