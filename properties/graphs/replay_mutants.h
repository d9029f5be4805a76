/* SPDX-License-Identifier: MIT
 *
 * Routes with the faults that graphs invite. Each calls the route that dispatch would take.
 */
#ifndef ASSAY_PROPERTIES_REPLAY_MUTANTS_H
#define ASSAY_PROPERTIES_REPLAY_MUTANTS_H

#include <assay/route.h>

enum replay_mutant {
    MUTANT_HOST_POSITION,       /* a position captured as a host value */
    MUTANT_STALE_POOL,          /* a pointer into the KV pool from before it moved */
    MUTANT_UNWRITTEN_WORKSPACE, /* workspace read before it is written */
    MUTANT_PADDED_ROW,          /* a row behind the last one leaks into it */
    MUTANT_HOST_ID,             /* the row of an id looked up by the host, for embedding ... */
    MUTANT_HOST_ID_GROUPED,     /* ... and for embedding_grouped */
    MUTANT_FAILS_RECORDING,     /* no mutant of results: an op that fails at its second call on */
    NUM_REPLAY_MUTANTS
};

/* Adds all of them. The op that fails does so in the second step of a model of that many layers. */
bool replay_mutants_add(int64_t num_layers);
/* The name to force; its memory of earlier calls is cleared. */
const char *replay_mutant_begin(enum replay_mutant mutant);

#endif
