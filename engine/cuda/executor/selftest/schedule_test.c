/* SPDX-License-Identifier: MIT
 *
 * Schedules: one seed, one schedule; another seed, another schedule; the same results under all.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/executor/executor.h"
#include "cuda/executor/selftest/schedule_kernels.h"

enum { SEEDS = 50, BLOCKS = 5, THREADS = 96, TICKETS = 2 * BLOCKS * THREADS, WIDTH = 1000 };

struct trace {
    unsigned by[TICKETS];
};

static struct trace take_trace(uint64_t seed)
{
    struct trace trace;
    unsigned counter = 0;
    struct assay_error error = {ASSAY_OK, "", "", ""};
    memset(&trace, 0xff, sizeof trace);
    struct simt_region regions[] = {simt_region_bytes("counter", &counter, sizeof counter, true),
                                    simt_region_bytes("trace", trace.by, sizeof trace.by, true)};
    struct simt_launch launch = {.grid = {BLOCKS, 1, 1},
                                 .block = {THREADS, 1, 1},
                                 .regions = regions,
                                 .num_regions = 2,
                                 .seed = seed,
                                 .error = &error};
    cr_assert_eq(trace_schedule(&launch, &counter, trace.by), ASSAY_OK, "%s", error.message);
    cr_assert_eq(counter, TICKETS);
    return trace;
}

static bool same_trace(const struct trace *a, const struct trace *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Each thread ran twice, a block's first halves all before its second halves, one block after the
 * other. Counts what the schedule mixed: neighbours in time from different warps. */
static int check_trace(const struct trace *trace, bool *in_order)
{
    int runs[BLOCKS * THREADS] = {0}, mixed = 0;
    *in_order = true;
    for (int i = 0; i < TICKETS; i++) {
        int block = i / (2 * THREADS), round = i / THREADS % 2;
        unsigned rank = trace->by[i];
        cr_assert_lt(rank, BLOCKS * THREADS);
        cr_assert_eq(rank / THREADS, trace->by[block * 2 * THREADS] / THREADS);
        cr_assert_eq(runs[rank]++, round);
        mixed += i > 0 && rank / 32 != trace->by[i - 1] / 32;
        *in_order = *in_order && rank / THREADS == (unsigned)block;
    }
    return mixed;
}

Test(executor_schedule, seeds)
{
    int in_order = 0, repeated = 0;
    struct trace previous = take_trace(SEEDS + 1);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct trace a = take_trace(seed), b = take_trace(seed);
        cr_assert(same_trace(&a, &b), "seed %llu gives two schedules", (unsigned long long)seed);
        bool blocks_in_order;
        cr_assert_gt(check_trace(&a, &blocks_in_order), TICKETS / 4, "warps hardly interleave");
        in_order += blocks_in_order;
        repeated += same_trace(&a, &previous);
        previous = a;
    }
    cr_assert_lt(in_order, 5); /* 1 of 120 orders */
    cr_assert_eq(repeated, 0);
}

static void reduce(uint64_t seed, int threads, const unsigned *in, unsigned *out)
{
    struct assay_error error = {ASSAY_OK, "", "", ""};
    struct simt_region regions[] = {simt_region_bytes("in", in, sizeof *in * BLOCKS * WIDTH, false),
                                    simt_region_bytes("out", out, sizeof *out * BLOCKS, true)};
    struct simt_launch launch = {.grid = {BLOCKS, 1, 1},
                                 .block = {(unsigned)threads, 1, 1},
                                 .shared_bytes = 32 * sizeof(unsigned),
                                 .regions = regions,
                                 .num_regions = 2,
                                 .seed = seed,
                                 .error = &error};
    memset(out, 0xff, sizeof *out * BLOCKS);
    cr_assert_eq(reduce_blocks(&launch, in, WIDTH, out), ASSAY_OK, "%s", error.message);
}

static void expected_reduction(const unsigned *in, unsigned *out)
{
    for (int b = 0; b < BLOCKS; b++) {
        unsigned sum = 0, product = 1, bins[8] = {0};
        for (int i = 0; i < WIDTH; i++) {
            sum += in[b * WIDTH + i] * in[b * WIDTH + i];
            bins[in[b * WIDTH + i] % 8]++;
        }
        for (int i = 0; i < 8; i++)
            product = product * 31 + bins[i];
        out[b] = sum * product;
    }
}

struct job {
    const unsigned *in, *want;
};

static void *reduce_all(void *argument)
{
    const struct job *job = argument;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned out[BLOCKS];
        reduce(seed, seed % 2 == 0 ? 64 : 256, job->in, out);
        cr_assert_arr_eq(out, job->want, sizeof out, "seed %llu", (unsigned long long)seed);
    }
    return NULL;
}

/* Also from two host threads at once: a launch has no state outside itself. */
Test(executor_schedule, results)
{
    static unsigned in[BLOCKS * WIDTH];
    unsigned want[BLOCKS];
    for (unsigned i = 0; i < BLOCKS * WIDTH; i++)
        in[i] = i * 2654435761u >> 7;
    expected_reduction(in, want);
    struct job job = {in, want};
    pthread_t other;
    cr_assert_eq(pthread_create(&other, NULL, reduce_all, &job), 0);
    reduce_all(&job);
    pthread_join(other, NULL);
}

Test(executor_schedule, places)
{
    struct simt_dim g = {2, 3, 2}, b = {5, 3, 4};
    unsigned long long out[12 * 60] = {0};
    struct assay_error error = {ASSAY_OK, "", "", ""};
    struct simt_region region = simt_region_bytes("out", out, sizeof out, true);
    struct simt_launch launch = {
        .grid = g, .block = b, .regions = &region, .num_regions = 1, .error = &error};
    cr_assert_eq(name_threads(&launch, out), ASSAY_OK, "%s", error.message);
    for (unsigned i = 0; i < 12 * 60; i++) {
        unsigned t = i % 60, block = i / 60;
        unsigned long long want =
            t % b.x | t / b.x % b.y << 8 | t / b.x / b.y << 16 | block % g.x << 24;
        want |= (unsigned long long)(block / g.x % g.y | block / g.x / g.y << 8) << 32;
        cr_assert_eq(out[i], want, "%u", i);
    }
}

Test(executor_schedule, seed_of_the_environment)
{
    uint64_t first = simt_next_seed();
    cr_assert_neq(simt_next_seed(), first);
    setenv("ASSAY_SIMT_SEED", "77", 1);
    cr_assert_eq(simt_next_seed(), 77);
    cr_assert_eq(simt_next_seed(), 77);
    unsetenv("ASSAY_SIMT_SEED");
}
