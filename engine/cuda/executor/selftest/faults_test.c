/* SPDX-License-Identifier: MIT
 *
 * Every planted fault is reported with its kind, file and line under every seed, and the repaired
 * twin of each passes under every seed.
 */
#include <criterion/criterion.h>
#include <string.h>

#include <assay/testing.h>

#include "cuda/executor/selftest/fault_kernels.h"

enum { SEEDS = 60 };

/* A row more than the kernels may touch lies behind each tensor. */
struct memory {
    _Alignas(16) int in[(FAULT_ROWS + 1) * FAULT_PITCH];
    _Alignas(16) int out[(FAULT_ROWS + 1) * FAULT_PITCH];
};

static assay_status run(const struct fault_case *c, bool repaired, uint64_t seed,
                        struct simt_fault *fault, struct assay_error *error)
{
    struct memory m;
    memset(&m, 1, sizeof m);
    struct assay_tensor in = assay_tensor_2d(m.in, ASSAY_I32, FAULT_ROWS, FAULT_WIDTH);
    in.stride[0] = FAULT_PITCH;
    struct assay_tensor out = in;
    out.data = m.out;
    struct simt_region regions[] = {simt_region_tensor("in", &in, false),
                                    simt_region_tensor("out", &out, true)};
    *error = (struct assay_error){ASSAY_OK, "", "", ""};
    struct simt_launch launch = {.grid = {3, 1, 1},
                                 .block = {FAULT_THREADS, 1, 1},
                                 .shared_bytes = 4 * FAULT_THREADS,
                                 .regions = regions,
                                 .num_regions = 2,
                                 .seed = seed,
                                 .error = error,
                                 .fault = fault};
    fault_lines[0] = fault_lines[1] = 0;
    return c->run(&launch, (struct fault_args){m.in, m.out, repaired});
}

/* The two places of a race may be found in either order, and both may be one line. */
static bool places_match(const struct simt_fault *fault)
{
    int site = fault->site.line, other = fault->other.line;
    if (fault->kind != SIMT_FAULT_RACE && fault->kind != SIMT_FAULT_SHARING)
        return site == fault_lines[0] && (other == 0 || other == fault_lines[1]);
    return (site == fault_lines[0] && other == fault_lines[1]) ||
           (site == fault_lines[1] && other == fault_lines[0]);
}

Test(executor_faults, planted_faults_are_found)
{
    for (int i = 0; i < num_fault_cases; i++) {
        const struct fault_case *c = &fault_cases[i];
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct simt_fault fault;
            struct assay_error error;
            assay_status status = run(c, false, seed, &fault, &error);
            cr_assert_eq(status, ASSAY_E_INTERNAL, "%s, seed %llu: not found", c->name,
                         (unsigned long long)seed);
            cr_assert_eq(fault.kind, c->kind, "%s, want %s: %s", c->name, simt_fault_name(c->kind),
                         fault.message);
            cr_assert_str_eq(fault.site.file, "fault_kernels.cu", "%s", c->name);
            cr_assert(places_match(&fault), "%s, want lines %d and %d: %s", c->name, fault_lines[0],
                      fault_lines[1], fault.message);
            cr_assert_eq(fault.seed, seed);
            cr_assert(strstr(error.message, simt_fault_name(c->kind)) != NULL, "%s", error.message);
            cr_assert_str_eq(error.where, c->name);
        }
    }
    cr_assert_eq(assay_live_allocations(), 0);
}

Test(executor_faults, repaired_twins_pass)
{
    for (int i = 0; i < num_fault_cases; i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct simt_fault fault;
            struct assay_error error;
            cr_assert_eq(run(&fault_cases[i], true, seed, &fault, &error), ASSAY_OK, "%s: %s",
                         fault_cases[i].name, error.message);
            cr_assert_eq(fault.kind, SIMT_FAULT_NONE);
        }
    }
}

Test(executor_faults, impossible_launches)
{
    static const struct simt_launch launches[] = {
        {.grid = {0, 1, 1}, .block = {32, 1, 1}},
        {.grid = {1, 1, 1}, .block = {32, 0, 1}},
        {.grid = {1, 1, 1}, .block = {1025, 1, 1}},
        {.grid = {1, 1, 1}, .block = {32, 33, 1}},
        {.grid = {1, 1, 1}, .block = {1, 1, 65}},
        {.grid = {1, 65536, 1}, .block = {1, 1, 1}},
        {.grid = {1 << 20, 8, 1}, .block = {1, 1, 1}},
        {.grid = {1, 1, 1}, .block = {32, 1, 1}, .shared_bytes = SIMT_MAX_SHARED + 1},
    };
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++) {
        struct simt_fault fault;
        struct simt_launch launch = launches[i];
        launch.fault = &fault;
        cr_assert_eq(simt_execute(&launch, "none", NULL, NULL), ASSAY_E_INTERNAL, "%zu", i);
        cr_assert_eq(fault.kind, SIMT_FAULT_LAUNCH, "%zu", i);
    }
}

/* Each allocation of a launch fails once: a clean status, and nothing stays allocated. */
Test(executor_faults, no_memory)
{
    const struct fault_case *c = fault_cases;
    while (strcmp(c->name, "stage_reused_early") != 0) /* it makes copies and records */
        cr_assert(++c < fault_cases + num_fault_cases);
    int64_t failures = 0;
    for (int64_t n = 1;; n++) {
        struct simt_fault fault;
        struct assay_error error;
        assay_fault_after(n);
        assay_status status = run(c, true, 1, &fault, &error);
        bool happened = assay_fault_happened();
        assay_fault_after(0);
        cr_assert_eq(assay_live_allocations(), 0, "failure %lld leaks", (long long)n);
        if (!happened) {
            cr_assert_eq(status, ASSAY_OK);
            break;
        }
        failures++;
        cr_assert_eq(status, ASSAY_E_MEMORY, "failure %lld: %s", (long long)n, error.message);
        cr_assert_eq(fault.kind, SIMT_FAULT_MEMORY);
    }
    cr_assert_geq(failures, 8);
}
