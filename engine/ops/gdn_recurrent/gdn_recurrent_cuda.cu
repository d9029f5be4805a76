/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent. The columns of a head's state do not see each other.
 *
 * recurrent_columns, for dk = 64, 128, 256: a warp takes a strip of columns through all tokens with
 * its state in registers; a lane holds 8 rows of 4 (f32) or 8 (f16) columns, 16 bytes a row. Both
 * sums over dk are 8 long in a lane and go on by shuffles; there is no barrier. All state loads are
 * under way before the first is waited for, and the next token's operands while a token is at work.
 *
 * recurrent_any, for everything else: a block takes 32 columns; the state stays where it is.
 *
 * Profiles f32 and state16. Bound: gdn_recurrent_bound.md; chains of additions are at most
 * 8 + log2(dk / 8) long, and dk in recurrent_any. The state moves once each way; q and k come from
 * L2 for all but the first strip of a head. 7 dk dv operations a token and head. T = 1 is limited
 * by the state's bytes and the latency of one round trip to memory, long runs by the latency of the
 * two sums a token. Speed on a device: not measured.
 */
#include "ops/gdn_recurrent/gdn_device.cuh"
#include "ops/gdn_recurrent/gdn_recurrent_routes.h"

/* ---- dk = 64, 128, 256 ---------------------------------------------------------------------- */

enum { STRIP_ROWS = ROW_CHUNK, STRIP_WARPS = 2 };

/* What a warp of strips looks like. A lane's rows are STRIP_ROWS neighbours, so that its part of k
 * and q is one or two 16-byte loads. */
template <int dk, bool is_f16> struct strip_shape {
    enum {
        LANE_COLUMNS = is_f16 ? 8 : 4,
        COLUMN_LANES = 32 * STRIP_ROWS / dk, /* the lanes of one row lie next to each other */
        COLUMNS = COLUMN_LANES * LANE_COLUMNS,
        BLOCK_COLUMNS = COLUMNS * STRIP_WARPS
    };
};

/* Eight neighbours of a row as they lie in memory; bf16 takes the first 16 bytes. */
struct strip_part {
    struct simt_words words[2];
};

/* A lane's operands of one token, still packed: nothing waits for one load before the next is under
 * way. */
struct strip_token {
    struct strip_part k, q, v;
    float g, beta;
};

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

/* `count` elements, 4 or 8, of a row from `first` on. */
template <int count, bool constant>
SIMT_DEVICE void load_part(const struct row_view &v, const unsigned char *row, int64_t first,
                           struct strip_part &part)
{
    const unsigned char *at = row + first * (v.is_bf16 ? 2 : 4);
    if (!v.is_aligned && v.is_bf16) {
        SIMT_UNROLL for (int i = 0; i < count; i += 2)
        {
            const uint16_t *halves = reinterpret_cast<const uint16_t *>(at) + i;
            uint32_t low = row_load<uint16_t, constant>(halves);
            uint32_t high = row_load<uint16_t, constant>(halves + 1);
            part.words[0].word[i / 2] = low | high << 16;
        }
    } else if (!v.is_aligned) {
        SIMT_UNROLL for (int i = 0; i < count; i++) part.words[i / 4].word[i % 4] =
            row_load<uint32_t, constant>(reinterpret_cast<const uint32_t *>(at) + i);
    } else if (v.is_bf16 && count == 4) {
        uint64_t words = row_load<uint64_t, constant>(reinterpret_cast<const uint64_t *>(at));
        part.words[0].word[0] = static_cast<uint32_t>(words);
        part.words[0].word[1] = static_cast<uint32_t>(words >> 32);
    } else {
        part.words[0] = row_load16<constant>(at);
        if (!v.is_bf16 && count == 8)
            part.words[1] = row_load16<constant>(at + 16);
    }
}

SIMT_DEVICE float part_element(const struct strip_part &part, bool is_bf16, int i)
{
    uint32_t halves = part.words[0].word[i / 2 % 4];
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

/* Rows row .. row + 7 of k and q, and the lane's columns of v, where they are inside. */
template <int columns>
SIMT_DEVICE void load_token(const struct gdn_tensors &p, int64_t t, int head, int key_head, int row,
                            int64_t column, struct strip_token &token)
{
    load_part<STRIP_ROWS, true>(p.k, gdn_row(p.k, t, key_head), row, token.k);
    load_part<STRIP_ROWS, true>(p.q, gdn_row(p.q, t, key_head), row, token.q);
    if (column < p.value_dim)
        load_part<columns, false>(p.v, gdn_row(p.v, t, head), column, token.v);
    token.g = gdn_gate(p.g, t, head);
    token.beta = gdn_gate(p.beta, t, head);
}

/* Over the lanes that hold the same columns. */
template <int columns, int column_lanes> SIMT_DEVICE void sum_over_rows(float *sums)
{
    SIMT_UNROLL for (int bits = column_lanes; bits < 32; bits *= 2)
        SIMT_UNROLL for (int c = 0; c < columns; c++) sums[c] +=
        simt_shuffle_xor(SIMT_ALL_LANES, sums[c], bits);
}

/* One token: s becomes the stepped state, not yet rounded, o the lane's columns of the output. */
template <int columns, int column_lanes>
SIMT_DEVICE void step(const struct gdn_tensors &p, const struct strip_token &token, float scale,
                      float (*s)[columns], float *o)
{
    float alpha = static_cast<float>(exp(static_cast<double>(token.g)));
    float d[columns];
    SIMT_UNROLL for (int c = 0; c < columns; c++) d[c] = o[c] = 0;
    SIMT_UNROLL for (int r = 0; r < STRIP_ROWS; r++) SIMT_UNROLL for (int c = 0; c < columns; c++)
    {
        s[r][c] = alpha * s[r][c];
        d[c] = fmaf(part_element(token.k, p.k.is_bf16, r), s[r][c], d[c]);
    }
    sum_over_rows<columns, column_lanes>(d);
    SIMT_UNROLL for (int c = 0; c < columns; c++) d[c] =
        token.beta * (part_element(token.v, p.v.is_bf16, c) - d[c]);
    SIMT_UNROLL for (int r = 0; r < STRIP_ROWS; r++)
    {
        float k = part_element(token.k, p.k.is_bf16, r);
        float q = part_element(token.q, p.q.is_bf16, r) * scale;
        SIMT_UNROLL for (int c = 0; c < columns; c++)
        {
            s[r][c] = fmaf(k, d[c], s[r][c]);
            o[c] = fmaf(q, s[r][c], o[c]);
        }
    }
    sum_over_rows<columns, column_lanes>(o);
}

/* Grid: strips of STRIP_WARPS warps, heads. Lanes past the last column work on zeros. */
template <int dk, bool is_f16> SIMT_KERNEL(recurrent_columns)(struct gdn_tensors p, float scale)
{
    typedef struct strip_shape<dk, is_f16> shape;
    enum { COLUMNS = shape::LANE_COLUMNS, LANES = shape::COLUMN_LANES };
    int head = static_cast<int>(simt_block_index().y);
    int row = simt_lane() / LANES * STRIP_ROWS;
    int64_t column = static_cast<int64_t>(simt_block_index().x) * shape::BLOCK_COLUMNS +
                     simt_warp() * shape::COLUMNS + simt_lane() % LANES * COLUMNS;
    bool inside = column < p.value_dim;
    unsigned char *state = gdn_row(p.state, head, row) + column * (is_f16 ? 2 : 4);
    float s[STRIP_ROWS][COLUMNS], o[COLUMNS];
    struct strip_token token = {};
    struct simt_words words[STRIP_ROWS] = {};
    if (inside) {
        SIMT_UNROLL for (int r = 0; r < STRIP_ROWS; r++) words[r] =
            simt_load16(state + r * p.state.inner_stride);
    }
    int key_head = head / p.ratio;
    load_token<COLUMNS>(p, 0, head, key_head, row, column, token);
    SIMT_UNROLL for (int r = 0; r < STRIP_ROWS; r++) unpack_state<is_f16, COLUMNS>(words[r], s[r]);
    for (int64_t t = 0; t < p.tokens; t++) {
        struct strip_token next = token;
        if (t + 1 < p.tokens)
            load_token<COLUMNS>(p, t + 1, head, key_head, row, column, next);
        step<COLUMNS, LANES>(p, token, scale, s, o);
        if (inside && row == 0) /* o may be v: every lane's v has gone into the sum */
            store_columns<COLUMNS>(p.o, gdn_row(p.o, t, head), column, o);
        if (is_f16) {
            SIMT_UNROLL for (int r = 0; r < STRIP_ROWS; r++)
                unpack_state<is_f16, COLUMNS>(pack_state<is_f16>(s[r]), s[r]);
        }
        token = next;
    }
    if (inside) {
        SIMT_UNROLL for (int r = 0; r < STRIP_ROWS; r++)
            simt_store16(state + r * p.state.inner_stride, pack_state<is_f16>(s[r]));
    }
}

/* ---- any dk --------------------------------------------------------------------------------- */

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
SIMT_DEVICE void step_any(const struct gdn_tensors &p, int64_t t, int head, int64_t column,
                          int warps, struct simt_shared<float> partial)
{
    bool inside = column < p.value_dim;
    int key_head = head / p.ratio;
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

template <bool is_f16> SIMT_KERNEL(recurrent_any)(struct gdn_tensors p)
{
    SIMT_SHARED(float, partial, 2 * ANY_MAX_WARPS * ANY_COLUMNS);
    int warps = static_cast<int>(simt_block_extent().x) / 32;
    int64_t column = static_cast<int64_t>(simt_block_index().x) * ANY_COLUMNS + simt_lane();
    for (int64_t t = 0; t < p.tokens; t++)
        step_any<is_f16>(p, t, static_cast<int>(simt_block_index().y), column, warps, partial);
}

/* ---- launch --------------------------------------------------------------------------------- */

template <int dk, bool is_f16>
static assay_status launch_columns(const struct gdn_tensors &p, struct simt_launch *launch)
{
    int64_t columns = strip_shape<dk, is_f16>::BLOCK_COLUMNS;
    launch->grid = {static_cast<unsigned>((p.value_dim + columns - 1) / columns),
                    static_cast<unsigned>(p.heads), 1};
    launch->block = {32 * STRIP_WARPS, 1, 1};
    return SIMT_LAUNCH(launch, (recurrent_columns<dk, is_f16>), p, static_cast<float>(p.scale));
}

/* Which kernel runs must not depend on T: a run of T tokens has the bits of T runs of one. The
 * scale must keep its precision in binary32; then its own rounding, that of the product with q and
 * dk others make up the dk + 2 of the bound. */
template <bool is_f16>
static assay_status launch_state(const struct gdn_tensors &p, struct simt_launch *launch)
{
    double size = fabs(p.scale);
    bool strips = p.state.is_aligned && p.value_dim % (is_f16 ? 8 : 4) == 0 &&
                  (size == 0 || (size > 0x1p-64 && size < 0x1p64));
    if (p.tokens == 0)
        return ASSAY_OK;
    if (strips && p.key_dim == 64)
        return launch_columns<64, is_f16>(p, launch);
    if (strips && p.key_dim == 128)
        return launch_columns<128, is_f16>(p, launch);
    if (strips && p.key_dim == 256)
        return launch_columns<256, is_f16>(p, launch);
    int64_t warps = p.key_dim < ANY_MAX_WARPS ? p.key_dim : static_cast<int64_t>(ANY_MAX_WARPS);
    launch->grid = {static_cast<unsigned>((p.value_dim + ANY_COLUMNS - 1) / ANY_COLUMNS),
                    static_cast<unsigned>(p.heads), 1};
    launch->block = {static_cast<unsigned>(32 * warps), 1, 1};
    return SIMT_LAUNCH(launch, recurrent_any<is_f16>, p);
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
