/* SPDX-License-Identifier: MIT
 *
 * What the tests of whole forward passes share: an open model with a session, and readers of
 * golden/references that are not the engine's own.
 */
#ifndef ASSAY_GOLDEN_TESTS_ENGINE_COMMON_H
#define ASSAY_GOLDEN_TESTS_ENGINE_COMMON_H

#include <stdint.h>
#include <stddef.h>

#include <assay/session.h>

#include "case.h"

/* Paths below golden/. The build may name another model. */
#if !defined(GOLDEN_MODEL)
#define GOLDEN_MODEL "tiny-hybrid"
#endif
#define TINY_MODEL      ASSAY_GOLDEN_DIR "/models/" GOLDEN_MODEL
#define TINY_REFERENCES ASSAY_GOLDEN_DIR "/references/" GOLDEN_MODEL

struct engine {
    assay_model *model;
    assay_context *context;
    assay_session *session;
    int64_t vocab;
};

/* Opens the model with two threads; a failure ends the test with the error's text. options may
 * be NULL. */
void engine_open(struct engine *engine, const struct assay_session_options *options);
/* Replaces the session by one with other options. */
void engine_session(struct engine *engine, const struct assay_session_options *options);
/* Replaces context and session: default options, another number of threads. */
void engine_threads(struct engine *engine, int num_threads);
void engine_close(struct engine *engine);
/* The same with another model and no session yet. */
void engine_open_model(struct engine *engine, const char *path);
/* Converts a model by a recipe. */
void engine_convert(const char *model, const char *recipe, const char *output);
/* A planted fault by the name of its route; fails the test when there is none. */
const struct case_mutant *engine_mutant(const char *route);
/* Fails the test with the error's text unless status is ASSAY_OK. */
void engine_expect_ok(assay_status status, const struct assay_error *error, const char *what);

/* One tensor of a safetensors file as doubles (F64, F32, I64 are exact in them or below 2^53);
 * *count elements, free() it. Fails the test when it is not there. */
double *reference_tensor(const char *path, const char *name, int64_t *count);
/* Where the tensor lies in the file, and its bytes; -1: it is not there. */
long reference_offset(const char *path, const char *name, size_t *bytes);
/* The same as token ids. */
int32_t *reference_ids(const char *path, const char *name, int64_t *count);

/* greedy.json, one prompt. */
struct greedy_step {
    int32_t top1, top2;
    double logit1, logit2;
};
struct greedy_prompt {
    char name[32];
    int32_t *prompt;
    int64_t num_prompt;
    int32_t *generated;
    struct greedy_step *steps;
    int64_t num_generated;
};
/* *num prompts; free with greedy_free. */
struct greedy_prompt *greedy_read(const char *path, size_t *num);
void greedy_free(struct greedy_prompt *prompts, size_t num);
const struct greedy_prompt *greedy_longest(const struct greedy_prompt *prompts, size_t num);

/* ||a - b|| / ||b||, and the largest |a - b|, over count elements. */
double relative_l2(const float *a, const double *b, int64_t count);
double largest_difference(const float *a, const double *b, int64_t count);
/* All rows of NAME.logits of a file of references, each within the budget of its norm; prints what
 * is used of it. */
void engine_check_logits(struct engine *engine, const char *path, const char *name, double budget);

#endif
