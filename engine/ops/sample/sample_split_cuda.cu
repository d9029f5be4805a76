/* SPDX-License-Identifier: MIT
 *
 * sample.split: a row over many blocks, in a few launches that pass on what they found in the
 * workspace (struct sample_plan):
 *
 *   top        each block's first token in rank, and the sum of its weights
 *
 *   few, for a small top_k:
 *   gather     tokens not below the top_k-th of many groups' first ones
 *   finish     the rest in one block, in the list of these
 *
 *   else, first for top_k, then for top_p:
 *   histogram  of tokens or of their weights, over bins of the rank
 *   histogram  the same over the sub-bins of the bin in which the edge lies
 *   part       the tokens of the edge's sub-bin to a list, sums of kept weights by tile
 *   edge       for top_k before top_p: the edge in the list
 *   finish     the edge in the list, the tile of the draw, the token in the tile
 *
 * A list that does not suffice (many equal logits, or the largest ones all in one group) leaves the
 * row to the one block of finish, as in sample.block. Sums are of integers: their order is free.
 *
 * Profile f64, with the errors of sample_device.cuh; a sum of weights that is estimated in parts
 * chooses the integers' scale only. A row is read from memory once, then from L2. What limits it is
 * the latency of 3 launches (top_k) or 5 (top_p), each a pass over the row by some 10^2 blocks.
 * sass: word stores, counts and candidates.
 */
#include "ops/sample/sample_device.cuh"

enum {
    SPLIT_MAX_GROUPS = SAMPLE_SPLIT_BLOCKS * SAMPLE_SPLIT_WARPS,
    SPLIT_MAX_TOKENS = SAMPLE_SPLIT_WARPS * SAMPLE_TILE, /* of a block */
    SPLIT_LIMB_BITS = 21
};
static_assert(SPLIT_LIMB_BITS * 3 >= 62, "units are below 2^62");
static_assert(INT64_C(1) * SPLIT_MAX_TOKENS << SPLIT_LIMB_BITS <= INT64_C(0x100000000),
              "a block's sum of a limb fits 32 bits");

struct sample_split {
    struct sample_rows p;
    struct sample_plan plan;
    wide *memory;      /* plan.row_words a row of the launch */
    int64_t first_row; /* of the launch */
};

/* Words of a row's workspace from a part's offset on. */
SIMT_DEVICE wide *split_words(const struct sample_split &q, int64_t offset)
{
    return q.memory + simt_block_index().y * q.plan.row_words + offset;
}

SIMT_DEVICE wide *split_state(const struct sample_split &q, int word)
{
    return split_words(q, q.plan.state) + word;
}

/* A word of the state of a stage. */
SIMT_DEVICE wide *split_stage(const struct sample_split &q, int stage, int word)
{
    return split_state(q, stage * SAMPLE_STAGE_WORDS + word);
}

SIMT_DEVICE const unsigned char *split_logits(const struct sample_split &q)
{
    return row_address(q.p.logits, q.first_row + simt_block_index().y);
}

SIMT_DEVICE bool split_is_first_thread()
{
    return simt_block_index().x == 0 && simt_thread() == 0;
}

/* body(i, l_i) for the tokens of this thread. A block has tiles that lie apart, so that a run of
 * large logits is spread over the blocks. */
template <typename body_type>
SIMT_DEVICE void split_each(const struct sample_split &q, const unsigned char *logits,
                            body_type body)
{
    int64_t tile = simt_block_index().x + static_cast<int64_t>(q.plan.blocks) * simt_warp();
    int64_t step = static_cast<int64_t>(q.plan.blocks) * q.plan.warps * SAMPLE_TILE;
    sample_each(q.p, logits, tile * SAMPLE_TILE + simt_lane() * ROW_CHUNK, q.p.limit, step, body);
}

/* ---- top ------------------------------------------------------------------------------------ */

/* A NaN comes first, with an id that is none. */
SIMT_DEVICE struct sample_place split_place(int32_t i, double l)
{
    if (isnan(l))
        return {0, -1};
    return {sample_rank(l), i};
}

SIMT_KERNEL(sample_split_top)(struct sample_split q)
{
    SAMPLE_SCRATCH(s);
    struct sample_row r = {split_logits(q), 0, 0, {UINT64_MAX, INT32_MAX}, -1};
    struct sample_place mine = r.last;
    split_each(q, r.logits, [&](int32_t i, double l) {
        struct sample_place place = split_place(i, l);
        mine = sample_before(place, mine) ? place : mine;
    });
    int block = static_cast<int>(simt_block_index().x);
    mine = sample_warp_first(mine);
    if (simt_lane() == 0)
        simt_store(split_words(q, q.plan.groups) + block * q.plan.warps + simt_warp(), mine.rank);
    struct sample_place best = sample_first(s, mine);
    r.maximum = sample_logit(best.rank);
    double sum = 0;
    if (q.plan.few == 0 && q.p.temperature > 0) {
        split_each(q, r.logits, [&](int32_t, double l) { sum += sample_weight(q.p, r, l); });
        sum = row_block_sum(s.sums, sum);
    }
    if (simt_thread() == 0) {
        simt_store(split_words(q, q.plan.first_rank) + block, best.rank);
        simt_store(split_words(q, q.plan.first_id) + block, static_cast<wide>(best.id));
        simt_store(reinterpret_cast<double *>(split_words(q, q.plan.sum)) + block, sum);
    }
    int threads = static_cast<int>(simt_block_extent().x);
    for (int64_t i = block * threads + simt_thread(); i < q.plan.zeroed;
         i += q.plan.blocks * threads)
        simt_store(split_words(q, q.plan.state) + i, static_cast<wide>(0));
}

/* What the blocks of `top` found, the same in every thread. False: the row gives no id. */
SIMT_DEVICE bool split_first(const struct sample_split &q, struct sample_scratch &s,
                             struct sample_row &r, struct sample_place &best)
{
    int threads = static_cast<int>(simt_block_extent().x);
    const wide *rank = split_words(q, q.plan.first_rank), *id = split_words(q, q.plan.first_id);
    best = {UINT64_MAX, INT32_MAX};
    for (int i = simt_thread(); i < q.plan.blocks; i += threads) {
        struct sample_place other = {simt_load(rank + i), static_cast<int32_t>(simt_load(id + i))};
        best = sample_before(other, best) ? other : best;
    }
    best = sample_first(s, best);
    r = {split_logits(q), sample_logit(best.rank), 0, {UINT64_MAX, INT32_MAX}, -1};
    return best.id >= 0 && r.maximum != -static_cast<double>(INFINITY);
}

/* The same with what a stage needs: the scale and the last token that an earlier stage kept. */
SIMT_DEVICE bool split_start(const struct sample_split &q, struct sample_scratch &s,
                             struct sample_row &r, int stage)
{
    struct sample_place best;
    if (!split_first(q, s, r, best))
        return false;
    double sum = 0;
    const wide *rank = split_words(q, q.plan.first_rank);
    const double *part = reinterpret_cast<const double *>(split_words(q, q.plan.sum));
    for (int i = simt_thread(); i < q.plan.blocks; i += static_cast<int>(simt_block_extent().x))
        sum += simt_load(part + i) * sample_weight(q.p, r, sample_logit(simt_load(rank + i)));
    /* The block of the maximum adds 1 at least: the sum of units is below 2^62. */
    r.scale = ldexp(1.0, 60 - ilogb(row_block_sum(s.sums, sum)));
    if (split_is_first_thread())
        simt_store(reinterpret_cast<double *>(split_state(q, SAMPLE_STATE_SCALE)), r.scale);
    if (stage == SAMPLE_STAGE_P && q.plan.cuts_k) {
        if (simt_load(split_state(q, SAMPLE_STATE_SPILT)) != 0)
            return false;
        r.last.rank = simt_load(split_state(q, SAMPLE_STATE_LAST_RANK));
        r.last.id = static_cast<int32_t>(simt_load(split_state(q, SAMPLE_STATE_LAST_ID)));
    }
    return true;
}

/* ---- gather --------------------------------------------------------------------------------- */

/* Adds a token to the row's list; beyond the capacity it is counted only. */
SIMT_DEVICE void split_list(const struct sample_split &q, int stage, struct sample_place place)
{
    int64_t at = static_cast<int64_t>(
        simt_atomic_add(split_stage(q, stage, SAMPLE_STAGE_LISTED), static_cast<wide>(1)));
    if (at < q.plan.list) {
        simt_store(split_words(q, q.plan.list_rank) + at, place.rank);
        simt_store(split_words(q, q.plan.list_id) + at, static_cast<wide>(place.id));
    }
}

SIMT_KERNEL(sample_split_gather)(struct sample_split q)
{
    SAMPLE_SCRATCH(s);
    SIMT_SHARED(int32_t, word, SPLIT_MAX_GROUPS);
    struct sample_row r;
    struct sample_place best;
    if (!split_first(q, s, r, best))
        return;
    bool by_block = q.plan.few == q.plan.blocks;
    const wide *rank = split_words(q, by_block ? q.plan.first_rank : q.plan.groups);
    for (int i = simt_thread(); i < q.plan.few; i += static_cast<int>(simt_block_extent().x))
        word.store(i, static_cast<int32_t>(simt_load(rank + i) >> 32));
    uint64_t worst = sample_worst(s, word, q.plan.few, q.p.top_k);
    split_each(q, r.logits, [&](int32_t i, double l) {
        uint64_t own = sample_rank(l);
        if (own <= worst)
            split_list(q, SAMPLE_STAGE_K, {own, i});
    });
}

/* ---- histograms ----------------------------------------------------------------------------- */

/* A token's bin above its sub-bin, which rise with the rank, and its weight. */
struct split_token {
    int bin, sub_bin;
    double weight;
};

SIMT_DEVICE struct split_token split_token_of(const struct sample_split &q,
                                              const struct sample_row &r, double l)
{
    int bins = 1 << q.p.bits;
    double x = l == r.maximum ? 0 : (l - r.maximum) / q.p.temperature;
    double below = -x * q.p.bins_per_unit;
    struct split_token token = {bins - 1, 0, exp(x)};
    if (below < bins - 1) {
        token.bin = static_cast<int>(below);
        token.sub_bin = static_cast<int>((below - token.bin) * bins);
    }
    return token;
}

/* The sum of the values of the threads before this one, and of all. */
SIMT_DEVICE wide split_scan(struct sample_scratch &s, wide value, wide *total)
{
    int warps = static_cast<int>(simt_block_extent().x) / 32;
    wide upto = sample_warp_scan(value), before = upto - value, sum = 0;
    simt_sync_block(); /* the last sum's partial ones have been read */
    if (simt_lane() == 31)
        s.partial.store(simt_warp(), upto);
    simt_sync_block();
    for (int i = 0; i < warps; i++) {
        before += i < simt_warp() ? s.partial.load(i) : 0;
        sum += s.partial.load(i);
    }
    *total = sum;
    return before;
}

struct split_crossing {
    int bin;
    wide need; /* of the bin's sum */
};

/* The bin of a histogram in which the running sum reaches the stage's edge. */
SIMT_DEVICE struct split_crossing split_cross(const struct sample_split &q,
                                              struct sample_scratch &s, int stage, int level)
{
    int bins = 1 << q.p.bits, each = bins / static_cast<int>(simt_block_extent().x);
    const wide *histogram =
        split_words(q, q.plan.histograms) + (2 * stage + level) * bins + simt_thread() * each;
    wide sum = 0, total, need;
    for (int i = 0; i < each; i++)
        sum += simt_load(histogram + i);
    wide before = split_scan(s, sum, &total);
    if (level > 0)
        need = simt_load(split_stage(q, stage, SAMPLE_STAGE_NEED));
    else if (stage == SAMPLE_STAGE_K)
        need = static_cast<wide>(q.p.top_k);
    else
        need = sample_share(ceil(q.p.top_p * static_cast<double>(total)), 1, total);
    if (before < need && need <= before + sum) {
        int i = 0;
        for (; before + simt_load(histogram + i) < need; i++)
            before += simt_load(histogram + i);
        s.found.store(0, static_cast<wide>(simt_thread() * each + i));
        s.found.store(1, need - before);
    }
    simt_sync_block();
    return {static_cast<int>(s.found.load(0)), s.found.load(1)};
}

/* Sums of a block's tokens, in three limbs: a device adds 32 bits in shared memory in one
 * instruction, 64 in a loop. */
struct split_limbs {
    struct simt_shared<unsigned> low, middle, high;
};

SIMT_DEVICE void split_limbs_add(struct split_limbs &h, int at, wide value)
{
    const wide mask = (1u << SPLIT_LIMB_BITS) - 1;
    unsigned low = static_cast<unsigned>(value & mask),
             middle = static_cast<unsigned>(value >> SPLIT_LIMB_BITS & mask),
             high = static_cast<unsigned>(value >> 2 * SPLIT_LIMB_BITS);
    if (low > 0)
        simt_atomic_add(h.low.at(at), low);
    if (middle > 0)
        simt_atomic_add(h.middle.at(at), middle);
    if (high > 0)
        simt_atomic_add(h.high.at(at), high);
}

SIMT_DEVICE wide split_limbs_sum(const struct split_limbs &h, int at)
{
    return static_cast<wide>(h.low.load(at)) +
           (static_cast<wide>(h.middle.load(at)) << SPLIT_LIMB_BITS) +
           (static_cast<wide>(h.high.load(at)) << 2 * SPLIT_LIMB_BITS);
}

/* Adds this block's tokens to the histogram of the stage at the level; at level 1, of those in
 * `bin`. */
SIMT_DEVICE void split_count(const struct sample_split &q, struct split_limbs &h,
                             const struct sample_row &r, int stage, int level, int bin)
{
    int bins = 1 << q.p.bits, threads = static_cast<int>(simt_block_extent().x);
    for (int i = simt_thread(); i < bins; i += threads) {
        h.low.store(i, 0);
        h.middle.store(i, 0);
        h.high.store(i, 0);
    }
    simt_sync_block();
    split_each(q, r.logits, [&](int32_t i, double l) {
        struct split_token token = split_token_of(q, r, l);
        if ((level > 0 && token.bin != bin) || sample_before(r.last, {sample_rank(l), i}))
            return;
        wide value = stage == SAMPLE_STAGE_P ? sample_units(r, token.weight) : 1;
        split_limbs_add(h, level > 0 ? token.sub_bin : token.bin, value);
    });
    simt_sync_block();
    wide *histogram = split_words(q, q.plan.histograms) + (2 * stage + level) * bins;
    for (int i = simt_thread(); i < bins; i += threads) {
        wide sum = split_limbs_sum(h, i);
        if (sum > 0)
            simt_atomic_add(histogram + i, sum);
    }
}

SIMT_KERNEL(sample_split_histogram)(struct sample_split q, int stage, int level)
{
    SAMPLE_SCRATCH(s);
    SIMT_SHARED(unsigned, low, SAMPLE_MAX_BINS);
    SIMT_SHARED(unsigned, middle, SAMPLE_MAX_BINS);
    SIMT_SHARED(unsigned, high, SAMPLE_MAX_BINS);
    struct split_limbs h = {low, middle, high};
    struct sample_row r;
    struct split_crossing cross = {-1, 0};
    if (!split_start(q, s, r, stage))
        return;
    if (level > 0) {
        cross = split_cross(q, s, stage, 0);
        if (split_is_first_thread()) {
            simt_store(split_stage(q, stage, SAMPLE_STAGE_BIN), static_cast<wide>(cross.bin));
            simt_store(split_stage(q, stage, SAMPLE_STAGE_NEED), cross.need);
        }
        if (cross.bin + 1 == 1 << q.p.bits) /* split_cuts */
            return;
    }
    split_count(q, h, r, stage, level, cross.bin);
}

/* ---- part ----------------------------------------------------------------------------------- */

/* In the last bin weights are below 2^-61 of the largest one and have no units: whichever of its
 * tokens an edge keeps, none is drawn. */
SIMT_DEVICE bool split_cuts(const struct sample_split &q, int stage)
{
    return stage != SAMPLE_STAGE_NONE && simt_load(split_stage(q, stage, SAMPLE_STAGE_BIN)) + 1 <
                                             static_cast<wide>(1) << q.p.bits;
}

SIMT_KERNEL(sample_split_part)(struct sample_split q, int stage)
{
    SAMPLE_SCRATCH(s);
    struct sample_row r;
    if (!split_start(q, s, r, stage))
        return;
    int edge = INT32_MAX; /* bin and sub-bin */
    if (split_cuts(q, stage)) {
        int bin = static_cast<int>(simt_load(split_stage(q, stage, SAMPLE_STAGE_BIN)));
        struct split_crossing cross = split_cross(q, s, stage, 1);
        edge = bin << q.p.bits | cross.bin;
        if (split_is_first_thread())
            simt_store(split_stage(q, stage, SAMPLE_STAGE_NEED_LISTED), cross.need);
    }
    int64_t warp = simt_block_index().x + static_cast<int64_t>(q.plan.blocks) * simt_warp();
    for (int64_t tile = warp; tile < q.plan.num_tiles; tile += q.plan.blocks * q.plan.warps) {
        int64_t end = (tile + 1) * SAMPLE_TILE;
        wide sum = 0;
        sample_each(q.p, r.logits, tile * SAMPLE_TILE + simt_lane() * ROW_CHUNK,
                    end < q.p.limit ? end : q.p.limit, SAMPLE_TILE, [&](int32_t i, double l) {
                        struct split_token token = split_token_of(q, r, l);
                        struct sample_place place = {sample_rank(l), i};
                        int at = token.bin << q.p.bits | token.sub_bin;
                        if (at > edge || sample_before(r.last, place))
                            return;
                        if (at == edge)
                            split_list(q, stage, place);
                        else if (token.weight >= q.p.min_p)
                            sum += sample_units(r, token.weight);
                    });
        sum = sample_warp_sum(sum);
        if (simt_lane() == 0)
            simt_store(split_words(q, q.plan.tiles) + tile, sum);
    }
}

/* ---- edge and finish ------------------------------------------------------------------------ */

/* The row's list into shared memory, without values. False: it holds not all. */
SIMT_DEVICE bool split_load_list(const struct sample_split &q, struct sample_shared &s,
                                 struct sample_row &r, int stage)
{
    wide count = simt_load(split_stage(q, stage, SAMPLE_STAGE_LISTED));
    if (count > static_cast<wide>(q.plan.list))
        return false;
    r.listed = static_cast<int>(count);
    for (int i = simt_thread(); i < r.listed; i += static_cast<int>(simt_block_extent().x)) {
        s.rank.store(i, simt_load(split_words(q, q.plan.list_rank) + i));
        s.id.store(i, static_cast<int32_t>(simt_load(split_words(q, q.plan.list_id) + i)));
        s.value.store(i, 0);
    }
    return true;
}

/* The last token that the stage keeps becomes the row's. */
SIMT_DEVICE bool split_edge(const struct sample_split &q, struct sample_shared &s,
                            struct sample_row &r, int stage)
{
    r.listed = 0;
    if (!split_cuts(q, stage))
        return true;
    if (!split_load_list(q, s, r, stage))
        return false;
    for (int i = simt_thread(); i < r.listed; i += static_cast<int>(simt_block_extent().x)) {
        struct sample_place place = {s.rank.load(i), s.id.load(i)};
        wide units = sample_kept(q.p, r, place, sample_logit(place.rank), 0);
        s.value.store(i, stage == SAMPLE_STAGE_P ? units : 1);
    }
    wide need = simt_load(split_stage(q, stage, SAMPLE_STAGE_NEED_LISTED));
    r.last = sample_edge(s, r.listed, need, false);
    return true;
}

SIMT_DEVICE double split_scale(const struct sample_split &q)
{
    return simt_load(reinterpret_cast<const double *>(split_state(q, SAMPLE_STATE_SCALE)));
}

SIMT_KERNEL(sample_split_edge)(struct sample_split q)
{
    SAMPLE_SHARED(s);
    struct sample_row r;
    struct sample_place best;
    if (!split_first(q, s, r, best))
        return;
    r.scale = split_scale(q);
    bool is_listed = split_edge(q, s, r, SAMPLE_STAGE_K);
    if (simt_thread() == 0) {
        simt_store(split_state(q, SAMPLE_STATE_SPILT), static_cast<wide>(!is_listed));
        simt_store(split_state(q, SAMPLE_STATE_LAST_RANK), r.last.rank);
        simt_store(split_state(q, SAMPLE_STATE_LAST_ID), static_cast<wide>(r.last.id));
    }
}

/* The listed tokens join the sums of their tiles, which no load of this launch has brought into a
 * cache that atomics pass by (the workspace's parts share no line); then the tile in which the
 * running sum exceeds u times the total, and in it the token. */
SIMT_DEVICE int32_t split_draw(const struct sample_split &q, struct sample_shared &s,
                               const struct sample_row &r, double u)
{
    int threads = static_cast<int>(simt_block_extent().x);
    wide *tiles = split_words(q, q.plan.tiles);
    for (int i = simt_thread(); i < r.listed; i += threads) {
        struct sample_place place = {s.rank.load(i), s.id.load(i)};
        wide units = sample_kept(q.p, r, place, sample_logit(place.rank), q.p.min_p);
        if (units > 0)
            simt_atomic_add(tiles + place.id / SAMPLE_TILE, units);
    }
    simt_sync_block();
    int64_t each = (q.plan.num_tiles + threads - 1) / threads, tile = simt_thread() * each;
    int64_t end = tile + each < q.plan.num_tiles ? tile + each : q.plan.num_tiles;
    wide sum = 0, total;
    for (int64_t i = tile; i < end; i++)
        sum += simt_load(tiles + i);
    wide before = split_scan(s, sum, &total);
    wide edge = sample_share(u * static_cast<double>(total), 0, total - 1);
    if (before <= edge && edge < before + sum) {
        for (; before + simt_load(tiles + tile) <= edge; tile++)
            before += simt_load(tiles + tile);
        s.found.store(0, static_cast<wide>(tile));
        s.found.store(1, edge - before);
    }
    simt_sync_block();
    int64_t first = static_cast<int64_t>(s.found.load(0)) * SAMPLE_TILE;
    edge = s.found.load(1);
    simt_sync_block();
    end = first + SAMPLE_TILE < q.p.limit ? first + SAMPLE_TILE : q.p.limit;
    if (simt_warp() == 0)
        sample_warp_draw(q.p, s, r, first, end, edge);
    simt_sync_block();
    return static_cast<int32_t>(s.found.load(0));
}

SIMT_DEVICE int32_t split_finish(const struct sample_split &q, struct sample_shared &s, double u)
{
    struct sample_row r;
    struct sample_place best;
    if (!split_first(q, s, r, best))
        return -1;
    if (q.p.temperature == 0)
        return best.id;
    if (q.plan.few > 0) {
        if (split_load_list(q, s, r, SAMPLE_STAGE_K)) {
            sample_top_k(q.p, s, r);
            return sample_choose(q.p, s, r, u);
        }
    } else {
        int stage = q.plan.cuts_p   ? SAMPLE_STAGE_P
                    : q.plan.cuts_k ? SAMPLE_STAGE_K
                                    : SAMPLE_STAGE_NONE;
        bool is_spilt = simt_load(split_state(q, SAMPLE_STATE_SPILT)) != 0;
        r.scale = split_scale(q);
        if (!is_spilt && split_edge(q, s, r, stage))
            return split_draw(q, s, r, u);
    }
    return sample_one(q.p, s, r.logits, u);
}

SIMT_KERNEL(sample_split_finish)(struct sample_split q)
{
    SAMPLE_SHARED(s);
    int64_t row = q.first_row + simt_block_index().y;
    double u = sample_uniform(q.p.seed, sample_first_step(q.p) + static_cast<uint64_t>(row));
    int32_t chosen = split_finish(q, s, u);
    if (simt_thread() == 0)
        simt_store(q.p.ids + row, chosen);
}

/* ---- launch --------------------------------------------------------------------------------- */

/* Both histograms of a stage and its list. */
static assay_status split_launch_stage(struct simt_launch *launch, const struct sample_split &q,
                                       int stage)
{
    for (int level = 0; level < 2 && stage != SAMPLE_STAGE_NONE; level++) {
        assay_status status = SIMT_LAUNCH(launch, sample_split_histogram, q, stage, level);
        if (status != ASSAY_OK)
            return status;
    }
    return SIMT_LAUNCH(launch, sample_split_part, q, stage);
}

/* What comes between top and finish. */
static assay_status split_launch_cuts(struct simt_launch *launch, const struct sample_split &q)
{
    if (q.p.temperature == 0)
        return ASSAY_OK;
    if (q.plan.few > 0)
        return SIMT_LAUNCH(launch, sample_split_gather, q);
    if (!q.plan.cuts_k)
        return split_launch_stage(launch, q, q.plan.cuts_p ? SAMPLE_STAGE_P : SAMPLE_STAGE_NONE);
    assay_status status = split_launch_stage(launch, q, SAMPLE_STAGE_K);
    if (status != ASSAY_OK || !q.plan.cuts_p)
        return status;
    struct simt_launch one = *launch;
    one.grid.x = 1;
    status = SIMT_LAUNCH(&one, sample_split_edge, q);
    return status == ASSAY_OK ? split_launch_stage(launch, q, SAMPLE_STAGE_P) : status;
}

static assay_status split_launch_rows(struct simt_launch *launch, const struct sample_split &q,
                                      unsigned rows)
{
    launch->grid = {static_cast<unsigned>(q.plan.blocks), rows, 1};
    launch->block = {static_cast<unsigned>(q.plan.warps) * 32, 1, 1};
    assay_status status = SIMT_LAUNCH(launch, sample_split_top, q);
    if (status == ASSAY_OK)
        status = split_launch_cuts(launch, q);
    if (status != ASSAY_OK)
        return status;
    launch->grid.x = 1;
    if (q.plan.warps == SAMPLE_SPLIT_WARPS)
        launch->block.x = SAMPLE_MAX_THREADS;
    return SIMT_LAUNCH(launch, sample_split_finish, q);
}

static assay_status sample_split_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_sample_args *a = static_cast<const struct assay_sample_args *>(args);
    struct sample_split q = {sample_rows_of(a), sample_plan_of(a),
                             static_cast<wide *>(launch->workspace), 0};
    assay_status status = ASSAY_OK;
    q.p.list = q.plan.list;
    q.p.bits = q.plan.bits;
    q.p.bins_per_unit = (1 << q.plan.bits) * 3.0 / 128; /* the last bin from 42.5 units on */
    for (; q.first_row < q.p.rows && status == ASSAY_OK; q.first_row += q.plan.rows) {
        int64_t left = q.p.rows - q.first_row;
        status = split_launch_rows(launch, q,
                                   static_cast<unsigned>(left < q.plan.rows ? left : q.plan.rows));
    }
    return status;
}

DEVICE_ROUTE_RUN(sample_route_split, &assay_op_sample, sample_split_launch)
