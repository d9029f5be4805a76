/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d: a thread takes 8 channels and walks over a segment of the tokens; the last `taps`
 * inputs travel in registers.
 *
 * Profile f32. Bound: causal_conv1d_bound.md: products and sums in binary64, so that no finite
 * input overflows on the way [CONV1D-7], the sigmoid in binary32, its product in binary64. Moves y,
 * state and w once and x once, but taps - 1 rows a segment twice; 2 taps + 4 operations an element.
 * Speed on a device: not measured.
 */
#include "cuda/rows.cuh"
#include "ops/causal_conv1d/causal_conv1d_routes.h"

enum { CONV_THREADS = 64, CONV_MAX_SEGMENTS = 65535 };

#if defined(ASSAY_PARANOID)
enum { CONV_SEGMENT = 8 };
#else
enum { CONV_SEGMENT = 32 };
#endif

/* Only the first segment may see the state: its blocks write it, too. */
static_assert(CONV_SEGMENT >= CAUSAL_CONV1D_MAX_TAPS - 1, "a segment is as long as the state");

struct conv_channels {
    struct row_view x, w, state, y;
    int64_t tokens, channels, segment;
    bool packed_w, silu;
};

/* The taps of channels channel .. channel + 7: weights[i * taps + j] is tap j of the i-th; zeros
 * past the last channel. */
template <int taps>
SIMT_DEVICE void load_taps(const struct conv_channels &p, int64_t channel, float *weights)
{
    if (p.packed_w) {
        SIMT_UNROLL for (int k = 0; k < taps; k++)
            row_load_chunk<true>(p.w, p.w.data, channel * taps + k * ROW_CHUNK, p.channels * taps,
                                 weights + k * ROW_CHUNK);
        return;
    }
    SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
    {
        const unsigned char *row = row_address(p.w, channel + i);
        SIMT_UNROLL for (int j = 0; j < taps; j++)
        {
            float value = 0;
            if (channel + i < p.channels)
                value = p.w.is_bf16 ? simt_bf16_to_f32(simt_load_constant(
                                          reinterpret_cast<const uint16_t *>(row) + j))
                                    : simt_load_constant(reinterpret_cast<const float *>(row) + j);
            weights[i * taps + j] = value;
        }
    }
}

/* The inputs of `taps` tokens, oldest first; 8 channels each. */
template <int taps> struct conv_window {
    float x[taps][ROW_CHUNK];
};

template <int taps> SIMT_DEVICE void drop_oldest(struct conv_window<taps> &window)
{
    SIMT_UNROLL for (int j = 0; j < taps - 1; j++) SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
        window.x[j][i] = window.x[j + 1][i];
}

/* Token t becomes the newest; tokens before the first are in the state. */
template <int taps>
SIMT_DEVICE void take_token(const struct conv_channels &p, int64_t channel, int64_t t,
                            struct conv_window<taps> &window)
{
    float *newest = window.x[taps - 1];
    drop_oldest(window);
    if (t < 0) /* two calls: of a selected view nvcc no longer knows that it is global memory */
        row_load_chunk<false>(p.state, row_address(p.state, t + (taps - 1)), channel, p.channels,
                              newest);
    else
        row_load_chunk<false>(p.x, row_address(p.x, t), channel, p.channels, newest);
}

/* The product in binary64 with the sum as it is: of a finite sum below the range of binary32 it is
 * zero, of -inf it is NaN. exp(-|z|) never overflows; on the negative side it is the numerator, so
 * that small values keep their digits. */
SIMT_DEVICE float conv_silu(double sum)
{
    float z = static_cast<float>(sum);
    float e = expf(-fabsf(z));
    float sigmoid = (z < 0 ? e : 1.0f) / (1.0f + e);
    return static_cast<float>(sum * static_cast<double>(sigmoid));
}

template <int taps>
SIMT_DEVICE void store_token(const struct conv_channels &p, int64_t channel, int64_t t,
                             const float *weights, const struct conv_window<taps> &window)
{
    float y[ROW_CHUNK];
    SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++)
    {
        double sum = 0;
        SIMT_UNROLL for (int j = 0; j < taps; j++) sum +=
            static_cast<double>(weights[i * taps + j]) * static_cast<double>(window.x[j][i]);
        y[i] = p.silu ? conv_silu(sum) : static_cast<float>(sum);
    }
    row_store_chunk(p.y, row_address(p.y, t), channel, p.channels, y); /* y may be x */
}

template <int taps> SIMT_KERNEL(conv_segment)(struct conv_channels p)
{
    int64_t thread = static_cast<int64_t>(simt_block_index().x) * CONV_THREADS + simt_thread();
    int64_t channel = thread * ROW_CHUNK;
    if (channel >= p.channels)
        return;
    int64_t first = simt_block_index().y * p.segment, last = first + p.segment;
    if (last > p.tokens)
        last = p.tokens;
    float weights[ROW_CHUNK * taps];
    struct conv_window<taps> window = {
    };
    load_taps<taps>(p, channel, weights);
    for (int64_t t = first - (taps - 1); t < last; t++) {
        take_token(p, channel, t, window);
        if (t >= first)
            store_token(p, channel, t, weights, window);
    }
    if (first > 0)
        return;
    if (last < p.tokens) /* several segments: y is not x */
        for (int64_t t = p.tokens - (taps - 1); t < p.tokens; t++)
            take_token(p, channel, t, window);
    for (int j = 0; j < taps - 1; j++) {
        drop_oldest(window);
        row_store_chunk(p.state, row_address(p.state, j), channel, p.channels, window.x[0]);
    }
}

/* Where y is x, a segment would overwrite the inputs of the next: the whole sequence is one. */
static int64_t segment_length(const struct assay_causal_conv1d_args *a)
{
    int64_t tokens = a->x.extent[0];
    if (a->y.data == a->x.data)
        return tokens;
    int64_t length = (tokens + CONV_MAX_SEGMENTS - 1) / CONV_MAX_SEGMENTS;
    return length > CONV_SEGMENT ? length : static_cast<int64_t>(CONV_SEGMENT);
}

static assay_status causal_conv1d_channels_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_causal_conv1d_args *a =
        static_cast<const struct assay_causal_conv1d_args *>(args);
    struct conv_channels p = {row_view_of(&a->x),
                              row_view_of(&a->w),
                              row_view_of(&a->state),
                              row_view_of(&a->y),
                              a->x.extent[0],
                              a->w.extent[0],
                              segment_length(a),
                              false,
                              a->silu};
    if (p.tokens == 0)
        return ASSAY_OK;
    p.packed_w = causal_conv1d_is_packed(&a->w);
    if (p.packed_w) /* one row of all channels, and chunks of 8 channels start 16-byte aligned */
        p.w.is_aligned = reinterpret_cast<uintptr_t>(p.w.data) % 16 == 0;
    int64_t blocks = (p.channels + CONV_THREADS * ROW_CHUNK - 1) / (CONV_THREADS * ROW_CHUNK);
    int64_t segments = (p.tokens + p.segment - 1) / p.segment;
    launch->grid = {static_cast<unsigned>(blocks), static_cast<unsigned>(segments), 1};
    launch->block = {CONV_THREADS, 1, 1};
    switch (a->w.extent[1]) {
    case 2:
        return SIMT_LAUNCH(launch, conv_segment<2>, p);
    case 3:
        return SIMT_LAUNCH(launch, conv_segment<3>, p);
    case 4:
        return SIMT_LAUNCH(launch, conv_segment<4>, p);
    case 5:
        return SIMT_LAUNCH(launch, conv_segment<5>, p);
    case 6:
        return SIMT_LAUNCH(launch, conv_segment<6>, p);
    case 7:
        return SIMT_LAUNCH(launch, conv_segment<7>, p);
    default:
        return SIMT_LAUNCH(launch, conv_segment<8>, p);
    }
}

DEVICE_ROUTE_RUN(causal_conv1d_route_channels, &assay_op_causal_conv1d,
                 causal_conv1d_channels_launch)
