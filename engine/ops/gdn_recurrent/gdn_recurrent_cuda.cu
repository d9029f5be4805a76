/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent. The columns of a head's state do not see each other.
 *
 * recurrent_columns, for dk = 64, 128, 256: a block takes a strip of 16 (f32) or 32 (f16) columns
 * through all tokens with its state in registers; a lane holds 4 rows of 16 bytes. Both sums over
 * dk are 4 long in a lane, go on by shuffles and then over the block's warps. All state loads are
 * under way before the first is waited for, and the next token's operands while a token is at work.
 * Launches overlap: what a block will read is on its way to the L2 cache while the kernel before it
 * ends.
 *
 * recurrent_any, for everything else: a block takes 32 columns; the state stays where it is.
 *
 * Profiles f32 and state16. Bound: gdn_recurrent_bound.md; chains of additions are at most
 * 4 + 3 + dk / 32 long, and dk in recurrent_any; expf is within one ulp. The state moves once each
 * way; q and k come from L2 for all but the first strip of a head. 7 dk dv operations a token and
 * head. T = 1 is limited by the state's bytes and by what a node of a graph costs, long runs by the
 * latency of the two sums a token.
 */
#include "ops/gdn_recurrent/gdn_device.cuh"
#include "ops/gdn_recurrent/gdn_recurrent_routes.h"

/* ---- dk = 64, 128, 256 ---------------------------------------------------------------------- */

/* What a block of a strip looks like: column_lanes lanes of 16 bytes next to each other make up a
 * row of the strip, and each lane has lane_rows rows below each other, so that its part of k and q
 * is one or two 16-byte loads. */
template <int dk, bool is_f16, int column_lanes, int lane_rows> struct strip_shape {
    enum {
        LANE_COLUMNS = is_f16 ? 8 : 4,
        COLUMN_LANES = column_lanes,
        LANE_ROWS = lane_rows,
        COLUMNS = column_lanes * LANE_COLUMNS,
        WARP_ROWS = 32 / column_lanes * lane_rows,
        WARPS = dk / WARP_ROWS
    };
    static_assert(lane_rows % 4 == 0 && WARPS * WARP_ROWS == dk, "rows are dealt out whole");
};

/* Up to `count` neighbours of a row as they lie in memory; bf16 takes the first half. */
template <int count> struct strip_part {
    struct simt_words words[(count + 3) / 4];
};

/* A lane's operands of one token, still packed: nothing waits for one load before the next is under
 * way. */
template <int rows> struct strip_token {
    struct strip_part<rows> k, q;
    struct strip_part<ROW_CHUNK> v;
};

/* g and beta of 32 tokens, one a lane: exp takes as long for all of them as for one. */
struct strip_gates {
    float g, beta;
};

SIMT_DEVICE struct strip_gates load_gates(const struct gdn_tensors &p, int64_t first, int head)
{
    int64_t left = p.tokens - 1 - first;
    int64_t t = first + (simt_lane() < left ? simt_lane() : left);
    return {gdn_gate(p.g, t, head), gdn_gate(p.beta, t, head)};
}

template <bool is_f16, int columns> SIMT_DEVICE void unpack_state(struct simt_words words, float *s)
{
    SIMT_UNROLL for (int c = 0; c < columns; c++) s[c] =
        is_f16 ? simt_f16_to_f32(static_cast<uint16_t>(words.word[c / (is_f16 ? 2 : 1)] >>
                                                       (is_f16 ? 16 * (c % 2) : 0)))
               : simt_f32_from_bits(words.word[c / (is_f16 ? 2 : 1)]);
}

template <bool is_f16> SIMT_DEVICE struct simt_words pack_state(const float *s)
{
    struct simt_words words;
    SIMT_UNROLL for (int w = 0; w < 4; w++) words.word[w] =
        is_f16 ? simt_f16x2_from_f32(s[is_f16 ? 2 * w : 0], s[is_f16 ? 2 * w + 1 : 0])
               : simt_f32_bits(s[w]);
    return words;
}

/* `count` elements, a multiple of 4, of a row from `first` on. plain: aligned binary32. */
template <int count, bool constant, bool plain, int size>
SIMT_DEVICE void load_part(const struct row_view &v, const unsigned char *row, int64_t first,
                           struct strip_part<size> &part)
{
    const unsigned char *at = row + first * (!plain && v.is_bf16 ? 2 : 4);
    if (plain || (v.is_aligned && !v.is_bf16)) {
        SIMT_UNROLL for (int i = 0; i < count; i += 4) part.words[i / 4] =
            row_load16<constant>(at + 4 * i);
    } else if (!v.is_bf16) {
        SIMT_UNROLL for (int i = 0; i < count; i++) part.words[i / 4].word[i % 4] =
            row_load<uint32_t, constant>(reinterpret_cast<const uint32_t *>(at) + i);
    } else if (!v.is_aligned) {
        SIMT_UNROLL for (int i = 0; i < count; i += 2)
        {
            const uint16_t *halves = reinterpret_cast<const uint16_t *>(at) + i;
            uint32_t low = row_load<uint16_t, constant>(halves);
            uint32_t high = row_load<uint16_t, constant>(halves + 1);
            part.words[i / 8].word[i / 2 % 4] = low | high << 16;
        }
    } else if (count == 4) {
        uint64_t words = row_load<uint64_t, constant>(reinterpret_cast<const uint64_t *>(at));
        part.words[0].word[0] = static_cast<uint32_t>(words);
        part.words[0].word[1] = static_cast<uint32_t>(words >> 32);
    } else {
        SIMT_UNROLL for (int i = 0; i < count; i += 8) part.words[i / 8] =
            row_load16<constant>(at + 2 * i);
    }
}

template <int size>
SIMT_DEVICE float part_element(const struct strip_part<size> &part, bool is_bf16, int i)
{
    uint32_t halves = part.words[i / 8].word[i / 2 % 4];
    return is_bf16 ? simt_bf16_to_f32(static_cast<uint16_t>(halves >> 16 * (i % 2)))
                   : simt_f32_from_bits(part.words[i / 4].word[i % 4]);
}

template <int columns>
SIMT_DEVICE void store_columns(const struct row_view &v, unsigned char *row, int64_t column,
                               const float *values)
{
    if (columns == ROW_CHUNK) {
        row_store_chunk(v, row, column, column + columns, values);
    } else if (!v.is_aligned) {
        SIMT_UNROLL for (int c = 0; c < columns; c++)
            gdn_store_element(v, row, column + c, values[c]);
    } else if (v.is_bf16) {
        uint64_t low = simt_bf16x2_from_f32(values[0], values[1]);
        uint64_t high = simt_bf16x2_from_f32(values[2], values[3]);
        simt_store(reinterpret_cast<uint64_t *>(row + 2 * column), low | high << 32);
    } else {
        simt_store16(row + 4 * column, pack_state<false>(values));
    }
}

/* Rows row, row + 1, ... of k and q, and the lane's columns of v, where they are inside. */
template <typename shape, bool plain>
SIMT_DEVICE void load_token(const struct gdn_tensors &p, int64_t t, int head, int row,
                            int64_t column, struct strip_token<shape::LANE_ROWS> &token)
{
    int key_head = head / static_cast<int>(p.ratio);
    load_part<shape::LANE_ROWS, true, plain>(p.k, gdn_row(p.k, t, key_head), row, token.k);
    load_part<shape::LANE_ROWS, true, plain>(p.q, gdn_row(p.q, t, key_head), row, token.q);
    if (column < p.value_dim)
        load_part<shape::LANE_COLUMNS, false, plain>(p.v, gdn_row(p.v, t, head), column, token.v);
}

/* Over all rows: in the warp by shuffles, then the warps' sums in turn. partial is read until the
 * next barrier of the block. */
template <typename shape>
SIMT_DEVICE void sum_over_rows(struct simt_shared<float> partial, float *sums)
{
    enum { COLUMNS = shape::LANE_COLUMNS };
    SIMT_UNROLL for (int bits = shape::COLUMN_LANES; bits < 32; bits *= 2)
        SIMT_UNROLL for (int c = 0; c < COLUMNS; c++) sums[c] +=
        simt_shuffle_xor(SIMT_ALL_LANES, sums[c], bits);
    if (shape::WARPS == 1)
        return;
    int own = simt_lane() % shape::COLUMN_LANES * COLUMNS;
    if (simt_lane() < shape::COLUMN_LANES) {
        SIMT_UNROLL for (int c = 0; c < COLUMNS; c += 4)
            partial.store16(simt_warp() * shape::COLUMNS + own + c, pack_state<false>(sums + c));
    }
    simt_sync_block();
    SIMT_UNROLL for (int c = 0; c < COLUMNS; c += 4)
    {
        SIMT_UNROLL for (int w = 0; w < shape::WARPS; w++)
        {
            struct simt_words words = partial.load16(w * shape::COLUMNS + own + c);
            SIMT_UNROLL for (int i = 0; i < 4; i++) sums[c + i] =
                simt_f32_from_bits(words.word[i]) + (w == 0 ? 0 : sums[c + i]);
        }
    }
}

/* One token: s becomes the stepped state, not yet rounded, o the lane's columns of the output. */
template <typename shape, bool plain>
SIMT_DEVICE void step(const struct gdn_tensors &p,
                      const struct strip_token<shape::LANE_ROWS> &token, float alpha, float beta,
                      float scale, struct simt_shared<float> partial,
                      float (*s)[shape::LANE_COLUMNS], float *o)
{
    enum { COLUMNS = shape::LANE_COLUMNS, ROWS = shape::LANE_ROWS };
    enum { CELLS = shape::WARPS * shape::COLUMNS };
    float d[COLUMNS];
    SIMT_UNROLL for (int c = 0; c < COLUMNS; c++) d[c] = o[c] = 0;
    SIMT_UNROLL for (int r = 0; r < ROWS; r++) SIMT_UNROLL for (int c = 0; c < COLUMNS; c++)
    {
        s[r][c] = alpha * s[r][c];
        d[c] = fmaf(part_element(token.k, !plain && p.k.is_bf16, r), s[r][c], d[c]);
    }
    sum_over_rows<shape>(partial.slice(0, CELLS), d);
    SIMT_UNROLL for (int c = 0; c < COLUMNS; c++) d[c] =
        beta * (part_element(token.v, !plain && p.v.is_bf16, c) - d[c]);
    SIMT_UNROLL for (int r = 0; r < ROWS; r++)
    {
        float k = part_element(token.k, !plain && p.k.is_bf16, r);
        float q = part_element(token.q, !plain && p.q.is_bf16, r) * scale;
        SIMT_UNROLL for (int c = 0; c < COLUMNS; c++)
        {
            s[r][c] = fmaf(k, d[c], s[r][c]);
            o[c] = fmaf(q, s[r][c], o[c]);
        }
    }
    sum_over_rows<shape>(partial.slice(CELLS, CELLS), o);
}

/* A block a strip of a head. Lanes past the last column work on zeros. */
template <typename shape, bool is_f16, bool plain>
SIMT_KERNEL(recurrent_columns)
(struct gdn_tensors p, float scale, unsigned strips)
{
    enum { COLUMNS = shape::LANE_COLUMNS, ROWS = shape::LANE_ROWS };
    SIMT_SHARED(float, partial, 2 * shape::WARPS * shape::COLUMNS);
    int head = static_cast<int>(simt_block_index().x / strips);
    int row = simt_warp() * shape::WARP_ROWS + simt_lane() / shape::COLUMN_LANES * ROWS;
    int64_t column = static_cast<int64_t>(simt_block_index().x % strips) * shape::COLUMNS +
                     simt_lane() % shape::COLUMN_LANES * COLUMNS;
    bool inside = column < p.value_dim;
    unsigned char *state = gdn_row(p.state, head, row) + column * (is_f16 ? 2 : 4);
    float s[ROWS][COLUMNS], o[COLUMNS];
    struct strip_token<ROWS> token = {
    };
    struct simt_words words[ROWS] = {};
    if (inside) {
        SIMT_UNROLL for (int r = 0; r < ROWS; r++) simt_prefetch(state + r * p.state.inner_stride);
    }
    simt_wait_for_stream();
    if (inside) {
        SIMT_UNROLL for (int r = 0; r < ROWS; r++) words[r] =
            simt_load16(state + r * p.state.inner_stride);
    }
    load_token<shape, plain>(p, 0, head, row, column, token);
    struct strip_gates gates = load_gates(p, 0, head);
    float alpha = expf(gates.g);
    SIMT_UNROLL for (int r = 0; r < ROWS; r++) unpack_state<is_f16, COLUMNS>(words[r], s[r]);
    simt_release_stream(); /* the next kernel's reads no longer stand in the way of these */
    for (int64_t t = 0; t < p.tokens; t++) {
        int turn = static_cast<int>(t % 32);
        struct strip_token<ROWS> next = token;
        if (t + 1 < p.tokens)
            load_token<shape, plain>(p, t + 1, head, row, column, next);
        if (t > 0 && turn == 0) {
            gates = load_gates(p, t, head);
            alpha = expf(gates.g);
        }
        step<shape, plain>(p, token, simt_shuffle(SIMT_ALL_LANES, alpha, turn),
                           simt_shuffle(SIMT_ALL_LANES, gates.beta, turn), scale, partial, s, o);
        if (inside && row == 0) /* o may be v: every lane's v has gone into the sum */
            store_columns<COLUMNS>(p.o, gdn_row(p.o, t, head), column, o);
        if (is_f16) {
            SIMT_UNROLL for (int r = 0; r < ROWS; r++)
                unpack_state<is_f16, COLUMNS>(pack_state<is_f16>(s[r]), s[r]);
        }
        token = next;
    }
    if (inside) {
        SIMT_UNROLL for (int r = 0; r < ROWS; r++)
            simt_store16(state + r * p.state.inner_stride, pack_state<is_f16>(s[r]));
    }
}

/* ---- any dk --------------------------------------------------------------------------------- */

#if defined(ASSAY_PARANOID)
enum { ANY_MAX_BLOCKS = 2 }; /* every block takes several strips */
#else
enum { ANY_MAX_BLOCKS = 1 << 16 };
#endif
enum { ANY_COLUMNS = 32, ANY_MAX_WARPS = 4 };

/* The sum of all warps' values for the lane's column; partial may be written again after the next
 * barrier. */
SIMT_DEVICE float sum_over_warps(struct simt_shared<float> partial, int warps, float value)
{
    partial.store(simt_warp() * ANY_COLUMNS + simt_lane(), value);
    simt_sync_block();
    float sum = 0;
    for (int w = 0; w < warps; w++)
        sum += partial.load(w * ANY_COLUMNS + simt_lane());
    return sum;
}

/* One token of one column, rows simt_warp(), + warps, ...: each element of the state belongs to one
 * thread. A second partial array, so that a barrier lies between two uses of each. */
template <bool is_f16>
SIMT_DEVICE void step_any(const struct gdn_tensors &p, int64_t t, int64_t head, int64_t column,
                          int warps, struct simt_shared<float> partial)
{
    bool inside = column < p.value_dim;
    int64_t key_head = head / p.ratio;
    int64_t rows = inside ? p.key_dim : 0;
    const unsigned char *k = gdn_row(p.k, t, key_head), *q = gdn_row(p.q, t, key_head);
    float alpha = static_cast<float>(exp(static_cast<double>(gdn_gate(p.g, t, head))));
    float prediction = 0, o = 0, d = 0;
    for (int64_t i = simt_warp(); i < rows; i += warps) {
        float s = alpha * gdn_state_element<is_f16>(gdn_row(p.state, head, i), column);
        prediction = fmaf(gdn_element<true>(p.k, k, i), s, prediction);
    }
    prediction = sum_over_warps(partial.slice(0, ANY_MAX_WARPS * ANY_COLUMNS), warps, prediction);
    if (inside)
        d = gdn_gate(p.beta, t, head) *
            (gdn_element<false>(p.v, gdn_row(p.v, t, head), column) - prediction);
    for (int64_t i = simt_warp(); i < rows; i += warps) {
        unsigned char *row = gdn_row(p.state, head, i);
        float s =
            fmaf(gdn_element<true>(p.k, k, i), d, alpha * gdn_state_element<is_f16>(row, column));
        double scaled = static_cast<double>(gdn_element<true>(p.q, q, i)) * p.scale;
        o = fmaf(static_cast<float>(scaled), s, o);
        gdn_store_state_element<is_f16>(row, column, s);
    }
    /* all of v has been read before the barrier in here, so that o may be v */
    o = sum_over_warps(partial.slice(ANY_MAX_WARPS * ANY_COLUMNS, ANY_MAX_WARPS * ANY_COLUMNS),
                       warps, o);
    if (inside && simt_warp() == 0)
        gdn_store_element(p.o, gdn_row(p.o, t, head), column, o);
}

/* Blocks take strips of ANY_COLUMNS columns of all heads in turn. */
template <bool is_f16> SIMT_KERNEL(recurrent_any)(struct gdn_tensors p, int64_t strips)
{
    SIMT_SHARED(float, partial, 2 * ANY_MAX_WARPS * ANY_COLUMNS);
    int warps = static_cast<int>(simt_block_extent().x) / 32;
    for (int64_t i = simt_block_index().x; i < strips * p.heads; i += simt_grid_extent().x)
        for (int64_t t = 0; t < p.tokens; t++)
            step_any<is_f16>(p, t, i / strips, i % strips * ANY_COLUMNS + simt_lane(), warps,
                             partial);
}

/* ---- launch --------------------------------------------------------------------------------- */

template <typename shape, bool is_f16>
static assay_status launch_columns(const struct gdn_tensors &p, struct simt_launch *launch)
{
    int64_t columns = shape::COLUMNS, strips = (p.value_dim + columns - 1) / columns;
    bool is_plain = p.q.is_aligned && p.k.is_aligned && p.v.is_aligned && !p.q.is_bf16 &&
                    !p.k.is_bf16 && !p.v.is_bf16;
    float scale = static_cast<float>(p.scale);
    launch->grid = {static_cast<unsigned>(strips * p.heads), 1, 1};
    launch->block = {32 * shape::WARPS, 1, 1};
    launch->overlaps = true;
    if (is_plain)
        return SIMT_LAUNCH(launch, (recurrent_columns<shape, is_f16, true>), p, scale,
                           static_cast<unsigned>(strips));
    return SIMT_LAUNCH(launch, (recurrent_columns<shape, is_f16, false>), p, scale,
                       static_cast<unsigned>(strips));
}

/* Which kernel runs must not depend on T: a run of T tokens has the bits of T runs of one. The
 * scale must keep its precision in binary32; then its own rounding, that of the product with q and
 * dk others make up the dk + 2 of the bound. */
template <bool is_f16>
static assay_status launch_state(const struct gdn_tensors &p, struct simt_launch *launch)
{
    double size = fabs(p.scale);
    bool in_strips = p.state.is_aligned && p.value_dim % (is_f16 ? 8 : 4) == 0 &&
                     (size == 0 || (size > 0x1p-64 && size < 0x1p64));
    if (p.tokens == 0)
        return ASSAY_OK;
    if (in_strips && p.key_dim == 64)
        return launch_columns<strip_shape<64, is_f16, 4, 4>, is_f16>(p, launch);
    if (in_strips && p.key_dim == 128)
        return launch_columns<strip_shape<128, is_f16, 4, 4>, is_f16>(p, launch);
    if (in_strips && p.key_dim == 256)
        return launch_columns<strip_shape<256, is_f16, 4, 4>, is_f16>(p, launch);
    int64_t warps = p.key_dim < ANY_MAX_WARPS ? p.key_dim : static_cast<int64_t>(ANY_MAX_WARPS);
    int64_t strips = (p.value_dim + ANY_COLUMNS - 1) / ANY_COLUMNS;
    int64_t blocks = strips * p.heads, most = ANY_MAX_BLOCKS;
    launch->grid = {static_cast<unsigned>(blocks < most ? blocks : most), 1, 1};
    launch->block = {static_cast<unsigned>(32 * warps), 1, 1};
    return SIMT_LAUNCH(launch, recurrent_any<is_f16>, p, strips);
}

static assay_status gdn_recurrent_state32_launch(const void *args, struct simt_launch *launch)
{
    return launch_state<false>(
        gdn_tensors_of(static_cast<const struct assay_gdn_recurrent_args *>(args)), launch);
}

static assay_status gdn_recurrent_state16_launch(const void *args, struct simt_launch *launch)
{
    return launch_state<true>(
        gdn_tensors_of(static_cast<const struct assay_gdn_recurrent_args *>(args)), launch);
}

DEVICE_ROUTE_RUN(gdn_recurrent_route_state32, &assay_op_gdn_recurrent, gdn_recurrent_state32_launch)
DEVICE_ROUTE_RUN(gdn_recurrent_route_state16, &assay_op_gdn_recurrent, gdn_recurrent_state16_launch)
