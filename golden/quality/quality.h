/* SPDX-License-Identifier: MIT
 *
 * What `assay perplexity` measures: the loss of a setting on held-out texts, and how far it lies
 * from another setting or from the FP64 oracle, on the same tokens.
 */
#ifndef QUALITY_H
#define QUALITY_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/precision.h>
#include <assay/status.h>

#include "paired.h"
#include "score.h"

enum {
    QUALITY_MAX_TEXTS = 256,
    QUALITY_MAX_ROUTES = 256,
    QUALITY_MAX_CHANGES = 3,
    QUALITY_CONTEXT = 4096,
    QUALITY_STRIDE = 2048,
    QUALITY_BLOCK = 256,
    QUALITY_RESAMPLES = 4000
};

enum quality_against { QUALITY_ALONE, QUALITY_SETTING, QUALITY_ORACLE };

struct quality_options {
    const char *model_dir;
    const char *data_dir;                 /* golden data; NULL: found as gates find it */
    const char *texts[QUALITY_MAX_TEXTS]; /* "[DOMAIN=]FILE" */
    int num_texts;                        /* 0: the bundled held-out texts */
    int64_t context, stride;
    int64_t tokens; /* of each text, about; 0: all */
    int64_t block;  /* tokens of a resampling block */
    uint64_t seed;
    enum assay_backend backend;
    int device, threads;
    enum score_path path;
    int64_t width; /* 0: the path's own */
    int num_lanes; /* of path lanes; 0: 1 */
    assay_trade_set trades;
    const char *plant; /* a mutant route forced in the setting, or NULL */
    enum quality_against against;
    assay_trade_set against_trades; /* QUALITY_SETTING */
    bool oracle;                    /* QUALITY_SETTING: measure both against the oracle too */
    double limit, kl_limit;         /* nats; NAN: none */
    double power;                   /* 0.8 */
    bool (*progress)(void *user, const char *what, int64_t done, int64_t total);
    void *user;
};

/* Mean losses (nats a token) of a part of the texts, one a source. */
struct quality_loss {
    char name[128], domain[64];
    int64_t windows, tokens;
    double mean[SCORE_MAX_SOURCES];
};

/* Source `other` against source `base`. */
struct quality_change {
    int base, other;
    /* Change of the mean loss at each level, and the level that decides: the coarsest that has
     * PAIRED_LEAST_UNITS units, else the finest. What follows is of that level. */
    struct paired_interval nll[PAIRED_NUM_LEVELS];
    enum paired_level level;
    struct paired_interval kl, same_top, shared_top; /* shared_top: share of DISTRIBUTION_TOP */
    struct paired_interval right;                    /* change of the right token's probability */
    double kl_median, kl_99, kl_999, kl_most;
    double right_rms, right_least, right_most;
    int64_t not_finite; /* tokens without a finite loss or divergence */
};

/* How often a route ran in each source's passes. */
struct quality_route {
    const char *name;
    uint64_t count[SCORE_MAX_SOURCES];
};

struct quality_source {
    char name[256]; /* "none", "lm-head-q4", "lm-head-q4 with linear.mutant.x.cpu", "oracle" */
    int64_t width, passes, full_passes;
    uint64_t chunked, recurrent; /* runs of gdn_chunked and gdn_recurrent */
};

enum quality_verdict { QUALITY_WITHIN, QUALITY_BEYOND, QUALITY_INCONCLUSIVE, QUALITY_REPORTED };
const char *quality_verdict_name(enum quality_verdict verdict);

struct quality_result {
    struct score_plan plan;
    struct score_text *texts;
    int num_texts;
    int64_t context, stride;

    int num_sources, setting; /* setting: the source that the command line describes */
    struct quality_source source[SCORE_MAX_SOURCES];
    struct quality_loss *windows; /* plan.num_windows */
    struct quality_loss *streams; /* num_texts */
    struct quality_loss *domains;
    int num_domains;
    struct quality_loss overall;

    int num_changes; /* 0: no comparison; [0] is the one that was asked for */
    struct quality_change change[QUALITY_MAX_CHANGES];
    /* The tool's own floor on `floor_tokens` tokens: the base against itself, and against itself
     * in passes of another size. */
    bool has_floor;
    int64_t floor_tokens, floor_width[2];
    struct quality_change floor_self, floor_width_change;

    int num_routes;
    struct quality_route routes[QUALITY_MAX_ROUTES]; /* those that ran, in order of the ops */
    bool needs_coverage;              /* the two settings differ in something that routes show */
    uint64_t coverage;                /* least runs among what differs */
    double tokens_needed, detectable; /* power of change[0] for `limit`; NAN: no limit */

    enum quality_verdict verdict;
    char reason[512];
    double seconds;
};

/* Measures. *result is zero before; quality_result_free in any case. Errors: files, memory, an
 * unknown mutant, a model that the oracle does not read, ASSAY_E_CANCELLED. */
ASSAY_MUST_USE assay_status quality_measure(const struct quality_options *options,
                                            struct quality_result *result,
                                            struct assay_error *error);
void quality_result_free(struct quality_result *result);

/* ---- parts (quality_summary.c, quality_judge.c, quality_texts.c) ---------------------------- */

/* Summarises a pair of the table. */
ASSAY_MUST_USE assay_status quality_summarise(const struct score_plan *plan,
                                              const struct score_table *table, int pair,
                                              int64_t block, uint64_t seed,
                                              struct quality_change *change,
                                              struct assay_error *error);
/* Mean losses by window, stream, domain and overall. */
ASSAY_MUST_USE assay_status quality_losses(const struct score_table *table,
                                           struct quality_result *result,
                                           struct assay_error *error);
/* Fills verdict, reason, tokens_needed and detectable. */
void quality_judge(const struct quality_options *options, struct quality_result *result);
/* Reads and encodes the texts. */
ASSAY_MUST_USE assay_status quality_read_texts(const struct quality_options *options,
                                               struct quality_result *result,
                                               struct assay_error *error);

#endif
