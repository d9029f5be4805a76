/* SPDX-License-Identifier: MIT
 *
 * What the collectors of evidence share: the open model, one context without the trade and one
 * with it, coverage, progress, the golden data.
 */
#ifndef GATE_BENCH_H
#define GATE_BENCH_H

#include <assay/context.h>
#include <assay/model.h>
#include <assay/route.h>
#include <assay/session.h>
#include <assay/tokenizer.h>

#include "case.h"
#include "gate.h"
#include "gate_try.h"

struct gate_bench {
    const struct gate_options *options;
    struct gate_result *result;
    assay_model *model;
    assay_tokenizer *tokenizer;
    int64_t vocab;                 /* floats of a row of logits */
    int64_t addressable;           /* tokens that may be chosen */
    assay_context *without, *with; /* the trade; a planted route is forced in `with` */
    assay_trade_set trades_without, trades_with; /* of their sessions */
    const struct case_mutant *planted;           /* NULL: none */
    char references[1200];                       /* folder of the model's FP64 references, or "" */
    bool references_unknown;                     /* the list of bundled models could not be read */
};

ASSAY_MUST_USE assay_status gate_bench_open(const struct gate_options *options,
                                            struct gate_result *result, struct gate_bench *bench,
                                            struct assay_error *error);
void gate_bench_close(struct gate_bench *bench);

/* The mutant that has this route, or NULL. */
const struct case_mutant *gate_find_mutant(const char *route);
/* Fills key and run of the result and finds the model's references (gate_identity.c). */
ASSAY_MUST_USE assay_status gate_bench_identify(struct gate_bench *bench,
                                                struct assay_error *error);

/* Stored bytes without and with the trades into the result (gate_storage.c). */
void gate_bench_storage(const struct gate_bench *bench);

/* A context of num_threads with the planted route, if any, forced. */
ASSAY_MUST_USE assay_status gate_bench_context(const struct gate_bench *bench, int num_threads,
                                               assay_context **context, struct assay_error *error);
/* Runs, in this context, of the routes that the trade changes. A planted route stands in for them.
 */
uint64_t gate_bench_trade_coverage(const struct gate_bench *bench, const assay_context *context,
                                   enum assay_trade trade);
/* Coverage of a piece of evidence begins: the counters of both contexts are zero again. */
void gate_bench_coverage_begin(struct gate_bench *bench);
/* Adds what has run in a context since then, by trade. */
void gate_bench_coverage_add(const struct gate_bench *bench, const assay_context *context,
                             uint64_t counts[ASSAY_NUM_TRADES]);
/* What ran `with` more than `without`, when both were fed the same: a route that both settings take
 * is not the trade's. Of several trades the fewest of those that need the evidence, since evidence
 * on a set is blind where one of them did not run. */
uint64_t gate_bench_extra(const struct gate_bench *bench, enum gate_evidence evidence,
                          const uint64_t without[ASSAY_NUM_TRADES],
                          const uint64_t with[ASSAY_NUM_TRADES]);
/* The same of the two contexts since coverage began. */
uint64_t gate_bench_extra_coverage(const struct gate_bench *bench, enum gate_evidence evidence);
/* True when a trade of the set changes this route: when its name begins with a coverage prefix. */
bool gate_bench_changes(const struct gate_bench *bench, const char *route);
/* The fewest of the counts of the trades that need this evidence. */
uint64_t gate_bench_fewest(const struct gate_bench *bench, enum gate_evidence evidence,
                           const uint64_t counts[ASSAY_NUM_TRADES]);
/* ASSAY_E_CANCELLED when the caller wants to stop. */
ASSAY_MUST_USE assay_status gate_bench_progress(const struct gate_bench *bench, const char *what,
                                                int64_t done, int64_t total,
                                                struct assay_error *error);

/* DATA/a/b into path[size]. */
void gate_bench_data(const struct gate_bench *bench, const char *name, char *path, size_t size);
/* Token ids of a held-out text of DATA/corpora; free with assay_tokens_free. */
ASSAY_MUST_USE assay_status gate_bench_text(const struct gate_bench *bench, const char *file,
                                            int32_t **ids, size_t *num_ids,
                                            struct assay_error *error);
/* The file of the model's FP64 losses, whole or slim, into path[size]; returns its name. */
const char *gate_bench_losses(const struct gate_bench *bench, char *path, size_t size);
/* A whole file; free *text. ASSAY_E_NOT_FOUND, ASSAY_E_IO. */
ASSAY_MUST_USE assay_status gate_read_file(const char *path, char **text, size_t *bytes,
                                           struct assay_error *error);
/* Digest over the texts and, for a bundled model, its references, into result->corpus; "" when one
 * cannot be read. */
void gate_bench_corpus(const struct gate_bench *bench);
extern const char *const gate_texts[GATE_MAX_TEXTS]; /* "prose", ...: heldout-<name>.txt */

/* ---- losses and their change (gate_change.c) ------------------------------------------------ */

/* -log softmax(logits)[target], in binary64. */
double gate_token_loss(const float *logits, int64_t count, int32_t target);
/* Sum of differences over sum of losses of n segments, with a bootstrap interval over segments. */
ASSAY_MUST_USE assay_status gate_change_estimate(const double *base, const double *difference,
                                                 int64_t n, uint64_t seed,
                                                 struct gate_change *change,
                                                 struct assay_error *error);

/* Each takes one piece of evidence: fills its item's coverage and note, its measured values and
 * its part of the result. An error means that it could not be taken. */
typedef assay_status gate_collector(struct gate_bench *bench, struct assay_error *error);
gate_collector gate_collect_ops;
gate_collector gate_collect_drift;
gate_collector gate_collect_greedy;
gate_collector gate_collect_nll; /* nll-decode, nll-prefill and baseline */
gate_collector gate_collect_width;
gate_collector gate_measure_gain; /* no evidence: fills result->gain */

#endif
