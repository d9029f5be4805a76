/* SPDX-License-Identifier: MIT
 *
 * A program while it is played.
 */
#ifndef PROPERTIES_SEQUENCE_PLAY_H
#define PROPERTIES_SEQUENCE_PLAY_H

#include "sequence_plain.h"

struct play {
    struct sequence_world *world;
    const struct sequence_program *program;
    assay_context *context;
    assay_session *lanes[SEQUENCE_LANES];
    struct plain plains[SEQUENCE_LANES]; /* what the lanes must be */
    struct plain files[SEQUENCE_FILES];
    bool saved[SEQUENCE_FILES];
    float logits[SEQUENCE_CAPACITY * SEQUENCE_VOCAB];
    struct plain_twin twins[SEQUENCE_LANES];
    struct plain_reference expected[SEQUENCE_LANES], one_prefill;
    struct assay_error error;
    char *reason;
};

/* The step's calls and their judgement. */
bool sequence_step_run(struct play *play, const struct sequence_step *step);
/* ---- sequence_play.c */
bool play_fail(struct play *play, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The call gave what it had to give. */
bool play_status(struct play *play, assay_status found, assay_status expected, const char *call);
/* The lane is what its plain model says; logits: of its newest `rows` tokens, in play->logits. */
bool play_judge(struct play *play, int lane, int rows);
/* play->expected[lane] is of what the lane must be. */
bool play_expect(struct play *play, int lane);

#endif
