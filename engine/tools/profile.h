/* SPDX-License-Identifier: MIT
 *
 * assay profile: what was measured, and how it is shown.
 */
#ifndef ASSAY_TOOLS_PROFILE_H
#define ASSAY_TOOLS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <assay/context.h>
#include <assay/session.h>

/* X(enumerator, name, text) */
#define PROFILE_PHASE_TABLE(X)                            \
    X(LINEAR, "linear", "linear")                         \
    X(ATTENTION, "attention", "attention")                \
    X(KV_WRITE, "kv_write", "KV write")                   \
    X(GDN, "gdn", "GDN")                                  \
    X(ELEMENTWISE, "elementwise", "norm and elementwise") \
    X(SAMPLING, "sampling", "sampling")                   \
    X(COPIES, "copies", "copies of the runtime")          \
    X(SLACK, "launch_slack", "launch slack")

enum profile_phase {
#define PROFILE_ENUM(enumerator, name, text) PHASE_##enumerator,
    PROFILE_PHASE_TABLE(PROFILE_ENUM)
#undef PROFILE_ENUM
        NUM_PHASES
};

struct profile_options {
    const char *model_dir;
    struct assay_context_options context;
    enum assay_cuda_graphs cuda_graphs;
    int64_t length; /* tokens before what is measured */
    int64_t chunk, steps;
    assay_trade_set trades;
    bool json;
};

struct profile_row {
    double seconds;
    double floor_seconds; /* bytes that the ops must move, over the copy rate; 0: no op */
    double spans;         /* kernels and copies, or calls on the host */
};

/* One decode step, or one prefill chunk. */
struct profile_part {
    struct profile_row rows[NUM_PHASES];
    double seconds; /* from the first span's start to the last one's end */
};

struct profile {
    const struct profile_options *options;
    double copy_rate; /* bytes read and written a second, in this run */
    bool replayed;    /* decode steps ran as CUDA Graphs */
    struct profile_part decode, prefill;
};

/* Measures; errors are reported. Returns an enum tool_exit. */
int profile_measure(const struct profile_options *options, struct profile *profile);
void profile_print(const struct profile *profile, FILE *to);
/* Returns an enum tool_exit. */
int profile_print_json(const struct profile *profile, FILE *to);

#endif
