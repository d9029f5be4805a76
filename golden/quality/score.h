/* SPDX-License-Identifier: MIT
 *
 * Scoring held-out texts: the loss of every token under one or more sources (sessions of the
 * engine, the FP64 oracle), and per token how far two sources' distributions lie apart. Rows of
 * logits are used as they come and never kept: what is kept is a few numbers a token.
 */
#ifndef QUALITY_SCORE_H
#define QUALITY_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/model.h>
#include <assay/precision.h>
#include <assay/session.h>
#include <assay/status.h>

#include "distribution.h"
#include "oracle_model.h"

/* ---- what is scored (score_plan.c) ---------------------------------------------------------- */

struct score_text {
    char name[128], domain[64];
    int32_t *ids; /* assay_tokens_free */
    int64_t num_ids;
};

/* Tokens [begin, begin + length) of a text, from an empty state; scores its tokens first ..
 * length - 1, each predicted from all before it in the window. */
struct score_window {
    int text;
    int64_t begin, length, first;
    int64_t at; /* of its first scored token in a table's arrays */
};

struct score_plan {
    struct score_window *windows;
    int64_t num_windows, num_tokens; /* scored */
};

/* Windows of `context` tokens begin at multiples of `stride` < context; the first of a text scores
 * all its tokens but the very first, a later one those that no earlier one has scored. With
 * `limit` > 0 about that many tokens of each text are scored, in windows evenly spread over it; a
 * limit below context - 1 shortens the window. ASSAY_E_MEMORY; ASSAY_E_USAGE: nothing to score. */
ASSAY_MUST_USE assay_status score_plan_make(const struct score_text *texts, int num_texts,
                                            int64_t context, int64_t stride, int64_t limit,
                                            struct score_plan *plan, struct assay_error *error);
void score_plan_free(struct score_plan *plan);

/* ---- through what (score_source.c) ---------------------------------------------------------- */

/* X(enumerator, name, what a pass is) */
#define SCORE_PATH_TABLE(X)                                              \
    X(PREFILL, "prefill", "prefill chunks, through gdn_chunked")         \
    X(DECODE, "decode", "one token a pass, through gdn_recurrent")       \
    X(WIDTH, "width", "verify steps of N tokens, through gdn_recurrent") \
    X(LANES, "lanes", "verify steps of N windows at once, through gdn_recurrent")

enum score_path {
#define SCORE_PATH_ENUM(enumerator, name, what) SCORE_##enumerator,
    SCORE_PATH_TABLE(SCORE_PATH_ENUM)
#undef SCORE_PATH_ENUM
        SCORE_NUM_PATHS
};
const char *score_path_name(enum score_path path);

/* The verify widths that a session has. */
enum { SCORE_LARGEST_WIDTH = 32 };

struct score_setting {
    assay_trade_set trades;
    enum score_path path;
    /* Tokens of a window in a pass: the chunk of prefill, 1 of decode, N of width; of lanes the
     * columns of each, 0: 1. */
    int64_t width;
    /* Windows side by side; 0: 1. Those of path lanes share their passes. */
    int num_lanes;
};

/* Windows side by side, at most SCORE_LARGEST_WIDTH. */
struct score_batch {
    int num_lanes;
    const int32_t *ids[SCORE_LARGEST_WIDTH]; /* [inputs] */
    int64_t inputs[SCORE_LARGEST_WIDTH];     /* tokens that are read */
    int64_t first[SCORE_LARGEST_WIDTH];      /* row that is asked for first */
    int64_t longest;                         /* of the inputs */
};

/* What scores one window. */
struct score_lane {
    assay_session *session;
    struct oracle_session *reference; /* of the oracle, in its place */
    void *rows;         /* of its part of the newest pass: float, of the oracle double */
    int64_t begin, end; /* tokens of that part within the window */
};

/* A producer of rows of logits. */
struct score_source {
    const struct oracle_model *oracle; /* NULL: sessions */
    int oracle_threads;
    assay_context *context; /* not owned */
    struct score_setting setting;
    int64_t vocab, width;        /* width: tokens of a pass, of all lanes that share it */
    int64_t passes, full_passes; /* so far; those of `width` tokens */
    void *rows;                  /* of all lanes */
    struct score_lane lane[SCORE_LARGEST_WIDTH];
    struct distribution distribution;
};

/* capacity: tokens of the longest window. Close it in any case. */
ASSAY_MUST_USE assay_status score_source_open(assay_context *context, const assay_model *model,
                                              const struct score_setting *setting, int64_t capacity,
                                              struct score_source *source,
                                              struct assay_error *error);
ASSAY_MUST_USE assay_status score_source_oracle(const struct oracle_model *model, int num_threads,
                                                int num_lanes, struct score_source *source,
                                                struct assay_error *error);
void score_source_close(struct score_source *source);

/* One pass of a source that has one session, and the place where its path becomes a call: prefill,
 * else a decode step of `count` columns. Rows of logits where they are wanted. */
ASSAY_MUST_USE assay_status score_source_pass(struct score_source *source, const int32_t *ids,
                                              int64_t count, bool wanted,
                                              struct assay_error *error);
/* Begins a batch. */
ASSAY_MUST_USE assay_status score_source_reset(struct score_source *source,
                                               struct assay_error *error);
/* The distribution of lane `lane` of the batch after its ids[0 .. at], at rising from call to call
 * within the lane's inputs. Runs passes as needed; where lanes share them, a window that has ended
 * goes on with its last token, which changes nothing that is asked for. */
ASSAY_MUST_USE assay_status score_source_row(struct score_source *source,
                                             const struct score_batch *batch, int lane, int64_t at,
                                             struct assay_error *error);

/* ---- scoring (score.c) ---------------------------------------------------------------------- */

enum { SCORE_MAX_SOURCES = 4, SCORE_MAX_PAIRS = 4 };

/* Per token, how source `other` differs from source `base`. */
struct score_pair {
    int base, other;
    double *kl, *right;
    uint8_t *same_top, *shared_top;
};

struct score_table {
    int64_t num_tokens;
    int num_sources, num_pairs;
    double *nll[SCORE_MAX_SOURCES];
    struct score_pair pair[SCORE_MAX_PAIRS];
};

/* Called before each window; returning false stops with ASSAY_E_CANCELLED. */
typedef bool score_progress(void *user, int64_t tokens_done, int64_t tokens_total);

/* Fills table->nll of every source and, for the pairs that it names (base, other), the rest. All
 * sources have the same number of lanes; where windows are fewer than lanes the first is repeated.
 * Memory is allocated here; score_table_free in any case. */
ASSAY_MUST_USE assay_status score_run(struct score_source *const *sources, int num_sources,
                                      const struct score_text *texts, const struct score_plan *plan,
                                      score_progress *progress, void *user,
                                      struct score_table *table, struct assay_error *error);
void score_table_free(struct score_table *table);

#endif
