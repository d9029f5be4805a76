/* SPDX-License-Identifier: MIT
 *
 * attention's cases.
 */
#include "attention_mutants.h"

#include <math.h>

#include "case.h"
#include "words.h"
#include "start_at.h"

static const int64_t token_counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 15, 31, 32, -1};
static const int64_t starts[] = {0, 1, 2, 1000, -1};
static const int64_t spares[] = {0, 1, 3, 17, -1};
static const int64_t key_heads[] = {1, 2, 3, 4, -1};
static const int64_t ratios[] = {1, 2, 3, 5, 6, 7, 8, 12, -1};
static const int64_t widths[] = {1, 2, 3, 5, 32, 64, 96, 128, 256, -1};

enum { GATE_NONE, GATE_SEPARATE, GATE_PACKED };
static const char *const gate_names[] = {"none", "separate", "packed"};

/* Where the scores lie. Offsets and slopes are put into elements 0 and 1 of queries and keys; what
 * the distribution draws for the other elements comes on top. */
enum {
    SCORES_RANDOM,
    SCORES_FLAT,     /* all 0 */
    SCORES_RISING,   /* a quarter a key */
    SCORES_DOMINANT, /* 40 a key: the last key takes everything */
    SCORES_NEGATIVE, /* about -256 and below */
    SCORES_SUNK,     /* below -50000, 40 a key */
    SCORES_HUGE      /* up to a million */
};
static const char *const score_names[] = {"random",   "flat", "rising", "dominant_last",
                                          "negative", "sunk", "huge"};
enum { SCALE_ROOT };
static const char *const scale_names[] = {"root", "1", "-0.25", "0"};
static const double scale_values[] = {0, 1, -0.25, 0}; /* root: D^(-1/2) */

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

/* One row of a key head: what is written beside it is its own scores. */
static const char *const together[] = {"T=1 ratio=1 start=40", NULL};

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .hi = 512, .fallback = 3, .values = token_counts},
    {.name = "start", .kind = CASE_COUNT, .hi = 1 << 20, .fallback = 17, .values = starts},
    {.name = "spare", .kind = CASE_COUNT, .hi = 64, .fallback = 2, .values = spares},
    {.name = "G", .kind = CASE_COUNT, .lo = 1, .hi = 8, .fallback = 2, .values = key_heads},
    {.name = "ratio", .kind = CASE_COUNT, .lo = 1, .hi = 32, .fallback = 3, .values = ratios},
    {.name = "D", .kind = CASE_COUNT, .lo = 1, .hi = 512, .fallback = 64, .values = widths},
    {.name = "Dv", .kind = CASE_COUNT, .lo = 1, .hi = 512, .fallback = 64, .values = widths},
    {.name = "q", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "cache", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "gate", .kind = CASE_CHOICE, .hi = 2, .fallback = GATE_SEPARATE, .names = gate_names},
    {.name = "g", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "scores", .kind = CASE_CHOICE, .hi = 6, .names = score_names},
    {.name = "scale", .kind = CASE_CHOICE, .hi = 3, .names = scale_names},
    START_AT_PARAM,
};

static double work(const struct assay_case *c)
{
    double tokens = (double)case_get(c, "T");
    double rows = tokens * (double)case_get(c, "G") * (double)case_get(c, "ratio");
    double width = (double)(case_get(c, "D") + case_get(c, "Dv"));
    return rows * ((double)case_get(c, "start") + (tokens + 1) / 2) * width;
}

static void adjust(struct assay_case *c)
{
    if (c->layout == CASE_INPLACE) {
        case_set(c, "Dv", case_get(c, "D"));
        case_set(c, "y", case_get(c, "q"));
        if (case_get(c, "gate") == GATE_PACKED) /* q is then no view of its own */
            case_set(c, "gate", GATE_SEPARATE);
    }
    if (case_get(c, "gate") == GATE_PACKED)
        case_set(c, "g", case_get(c, "q"));
    if (case_get(c, "D") == 1 && case_get(c, "scores") != SCORES_FLAT)
        case_set(c, "scores", SCORES_RANDOM); /* offsets and slopes take two elements */
    /* Infinite values keep a weight that no format loses: infinity times 0 would be NaN. */
    if (c->dist == CASE_DIST_NONFINITE) {
        case_set(c, "scale", SCALE_ROOT);
        if (case_get(c, "scores") != SCORES_FLAT)
            case_set(c, "scores", SCORES_RANDOM);
    }
    while (work(c) > 5e5) {
        if (case_get(c, "T") > 1) {
            case_set(c, "T", case_get(c, "T") / 2);
        } else if (case_get(c, "G") > 1) {
            case_set(c, "G", case_get(c, "G") - 1);
        } else if (case_get(c, "start") > 1000 && case_get(c, "D") + case_get(c, "Dv") > 16) {
            case_set(c, "D", 8); /* many keys are worth more than wide ones */
            case_set(c, "Dv", 8);
        } else if (case_get(c, "start") > 0) {
            case_set(c, "start", case_get(c, "start") / 2);
        } else {
            break;
        }
    }
}

/* Equal weights of 1, 1/2, 1/4 ... and small integers: all sums are exact. */
static bool exact(const struct assay_case *c)
{
    int64_t keys = start_at_effective(c) + 1;
    return case_get(c, "T") == 1 && (keys & (keys - 1)) == 0 &&
           case_get(c, "scores") == SCORES_FLAT && case_get(c, "gate") == GATE_NONE;
}

/* Element `at` of every row of width `stride`. */
static void put_all(struct trial *trial, const struct assay_tensor *tensor, int64_t at,
                    double value)
{
    int64_t stride = tensor->extent[2];
    for (int64_t i = at; i < assay_tensor_count(tensor); i += stride)
        trial_put(trial, tensor, i, value);
}

static void put_scores(struct trial *trial, const struct assay_tensor *q,
                       const struct assay_tensor *k)
{
    int64_t choice = case_get(trial->c, "scores"), width = k->extent[2];
    int64_t used = start_at_effective(trial->c) + case_get(trial->c, "T");
    if (choice == SCORES_NEGATIVE || choice == SCORES_SUNK) {
        put_all(trial, q, 0, choice == SCORES_SUNK ? 256 : 64);
        put_all(trial, k, 0, choice == SCORES_SUNK ? -8192 : -64);
    }
    if (choice == SCORES_RISING || choice == SCORES_DOMINANT || choice == SCORES_SUNK) {
        double slope = (choice == SCORES_RISING ? 0.25 : 40) * sqrt((double)width) / 8;
        put_all(trial, q, 1, 8);
        for (int64_t j = 0; j < used; j++)
            for (int64_t g = 0; g < k->extent[1]; g++)
                trial_put(trial, k, (j * k->extent[1] + g) * width + 1,
                          -(double)(used - 1 - j) * slope);
    }
}

/* Unowned slots hold NaN: reading one shows [ATTENTION-4]. */
static struct assay_tensor build_cache(struct trial *trial, const char *name, const char *width,
                                       struct values values)
{
    const struct assay_case *c = trial->c;
    int64_t used = start_at_effective(c) + case_get(c, "T");
    int64_t slots = case_get(c, "start") + case_get(c, "T") + case_get(c, "spare");
    int64_t extent[] = {slots, case_get(c, "G"), case_get(c, width)};
    struct assay_tensor cache =
        trial_input(trial, name, (enum assay_dtype)case_get(c, "cache"), 3, extent, values);
    for (int64_t i = used * extent[1] * extent[2]; i < assay_tensor_count(&cache); i++)
        trial_put(trial, &cache, i, NAN);
    return cache;
}

static void build_query(struct trial *trial, struct values values)
{
    struct assay_attention_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t heads = case_get(c, "G") * case_get(c, "ratio");
    int64_t dk = case_get(c, "D"), dv = case_get(c, "Dv");
    bool packed = case_get(c, "gate") == GATE_PACKED;
    enum assay_dtype dtype = (enum assay_dtype)case_get(c, "q");
    int64_t extent[] = {case_get(c, "T"), heads, packed ? dk + dv : dk};
    a->q = trial_input(trial, "q", dtype, 3, extent, values);
    if (!packed || a->q.data == NULL)
        return;
    a->gate = a->q; /* a row of the fused projection: query, then gate, of each head */
    a->gate.data = (char *)a->q.data + (size_t)dk * assay_dtype_bytes(dtype);
    a->gate.extent[2] = dv;
    a->q.extent[2] = dk;
    if (values.scale != 1) /* the gate is not meant */
        for (int64_t i = 0; i < assay_tensor_count(&a->gate); i++)
            trial_put(trial, &a->gate, i, 4 * trial_uniform(trial, "gate", (uint64_t)i) - 2);
}

static bool build(struct trial *trial)
{
    struct assay_attention_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t choice = case_get(c, "scores");
    struct values values = values_of(c), scored = values;
    if (c->dist == CASE_DIST_LARGE)
        scored.scale = 1e-20; /* sums of products reach the end of binary32, and not further */
    if (choice == SCORES_HUGE && c->dist != CASE_DIST_LARGE)
        scored.scale = 1000;
    struct values query = scored;
    if (choice == SCORES_FLAT)
        query.scale = 0;
    int64_t extent[] = {case_get(c, "T"), case_get(c, "G") * case_get(c, "ratio"),
                        case_get(c, "Dv")};
    build_query(trial, query); /* first: y may take its place */
    a->k_cache = build_cache(trial, "k_cache", "D", scored);
    a->v_cache = build_cache(trial, "v_cache", "Dv", values);
    if (a->k_cache.data != NULL && a->q.data != NULL)
        put_scores(trial, &a->q, &a->k_cache);
    if (case_get(c, "gate") == GATE_SEPARATE)
        a->gate = trial_input(trial, "gate", (enum assay_dtype)case_get(c, "g"), 3, extent, values);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 3, extent);
    a->start = case_get(c, "start");
    start_at_put(trial, &a->start_at);
    a->scale = case_get(c, "scale") == SCALE_ROOT ? 1 / sqrt((double)case_get(c, "D"))
                                                  : scale_values[case_get(c, "scale")];
    return true;
}

/* scale q . k of the last query of head 0 and key j. */
static double last_score(const struct assay_attention_args *a, int64_t j)
{
    int64_t width = a->q.extent[2], row = (a->q.extent[0] - 1) * a->q.extent[1];
    double sum = 0;
    for (int64_t d = 0; d < width; d++)
        sum += oracle_get(&a->q, row * width + d) *
               oracle_get(&a->k_cache, j * a->k_cache.extent[1] * width + d);
    return a->scale * sum;
}

static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_attention_args *a = trial->args;
    const struct assay_case *c = trial->c;
    (void)outputs;
    bool plain_draws = c->dist == CASE_DIST_NORMAL || c->dist == CASE_DIST_UNIFORM;
    if (!plain_draws || case_get(c, "scale") != SCALE_ROOT || a->q.extent[0] == 0 ||
        c->layout == CASE_INPLACE) /* the queries are gone */
        return;
    int64_t last = start_at_effective(c) + a->q.extent[0] - 1;
    double lowest = INFINITY, highest = -INFINITY;
    for (int64_t j = 0; j <= last; j++) {
        lowest = fmin(lowest, last_score(a, j));
        highest = fmax(highest, last_score(a, j));
    }
    switch (case_get(c, "scores")) {
    case SCORES_FLAT:
        trial_claim(trial, "all scores are equal", lowest == highest);
        break;
    case SCORES_DOMINANT:
        trial_claim(trial, "the last key has the largest score", last_score(a, last) == highest);
        break;
    case SCORES_NEGATIVE:
        trial_claim(trial, "all scores are below -100", highest < -100);
        break;
    case SCORES_SUNK:
        trial_claim(trial, "all scores are below -50000", highest < -50000);
        break;
    case SCORES_HUGE:
        trial_claim(trial, "some score is beyond 88", fmax(highest, -lowest) > 88);
        break;
    default:
        break;
    }
}

/* Rows from `first` on begin later; the start becomes one that the host knows. */
static void row_shift(void *args, int64_t first)
{
    struct assay_attention_args *a = args;
    if (a->start_at.data != NULL) {
        int64_t at = oracle_get_int(&a->start_at, 0);
        at = at < 0 ? 0 : at;
        a->start = at < a->start ? at : a->start;
        a->start_at = (struct assay_tensor){.data = NULL};
    }
    a->start += first;
}

const struct case_spec case_spec_attention = {
    .op = &assay_op_attention,
    .oracle_name = "attention",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = (1u << CASE_FAR) - 1,
    .exact = exact,
    .adjust = adjust,
    .together = together,
    .build = build,
    .claims = claims,
    .mutants = attention_mutants,
    .num_mutants = ATTENTION_NUM_MUTANTS,
    .row_fields = "q gate y",
    .row_shift = row_shift,
};
