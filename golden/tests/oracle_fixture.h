/* SPDX-License-Identifier: MIT
 *
 * What the tests of the model oracle share: the model, the reference tensors, and the allowance for
 * the distance between two binary64 programs of the same formulas.
 */
#ifndef ORACLE_FIXTURE_H
#define ORACLE_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/oracle_archive.h"
#include "model/oracle_model.h"

/* tiny-hybrid, or the mixture of experts where the build says so. */
#if defined(FIXTURE_MOE)
#define FIXTURE_NAME "tiny-hybrid-moe"
enum { FIXTURE_LAYERS = 4, FIXTURE_TRACE_TENSORS = 33, FIXTURE_MTP_TENSORS = 6 };
#else
#define FIXTURE_NAME "tiny-hybrid"
enum { FIXTURE_LAYERS = 8, FIXTURE_TRACE_TENSORS = 48, FIXTURE_MTP_TENSORS = 5 };
#endif
#define FIXTURE_MODEL      ASSAY_GOLDEN_DIR "/models/" FIXTURE_NAME
#define FIXTURE_REFERENCES ASSAY_GOLDEN_DIR "/references/" FIXTURE_NAME

/* All of these fail the running test when something cannot be read. */
struct oracle_model *fixture_model(void);
struct oracle_archive *fixture_archive(const char *file);
double *fixture_tensor(const struct oracle_archive *archive, const char *name, int64_t *count);
int32_t *fixture_ids(const struct oracle_archive *archive, const char *name, int64_t *count);
struct oracle_session *fixture_session(const struct oracle_model *model,
                                       enum oracle_arithmetic arithmetic, enum oracle_fault fault);
void fixture_forward(struct oracle_session *session, const int32_t *ids, int64_t n,
                     const struct oracle_outputs *outputs);

/* How far two binary64 evaluations may lie apart after `layers` decoder layers over `tokens`
 * tokens, for results of magnitude `scale`.
 *
 * The two programs differ by the order of additions and the last bits of exp, sqrt and division.
 * Let n be the number of roundings on the longest path from an embedding to the result: a layer of
 * tiny-hybrid has dot products and norms of 256 + 256 + 128 + 128 + 256 + 256 + 256 + 640 terms
 * (fewer than 2500 roundings with what lies between), one of the mixture of experts fewer, and the
 * recurrence or the softmax sum adds at most three a token. Each program's relative error is then
 * at most gamma_n = n u / (1 - n u), and, roundings being as good as independent, at most lambda
 * sqrt(n) u but with probability 2 exp(-lambda^2 / 2) (Higham and Mary 2019, theorem 2.4); lambda =
 * 10 makes that 4e-22. Both programs err, hence the factor 2. Norms return every stage to unit
 * scale, so that errors are carried on with condition numbers about 1; what cancellation adds is
 * covered by measuring against the largest element instead of each. */
double fixture_allowance(int64_t layers, int64_t tokens, double scale);

double fixture_max_abs(const double *values, int64_t count);
double fixture_max_difference(const double *a, const double *b, int64_t count);

/* Collects what an observer is shown and measures it against an archive of references. */
struct fixture_trace {
    const struct oracle_archive *references;
    int64_t positions; /* rows that the references keep */
    int compared;
    double worst_share; /* largest difference / allowance */
    double worst_difference;
    char worst_name[96];
};
void fixture_observe(void *trace, const char *name, const double *values, int64_t rows,
                     int64_t cols);

#endif
