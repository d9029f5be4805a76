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
#include "ops/rope/rope_routes.h"

#if defined(ASSAY_PARANOID)
enum { TILE_PAIRS = 16 }; /* whole chunks */
#else
enum { TILE_PAIRS = 128 };
#endif

struct rope_tokens {
    struct row_view x, y; /* aligned: so are the second elements of the pairs, and the rest */
    const int32_t *positions;
    int64_t axis_stride; /* of positions, elements */
    int64_t limit[3];    /* pair i follows axis i % 3 if it is below that axis's limit, else 0 */
    int64_t tokens, heads, width, half;
    int64_t half_bytes_x, half_bytes_y;
    double log_theta, step; /* pair i has the frequency exp(-(i * step) * log_theta) */
    bool copies_rest;
};

struct rotation {
    float cosine, sine;
};

/* phi = n pi/2 + r, |r| <= pi/4 + 2^-27, n < 2^24. The product of n and the head of pi/2 is
 * exact within the fma, the difference is rounded by less than 2^-53, and so is the second one; the
 * two parts leave out less than n 2^-106. sin's series ends at r^11, cos's at r^12: what is left
 * out is below 2^-36 of sin and 2^-40 of cos. */
SIMT_DEVICE struct rotation rotation_by(double phi)
{
    double n = rint(phi * 0x1.45f306dc9c883p-1);
    double r = fma(-n, 0x1.1a62633145c07p-54, fma(-n, 0x1.921fb54442d18p0, phi));
    double z = r * r;
    double s = fma(z, -1.0 / 39916800, 1.0 / 362880);
    s = fma(z, s, -1.0 / 5040);
    s = fma(z, s, 1.0 / 120);
    s = fma(z, s, -1.0 / 6);
    s = fma(r * z, s, r);
    double c = fma(z, 1.0 / 479001600, -1.0 / 3628800);
    c = fma(z, c, 1.0 / 40320);
    c = fma(z, c, -1.0 / 720);
    c = fma(z, c, 1.0 / 24);
    c = fma(z, c, -0.5);
    c = fma(z, c, 1.0);
    int quadrant = static_cast<int>(n) & 3;
    double cosine = quadrant % 2 == 1 ? s : c, sine = quadrant % 2 == 1 ? c : s;
    return {static_cast<float>(quadrant == 1 || quadrant == 2 ? -cosine : cosine),
            static_cast<float>(quadrant >= 2 ? -sine : sine)};
}

/* With x = (2i/R) ln theta >= 0: the step's, ln theta's and the products' roundings change
 * f = e^-x by at most x e^-x 5 * 2^-53 < 1.9 * 2^-53, exp itself by an ulp. With half an ulp of the
 * product with the position, the angle is wrong by less than 2^24 (1.9 + 2 + 1) 2^-53 < 1e-8
 * [ROPE-6]. */
SIMT_DEVICE double angle(const struct rope_tokens &p, int64_t token, int64_t pair)
{
    int axis = static_cast<int>(pair % 3);
    if (pair >= p.limit[axis])
        axis = 0;
    int32_t position = simt_load_constant(p.positions + axis * p.axis_stride + token);
    return position * exp(-(static_cast<double>(pair) * p.step) * p.log_theta);
}

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
            r = rotation_by(angle(p, token, first + i));
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

/* [ROPE-3] as limits. */
static void set_axes(const struct assay_rope_args *a, struct rope_tokens *p)
{
    p->positions = static_cast<const int32_t *>(a->positions.data);
    if (a->positions.rank == 1)
        return;
    p->axis_stride = a->positions.stride[0];
    p->limit[1] = 3 * a->sections[1];
    p->limit[2] = 3 * a->sections[2];
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
    p.log_theta = log(a->theta);
    p.step = 2 / static_cast<double>(a->rotary_dim);
    p.copies_rest = a->x.data != a->y.data;
    set_axes(a, &p);
    row_launch_shape(p.tokens, p.heads * p.width, launch);
    return SIMT_LAUNCH(launch, rope_token, p);
}

DEVICE_ROUTE_RUN(rope_route_token, &assay_op_rope, rope_token_launch)
