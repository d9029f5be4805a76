/* SPDX-License-Identifier: MIT
 *
 * Programs over sessions can fail: each planted fault of the runtime is found by one of the first
 * programs, and shrunk to a few steps. The runtime is compiled into this program once more, with
 * the faults; each is played in a process of its own, since it may well crash.
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <assay/device.h>
#include <assay/testing.h>

#include "guarded_heap.h"
#include "sequence.h"

#ifndef SEQUENCE_BACKEND
#define SEQUENCE_BACKEND ASSAY_CPU
#endif

enum { MOST_PROGRAMS = 80, LENGTH = 40, MOST_STEPS = 8 };

enum assay_session_fault assay_session_fault;

static const char *const texts[] = {"the control",
#define FAULT_TEXT(enumerator, text) text,
                                    ASSAY_SESSION_FAULT_TABLE(FAULT_TEXT)
#undef FAULT_TEXT
};

/* What the child says of its fault. */
struct finding {
    int seed;  /* of the program that failed; 0: none did */
    int steps; /* of its shortest form */
    char reason[SEQUENCE_REASON_BYTES];
    char text[SEQUENCE_TEXT_BYTES];
};

/* Says what it knows before it shrinks: that may crash where the program did not. */
static void hunt(int out)
{
    static struct finding finding;
    struct sequence_program program, smallest;
    struct sequence_world *world = sequence_open(finding.reason);
    if (world == NULL)
        return;
    sequence_watch(world, guarded_heap_check);
    for (int seed = 1; seed <= MOST_PROGRAMS; seed++) {
        sequence_draw((uint64_t)seed, LENGTH, SEQUENCE_BACKEND, &program);
        if (sequence_play(world, &program, finding.reason))
            continue;
        finding.seed = seed;
        sequence_shrink(world, &program, &smallest);
        finding.steps = smallest.num_steps;
        sequence_play(world, &smallest, finding.reason);
        sequence_print(&smallest, finding.text);
        break;
    }
    sequence_close(world);
    if (write(out, &finding, sizeof finding) != (ssize_t)sizeof finding)
        _exit(2);
}

/* The signal that ended the child, 0: none. */
static int look_for(enum assay_session_fault fault, struct finding *finding)
{
    int ends[2], status;
    memset(finding, 0, sizeof *finding);
    cr_assert_eq(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        close(ends[0]);
        alarm(100);
        assay_session_fault = fault;
        hunt(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t n = 1; n > 0 && got<sizeof *finding; got += n> 0 ? (size_t)n : 0)
        n = read(ends[0], (char *)finding + got, sizeof *finding - got);
    close(ends[0]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        return WTERMSIG(status);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0 && got == sizeof *finding,
              "%s: the child said nothing", texts[fault]);
    return 0;
}

/* Graphs are there on backend cuda only; lanes share a step in programs on backend cpu only. */
static bool applies(enum assay_session_fault fault)
{
    switch (fault) {
    case ASSAY_SESSION_FAULT_STALE_GRAPH:
        return SEQUENCE_BACKEND == ASSAY_CUDA;
    case ASSAY_SESSION_FAULT_LANES_SHARE_STATES:
    case ASSAY_SESSION_FAULT_LANES_SHARE_POSITION:
    case ASSAY_SESSION_FAULT_LANES_LAST_ROW:
        return SEQUENCE_BACKEND == ASSAY_CPU;
    default:
        return true;
    }
}

/* Asked by a process of its own: one that has asked cannot hand the device to a fork. */
static bool has_device(void)
{
    int status;
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0)
        _exit(assay_device_count() > 0 ? 0 : 1);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The same tests run on a device where one is. */
static void skip_without_device(void)
{
    if (SEQUENCE_BACKEND != ASSAY_CUDA || has_device())
        return;
    puts("no CUDA device");
    fflush(stdout);
    cr_skip_test("no CUDA device");
}

Test(sequence, mutants)
{
    static struct finding finding;
    int killed = 0, survivors = 0;
    skip_without_device();
    cr_assert_eq(look_for(ASSAY_SESSION_FAULT_NONE, &finding), 0, "the control crashes");
    cr_assert_eq(finding.seed, 0, "the control fails: %s\n  %s", finding.reason, finding.text);
    for (int fault = 1; fault < ASSAY_NUM_SESSION_FAULTS; fault++) {
        if (!applies((enum assay_session_fault)fault))
            continue;
        const int ended = look_for((enum assay_session_fault)fault, &finding);
        const bool found = ended != 0 || finding.seed != 0;
        if (ended != 0)
            printf("killed: %s: signal %d\n", texts[fault], ended);
        else
            printf("%s: %s: program %d, %d steps: %s\n  %s\n", found ? "killed" : "SURVIVES",
                   texts[fault], finding.seed, finding.steps, finding.reason, finding.text);
        cr_expect(ended != 0 || finding.steps <= MOST_STEPS, "%s: %d steps", texts[fault],
                  finding.steps);
        killed += found;
        survivors += !found;
    }
    printf("%d killed, %d survive\n", killed, survivors);
    cr_assert(killed > 0 && survivors == 0);
}
