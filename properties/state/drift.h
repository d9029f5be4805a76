/* SPDX-License-Identifier: MIT
 *
 * Drift of a recurrent state that is kept in fp16: thousands of tokens through gdn_recurrent, once
 * with an fp16 state and once with an fp32 state on the same inputs, and how far the two states
 * are apart.
 *
 * Inputs are drawn as the models have them: unit keys and queries, decays exp(-A softplus(dt)) with
 * A in [1, 16] and time steps log-uniform in [0.001, 0.1], betas from a sigmoid.
 *
 * The bound. One token is S' = (I - beta k k^T) alpha S + beta k v^T, and for |k| <= 1 and beta in
 * [0, 2] the operator's 2-norm is at most alpha. Rounding S' to fp16 adds at most half an ulp to
 * each element, h(S'). With e the Frobenius norm of the difference of the two states of a head,
 *     e' <= (m alpha e + a) (1 + 2^-11) + |h(S')|_F,
 * m = max(1, |1 - beta |k|^2|), and a for the binary32 arithmetic of both runs: at most
 * (dk + 8) 2^-24 of the magnitudes that meet, twice. The recursion takes every token's own decay
 * and beta and the fp32 run's own state, and knows nothing of the fp16 run.
 */
#ifndef PROPERTIES_DRIFT_H
#define PROPERTIES_DRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/status.h>

enum { DRIFT_POINTS = 256, DRIFT_REASON = 160 };

/* What the series must keep. */
#define DRIFT_WORST 0.005 /* relative state error, any head, any token */
/* Mean of the last quarter over that of the second. The error is a leaky sum of roundings with
 * memories of at most 1/(A dt) tokens: from the second quarter on it is stationary, and its quarter
 * means scatter by a few per cent. Growth of a quarter is far outside that and far below what a
 * linear drift (7/3) or a random walk (1.53) gives. */
#define DRIFT_GROWTH 1.25

struct drift_result {
    int64_t steps;              /* tokens */
    int64_t step[DRIFT_POINTS]; /* token counts of the points */
    double error[DRIFT_POINTS]; /* worst head's |S16 - S32|_F / |S32|_F there */
    double bound[DRIFT_POINTS]; /* the bound of that head, relative too */
    int num_points;
    double worst;           /* over all heads and all calls, not only the points */
    double quarter_mean[4]; /* of the worst head's error */
    double worst_ratio;     /* largest error / bound */
    uint64_t state16_calls; /* runs of the measured route: 0 would be no evidence */
    char route16[64];       /* the route that was measured */
    bool pass;
    char reason[DRIFT_REASON]; /* what failed, or "" */
};

/* Runs `steps` tokens, `width` to a call (1 <= width <= 16), with `route` forced for the fp16 run
 * (NULL: what dispatch takes) and dispatch's choice for the fp32 run. The context's forced routes
 * are removed. A failure of the op is returned; a failed expectation is result->pass = false. */
ASSAY_MUST_USE assay_status drift_run(assay_context *context, uint64_t seed, int64_t steps,
                                      int64_t width, const char *route,
                                      struct drift_result *result);

#endif
