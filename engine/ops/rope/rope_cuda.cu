/* SPDX-License-Identifier: MIT
 *
 * rope: a block takes a token. For up to 128 pairs at a time its threads leave cos and sin in
 * shared memory, which all heads of the token use; each thread then rotates chunks of 8 pairs.
 *
 * Profile f32. Bound: rope_bound.md. Angles, their reduction and the series of cos and sin are
 * taken in binary64 [ROPE-6]; cos and sin are rounded to binary32 once. Moves x and y once through
 * device memory; operations: 3 an element rotated, and an exponential and 16 products in
 * binary64 for each pair of a token. Speed on a device: not measured.
 */
#include "cuda/rows.cuh"
#include "ops/rope/rope_angle.cuh"
#include "ops/rope/rope_routes.h"

#if defined(ASSAY_PARANOID)
enum { TILE_PAIRS = 16 }; /* whole chunks */
#else
enum { TILE_PAIRS = 128 };
#endif

struct rope_tokens {
    struct row_view x, y; /* aligned: so are the second elements of the pairs, and the rest */
    struct rope_angles angles;
    int64_t tokens, heads, width, half;
    int64_t half_bytes_x, half_bytes_y;
    bool copies_rest;
};

/* 8 elements of an array in shared memory. */
SIMT_DEVICE void load_shared_chunk(struct simt_shared<float> from, int64_t first, float *values)
{
    struct simt_words low = from.load16(first), high = from.load16(first + 4);
    SIMT_UNROLL for (int i = 0; i < ROW_CHUNK; i++) values[i] =
        simt_f32_from_bits(i < 4 ? low.word[i] : high.word[i - 4]);
}

/* Pairs i .. i + 7 of a tile of `pairs`; x and y: where the tile starts in the rows of a head. */
SIMT_DEVICE void rotate_chunk(const struct rope_tokens &p, const unsigned char *x, unsigned char *y,
                              int64_t i, int64_t pairs, struct simt_shared<float> cosine,
                              struct simt_shared<float> sine)
{
    float u[ROW_CHUNK], v[ROW_CHUNK], c[ROW_CHUNK], s[ROW_CHUNK];
    row_load_chunk<false>(p.x, x, i, pairs, u);
    row_load_chunk<false>(p.x, x + p.half_bytes_x, i, pairs, v);
    load_shared_chunk(cosine, i, c);
    load_shared_chunk(sine, i, s);
    SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++)
    {
        float first = u[j];
        u[j] = fmaf(first, c[j], -(v[j] * s[j]));
        v[j] = fmaf(v[j], c[j], first * s[j]);
    }
    row_store_chunk(p.y, y, i, pairs, u); /* y may be x: a pair is read, then written */
    row_store_chunk(p.y, y + p.half_bytes_y, i, pairs, v);
}

SIMT_DEVICE void rotate_tile(const struct rope_tokens &p, int64_t token, int64_t first,
                             struct simt_shared<float> cosine, struct simt_shared<float> sine)
{
    int64_t threads = simt_block_extent().x;
    int64_t pairs = p.half - first < TILE_PAIRS ? p.half - first : static_cast<int64_t>(TILE_PAIRS);
    int64_t chunks = (pairs + ROW_CHUNK - 1) / ROW_CHUNK;
    for (int64_t i = simt_thread(); i < chunks * ROW_CHUNK; i += threads) {
        struct rotation r = {1, 0}; /* past the last pair */
        if (i < pairs)
            r = rotation_by(rope_angle(p.angles, token, first + i));
        cosine.store(i, r.cosine);
        sine.store(i, r.sine);
    }
    simt_sync_block();
    int64_t size_x = p.x.is_bf16 ? 2 : 4, size_y = p.y.is_bf16 ? 2 : 4;
    for (int64_t k = simt_thread(); k < p.heads * chunks; k += threads) {
        int64_t row = token * p.heads + k / chunks;
        rotate_chunk(p, row_address(p.x, row) + first * size_x,
                     row_address(p.y, row) + first * size_y, k % chunks * ROW_CHUNK, pairs, cosine,
                     sine);
    }
    simt_sync_block(); /* the next tile writes what this one reads */
}

/* [ROPE-2] */
SIMT_DEVICE void copy_rest(const struct rope_tokens &p, int64_t token)
{
    int64_t rest = p.width - 2 * p.half, chunks = (rest + ROW_CHUNK - 1) / ROW_CHUNK;
    for (int64_t k = simt_thread(); k < p.heads * chunks; k += simt_block_extent().x) {
        int64_t row = token * p.heads + k / chunks, i = k % chunks * ROW_CHUNK;
        float values[ROW_CHUNK];
        row_load_chunk<false>(p.x, row_address(p.x, row) + 2 * p.half_bytes_x, i, rest, values);
        row_store_chunk(p.y, row_address(p.y, row) + 2 * p.half_bytes_y, i, rest, values);
    }
}

SIMT_KERNEL(rope_token)(struct rope_tokens p)
{
    SIMT_SHARED(float, cosine, TILE_PAIRS);
    SIMT_SHARED(float, sine, TILE_PAIRS);
    for (int64_t t = simt_block_index().x; t < p.tokens; t += simt_grid_extent().x) {
        for (int64_t first = 0; first < p.half; first += TILE_PAIRS)
            rotate_tile(p, t, first, cosine, sine);
        if (p.copies_rest)
            copy_rest(p, t);
    }
}

static assay_status rope_token_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_rope_args *a = static_cast<const struct assay_rope_args *>(args);
    struct rope_tokens p = {};
    p.x = row_view_of(&a->x);
    p.y = row_view_of(&a->y);
    p.tokens = a->x.extent[0];
    p.heads = a->x.extent[1];
    p.width = a->x.extent[2];
    if (p.tokens == 0)
        return ASSAY_OK;
    p.half = a->rotary_dim / 2;
    p.half_bytes_x = p.half * static_cast<int64_t>(assay_dtype_bytes(a->x.dtype));
    p.half_bytes_y = p.half * static_cast<int64_t>(assay_dtype_bytes(a->y.dtype));
    p.x.is_aligned = p.x.is_aligned && p.half_bytes_x % 16 == 0;
    p.y.is_aligned = p.y.is_aligned && p.half_bytes_y % 16 == 0;
    p.angles = rope_angles_of(a);
    p.copies_rest = a->x.data != a->y.data;
    row_launch_shape(p.tokens, p.heads * p.width, launch);
    return SIMT_LAUNCH(launch, rope_token, p);
}

DEVICE_ROUTE_RUN(rope_route_token, &assay_op_rope, rope_token_launch)
