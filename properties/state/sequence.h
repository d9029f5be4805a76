/* SPDX-License-Identifier: MIT
 *
 * Programs over sessions: a few sessions ("lanes") of one context are extended, taken back, copied,
 * saved and disturbed, and after every step each lane must be what a plain model says that knows
 * only lists of tokens.
 *
 * The plain model keeps, for each lane, the tokens and where its passes began. What a lane gives is
 * compared with a fresh session of another context that is fed that list:
 *   - in one prefill, bit for bit, where rows do not depend on the split: mode=recurrent on backend
 *     cpu, all tokens through gdn_recurrent ([GDNREC-4], [LINEAR-5], [ATTENTION-8]);
 *   - else in the same passes, bit for bit, and, unless states are rounded to fp16 at the passes'
 *     ends, in one prefill within SEQUENCE_SPLIT.
 * So no expected value comes from a session that a program has touched, nor from a CUDA Graph.
 *
 *     sequence backend=cpu mode=chunked trades=none steps=prefill.0.5.2.1,decode.1.3.0.0
 *
 * is a program: op, lane, three numbers. `assay verify` plays such a line; with seed=N length=M in
 * the place of steps the numbers are drawn.
 */
#ifndef PROPERTIES_SEQUENCE_H
#define PROPERTIES_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/precision.h>

/* Relative L2 of logits between two splits of one text through gdn_chunked. Binary32 roundings of
 * 2^-24 flip the rounding of few elements of the caches to bf16, each by 2^-8 of itself, which is
 * at most 2^-8 of its row's norm; the factor of 8 is for the layers behind. */
#define SEQUENCE_SPLIT 0x1p-5

enum {
    SEQUENCE_LANES = 3,
    SEQUENCE_FILES = 2,
    SEQUENCE_CAPACITY = 72, /* tokens of a lane */
    SEQUENCE_CHUNK = 20,    /* tokens of a pass, at most */
    SEQUENCE_MAX_STEPS = 64,
    SEQUENCE_TEXT_BYTES = 2048,
    SEQUENCE_REASON_BYTES = 512
};

/* X(enumerator, name, how often it is drawn, what it does with a, b, c) */
#define SEQUENCE_OP_TABLE(X)                                                            \
    X(PREFILL, "prefill", 5, "a tokens of text b; c: which logits")                     \
    X(DECODE, "decode", 4, "a steps of one token of text b")                            \
    X(GENERATE, "generate", 2, "a tokens, greedy, after the newest")                    \
    X(ROUND, "round", 4, "speculation: a drafts of text b in one step, c of them stay") \
    X(TOGETHER, "together", 3, "one step of all lanes: a columns each of text b")       \
    X(REWIND, "rewind", 6, "back by a tokens")                                          \
    X(CHECKPOINT, "checkpoint", 3, "-")                                                 \
    X(SAVE, "save", 3, "to file a")                                                     \
    X(RESTORE, "restore", 5, "from file a")                                             \
    X(FORK, "fork", 3, "another lane becomes a fork of this one; a: which")             \
    X(RESET, "reset", 2, "the slot is reused")                                          \
    X(MOVE, "move", 2, "the KV caches move, their old memory is overwritten and freed") \
    X(POISON, "poison", 2, "whatever has no meaning between passes becomes NaN")        \
    X(ABORT, "abort", 3, "a pass of a tokens of text b fails at call c; then a rewind") \
    X(BAD, "bad", 1, "calls with wrong arguments; a: which")

enum sequence_op {
#define SEQUENCE_OP_ENUM(enumerator, name, weight, text) SEQUENCE_##enumerator,
    SEQUENCE_OP_TABLE(SEQUENCE_OP_ENUM)
#undef SEQUENCE_OP_ENUM
        NUM_SEQUENCE_OPS
};

/* Numbers are taken modulo what makes sense, so that every program can be played. */
struct sequence_step {
    enum sequence_op op;
    uint8_t lane, a, b, c;
};

struct sequence_program {
    enum assay_backend backend;
    bool chunked;           /* else all tokens go through gdn_recurrent */
    assay_trade_set trades; /* of all sessions, the plain model's too */
    int num_steps;
    struct sequence_step steps[SEQUENCE_MAX_STEPS];
};

/* ---- sequence_program.c -------------------------------------------------------------------- */
/* Draws settings and steps. Half of the steps are the one before with one number changed. */
void sequence_draw(uint64_t seed, int num_steps, enum assay_backend backend,
                   struct sequence_program *program);
/* The first byte chooses the settings, each five more a step. */
void sequence_from_bytes(const uint8_t *bytes, size_t size, struct sequence_program *program);
void sequence_print(const struct sequence_program *program, char text[SEQUENCE_TEXT_BYTES]);
/* False: reason says what is wrong with the text. */
bool sequence_parse(const char *text, struct sequence_program *program,
                    char reason[SEQUENCE_REASON_BYTES]);

/* ---- sequence_world.c ---------------------------------------------------------------------- */
/* A model of four layers in a folder of its own, contexts, files; serves many programs. */
struct sequence_world;
/* NULL: reason says why. */
struct sequence_world *sequence_open(char reason[SEQUENCE_REASON_BYTES]);
void sequence_close(struct sequence_world *world);
/* Asked after every step: what is wrong, or NULL. For tests that watch the heap. */
void sequence_watch(struct sequence_world *world, const char *(*watch)(void));

/* How many steps of an op have changed or checked something: a rewind of no token, a file that is
 * not there, a failing pass that did not fail do not count. And the op's name. */
int64_t sequence_done(const struct sequence_world *world, enum sequence_op op);
const char *sequence_op_name(enum sequence_op op);

/* ---- sequence_play.c ----------------------------------------------------------------------- */
/* Plays the program. False: reason names the step and what differs. */
bool sequence_play(struct sequence_world *world, const struct sequence_program *program,
                   char reason[SEQUENCE_REASON_BYTES]);
/* The shortest program that was found to fail, from one that does. */
void sequence_shrink(struct sequence_world *world, const struct sequence_program *failing,
                     struct sequence_program *smallest);

#endif
