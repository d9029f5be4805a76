/* SPDX-License-Identifier: MIT
 *
 * Sessions on backend cuda that follow a script, and the record of what they gave.
 */
#ifndef ASSAY_PROPERTIES_REPLAY_PLAY_H
#define ASSAY_PROPERTIES_REPLAY_PLAY_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/device.h>
#include <assay/session.h>

/* Slots of every session here: beyond the tier at 4096. */
enum { PLAY_CAPACITY = 4352 };

struct player {
    const assay_model *model;
    assay_context *context;
    assay_session *session;
    bool owns_context;
    void *old_pools[4]; /* of assay_session_move_kv, freed at the end */
    int num_old_pools;
};

/* Fed tokens are a fixed sequence of ids that depends on salt and position only. */
struct script {
    int64_t prefill, steps, width;
    uint32_t salt;
    bool all_logits; /* of every token of a step, else of the last */
};

/* All logits of the steps, then all recurrent states. */
struct trace {
    float *values;
    int64_t count;
};

/* The newest engine error, as text. */
extern char play_error[1024];
/* Position at which the running call begins, and its first id. */
extern int64_t play_position;
extern int32_t play_id;
/* What the sessions that are opened from now on do. */
extern assay_trade_set play_trades;

/* An own context (beside: that of another player), a session with or without graphs. route: forced,
 * may be NULL. False with play_error. */
bool player_open(struct player *player, const assay_model *model, const struct player *beside,
                 bool graphs, const char *route);
void player_close(struct player *player);

/* Called before every step. */
typedef bool between_steps(struct player *player, int64_t step, void *user);
/* Plays the script from an empty session on. */
bool play(struct player *player, const struct script *script, between_steps *between, void *user,
          struct trace *trace);
/* Feeds the tokens of the script's next step; logits may be NULL. */
bool play_step(struct player *player, const struct script *script, float *logits);
bool play_prefill(struct player *player, const struct script *script);
void trace_free(struct trace *trace);
/* Equal bits, all finite; else play_error says where. */
bool trace_same(const struct trace *a, const struct trace *b);

#endif
