/* SPDX-License-Identifier: MIT
 *
 * The plain model of a lane: tokens, and how each came. It knows no states.
 */
#ifndef PROPERTIES_SEQUENCE_PLAIN_H
#define PROPERTIES_SEQUENCE_PLAIN_H

#include "sequence_world.h"

/* Where a pass begins, and what it is. On a device the head of one row is another product than that
 * of many, so that a prefill for the logits of its last token is told from one for all. */
enum plain_mark { PLAIN_INSIDE, PLAIN_PREFILL, PLAIN_PREFILL_LAST, PLAIN_DECODE };

struct plain {
    int32_t ids[SEQUENCE_CAPACITY];
    uint8_t marks[SEQUENCE_CAPACITY]; /* enum plain_mark: what begins here */
    int length;
};

/* Token `position` of text `text`. */
int32_t plain_text(int text, int position);
/* A decode step of `count` columns, or a prefill in passes of SEQUENCE_CHUNK, of which only the
 * last can be a PLAIN_PREFILL_LAST. */
void plain_append(struct plain *plain, enum plain_mark kind, const int32_t *ids, int count);
struct assay_session_options plain_options(const struct sequence_program *program);

struct plain_reference {
    float logits[SEQUENCE_CAPACITY * SEQUENCE_VOCAB];
    float states[SEQUENCE_LAYERS][SEQUENCE_STATE]; /* zero for layers without */
};

/* A session that was fed these passes and nothing else. */
struct plain_twin {
    assay_session *session; /* NULL: none yet */
    struct plain fed;
};
void plain_twin_close(struct plain_twin *twin);

/* Logits of all tokens and the states behind them. twin NULL: from a fresh session, in one prefill;
 * else in the plain model's passes, by the twin where it has seen a part of them already, by a
 * fresh one in its place otherwise; reference is then the same at each call with one twin. False:
 * reason.
 */
bool plain_reference(struct sequence_world *world, const struct sequence_program *program,
                     const struct plain *plain, struct plain_twin *twin,
                     struct plain_reference *reference, char *reason);
/* States of any session. */
bool plain_states(const assay_session *session, float states[SEQUENCE_LAYERS][SEQUENCE_STATE]);

#endif
