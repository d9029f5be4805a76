/* SPDX-License-Identifier: MIT
 *
 * What programs over sessions are played in.
 */
#ifndef PROPERTIES_SEQUENCE_WORLD_H
#define PROPERTIES_SEQUENCE_WORLD_H

#include <assay/session.h>

#include "sequence.h"

enum { SEQUENCE_VOCAB = 48, SEQUENCE_LAYERS = 4, SEQUENCE_STATE = 4 * 8 * 8 };

struct sequence_world {
    char folder[256];
    assay_model *model;
    /* One for the program's sessions and one for those that they are compared with. */
    assay_context *contexts[ASSAY_NUM_BACKENDS][2];
    const char *(*watch)(void);
    int64_t done[NUM_SEQUENCE_OPS]; /* steps that did what their name says to more than nothing */
};

/* A context of the backend; NULL when there is none. */
assay_context *sequence_context(struct sequence_world *world, enum assay_backend backend,
                                bool plain);
void sequence_file(const struct sequence_world *world, int file, char path[512]);

/* A route of add_rmsnorm that is the one dispatch would take, until a countdown ends: then it
 * fails. Its name for the backend; 0 never fails. */
const char *sequence_failing_route(enum assay_backend backend, int after);
/* The countdown has ended. */
bool sequence_failed(void);

#endif
