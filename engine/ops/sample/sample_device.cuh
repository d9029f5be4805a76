/* SPDX-License-Identifier: MIT
 *
 * What sample's kernels share, and how a block takes a row from its logits to its id.
 *
 * Tokens are ranked by (falling l, rising index). Probabilities are integers: weights exp((l_i -
 * max) / T) times a power of two, so that their sums are exact and the same in whatever order they
 * are taken. Of a row, the tokens that can matter go to a list in shared memory whenever they fit
 * there: all of them, or those not below the top_k-th of the threads' own maxima, or those of one
 * bin of a histogram over the rank. In a list an edge is found by comparing all pairs.
 *
 * Profile f64: l_i, its weight and the edges u and top_p are binary64 as on the host; the integers
 * are off by at most 2^-53 a token of a list, and by 2^-61 of the sum a token of a row, both within
 * the limit * 2^-51 of the sum that [SAMPLE-7] allows.
 */
#ifndef ASSAY_SAMPLE_DEVICE_CUH
#define ASSAY_SAMPLE_DEVICE_CUH

#include <string.h>

#include "cuda/rows.cuh"
#include "ops/sample/sample_routes.h"

typedef unsigned long long wide; /* what integer atomics take */

enum {
    SAMPLE_MAX_THREADS = 512,
    SAMPLE_MAX_WARPS = SAMPLE_MAX_THREADS / 32,
    SAMPLE_MAX_LIST = 1024,
    SAMPLE_MAX_BINS = 2048
};
static_assert(SAMPLE_TILE == 32 * ROW_CHUNK, "a chunk a lane");

struct sample_rows {
    struct row_view logits;
    const int32_t *counts; /* NULL: none */
    bool counts_aligned;
    const int32_t *step_at; /* NULL: none */
    int32_t *ids;
    int64_t rows, limit, top_k; /* top_k 0: all */
    double temperature, top_p, min_p, presence, frequency;
    uint64_t seed, step;
    int list, bits; /* capacity of the list; digits of the histograms have 1 << bits bins */
    double bins_per_unit;
};

/* A place in the order of ranks: falls as l rises, then index. */
struct sample_place {
    uint64_t rank;
    int32_t id;
};

/* What a block's sums and searches go through. */
struct sample_scratch {
    struct simt_shared<wide> partial;  /* [warps] */
    struct simt_shared<double> sums;   /* [warps] */
    struct simt_shared<wide> found;    /* [2] */
    struct simt_shared<int32_t> count; /* [warps]; element 0: tokens offered to the list */
};

struct sample_shared : sample_scratch {
    struct simt_shared<uint64_t> rank; /* [list] */
    struct simt_shared<wide> value;    /* [list] */
    struct simt_shared<int32_t> id;    /* [list] */
    struct simt_shared<wide> mass;     /* [bins] */
    struct simt_shared<int32_t> tally; /* [bins] */
};

/* Declare s, a block's sample_scratch or sample_shared. */
#define SAMPLE_SCRATCH(s)                              \
    SIMT_SHARED(wide, s##_partial, SAMPLE_MAX_WARPS);  \
    SIMT_SHARED(double, s##_sums, SAMPLE_MAX_WARPS);   \
    SIMT_SHARED(wide, s##_found, 2);                   \
    SIMT_SHARED(int32_t, s##_count, SAMPLE_MAX_WARPS); \
    struct sample_scratch s = {s##_partial, s##_sums, s##_found, s##_count}

#define SAMPLE_SHARED(s)                              \
    SIMT_SHARED(uint64_t, s##_rank, SAMPLE_MAX_LIST); \
    SIMT_SHARED(wide, s##_value, SAMPLE_MAX_LIST);    \
    SIMT_SHARED(int32_t, s##_id, SAMPLE_MAX_LIST);    \
    SIMT_SHARED(wide, s##_mass, SAMPLE_MAX_BINS);     \
    SIMT_SHARED(int32_t, s##_tally, SAMPLE_MAX_BINS); \
    SAMPLE_SCRATCH(s##_scratch);                      \
    struct sample_shared s = {s##_scratch, s##_rank, s##_value, s##_id, s##_mass, s##_tally}

/* One row under way; the same in every thread. */
struct sample_row {
    const unsigned char *logits;
    double maximum, scale;    /* scale: of integer weights */
    struct sample_place last; /* the last one kept by rank */
    int listed;               /* tokens in the list; -1: the row is not listed */
};

/* ---- one token ------------------------------------------------------------------------------ */

SIMT_DEVICE uint64_t sample_rank(double l)
{
    uint64_t bits;
    double value = l + 0.0; /* -0 is 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 != 0 ? bits : ~(bits | UINT64_C(1) << 63);
}

SIMT_DEVICE double sample_logit(uint64_t rank)
{
    uint64_t bits = rank >> 63 != 0 ? rank : ~rank & ~(UINT64_C(1) << 63);
    double l;
    memcpy(&l, &bits, sizeof l);
    return l;
}

SIMT_DEVICE bool sample_before(struct sample_place a, struct sample_place b)
{
    return a.rank < b.rank || (a.rank == b.rank && a.id < b.id);
}

SIMT_DEVICE double sample_weight(const struct sample_rows &p, const struct sample_row &r, double l)
{
    if (isinf(r.maximum))
        return l == r.maximum ? 1 : 0;
    return exp((l - r.maximum) / p.temperature);
}

SIMT_DEVICE wide sample_units(const struct sample_row &r, double weight)
{
    return static_cast<wide>(weight * r.scale + 0.5);
}

/* Rises with the rank; which ranks share a bin is a matter of speed only. */
SIMT_DEVICE int sample_bin(const struct sample_rows &p, const struct sample_row &r, double l)
{
    int last = (1 << p.bits) - 1;
    double scale = p.bins_per_unit, below = (r.maximum - l) / p.temperature * scale;
    if (l == r.maximum)
        return 0;
    return below < last ? static_cast<int>(below) : last;
}

/* ---- all tokens ----------------------------------------------------------------------------- */

/* body(i, l_i) for chunks of 8 at first, first + step, ... below end. */
template <typename body_type>
SIMT_DEVICE void sample_each(const struct sample_rows &p, const unsigned char *logits,
                             int64_t first, int64_t end, int64_t step, body_type body)
{
    for (int64_t i = first; i < end; i += step) {
        float x[ROW_CHUNK];
        int32_t n[ROW_CHUNK];
        row_load_chunk<true>(p.logits, logits, i, p.limit, x);
        bool whole = p.counts != NULL && p.counts_aligned && i + ROW_CHUNK <= p.limit;
        struct simt_words low = {{0, 0, 0, 0}}, high = low;
        if (whole) {
            low = simt_load16_constant(p.counts + i);
            high = simt_load16_constant(p.counts + i + 4);
        }
        SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++)
        {
            n[j] = static_cast<int32_t>(j < 4 ? low.word[j] : high.word[j - 4]);
            if (p.counts != NULL && !whole && i + j < p.limit)
                n[j] = simt_load_constant(p.counts + i + j);
        }
        SIMT_UNROLL for (int j = 0; j < ROW_CHUNK; j++)
        {
            double l = static_cast<double>(x[j]), count = static_cast<double>(n[j]);
            if (p.counts != NULL)
                l = l - (n[j] > 0 ? p.presence : 0) - p.frequency * count;
            if (n[j] < 0) /* [SAMPLE-9]: no id, as with a NaN */
                l = static_cast<double>(NAN);
            if (i + j < end)
                body(static_cast<int32_t>(i + j), l);
        }
    }
}

template <typename body_type>
SIMT_DEVICE void sample_each_of_row(const struct sample_rows &p, const unsigned char *logits,
                                    body_type body)
{
    int64_t step = static_cast<int64_t>(simt_block_extent().x) * ROW_CHUNK;
    sample_each(p, logits, simt_thread() * ROW_CHUNK, p.limit, step, body);
}

SIMT_DEVICE wide sample_warp_sum(wide value)
{
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2) value +=
        simt_shuffle_xor(SIMT_ALL_LANES, value, bits);
    return value;
}

/* The sum of the values of the lanes up to this one. */
SIMT_DEVICE wide sample_warp_scan(wide value)
{
    SIMT_UNROLL for (int n = 1; n < 32; n *= 2)
    {
        wide other = simt_shuffle_up(SIMT_ALL_LANES, value, n);
        value += simt_lane() >= n ? other : 0;
    }
    return value;
}

SIMT_DEVICE wide sample_block_sum(struct sample_scratch &s, wide value)
{
    int warps = static_cast<int>(simt_block_extent().x) / 32;
    wide part = sample_warp_sum(value), sum = 0;
    simt_sync_block(); /* the last sum's partial ones have been read */
    if (simt_lane() == 0)
        s.partial.store(simt_warp(), part);
    simt_sync_block();
    for (int i = 0; i < warps; i++)
        sum += s.partial.load(i);
    return sum;
}

/* The first in rank of a warp, the same in every lane. */
SIMT_DEVICE struct sample_place sample_warp_first(struct sample_place best)
{
    SIMT_UNROLL for (int bits = 16; bits > 0; bits /= 2)
    {
        struct sample_place other = {simt_shuffle_xor(SIMT_ALL_LANES, best.rank, bits),
                                     simt_shuffle_xor(SIMT_ALL_LANES, best.id, bits)};
        best = sample_before(other, best) ? other : best;
    }
    return best;
}

/* The same of the block, in every thread. */
SIMT_DEVICE struct sample_place sample_first(struct sample_scratch &s, struct sample_place best)
{
    int warps = static_cast<int>(simt_block_extent().x) / 32;
    best = sample_warp_first(best);
    simt_sync_block();
    if (simt_lane() == 0) {
        s.partial.store(simt_warp(), best.rank);
        s.count.store(simt_warp(), best.id);
    }
    simt_sync_block();
    for (int i = 0; i < warps; i++) {
        struct sample_place other = {s.partial.load(i), s.count.load(i)};
        best = sample_before(other, best) ? other : best;
    }
    simt_sync_block();
    return best;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Among `count` listed values in the order of (rank, id), or of id alone: the place at which the
 * running sum reaches `need`, 1 <= need <= the values' sum. */
SIMT_DEVICE struct sample_place sample_edge(struct sample_shared &s, int count, wide need,
                                            bool by_id)
{
    simt_sync_block();
    for (int i = simt_thread(); i < count; i += static_cast<int>(simt_block_extent().x)) {
        struct sample_place self = {s.rank.load(i), s.id.load(i)};
        wide before = 0, value = s.value.load(i);
        for (int j = 0; j < count && value > 0; j++) {
            uint64_t rank = by_id ? self.rank : s.rank.load(j);
            int32_t id = s.id.load(j);
            wide other = s.value.load(j);
            before += rank < self.rank || (rank == self.rank && id < self.id) ? other : 0;
        }
        if (before < need && need <= before + value) {
            s.found.store(0, self.rank);
            s.found.store(1, static_cast<wide>(self.id));
        }
    }
    simt_sync_block();
    return {s.found.load(0), static_cast<int32_t>(s.found.load(1))};
}

/* Adds a token; beyond the capacity it is counted only. */
SIMT_DEVICE void sample_list(const struct sample_rows &p, struct sample_shared &s, int32_t id,
                             uint64_t rank, wide value)
{
    int at = simt_atomic_add(s.count.at(0), 1);
    if (at < p.list) {
        s.rank.store(at, rank);
        s.id.store(at, id);
        s.value.store(at, value);
    }
}

SIMT_DEVICE void sample_list_start(struct sample_shared &s)
{
    simt_sync_block();
    if (simt_thread() == 0)
        s.count.store(0, 0);
    simt_sync_block();
}

/* A rank that top_k of the groups' first tokens do not pass: the top_k-th one's, but for its lower
 * half. word: the upper halves, each read by the thread that stored it (group i by thread i modulo
 * the threads). Two bits a round, by how many words are not above each of three candidates. */
SIMT_DEVICE uint64_t sample_worst(struct sample_scratch &s, struct simt_shared<int32_t> word,
                                  int groups, int64_t top_k)
{
    uint32_t worst = 0;
    for (int shift = 30; shift >= 0; shift -= 2) {
        uint32_t below = (UINT32_C(1) << shift) - 1, digit = 0;
        wide counts = 0; /* three of 21 bits */
        for (int i = simt_thread(); i < groups; i += static_cast<int>(simt_block_extent().x)) {
            uint32_t own = static_cast<uint32_t>(word.load(i));
            for (uint32_t d = 0; d < 3; d++)
                counts += static_cast<wide>(own <= (worst | d << shift | below)) << 21 * d;
        }
        counts = sample_block_sum(s, counts);
        for (int d = 0; d < 3; d++)
            digit += static_cast<int64_t>(counts >> 21 * d & 0x1fffff) < top_k;
        worst |= digit << shift;
    }
    return static_cast<uint64_t>(worst) << 32 | UINT32_MAX;
}

/* Lists all tokens that top_k can keep, if they are few. `mine`: the first of this thread's. */
SIMT_DEVICE void sample_list_row(const struct sample_rows &p, struct sample_shared &s,
                                 struct sample_row &r, struct sample_place mine)
{
    int threads = static_cast<int>(simt_block_extent().x);
    uint64_t worst = UINT64_MAX;
    if (p.limit > p.list) {
        if (p.top_k == 0 || p.top_k > threads || p.top_k > p.list)
            return;
        s.tally.store(simt_thread(), static_cast<int32_t>(mine.rank >> 32));
        worst = sample_worst(s, s.tally, threads, p.top_k);
    }
    sample_list_start(s);
    sample_each_of_row(p, r.logits, [&](int32_t i, double l) {
        uint64_t rank = sample_rank(l);
        if (rank <= worst)
            sample_list(p, s, i, rank, 0);
    });
    simt_sync_block();
    if (s.count.load(0) <= p.list)
        r.listed = s.count.load(0);
}

/* ---- kept tokens ---------------------------------------------------------------------------- */

/* Units of a token's weight, 0 when it is not kept by rank or by `least`. */
SIMT_DEVICE wide sample_kept(const struct sample_rows &p, const struct sample_row &r,
                             struct sample_place place, double l, double least)
{
    if (sample_before(r.last, place))
        return 0;
    double weight = sample_weight(p, r, l);
    return weight < least ? 0 : sample_units(r, weight);
}

/* Their sum; with a list also the listed values. */
SIMT_DEVICE wide sample_sum(const struct sample_rows &p, struct sample_shared &s,
                            const struct sample_row &r, double least)
{
    wide sum = 0;
    if (r.listed < 0) {
        sample_each_of_row(p, r.logits, [&](int32_t i, double l) {
            sum += sample_kept(p, r, {sample_rank(l), i}, l, least);
        });
    } else {
        int threads = static_cast<int>(simt_block_extent().x);
        simt_sync_block();
        for (int i = simt_thread(); i < r.listed; i += threads) {
            struct sample_place place = {s.rank.load(i), s.id.load(i)};
            wide value = sample_kept(p, r, place, sample_logit(place.rank), least);
            s.value.store(i, value);
            sum += value;
        }
    }
    return sample_block_sum(s, sum);
}

/* ---- edges in a row ------------------------------------------------------------------------- */

/* The tokens among which an edge lies: of one bin, with these leading bits of the rank, then of the
 * index. */
struct sample_range {
    int bin; /* -1: any */
    int rank_shift, id_shift;
    uint64_t rank; /* the bits above rank_shift */
    uint32_t id;
};

/* The token's digit below the leading bits; -1: it is not of the range. */
SIMT_DEVICE int sample_digit(const struct sample_rows &p, const struct sample_row &r,
                             const struct sample_range &range, struct sample_place place, double l)
{
    int bin = sample_bin(p, r, l), mask = (1 << p.bits) - 1;
    if (range.bin < 0)
        return bin;
    if (bin != range.bin || (range.rank_shift < 64 && place.rank >> range.rank_shift != range.rank))
        return -1;
    if (range.rank_shift > 0)
        return static_cast<int>(place.rank >> (range.rank_shift - p.bits)) & mask;
    uint64_t id = static_cast<uint64_t>(place.id);
    if (id >> range.id_shift != range.id)
        return -1;
    if (range.id_shift == 0)
        return 0;
    return static_cast<int>(id >> (range.id_shift - p.bits)) & mask;
}

SIMT_DEVICE void sample_narrow(const struct sample_rows &p, struct sample_range &range, int digit)
{
    if (range.bin < 0) {
        range.bin = digit;
    } else if (range.rank_shift > 0) {
        range.rank = range.rank << p.bits | static_cast<uint64_t>(digit);
        range.rank_shift -= p.bits;
    } else {
        range.id = range.id << p.bits | static_cast<uint32_t>(digit);
        range.id_shift -= p.bits;
    }
}

/* By the first warp: the bin in which the running sum reaches `need`, and the sum before it. */
SIMT_DEVICE void sample_crossing(const struct sample_rows &p, struct sample_shared &s, wide need)
{
    int each = (1 << p.bits) / 32, first = simt_lane() * each;
    wide sum = 0;
    for (int i = first; i < first + each; i++)
        sum += s.mass.load(i);
    wide upto = sample_warp_scan(sum), before = upto - sum;
    if (before >= need || upto < need)
        return;
    int bin = first;
    for (; before + s.mass.load(bin) < need; bin++)
        before += s.mass.load(bin);
    s.found.store(0, static_cast<wide>(bin));
    s.found.store(1, before);
}

/* The place in rank at which the running sum of kept tokens (by_mass: of their units) reaches
 * `need`. Each round narrows the range by a digit until the list can hold it. */
SIMT_DEVICE struct sample_place sample_row_edge(const struct sample_rows &p,
                                                struct sample_shared &s, const struct sample_row &r,
                                                wide need, bool by_mass)
{
    int threads = static_cast<int>(simt_block_extent().x), bins = 1 << p.bits;
    int rank_bits = (64 + p.bits - 1) / p.bits * p.bits,
        id_bits = (32 + p.bits - 1) / p.bits * p.bits;
    struct sample_range range = {-1, rank_bits, id_bits, 0, 0};
    for (;;) {
        simt_sync_block();
        for (int i = simt_thread(); i < bins; i += threads) {
            s.mass.store(i, 0);
            s.tally.store(i, 0);
        }
        simt_sync_block();
        sample_each_of_row(p, r.logits, [&](int32_t i, double l) {
            struct sample_place place = {sample_rank(l), i};
            int digit = sample_digit(p, r, range, place, l);
            if (digit < 0 || sample_before(r.last, place))
                return;
            wide value = by_mass ? sample_kept(p, r, place, l, 0) : 1;
            simt_atomic_add(s.mass.at(digit), value);
            simt_atomic_add(s.tally.at(digit), 1);
        });
        simt_sync_block();
        if (simt_warp() == 0)
            sample_crossing(p, s, need);
        simt_sync_block();
        int digit = static_cast<int>(s.found.load(0));
        need -= s.found.load(1);
        sample_narrow(p, range, digit);
        if (s.tally.load(digit) <= p.list)
            break;
    }
    sample_list_start(s);
    sample_each_of_row(p, r.logits, [&](int32_t i, double l) {
        struct sample_place place = {sample_rank(l), i};
        if (sample_digit(p, r, range, place, l) < 0 || sample_before(r.last, place))
            return;
        sample_list(p, s, i, place.rank, by_mass ? sample_kept(p, r, place, l, 0) : 1);
    });
    simt_sync_block();
    return sample_edge(s, s.count.load(0), need, false);
}

/* The sum of the kept units of the lanes before this one, in `before`, and its own. */
SIMT_DEVICE wide sample_tile(const struct sample_rows &p, const struct sample_row &r, int64_t tile,
                             int64_t end, wide *before)
{
    wide sum = 0;
    sample_each(p, r.logits, tile + simt_lane() * ROW_CHUNK, end, SAMPLE_TILE,
                [&](int32_t i, double l) {
                    sum += sample_kept(p, r, {sample_rank(l), i}, l, p.min_p);
                });
    *before = sample_warp_scan(sum) - sum;
    return sum;
}

/* By one warp: the index in first .. end - 1 at which the running sum of kept units exceeds edge.
 */
SIMT_DEVICE void sample_warp_draw(const struct sample_rows &p, struct sample_shared &s,
                                  const struct sample_row &r, int64_t first, int64_t end, wide edge)
{
    for (int64_t tile = first; tile < end; tile += SAMPLE_TILE) {
        int64_t tile_end = tile + SAMPLE_TILE < end ? tile + SAMPLE_TILE : end;
        wide before, sum = sample_tile(p, r, tile, tile_end, &before);
        if (before <= edge && edge < before + sum) {
            wide running = before;
            sample_each(p, r.logits, tile + simt_lane() * ROW_CHUNK, tile_end, SAMPLE_TILE,
                        [&](int32_t i, double l) {
                            wide units = sample_kept(p, r, {sample_rank(l), i}, l, p.min_p);
                            if (running <= edge && edge < running + units)
                                s.found.store(0, static_cast<wide>(i));
                            running += units;
                        });
        }
        wide whole = simt_shuffle(SIMT_ALL_LANES, before + sum, 31);
        if (whole > edge)
            return;
        edge -= whole;
    }
}

/* The same over the row: it is split among the warps, then the part that has the edge, until a
 * warp's step remains. */
SIMT_DEVICE int32_t sample_row_draw(const struct sample_rows &p, struct sample_shared &s,
                                    const struct sample_row &r, wide edge)
{
    int warps = static_cast<int>(simt_block_extent().x) / 32;
    int64_t first = 0, end = p.limit;
    while (warps > 1 && end - first > SAMPLE_TILE) {
        int64_t part = (end - first + warps - 1) / warps;
        part = (part + SAMPLE_TILE - 1) / SAMPLE_TILE * SAMPLE_TILE;
        int64_t start = first + simt_warp() * part;
        int64_t stop = start + part < end ? start + part : end;
        wide sum = 0;
        sample_each(p, r.logits, start + simt_lane() * ROW_CHUNK, stop, SAMPLE_TILE,
                    [&](int32_t i, double l) {
                        sum += sample_kept(p, r, {sample_rank(l), i}, l, p.min_p);
                    });
        sum = sample_warp_sum(sum);
        simt_sync_block();
        if (simt_lane() == 0)
            s.partial.store(simt_warp(), sum);
        simt_sync_block();
        int at = 0;
        for (; at < warps - 1 && s.partial.load(at) <= edge; at++)
            edge -= s.partial.load(at);
        first += at * part;
        end = first + part < end ? first + part : end;
    }
    if (simt_warp() == 0)
        sample_warp_draw(p, s, r, first, end, edge);
    simt_sync_block();
    return static_cast<int32_t>(s.found.load(0));
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* u of [SAMPLE-5]. */
SIMT_DEVICE double sample_uniform(uint64_t seed, uint64_t counter)
{
    uint32_t word[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
    uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    SIMT_UNROLL for (int round = 0; round < 10; round++)
    {
        uint64_t a = UINT64_C(0xd2511f53) * word[0], b = UINT64_C(0xcd9e8d57) * word[2];
        word[0] = static_cast<uint32_t>(b >> 32) ^ word[1] ^ key[0];
        word[2] = static_cast<uint32_t>(a >> 32) ^ word[3] ^ key[1];
        word[1] = static_cast<uint32_t>(b);
        word[3] = static_cast<uint32_t>(a);
        key[0] += 0x9e3779b9u;
        key[1] += 0xbb67ae85u;
    }
    uint64_t x = static_cast<uint64_t>(word[1]) << 32 | word[0];
    return static_cast<double>(x >> 11) * 0x1p-53;
}

/* Integers whose sum stays below 2^62. A list's do for any weights; a row's scale follows from the
 * sum, which is taken in a fixed order. */
SIMT_DEVICE double sample_scale(const struct sample_rows &p, struct sample_shared &s,
                                const struct sample_row &r)
{
    if (r.listed >= 0)
        return 0x1p51; /* times 1024 */
    double sum = 0;
    sample_each_of_row(p, r.logits, [&](int32_t, double l) { sum += sample_weight(p, r, l); });
    return ldexp(1.0, 60 - ilogb(row_block_sum(s.sums, sum)));
}

/* ceil or floor of a share of a sum, in lowest .. highest. */
SIMT_DEVICE wide sample_share(double share, wide lowest, wide highest)
{
    wide value = share < 0x1p63 ? static_cast<wide>(share) : highest;
    value = value < lowest ? lowest : value;
    return value > highest ? highest : value;
}

/* [SAMPLE-2] */
SIMT_DEVICE void sample_top_k(const struct sample_rows &p, struct sample_shared &s,
                              struct sample_row &r)
{
    wide need = static_cast<wide>(p.top_k);
    if (r.listed < 0) {
        r.last = sample_row_edge(p, s, r, need, false);
        return;
    }
    simt_sync_block();
    for (int i = simt_thread(); i < r.listed; i += static_cast<int>(simt_block_extent().x))
        s.value.store(i, 1);
    r.last = sample_edge(s, r.listed, need, false);
}

/* [SAMPLE-3] */
SIMT_DEVICE void sample_top_p(const struct sample_rows &p, struct sample_shared &s,
                              struct sample_row &r)
{
    wide within = sample_sum(p, s, r, 0);
    wide need = sample_share(ceil(p.top_p * static_cast<double>(within)), 1, within);
    r.last =
        r.listed < 0 ? sample_row_edge(p, s, r, need, true) : sample_edge(s, r.listed, need, false);
}

/* The rest, once top_k has been applied. */
SIMT_DEVICE int32_t sample_choose(const struct sample_rows &p, struct sample_shared &s,
                                  struct sample_row &r, double u)
{
    r.scale = sample_scale(p, s, r);
    if (p.top_p < 1)
        sample_top_p(p, s, r);
    wide total = sample_sum(p, s, r, p.min_p);
    wide edge = sample_share(u * static_cast<double>(total), 0, total - 1);
    return r.listed < 0 ? sample_row_draw(p, s, r, edge)
                        : sample_edge(s, r.listed, edge + 1, true).id;
}

SIMT_DEVICE int32_t sample_one(const struct sample_rows &p, struct sample_shared &s,
                               const unsigned char *logits, double u)
{
    struct sample_row r = {logits, 0, 0, {UINT64_MAX, INT32_MAX}, -1};
    struct sample_place mine = r.last;
    bool is_nan = false;
    sample_each_of_row(p, logits, [&](int32_t i, double l) {
        struct sample_place place = {sample_rank(l), i};
        is_nan = is_nan || isnan(l);
        mine = sample_before(place, mine) ? place : mine;
    });
    wide none = sample_block_sum(s, is_nan);
    struct sample_place best = sample_first(s, mine);
    r.maximum = sample_logit(best.rank);
    if (none > 0 || r.maximum == -static_cast<double>(INFINITY))
        return -1;
    if (p.temperature == 0)
        return best.id;
    sample_list_row(p, s, r, mine);
    if (p.top_k > 0)
        sample_top_k(p, s, r);
    return sample_choose(p, s, r, u);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static inline struct sample_rows sample_rows_of(const struct assay_sample_args *a)
{
    struct sample_rows p = {};
    p.logits = row_view_of(&a->logits);
    p.counts = static_cast<const int32_t *>(a->counts.data);
    p.counts_aligned = reinterpret_cast<uintptr_t>(a->counts.data) % 16 == 0;
    p.step_at = static_cast<const int32_t *>(a->step_at.data);
    p.ids = static_cast<int32_t *>(a->ids.data);
    p.rows = a->ids.extent[0];
    p.limit = a->limit;
    p.top_k = a->top_k < a->limit ? a->top_k : 0;
    p.temperature = a->temperature;
    p.top_p = a->top_p;
    p.min_p = a->min_p;
    p.presence = a->presence;
    p.frequency = a->frequency;
    p.seed = a->seed;
    p.step = a->step;
    return p;
}

/* The counter of row 0 [SAMPLE-5]. */
SIMT_DEVICE uint64_t sample_first_step(const struct sample_rows &p)
{
    int32_t more = p.step_at != NULL ? simt_load_constant(p.step_at) : 0;
    return p.step + (more > 0 ? static_cast<uint64_t>(more) : 0);
}

#endif
