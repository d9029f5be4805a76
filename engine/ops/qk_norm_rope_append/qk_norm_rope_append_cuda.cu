/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append: a warp takes rows (heads of q and k, rows of v) of one token.
 *
 *   head  A head lies in the warp's registers, 8 elements a lane: read once, normalised, its pairs
 *         exchanged by shuffles, written once. Each lane computes cos and sin of one pair, which
 * all heads of the warp use. warp  Any width: the head is read a second time, from L1, and cos and
 * sin are computed where they are used.
 *
 * Profile f32. Bound: qk_norm_rope_append_bound.md; squares and scale are taken in binary64, angles
 * as rope_angle.cuh says. Up to D = 256 the bits are those of rmsnorm.row, rope.token and
 * kv_append.warp one after the other. Moves each byte of q, k, v and of what is written once; a
 * token of the 27B model is 32 rows, so that a decode step is one wait for memory and one for the
 * angles, many tokens are bound by bandwidth.
 * sass: generic accesses, in the kernel for all calls: q and k may differ in format.
 */
#include "cuda/rows.cuh"
#include "ops/qk_norm_rope_append/qk_norm_rope_append_routes.h"
#include "ops/rope/rope_angle.cuh"

enum { WARPS = 4, MAX_ROWS_EACH = 8, ENOUGH_WARPS = 4096 };

/* Rows of a token: heads of q, then heads of k, then rows of v. */
struct qknra_rows {
    struct row_view q, k, v, q_weight, k_weight, q_out, k_cache, v_cache;
    struct rope_angles angles;
    int64_t tokens, heads, groups, width, v_width, half;
    int64_t rows_each, parts; /* rows of a warp, warps of a token */
    int64_t start;            /* slot of token 0, or its bound */
    const int32_t *start_at;  /* NULL: start */
    double eps;
    float offset; /* of the weights: 1 or 0 */
};

/* A head and where it goes; views are those of the whole tensors. */
struct head_rows {
    struct row_view from_view, weight, to_view;
    const unsigned char *from;
    unsigned char *to;
};

SIMT_DEVICE unsigned char *slot_row(struct row_view cache, int64_t start, int64_t row)
{
    return row_address(cache, row) + start * cache.outer_stride;
}

/* Row i of the token, below heads + groups. */
SIMT_DEVICE struct head_rows head_of(const struct qknra_rows &p, int64_t start, int64_t token,
                                     int64_t i)
{
    if (i < p.heads) {
        int64_t row = token * p.heads + i;
        return {p.q, p.q_weight, p.q_out, row_address(p.q, row), row_address(p.q_out, row)};
    }
    int64_t row = token * p.groups + i - p.heads;
    return {p.k, p.k_weight, p.k_cache, row_address(p.k, row), slot_row(p.k_cache, start, row)};
}

SIMT_DEVICE void copy_value(const struct qknra_rows &p, int64_t start, int64_t row)
{
    const unsigned char *from = row_address(p.v, row);
    unsigned char *to = slot_row(p.v_cache, start, row);
    for (int64_t d = simt_lane() * ROW_CHUNK; d < p.v_width; d += 32 * ROW_CHUNK) {
        float x[ROW_CHUNK];
        row_load_chunk<true>(p.v, from, d, p.v_width, x);
        row_store_chunk(p.v_cache, to, d, p.v_width, x);
    }
}

SIMT_DEVICE double add_squares(double sum, const float *x)
{
    SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) sum +=
        static_cast<double>(x[j]) * static_cast<double>(x[j]);
    return sum;
}

/* From every lane's share of the sum of squares. */
SIMT_DEVICE double scale_of(const struct qknra_rows &p, double sum)
{
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) sum +=
        simt_shuffle_xor(SIMT_ALL_LANES, sum, bits);
    return 1 / sqrt(sum / static_cast<double>(p.width) + p.eps);
}

SIMT_DEVICE void scale_chunk(const struct qknra_rows &p, double scale, const float *w, float *x)
{
    SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++) x[j] = static_cast<float>(
        static_cast<double>(x[j]) * scale * static_cast<double>(w[j] + p.offset));
}

SIMT_DEVICE int64_t start_of(const struct qknra_rows &p)
{
    if (p.start_at == NULL)
        return p.start;
    int32_t at = simt_load_constant(p.start_at);
    return at < 0 ? 0 : at < p.start ? at : p.start;
}

/* ---- head ----------------------------------------------------------------------------------- */

/* x: the lane's 8 elements. Chunk c of a head's first half and chunk c + half / 8 hold pairs 8 c to
 * 8 c + 7, whose rotations lanes of those numbers have; further chunks stay. */
SIMT_DEVICE void rotate_lanes(int chunks, struct rotation own, float *x)
{
    int lane = simt_lane();
    bool is_first = lane < chunks, is_second = lane >= chunks && lane < 2 * chunks;
    int partner = is_first ? lane + chunks : is_second ? lane - chunks : lane;
    int pair = is_first ? lane * ROW_CHUNK : is_second ? partner * ROW_CHUNK : 0;
    SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++)
    {
        float other = simt_shuffle(SIMT_ALL_LANES, x[j], partner);
        float c = simt_shuffle(SIMT_ALL_LANES, own.cosine, pair + j);
        float s = simt_shuffle(SIMT_ALL_LANES, own.sine, pair + j);
        if (is_first)
            x[j] = fmaf(x[j], c, -(other * s));
        else if (is_second)
            x[j] = fmaf(x[j], c, other * s);
    }
}

/* q_out may be q: the lane that read a chunk writes it. */
SIMT_DEVICE void take_head(const struct qknra_rows &p, const struct head_rows &head,
                           struct rotation own)
{
    int64_t i = simt_lane() * ROW_CHUNK;
    float x[ROW_CHUNK], w[ROW_CHUNK];
    row_load_chunk<false>(head.from_view, head.from, i, p.width, x);
    row_load_chunk<true>(head.weight, head.weight.data, i, p.width, w);
    scale_chunk(p, scale_of(p, add_squares(0, x)), w, x);
    rotate_lanes(static_cast<int>(p.half) / ROW_CHUNK, own, x);
    if (i < p.width)
        row_store_chunk(head.to_view, head.to, i, p.width, x);
}

SIMT_KERNEL(qknra_head)(struct qknra_rows p)
{
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * WARPS;
    int64_t start = start_of(p);
    for (int64_t task = static_cast<int64_t>(simt_block_index().x) * WARPS + simt_warp();
         task < p.tokens * p.parts; task += step) {
        int64_t token = task / p.parts, first = task % p.parts * p.rows_each;
        struct rotation own = {1, 0};
        if (first < p.heads + p.groups && simt_lane() < p.half)
            own = rotation_by(rope_angle(p.angles, token, simt_lane()));
        for (int64_t i = first; i < first + p.rows_each && i < p.heads + 2 * p.groups; i++) {
            if (i < p.heads + p.groups)
                take_head(p, head_of(p, start, token, i), own);
            else
                copy_value(p, start, token * p.groups + i - p.heads - p.groups);
        }
    }
}

/* ---- warp ----------------------------------------------------------------------------------- */

/* The view of what begins `bytes` into each row. */
SIMT_DEVICE struct row_view shifted(struct row_view view, int64_t elements)
{
    view.is_aligned = view.is_aligned && elements * (view.is_bf16 ? 2 : 4) % 16 == 0;
    return view;
}

SIMT_DEVICE int64_t bytes_of(struct row_view view, int64_t elements)
{
    return elements * (view.is_bf16 ? 2 : 4);
}

/* Elements first .. first + 7 of the `count` that begin `at` elements into the head, normalised. */
SIMT_DEVICE void load_scaled(const struct qknra_rows &p, const struct head_rows &head, int64_t at,
                             int64_t first, int64_t count, double scale, float *x)
{
    float w[ROW_CHUNK];
    row_load_chunk<false>(shifted(head.from_view, at), head.from + bytes_of(head.from_view, at),
                          first, count, x);
    row_load_chunk<true>(shifted(head.weight, at), head.weight.data + bytes_of(head.weight, at),
                         first, count, w);
    scale_chunk(p, scale, w, x);
}

SIMT_DEVICE void store_part(const struct head_rows &head, int64_t at, int64_t first, int64_t count,
                            const float *x)
{
    row_store_chunk(shifted(head.to_view, at), head.to + bytes_of(head.to_view, at), first, count,
                    x);
}

SIMT_DEVICE void rotate_pairs(const struct qknra_rows &p, const struct head_rows &head,
                              int64_t token, double scale)
{
    for (int64_t i = simt_lane() * ROW_CHUNK; i < p.half; i += 32 * ROW_CHUNK) {
        float u[ROW_CHUNK], v[ROW_CHUNK];
        load_scaled(p, head, 0, i, p.half, scale, u);
        load_scaled(p, head, p.half, i, p.half, scale, v);
        for (int j = 0; j < ROW_CHUNK && i + j < p.half; j++) {
            struct rotation r = rotation_by(rope_angle(p.angles, token, i + j));
            float first = u[j];
            u[j] = fmaf(first, r.cosine, -(v[j] * r.sine));
            v[j] = fmaf(v[j], r.cosine, first * r.sine);
        }
        store_part(head, 0, i, p.half, u); /* q_out may be q: pairs are read, then written */
        store_part(head, p.half, i, p.half, v);
    }
}

SIMT_DEVICE void take_any(const struct qknra_rows &p, const struct head_rows &head, int64_t token)
{
    float x[ROW_CHUNK];
    double sum = 0;
    for (int64_t i = simt_lane() * ROW_CHUNK; i < p.width; i += 32 * ROW_CHUNK) {
        row_load_chunk<false>(head.from_view, head.from, i, p.width, x);
        sum = add_squares(sum, x);
    }
    double scale = scale_of(p, sum);
    simt_sync_warp(SIMT_ALL_LANES); /* the head has been read: q_out may be q */
    rotate_pairs(p, head, token, scale);
    int64_t at = 2 * p.half, rest = p.width - at;
    for (int64_t i = simt_lane() * ROW_CHUNK; i < rest; i += 32 * ROW_CHUNK) {
        load_scaled(p, head, at, i, rest, scale, x);
        store_part(head, at, i, rest, x);
    }
}

SIMT_KERNEL(qknra_warp)(struct qknra_rows p)
{
    int64_t step = static_cast<int64_t>(simt_grid_extent().x) * WARPS;
    int64_t rows = p.heads + 2 * p.groups, start = start_of(p);
    for (int64_t task = static_cast<int64_t>(simt_block_index().x) * WARPS + simt_warp();
         task < p.tokens * rows; task += step) {
        int64_t token = task / rows, i = task % rows;
        if (i < p.heads + p.groups)
            take_any(p, head_of(p, start, token, i), token);
        else
            copy_value(p, start, token * p.groups + i - p.heads - p.groups);
    }
}

/* ---- launch --------------------------------------------------------------------------------- */

static struct qknra_rows rows_of(const struct assay_qk_norm_rope_append_args *a)
{
    const struct assay_rope_args rotation = qknra_rotation(a);
    struct qknra_rows p = {};
    p.q = row_view_of(&a->q);
    p.k = row_view_of(&a->k);
    p.v = row_view_of(&a->v);
    p.q_weight = row_view_of(&a->q_weight);
    p.k_weight = row_view_of(&a->k_weight);
    p.q_out = row_view_of(&a->q_out);
    p.k_cache = row_view_of(&a->k_cache);
    p.v_cache = row_view_of(&a->v_cache);
    p.angles = rope_angles_of(&rotation);
    p.tokens = a->q.extent[0];
    p.heads = a->q.extent[1];
    p.groups = a->k.extent[1];
    p.width = a->q.extent[2];
    p.v_width = a->v.extent[2];
    p.half = a->rotary_dim / 2;
    p.start = a->start;
    p.start_at = static_cast<const int32_t *>(a->start_at.data);
    p.eps = a->eps;
    p.offset = a->unit_offset ? 1.0f : 0.0f;
    return p;
}

static void shape(int64_t warps, struct simt_launch *launch)
{
    int64_t blocks = (warps + WARPS - 1) / WARPS;
    if (blocks > ROW_MAX_BLOCKS)
        blocks = ROW_MAX_BLOCKS;
    launch->grid = {static_cast<unsigned>(blocks), 1, 1};
    launch->block = {WARPS * 32, 1, 1};
}

static assay_status qknra_head_launch(const void *args, struct simt_launch *launch)
{
    struct qknra_rows p = rows_of(static_cast<const struct assay_qk_norm_rope_append_args *>(args));
    if (p.tokens == 0)
        return ASSAY_OK;
    int64_t rows = p.heads + 2 * p.groups;
    /* Few rows are spread over the device; of many a warp takes several, for one set of angles. */
    p.rows_each = p.tokens * rows / ENOUGH_WARPS;
    if (p.rows_each < 1)
        p.rows_each = 1;
    if (p.rows_each > MAX_ROWS_EACH)
        p.rows_each = MAX_ROWS_EACH;
    p.parts = (rows + p.rows_each - 1) / p.rows_each;
    shape(p.tokens * p.parts, launch);
    return SIMT_LAUNCH(launch, qknra_head, p);
}

static assay_status qknra_warp_launch(const void *args, struct simt_launch *launch)
{
    struct qknra_rows p = rows_of(static_cast<const struct assay_qk_norm_rope_append_args *>(args));
    if (p.tokens == 0)
        return ASSAY_OK;
    shape(p.tokens * (p.heads + 2 * p.groups), launch);
    return SIMT_LAUNCH(launch, qknra_warp, p);
}

DEVICE_ROUTE_RUN(qknra_route_head, &assay_op_qk_norm_rope_append, qknra_head_launch)
DEVICE_ROUTE_RUN(qknra_route_warp, &assay_op_qk_norm_rope_append, qknra_warp_launch)
