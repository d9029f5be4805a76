/* SPDX-License-Identifier: MIT
 *
 * Where two runs of a model part: both run the same passes, and every op call of both is compared
 * with the oracle on its own inputs, and with the other run's.
 *
 * With refA, refB the exact results for what each call was given, yA - yB is
 * (yA - refA) + (refA - refB) + (refB - yB): the outer two are the routes' own errors and have an
 * allowance, the middle one comes from the inputs. So a call at which the runs part is one whose
 * route exceeds its allowance (a fault), or the first whose formats differ and whose results differ
 * by more than both allowances (the setting acts here). Elsewhere a difference is only passed on.
 */
#ifndef QUALITY_BISECT_H
#define QUALITY_BISECT_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/precision.h>
#include <assay/status.h>

#include "score.h"

struct bisect_side {
    assay_trade_set trades;
    const char *route; /* forced: a route of the tables or a mutant; NULL: none */
};

enum bisect_kind {
    BISECT_SAME,    /* within the allowances of what each side was given */
    BISECT_FAULT_A, /* side A's route is beyond its allowance */
    BISECT_FAULT_B,
    BISECT_ACTS /* the two calls have other formats, and the results differ beyond the allowances */
};
const char *bisect_kind_name(enum bisect_kind kind);

/* An output of a call, in both runs. */
struct bisect_output {
    int64_t pass, call; /* from 0 */
    char tensor[128];   /* the model's newest tensor that a call took: the place */
    char op[2][32], output[16];
    const char *route[2];
    bool same_formats;
    double difference;             /* |yA - yB|_2 / |yA|_2 */
    double passed_on;              /* |refA - refB|_2 / |refA|_2 */
    double error[2], allowance[2]; /* relative L2, of each side against the oracle */
    enum bisect_kind kind;
    char message[256]; /* of the verdict that failed */
};

struct bisect_options {
    const char *model_dir;
    const char *text; /* NULL: the bundled prose */
    const char *data_dir;
    int64_t tokens;
    enum score_path path;
    int64_t width;
    enum assay_backend backend; /* whose memory the host can read */
    int threads;
    struct bisect_side side[2];
    /* Called for every output in order; false stops. */
    bool (*output)(void *user, const struct bisect_output *output);
    void *user;
};

struct bisect_result {
    int64_t calls, outputs, without_oracle;
    bool other_calls; /* the runs made different calls; compared up to there */
    bool parts;
    struct bisect_output first;
};

ASSAY_MUST_USE assay_status bisect_run(const struct bisect_options *options,
                                       struct bisect_result *result, struct assay_error *error);

#endif
