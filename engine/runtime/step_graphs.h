/* SPDX-License-Identifier: MIT
 *
 * The recorded decode steps of a session: one graph for each width, tier of context lengths and
 * tail. A graph holds the calls of a pass as they were given by value; what changes from step to
 * step is in the session's step record.
 */
#ifndef ASSAY_RUNTIME_STEP_GRAPHS_H
#define ASSAY_RUNTIME_STEP_GRAPHS_H

#include "runtime/session_private.h"

/* NULL when there is no memory. */
struct step_graphs *step_graphs_create(void);
void step_graphs_destroy(struct step_graphs *graphs);
/* Runs the pass: the first of its kind call by call, so that the workspace gets its size, the
 * second recorded and replayed, later ones replayed. Records anew when memory that the calls name
 * has moved. */
ASSAY_MUST_USE assay_status step_graphs_run(struct step_graphs *graphs, assay_session *session,
                                            const struct pass *pass);
void step_graphs_counts(const struct step_graphs *graphs, int64_t *recorded, int64_t *replayed);

#endif
