/* SPDX-License-Identifier: MIT
 *
 * The release gate of a trade: policy + evidence -> PASS, FAIL or INCONCLUSIVE.
 *
 * Evidence is a measurement with its coverage: how often the routes that the trade changes ran
 * while it was taken. Evidence without coverage is blind and satisfies nothing. What is measured
 * and what may be required stands in the two tables below; policy, judgement, ledger and reports
 * walk them.
 */
#ifndef GATE_H
#define GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/gate_record.h>
#include <assay/precision.h>
#include <assay/status.h>

/* X(enumerator, name, needs coverage, what it is). The baseline runs without the trade: it is the
 * check that differences are taken from something sound. */
#define GATE_EVIDENCE_TABLE(X)                                                                   \
    X(OPS, "op-verdicts", true, "every route that the trade changes, against the FP64 oracle")   \
    X(DRIFT, "drift", true, "error of the recurrent state over a long run, in binary64 steps")   \
    X(GREEDY, "greedy", true, "greedy continuations with the trade and without, step by step")   \
    X(NLL_DECODE, "nll-decode", true,                                                            \
      "loss on held-out text through the decode path, with the trade and without")               \
    X(NLL_PREFILL, "nll-prefill", true,                                                          \
      "loss on held-out text through the prefill path, with the trade and without")              \
    X(NLL_WIDTH, "nll-width", true,                                                              \
      "loss on held-out text through decode steps of 16 columns, of one sequence and of eight, " \
      "with the trade and without")                                                              \
    X(BASELINE, "baseline", false, "loss without the trade, against the model's FP64 reference")

enum gate_evidence {
#define GATE_EVIDENCE_ENUM(enumerator, name, covered, what) GATE_##enumerator,
    GATE_EVIDENCE_TABLE(GATE_EVIDENCE_ENUM)
#undef GATE_EVIDENCE_ENUM
        GATE_NUM_EVIDENCE
};

/* A limit from above that is broken is a FAIL; a limit from below says how much evidence is enough,
 * and falling short of it is INCONCLUSIVE. */
enum gate_side { GATE_MOST, GATE_LEAST };

/* X(enumerator, evidence, key in the policy, side, what is measured) */
#define GATE_LIMIT_TABLE(X)                                                                       \
    X(OPS_CASES, OPS, "cases_least", LEAST, "cases run")                                          \
    X(OPS_FAILURES, OPS, "failures_most", MOST, "cases failed")                                   \
    X(DRIFT_STEPS, DRIFT, "steps_least", LEAST, "steps of each run")                              \
    X(DRIFT_ERROR, DRIFT, "relative_error_most", MOST, "worst relative state error")              \
    X(DRIFT_GROWTH, DRIFT, "growth_most", MOST, "mean error, last quarter over second")           \
    X(DRIFT_BOUND, DRIFT, "bound_share_most", MOST, "error over the step-by-step bound")          \
    X(GREEDY_STEPS, GREEDY, "steps_least", LEAST, "steps compared")                               \
    X(GREEDY_FAULTS, GREEDY, "faults_most", MOST, "choices changed that are no tie")              \
    X(GREEDY_TIE, GREEDY, "tie_gap_most", MOST, "widest gap of a changed choice")                 \
    X(GREEDY_LOGIT, GREEDY, "logit_difference_most", MOST, "largest logit difference")            \
    X(DECODE_TOKENS, NLL_DECODE, "tokens_least", LEAST, "tokens scored")                          \
    X(DECODE_CHANGE, NLL_DECODE, "relative_change_most", MOST, "relative change, 95 % upper end") \
    X(PREFILL_TOKENS, NLL_PREFILL, "tokens_least", LEAST, "tokens scored")                        \
    X(PREFILL_CHANGE, NLL_PREFILL, "relative_change_most", MOST,                                  \
      "relative change, 95 % upper end")                                                          \
    X(WIDTH_TOKENS, NLL_WIDTH, "tokens_least", LEAST, "tokens scored")                            \
    X(WIDTH_CHANGE, NLL_WIDTH, "relative_change_most", MOST, "relative change, 95 % upper end")   \
    X(WIDTH_CHOICES, NLL_WIDTH, "changed_choices_most", MOST, "share of choices changed")         \
    X(BASELINE_DIFFERENCE, BASELINE, "reference_difference_most", MOST,                           \
      "relative difference of the means")

enum gate_limit {
#define GATE_LIMIT_ENUM(enumerator, evidence, key, side, what) GATE_LIMIT_##enumerator,
    GATE_LIMIT_TABLE(GATE_LIMIT_ENUM)
#undef GATE_LIMIT_ENUM
        GATE_NUM_LIMITS
};

struct gate_evidence_row {
    const char *name;
    bool needs_coverage;
    const char *what;
};
struct gate_limit_row {
    enum gate_evidence evidence;
    const char *key;
    enum gate_side side;
    const char *what;
};
extern const struct gate_evidence_row gate_evidence_rows[GATE_NUM_EVIDENCE];
extern const struct gate_limit_row gate_limit_rows[GATE_NUM_LIMITS];

/* ---- policy (gate_policy.c) ----------------------------------------------------------------- */

/* What one trade needs, or several used together. */
struct gate_policy {
    int64_t version;
    char owner[64];
    char expires[16]; /* last valid day, 2027-11-30 */
    char digest[65];  /* of the policy's text */
    bool required[GATE_NUM_EVIDENCE];
    double limit[GATE_NUM_LIMITS]; /* INFINITY: reported, not limited */
    /* The trades that need the evidence: each of their routes must have run while it was taken. */
    assay_trade_set members[GATE_NUM_EVIDENCE];
};

/* Reads the policy of one trade out of text[0, bytes); every part of the text is checked, also the
 * other trades'. file names it in errors: ASSAY_E_PARSE, with the path of keys to the place. */
ASSAY_MUST_USE assay_status gate_policy_read(const char *text, size_t bytes, const char *file,
                                             enum assay_trade trade, struct gate_policy *policy,
                                             struct assay_error *error);

/* The same for a set: one trade's policy, an entry of the set's own, else the members' policies
 * combined as the policy's `sets` says (gate_policy_set.c). */
ASSAY_MUST_USE assay_status gate_policy_read_set(const char *text, size_t bytes, const char *file,
                                                 assay_trade_set set, struct gate_policy *policy,
                                                 struct assay_error *error);
/* The trades that the policy names, at most ASSAY_NUM_TRADES, in its order. */
ASSAY_MUST_USE assay_status gate_policy_trades(const char *text, size_t bytes, const char *file,
                                               enum assay_trade *trades, int *num_trades,
                                               struct assay_error *error);

/* ---- what was measured ---------------------------------------------------------------------- */

enum gate_taken { GATE_NOT_TAKEN, GATE_TAKEN, GATE_NOT_APPLICABLE };

struct gate_item {
    enum gate_taken taken;
    uint64_t coverage;
    double seconds;
    char note[512]; /* a finding in words, or why it was not taken */
};

/* What the op verdicts say of a route: the largest shares of its bounds that its cases used. */
enum { GATE_MAX_ROUTES = 48 };
struct gate_route {
    char name[64];
    int64_t cases, failures;
    double bound_share, l2_share;
};

/* KL(without || with) of the next-token distributions at every scored token, in nats. Bin 0 is
 * below GATE_KL_LOWEST, bin b from GATE_KL_LOWEST * 10^((b-1)/2) on, the last without an end. */
#define GATE_KL_LOWEST 1e-10
enum { GATE_KL_BINS = 22 };
struct gate_kl {
    int64_t count, same_top, bin[GATE_KL_BINS];
    double sum, max;
};

/* Error of a drift run over its steps, thinned out for the plot. */
enum { GATE_DRIFT_RUNS = 4, GATE_DRIFT_POINTS = 256 };
struct gate_drift_run {
    char name[48]; /* "width 1" */
    int64_t steps;
    int num_points;
    double step[GATE_DRIFT_POINTS], error[GATE_DRIFT_POINTS], bound[GATE_DRIFT_POINTS];
    double worst, growth, bound_share;
};

enum { GATE_MAX_PROMPTS = 32, GATE_MAX_TEXTS = 3 };
struct gate_prompt {
    char name[48];
    int64_t tokens, steps;
    int64_t prefix;           /* steps before the first changed choice */
    int64_t changed;          /* choices that differ from the reference's (or the baseline's) */
    int64_t baseline_changed; /* the same without the trade; 0 when it is the reference itself */
    int64_t faults;
    double logit_difference; /* largest, with the trade against without */
};

struct gate_loss {
    char text[48];
    int64_t tokens;
    double mean[4]; /* decode without and with the trade, prefill without and with */
};

/* The same through decode steps of several columns; choices: of the likeliest token. */
struct gate_width_loss {
    char text[48];
    int64_t tokens, changed;
    double mean[2]; /* without and with the trade */
};

/* What the trade gains, without it and with it. No evidence: nothing is judged by it. */
struct gate_gain {
    bool taken;
    double seconds;
    char note[256];         /* why it was not taken, or says little */
    double weights[2];      /* bytes of all weights that passes read */
    double decode_reads[2]; /* bytes of weights that a step of one token reads */
    double workspace[2];    /* bytes planned for the products */
    double state[2];        /* bytes of the recurrent and convolution states */
    double prefill[2];      /* tokens a second: a prompt of 512, */
    double decode[2];       /* steps of one token, */
    double width[2];        /* steps of 16 columns */
};

/* Relative change of the mean loss, with a bootstrap interval over segments of the text. */
struct gate_change {
    double mean, low, high, standard_error;
    int64_t segments;
};

/* ---- judgement (gate_judge.c) --------------------------------------------------------------- */

/* X(enumerator, name) */
#define GATE_STATE_TABLE(X) \
    X(MET, "met")           \
    X(BROKEN, "broken")     \
    X(THIN, "too little")   \
    X(BLIND, "blind")       \
    X(MISSING, "missing")   \
    X(UNUSED, "not applicable")

enum gate_state {
#define GATE_STATE_ENUM(enumerator, name) GATE_##enumerator,
    GATE_STATE_TABLE(GATE_STATE_ENUM)
#undef GATE_STATE_ENUM
};

enum gate_verdict { GATE_PASS, GATE_FAIL, GATE_INCONCLUSIVE };

const char *gate_state_name(enum gate_state state);
const char *gate_verdict_name(enum gate_verdict verdict);

/* Everything about one gate run; plain memory, no pointers. */
struct gate_result {
    struct assay_gate_key key;
    struct gate_policy policy;
    char model_dir[1024];
    char command[1536];    /* repeats the run */
    char plant[64];        /* the planted route, or "" */
    char corpus[65];       /* digest over texts and references (gate_data.c) */
    char device[128];      /* what it ran on: the processor's or the device's name */
    char driver[96];       /* the device's driver, the kernel of the host */
    char policy_file[256]; /* "built-in", or the file's name */
    bool quick;
    uint64_t seed;
    int threads;
    char recorded[32]; /* UTC, 2026-11-30T02:43:00Z */
    double seconds;

    struct gate_item item[GATE_NUM_EVIDENCE];
    double measured[GATE_NUM_LIMITS];
    bool references;                          /* a bundled model: FP64 references were used */
    double worst_bound_ratio, worst_l2_ratio; /* of the op verdicts: share of the bounds used */
    int num_drift_runs, num_prompts, num_losses, num_routes;
    struct gate_route route[GATE_MAX_ROUTES]; /* beyond that many: counted, not listed */
    struct gate_kl kl[2];                     /* decode, prefill */
    struct gate_drift_run drift[GATE_DRIFT_RUNS];
    struct gate_prompt prompt[GATE_MAX_PROMPTS];
    struct gate_loss loss[GATE_MAX_TEXTS];
    struct gate_change change[3]; /* decode, prefill, width */
    int num_width_losses;
    struct gate_width_loss width_loss[GATE_MAX_TEXTS];
    struct gate_gain gain;

    /* of all that a trade may store otherwise, for one sequence; NAN: unknown */
    double bytes_without, bytes_with;

    enum gate_state state[GATE_NUM_LIMITS];
    enum gate_verdict verdict;
    char reason[1024]; /* what decided, in words */
};

/* Fills state, verdict and reason. today: "2026-11-30". */
void gate_judge(struct gate_result *result, const char *today);

/* ---- collection (gate_collect.c) ------------------------------------------------------------ */

struct gate_options {
    const char *model_dir;
    assay_trade_set trades; /* one, or several as a set */
    const char *data_dir;   /* golden data: corpora, references, bundled.json */
    bool quick;
    uint64_t seed;
    int threads;
    enum assay_backend backend;
    int device;              /* backend cuda */
    const char *plant;       /* name of a mutant route to plant, or NULL */
    const char *policy_file; /* for the record: NULL is the built-in policy */
    /* Called often; returning false stops the gate with ASSAY_E_CANCELLED. */
    bool (*progress)(void *user, const char *what, int64_t done, int64_t total);
    void *user;
};

/* Takes all evidence and fills key, run and evidence of *result. Evidence that cannot be taken is
 * no error: it is missing, its note says why. Errors: the model cannot be opened, an unknown
 * mutant, no memory, ASSAY_E_CANCELLED. */
ASSAY_MUST_USE assay_status gate_collect(const struct gate_options *options,
                                         struct gate_result *result, struct assay_error *error);

/* Whether a trade applies to the model (gate_survey.c). */
struct gate_survey_row {
    enum assay_trade trade;
    bool applies;
    char note[512]; /* why not */
};
/* Fills rows[0, num_trades), and of *result the key, for the first of the trades, and what else
 * identifies the run. */
ASSAY_MUST_USE assay_status gate_survey(const struct gate_options *options,
                                        const enum assay_trade *trades, int num_trades,
                                        struct gate_survey_row *rows, struct gate_result *result,
                                        struct assay_error *error);

/* The folder of the golden data: `given`, else $ASSAY_DATA_DIR, else the build's own, else the
 * installed one. Into path[size]; ASSAY_E_NOT_FOUND lists where it was looked for. */
ASSAY_MUST_USE assay_status gate_data_dir(const char *given, char *path, size_t size,
                                          struct assay_error *error);

#endif
