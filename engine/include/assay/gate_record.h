/* SPDX-License-Identifier: MIT
 *
 * Gate records: what one is keyed by, and the question that a front end asks before it uses a
 * trade. A record speaks for one model, one set of trades, one backend and machine, one
 * build of the program and one policy. Who writes records (golden/gate) and who asks for one
 * (assay run) take the key from here, so that both mean the same thing.
 */
#ifndef ASSAY_GATE_RECORD_H
#define ASSAY_GATE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include <assay/context.h>
#include <assay/precision.h>
#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Digests are BLAKE2b-256 in lower-case hex. */
struct assay_gate_key {
    char model[65];   /* assay_model_digest */
    char trades[256]; /* assay_trade_set_format */
    char backend[16]; /* "cpu" */
    char isa[96];     /* backend cuda: "sm_90 NVIDIA H200"; else the best instruction set: "avx2" */
    char build[65];   /* of the program file that is running: any rebuild is another program */
    char policy[65];  /* of the policy's text */
};

/* What a gate run speaks for besides model, trades, build and policy. */
struct assay_gate_machine {
    enum assay_backend backend;
    enum assay_isa isa; /* of the host; backends but cuda */
    int device;         /* backend cuda */
};

/* The policy that this build was compiled with: JSON, *bytes long. A record under any other policy
 * does not count, so no file that lies about can make a gate easier to pass. */
const char *assay_gate_policy(size_t *bytes);
/* BLAKE2b-256 of data[0, bytes) in hex. */
ASSAY_MUST_USE assay_status assay_gate_digest(const void *data, size_t bytes, char digest[65],
                                              struct assay_error *error);
/* The key of this process: build and policy filled in, the rest from the arguments.
 * ASSAY_E_NOT_FOUND: there is no such device. */
ASSAY_MUST_USE assay_status assay_gate_key_fill(const char *model_digest, assay_trade_set set,
                                                const struct assay_gate_machine *machine,
                                                struct assay_gate_key *key,
                                                struct assay_error *error);
/* $XDG_DATA_HOME/assay/ledger.sqlite, else ~/.local/share/assay/ledger.sqlite, into path[size].
 * ASSAY_E_NOT_FOUND when neither variable is set. */
ASSAY_MUST_USE assay_status assay_ledger_default_path(char *path, size_t size,
                                                      struct assay_error *error);

/* Looks in the ledger for the newest gate run of (model digest, set, machine, this build and
 * its policy). *passes is set only when that run's verdict is PASS
 * and has not expired; in every other case (no ledger, no record, FAIL, INCONCLUSIVE, another
 * build) it is false and reason[size] says which, in words that finish the sentence "not allowed:
 * ...". Runs with a planted fault do not count. ledger_path NULL: the default ledger. An error
 * means that the ledger exists and could not be read; *passes is then false as well. */
ASSAY_MUST_USE assay_status assay_gate_lookup(const char *ledger_path, const char *model_digest,
                                              assay_trade_set set,
                                              const struct assay_gate_machine *machine,
                                              bool *passes, char *reason, size_t size,
                                              struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
