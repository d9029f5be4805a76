/* SPDX-License-Identifier: MIT
 *
 * The command line of assay run.
 */
#ifndef ASSAY_TOOLS_RUN_OPTIONS_H
#define ASSAY_TOOLS_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/precision.h>
#include <assay/session.h>

enum run_stats { RUN_STATS_TEXT, RUN_STATS_JSON, RUN_STATS_NONE };

struct run_options {
    const char *model_dir;
    const char *prompt;   /* exactly one of prompt and messages is set, but with restore: */
    const char *messages; /* path of a JSON file */
    const char *restore;  /* a saved session that goes on, with prompt (raw) or without */
    const char *save;     /* where the session goes at the end */
    bool raw;             /* the prompt goes in as it is */
    bool no_thinking;
    int64_t max_new_tokens;
    struct assay_sampling sampling;
    enum assay_backend backend;
    int device;                         /* backend cuda */
    enum assay_cuda_graphs cuda_graphs; /* backend cuda */
    int threads;                        /* 0: all processors */
    int64_t context;                    /* 0: as long as the prompt and the new tokens need */
    assay_trade_set trades;
    bool ungated;
    const char *ledger;      /* NULL: the default ledger */
    const char *certificate; /* instead of a ledger */
    enum run_stats stats;
};

/* Parses and checks everything that the command line alone can get wrong; leaves the process with
 * TOOL_USAGE and a message when it is wrong. */
void run_options_parse(struct run_options *options, int argc, char **argv);

#endif
