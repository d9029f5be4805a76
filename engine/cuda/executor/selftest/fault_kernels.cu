/* SPDX-License-Identifier: MIT
 *
 * Planted faults; each is one that a device can hide. Blocks have 64 threads, two warps.
 */
#include "cuda/executor/selftest/fault_kernels.h"

#include "cuda/simt.cuh"

int fault_lines[2];

/* A statement that takes part in the fault. */
#define AT(which, statement)           \
    do {                               \
        fault_lines[which] = __LINE__; \
        statement;                     \
    } while (0)

/* Element i of the block's own row. */
SIMT_DEVICE void put(struct fault_args f, int i, int value)
{
    simt_store(f.out + simt_block_index().x * FAULT_PITCH + i, value);
}

/* ---- races ---------------------------------------------------------------------------------- */

/* Neighbours exchange values and nothing waits in between. */
SIMT_KERNEL(missing_barrier)(struct fault_args f)
{
    SIMT_SHARED(int, tile, FAULT_THREADS);
    int t = simt_thread(), value;
    AT(0, tile.store(t, t));
    if (f.repaired)
        simt_sync_block();
    AT(1, value = tile.load((t + 1) % FAULT_THREADS));
    put(f, t, value);
}

/* Rows that one warp loads are read by the other: warp synchronisation is not enough. */
SIMT_KERNEL(warp_sync_for_block)(struct fault_args f)
{
    SIMT_SHARED(int, tile, FAULT_THREADS);
    int t = simt_thread(), value;
    AT(0, tile.store(t, t));
    if (f.repaired)
        simt_sync_block();
    else
        simt_sync_warp(SIMT_ALL_LANES);
    AT(1, value = tile.load(t ^ 32));
    put(f, t, value);
}

/* One thread writes a byte of the 16 that another reads at once, or has read. */
SIMT_KERNEL(byte_of_a_vector)(struct fault_args f)
{
    SIMT_SHARED(uint8_t, tile, 16 * FAULT_THREADS);
    int t = simt_thread(), reader = 40;
    struct simt_words words = {{1u, 2u, 3u, 4u}};
    tile.store16(16 * t, words);
    simt_sync_block();
    AT(0, words = tile.load16(16 * t));
    if (f.repaired)
        simt_sync_block();
    if (t == 5)
        AT(1, tile.store(16 * reader + 7, static_cast<uint8_t>(9)));
    put(f, t, static_cast<int>(words.word[0]));
}

/* After a vector was read, one thread reads half of it again and another writes: to the other half
 * is no race, since the vector's reader has met both. */
SIMT_KERNEL(half_of_a_vector)(struct fault_args f)
{
    SIMT_SHARED(uint8_t, tile, 16);
    int t = simt_thread();
    struct simt_words words = {{1u, 2u, 3u, 4u}};
    if (t == 0) {
        tile.store16(0, words);
        words = tile.load16(0);
    }
    if (simt_warp() == 0)
        simt_sync_warp(SIMT_ALL_LANES);
    uint8_t low = 0;
    if (t == 1)
        AT(0, low = tile.load(7));
    if (t == 2)
        AT(1, tile.store(f.repaired ? 8 : 7, static_cast<uint8_t>(9)));
    put(f, t, low);
}

/* Four threads write the words, and a fifth reads them as one vector. */
SIMT_KERNEL(vector_of_words)(struct fault_args f)
{
    SIMT_SHARED(int, tile, FAULT_THREADS);
    int t = simt_thread();
    AT(0, tile.store(t, t));
    if (f.repaired)
        simt_sync_block();
    struct simt_words words;
    AT(1, words = tile.load16((t + 32) % FAULT_THREADS / 4 * 4));
    put(f, t, static_cast<int>(words.word[3]));
}

/* Lanes of a warp do not run in step. A shuffle in between orders nothing, and an earlier
 * synchronisation only what was before it. */
SIMT_KERNEL(missing_warp_sync)(struct fault_args f)
{
    SIMT_SHARED(int, tile, FAULT_THREADS);
    int t = simt_thread(), value;
    simt_sync_warp(SIMT_ALL_LANES);
    AT(0, tile.store(t, t));
    simt_shuffle(SIMT_ALL_LANES, t, 0);
    if (f.repaired)
        simt_sync_warp(SIMT_ALL_LANES);
    AT(1, value = tile.load(t ^ 1));
    put(f, t, value);
}

/* Half of each warp synchronises, with the wrong half. */
SIMT_KERNEL(sync_of_other_lanes)(struct fault_args f)
{
    SIMT_SHARED(int, tile, FAULT_THREADS);
    int t = simt_thread(), value;
    uint32_t low = 0x0000ffffu, even = 0x55555555u;
    AT(0, tile.store(t, t));
    if (f.repaired)
        simt_sync_warp(simt_lane() < 16 ? low : ~low);
    else
        simt_sync_warp(simt_lane() % 2 == 0 ? even : ~even);
    AT(1, value = tile.load(t ^ 1));
    put(f, t, value);
}

SIMT_DEVICE int sum_of_block(struct simt_shared<int> partial, int value)
{
    for (int bits = 16; bits > 0; bits /= 2)
        value += simt_shuffle_xor(SIMT_ALL_LANES, value, bits);
    if (simt_lane() == 0)
        AT(0, partial.store(simt_warp(), value));
    simt_sync_block();
    int a, b;
    AT(1, a = partial.load(0); b = partial.load(1));
    return a + b;
}

/* The second reduction overwrites partial sums that the first may still be reading. */
SIMT_KERNEL(reused_scratch)(struct fault_args f)
{
    SIMT_SHARED(int, partial, 2);
    int t = simt_thread();
    int sum = sum_of_block(partial, t);
    if (f.repaired)
        simt_sync_block();
    put(f, t, sum + sum_of_block(partial, 2 * t));
}

/* The counter is read while others may still count. */
SIMT_KERNEL(atomic_read_early)(struct fault_args f)
{
    SIMT_SHARED(int, counter, 1);
    int t = simt_thread(), value;
    if (t == 0)
        counter.store(0, 0);
    simt_sync_block();
    AT(0, simt_atomic_add(counter.at(0), 1));
    if (f.repaired)
        simt_sync_block();
    AT(1, value = counter.load(0));
    put(f, t, value);
}

/* A pipeline's next copy lands in a stage that slower threads still read. */
SIMT_KERNEL(stage_reused_early)(struct fault_args f)
{
    SIMT_SHARED(int, stage, FAULT_THREADS);
    int t = simt_thread(), sum = 0, value;
    for (int row = 0; row < 2; row++) {
        AT(0, simt_copy_async<4>(stage.at(t), f.in + row * FAULT_PITCH + t));
        simt_copy_commit();
        simt_copy_wait<0>();
        simt_sync_block();
        AT(1, value = stage.load(t ^ 32));
        sum += value;
        if (f.repaired)
            simt_sync_block();
    }
    put(f, t, sum);
}

/* Each thread waits for its own copies only: to see those of others takes a barrier, too. */
SIMT_KERNEL(copies_of_others)(struct fault_args f)
{
    SIMT_SHARED(int, stage, FAULT_THREADS);
    int t = simt_thread(), value;
    AT(0, simt_copy_async<4>(stage.at(t), f.in + t));
    simt_copy_commit();
    simt_shuffle(SIMT_ALL_LANES, t, 0); /* time for others to come by */
    simt_copy_wait<0>();
    if (f.repaired)
        simt_sync_block();
    AT(1, value = stage.load(t ^ 32));
    put(f, t, value);
}

/* ldmatrix reads rows that other lanes have just written. */
SIMT_KERNEL(matrix_read_early)(struct fault_args f)
{
    SIMT_SHARED(uint32_t, tile, 2 * 32);
    struct simt_shared<uint32_t> half = tile.slice(32 * simt_warp(), 32);
    uint32_t registers[1];
    AT(0, half.store(simt_lane(), 1u));
    if (f.repaired)
        simt_sync_warp(SIMT_ALL_LANES);
    AT(1, simt_ldmatrix<1>(registers, half.at(simt_lane() % 8 * 4)));
    put(f, simt_thread(), static_cast<int>(registers[0]));
}

/* ---- asynchronous copies -------------------------------------------------------------------- */

SIMT_KERNEL(missing_wait)(struct fault_args f)
{
    SIMT_SHARED(int, stage, FAULT_THREADS);
    int t = simt_thread(), value;
    AT(1, simt_copy_async<4>(stage.at(t), f.in + t));
    simt_copy_commit();
    if (f.repaired)
        simt_copy_wait<0>();
    simt_sync_block();
    AT(0, value = stage.load((t + 1) % FAULT_THREADS));
    put(f, t, value);
}

SIMT_KERNEL(missing_commit)(struct fault_args f)
{
    SIMT_SHARED(int, stage, FAULT_THREADS);
    int t = simt_thread(), value;
    AT(1, simt_copy_async<4>(stage.at(t), f.in + t));
    if (f.repaired)
        simt_copy_commit();
    simt_copy_wait<0>();
    AT(0, value = stage.load(t));
    put(f, t, value);
}

/* Two groups are under way, the kernel waits for the older and reads the newer. */
SIMT_KERNEL(wait_for_wrong_group)(struct fault_args f)
{
    SIMT_SHARED(int, stage, 2 * FAULT_THREADS);
    int t = simt_thread(), value;
    for (int s = 0; s < 2; s++) {
        AT(1, simt_copy_async<4>(stage.at(s * FAULT_THREADS + t), f.in + s * FAULT_PITCH + t));
        simt_copy_commit();
    }
    simt_copy_wait<1>();
    AT(0, value = stage.load((f.repaired ? 0 : FAULT_THREADS) + t));
    simt_copy_wait<0>();
    put(f, t, value);
}

/* ---- lanes ---------------------------------------------------------------------------------- */

/* The source lane is not in the mask. */
SIMT_KERNEL(wrong_lane)(struct fault_args f)
{
    int t = simt_thread(), value = 0;
    if (simt_lane() < 8)
        AT(0, value = simt_shuffle(0xffu, t, f.repaired ? 7 : 8));
    put(f, t, value);
}

/* The tail of the block has left, the full mask still names it. */
SIMT_KERNEL(mask_names_exited)(struct fault_args f)
{
    int t = simt_thread(), value;
    if (simt_lane() >= 24)
        return;
    AT(0, value = simt_shuffle_xor(f.repaired ? 0x00ffffffu : SIMT_ALL_LANES, t, 1));
    put(f, t, value);
}

/* Two halves of a warp vote together and mean other masks. */
SIMT_KERNEL(masks_disagree)(struct fault_args f)
{
    int t = simt_thread();
    uint32_t mask = f.repaired || simt_lane() < 16 ? SIMT_ALL_LANES : 0xffff0000u, ballot;
    AT(0, ballot = simt_ballot(mask, t % 2 == 0));
    AT(1, ballot += simt_ballot(SIMT_ALL_LANES, true));
    put(f, t, static_cast<int>(ballot));
}

/* All lanes come to one vote, and the upper ones name fewer than the lower ones expect. */
SIMT_KERNEL(masks_overlap)(struct fault_args f)
{
    int t = simt_thread();
    uint32_t mask = f.repaired || simt_lane() < 16 ? SIMT_ALL_LANES : 0xffff8000u, ballot;
    AT(0, fault_lines[1] = __LINE__; ballot = simt_ballot(mask, t % 2 == 0));
    put(f, t, static_cast<int>(ballot));
}

SIMT_KERNEL(mask_without_caller)(struct fault_args f)
{
    int t = simt_thread();
    AT(0, simt_sync_warp(f.repaired ? SIMT_ALL_LANES : 0x7fffffffu));
    put(f, t, t);
}

/* ---- memory --------------------------------------------------------------------------------- */

SIMT_KERNEL(off_by_one_row)(struct fault_args f)
{
    int t = simt_thread(), sum = 0, value;
    for (int row = 0; row < FAULT_ROWS + !f.repaired; row++) {
        AT(0, value = simt_load(f.in + row * FAULT_PITCH + t));
        sum += value;
    }
    put(f, t, sum);
}

/* One word past the row lies memory, but nobody's. */
SIMT_KERNEL(gap_between_rows)(struct fault_args f)
{
    int t = simt_thread(), value;
    AT(0, value = simt_load(f.in + FAULT_PITCH + t + !f.repaired));
    put(f, t, value);
}

SIMT_KERNEL(write_to_input)(struct fault_args f)
{
    if (f.repaired)
        put(f, 0, 0);
    else
        AT(0, simt_store(const_cast<int *>(f.in), 0));
}

SIMT_KERNEL(read_only_output)(struct fault_args f)
{
    int value;
    AT(0, value = simt_load_constant(f.repaired ? f.in : f.out));
    put(f, simt_thread(), value);
}

SIMT_KERNEL(misaligned_vector)(struct fault_args f)
{
    struct simt_words words;
    AT(0, words = simt_load16(f.in + (f.repaired ? 4 : 1)));
    put(f, simt_thread(), static_cast<int>(words.word[0]));
}

SIMT_KERNEL(shared_overrun)(struct fault_args f)
{
    SIMT_SHARED(int, tile, FAULT_THREADS);
    SIMT_SHARED(int, neighbour, FAULT_THREADS);
    int t = simt_thread();
    neighbour.store(t, 0);
    AT(0, tile.store(t + !f.repaired, 1));
}

SIMT_KERNEL(dynamic_overrun)(struct fault_args f)
{
    int bytes = 4 * FAULT_THREADS;
    AT(0, SIMT_SHARED_DYNAMIC(int, part, 0, FAULT_THREADS + !f.repaired); part.at(0));
    SIMT_SHARED_DYNAMIC(int, all, 0, bytes / 4);
    all.store(simt_thread(), 1);
}

/* More than a device has for static arrays. */
SIMT_KERNEL(too_much_static)(struct fault_args f)
{
    if (f.repaired) {
        SIMT_SHARED(char, fits, SIMT_MAX_STATIC);
        fits.store(simt_thread(), 0);
    } else {
        AT(0, SIMT_SHARED(char, large, SIMT_MAX_STATIC + 1); large.at(0));
    }
}

/* The width is no multiple of the tile and the tail is never filled. */
SIMT_KERNEL(uninitialised_tail)(struct fault_args f)
{
    SIMT_SHARED(int, tile, FAULT_THREADS);
    int t = simt_thread(), value;
    if (t < FAULT_THREADS - 3 || f.repaired)
        tile.store(t, t);
    simt_sync_block();
    AT(0, value = tile.load(t));
    put(f, t, value);
}

/* Bytes of many threads are read 16 at a time, and nobody writes one of them. */
SIMT_KERNEL(uninitialised_byte)(struct fault_args f)
{
    SIMT_SHARED(uint8_t, tile, 16 * FAULT_THREADS);
    int t = simt_thread();
    for (int i = t; i < 16 * FAULT_THREADS; i += FAULT_THREADS)
        if (i != 16 * 21 + 9 || f.repaired)
            tile.store(i, static_cast<uint8_t>(i));
    simt_sync_block();
    struct simt_words words;
    AT(0, words = tile.load16(16 * t));
    put(f, t, static_cast<int>(words.word[0]));
}

/* ---- between blocks -------------------------------------------------------------------------- */

/* Every block takes the first row for its own; all write the same values, so results agree. */
SIMT_KERNEL(row_of_all_blocks)(struct fault_args f)
{
    int row = f.repaired ? static_cast<int>(simt_block_index().x) : 0;
    AT(0, fault_lines[1] = __LINE__; simt_store(f.out + row * FAULT_PITCH + simt_thread(), 1));
}

/* In place, and one row further: a block reads what its neighbour may have replaced. */
SIMT_KERNEL(shift_in_place)(struct fault_args f)
{
    unsigned row = simt_block_index().x;
    int t = simt_thread(), value;
    const int *from = f.repaired ? f.in : f.out;
    AT(0, value = simt_load(from + (row + 1) * FAULT_PITCH + t));
    AT(1, simt_store(f.out + row * FAULT_PITCH + t, value));
}

/* A counter that blocks update together is reset by one of them. */
SIMT_KERNEL(counter_reset)(struct fault_args f)
{
    AT(0, simt_atomic_add(f.out, 1));
    if (simt_block_index().x == 0 && !f.repaired)
        AT(1, simt_store(f.out, 0));
}

/* ---- barriers ------------------------------------------------------------------------------- */

SIMT_KERNEL(divergent_barrier)(struct fault_args f)
{
    int t = simt_thread();
    if (t < 40 || f.repaired)
        AT(0, simt_sync_block());
    put(f, t, t);
}

SIMT_KERNEL(two_barriers)(struct fault_args f)
{
    int t = simt_thread();
    if (t < 40 || f.repaired)
        AT(0, simt_sync_block());
    else
        AT(1, simt_sync_block());
    put(f, t, t);
}

/* A lane waits for its warp at a shuffle, the others for the block. */
SIMT_KERNEL(barrier_against_shuffle)(struct fault_args f)
{
    int t = simt_thread(), value = t;
    if (simt_lane() == 3 && !f.repaired)
        AT(0, value = simt_shuffle(SIMT_ALL_LANES, t, 0));
    AT(1, simt_sync_block());
    put(f, t, value);
}

/* ---- the table ------------------------------------------------------------------------------ */

#define FAULT_KERNELS(X)                 \
    X(missing_barrier, RACE)             \
    X(warp_sync_for_block, RACE)         \
    X(missing_warp_sync, RACE)           \
    X(sync_of_other_lanes, RACE)         \
    X(byte_of_a_vector, RACE)            \
    X(vector_of_words, RACE)             \
    X(half_of_a_vector, RACE)            \
    X(reused_scratch, RACE)              \
    X(atomic_read_early, RACE)           \
    X(stage_reused_early, RACE)          \
    X(copies_of_others, RACE)            \
    X(matrix_read_early, RACE)           \
    X(missing_wait, ASYNC)               \
    X(missing_commit, ASYNC)             \
    X(wait_for_wrong_group, ASYNC)       \
    X(wrong_lane, LANES)                 \
    X(mask_names_exited, LANES)          \
    X(masks_disagree, LANES)             \
    X(masks_overlap, LANES)              \
    X(mask_without_caller, LANES)        \
    X(off_by_one_row, BOUNDS)            \
    X(gap_between_rows, BOUNDS)          \
    X(write_to_input, BOUNDS)            \
    X(shared_overrun, BOUNDS)            \
    X(dynamic_overrun, BOUNDS)           \
    X(row_of_all_blocks, SHARING)        \
    X(shift_in_place, SHARING)           \
    X(counter_reset, SHARING)            \
    X(read_only_output, READ_ONLY)       \
    X(misaligned_vector, ALIGNMENT)      \
    X(too_much_static, LAUNCH)           \
    X(uninitialised_tail, UNINITIALISED) \
    X(uninitialised_byte, UNINITIALISED) \
    X(divergent_barrier, BARRIER)        \
    X(two_barriers, BARRIER)             \
    X(barrier_against_shuffle, LANES)

#define RUN(kernel, kind)                                                                \
    static assay_status run_##kernel(struct simt_launch *launch, struct fault_args args) \
    {                                                                                    \
        return SIMT_LAUNCH(launch, kernel, args);                                        \
    }
FAULT_KERNELS(RUN)

#define ROW(kernel, kind) {#kernel, SIMT_FAULT_##kind, run_##kernel},
const struct fault_case fault_cases[] = {FAULT_KERNELS(ROW)};
const int num_fault_cases = static_cast<int>(sizeof fault_cases / sizeof fault_cases[0]);
