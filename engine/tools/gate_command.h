/* SPDX-License-Identifier: MIT
 *
 * What assay gate does with its command line: one gate (gate_command.c), or all of a policy's
 * trades (gate_all.c).
 */
#ifndef ASSAY_TOOLS_GATE_COMMAND_H
#define ASSAY_TOOLS_GATE_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "gate.h"
#include "gate_ledger.h"
#include "tools/progress.h"

struct gate_arguments {
    struct gate_options options;
    const char *ledger, *policy, *html, *json, *junit;
    const char *new_key, *certificate, *trusted;
    const char *compare; /* LAST or the number of a run; NULL: nothing */
    bool all, fresh, device;
};

/* Set by SIGINT. */
extern volatile sig_atomic_t gate_interrupted;

/* An open gate: everything that the environment can refuse has been tried. */
struct gate_command {
    struct gate_arguments *arguments;
    char data[4096]; /* golden data */
    gate_ledger *ledger;
    struct progress progress;
    const char *what; /* of the piece of evidence that is being taken; NULL: none */
    /* Among several gates: which this is, and how long all took to go when it began. */
    int gate, num_gates;    /* 0: there is one */
    double begun, expected; /* expected < 0: unknown */
};

ASSAY_MUST_USE assay_status gate_command_open(struct gate_arguments *arguments,
                                              struct gate_command *command,
                                              struct assay_error *error);
void gate_command_close(struct gate_command *command);
/* The policy's text: built in, or the file of --policy, which the caller unmaps. */
struct assay_map;
ASSAY_MUST_USE assay_status gate_command_policy(const struct gate_arguments *arguments,
                                                const char **text, size_t *bytes, const char **name,
                                                struct assay_map *map, struct assay_error *error);
/* Takes the evidence for arguments->options.trades, judges and records it; *run is 0 when a planted
 * fault was not caught, which is not recorded. Prints nothing but progress. */
ASSAY_MUST_USE assay_status gate_command_take(struct gate_command *command,
                                              struct gate_result *result, int64_t *run,
                                              struct assay_error *error);
/* Prints what the run regresses against --compare; nothing without it. */
ASSAY_MUST_USE assay_status gate_command_compare(const struct gate_command *command,
                                                 const struct gate_result *result, int64_t run,
                                                 struct assay_error *error);
/* The one gate that was asked for, with its reports. */
ASSAY_MUST_USE assay_status gate_command_one(struct gate_command *command,
                                             struct gate_result *result, struct assay_error *error);
/* All trades of the policy; *verdict is the worst: FAIL before INCONCLUSIVE before PASS. */
ASSAY_MUST_USE assay_status gate_command_all(struct gate_command *command,
                                             enum gate_verdict *verdict, struct assay_error *error);
/* "gate 2 of 5, all in about 40 s"; "" where there is one. */
void gate_command_where(const struct gate_command *command, char *text, size_t size);
void gate_command_progress_end(struct gate_command *command);

#endif
