/* SPDX-License-Identifier: MIT
 *
 * quality.score: windows, and the losses of tiny-hybrid against the references that another library
 * computed in binary64 (golden/references/FULL.md: windows of 1024 tokens at multiples of 512).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "oracle_archive.h"
#include "quality.h"

#define MODEL      ASSAY_GOLDEN_DIR "/models/tiny-hybrid"
#define REFERENCES ASSAY_GOLDEN_DIR "/references/tiny-hybrid/nll-per-token-f64.safetensors"

/* ---- windows -------------------------------------------------------------------------------- */

static struct score_plan plan_of(int64_t num_ids, int64_t context, int64_t stride, int64_t limit)
{
    const struct score_text text = {.num_ids = num_ids};
    struct score_plan plan;
    cr_assert_eq(score_plan_make(&text, 1, context, stride, limit, &plan, NULL), ASSAY_OK);
    return plan;
}

/* How often each token is scored; every window lies inside the text and begins empty. */
static void count(const struct score_plan *plan, int64_t num_ids, int *times)
{
    int64_t at = 0;
    memset(times, 0, (size_t)num_ids * sizeof *times);
    for (int64_t w = 0; w < plan->num_windows; w++) {
        const struct score_window *window = &plan->windows[w];
        cr_assert(window->begin >= 0 && window->begin + window->length <= num_ids);
        cr_assert(window->first >= 1 && window->first < window->length);
        cr_assert_eq(window->at, at);
        at += window->length - window->first;
        for (int64_t i = window->first; i < window->length; i++)
            times[window->begin + i]++;
    }
    cr_assert_eq(at, plan->num_tokens);
}

Test(quality_score, windows)
{
    static const int64_t contexts[] = {2, 3, 5, 8, 64}, limits[] = {0, 1, 3, 7, 20, 63, 64, 500};
    int times[300];
    for (size_t c = 0; c < sizeof contexts / sizeof *contexts; c++)
        for (int64_t stride = 1; stride < contexts[c]; stride++)
            for (int64_t num_ids = 2; num_ids < 300; num_ids += num_ids < 20 ? 1 : 17)
                for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
                    struct score_plan plan = plan_of(num_ids, contexts[c], stride, limits[l]);
                    count(&plan, num_ids, times);
                    cr_assert_eq(times[0], 0); /* nothing before it */
                    for (int64_t i = 1; i < num_ids; i++)
                        cr_assert(times[i] == 1 || (limits[l] > 0 && times[i] == 0));
                    cr_assert(limits[l] == 0 || plan.num_tokens <= limits[l] ||
                              plan.num_windows == 1);
                    score_plan_free(&plan);
                }
    struct score_plan plan;
    const struct score_text one = {.num_ids = 1};
    cr_assert_eq(score_plan_make(&one, 1, 8, 4, 0, &plan, NULL), ASSAY_E_USAGE);
    cr_assert_eq(score_plan_make(&one, 1, 8, 8, 0, &plan, NULL), ASSAY_E_USAGE);
}

/* ---- losses --------------------------------------------------------------------------------- */

static struct quality_options options_of(int64_t tokens)
{
    return (struct quality_options){
        .model_dir = MODEL,
        .data_dir = ASSAY_GOLDEN_DIR,
        .context = 1024,
        .stride = 512,
        .tokens = tokens,
        .block = QUALITY_BLOCK,
        .seed = 1,
        .limit = NAN,
        .kl_limit = NAN,
        .power = 0.8,
    };
}

static struct quality_result *measure(const struct quality_options *options)
{
    struct assay_error error = {0};
    struct quality_result *result = calloc(1, sizeof *result);
    cr_assert_not_null(result);
    cr_assert_eq(quality_measure(options, result, &error), ASSAY_OK, "%s", error.message);
    return result;
}

static void release(struct quality_result *result)
{
    quality_result_free(result);
    free(result);
}

/* The reference's mean over the tokens that a window scores: entry i belongs to token i + 1. */
static double reference_mean(const double *reference, const struct score_window *window)
{
    double sum = 0;
    for (int64_t i = window->first; i < window->length; i++)
        sum += reference[window->begin + i - 1];
    return sum / (double)(window->length - window->first);
}

/* Largest difference of a window's mean loss from the reference, source s. */
static double worst_window(const struct quality_result *result, int s)
{
    char message[256];
    struct oracle_archive *archive;
    double worst = 0;
    cr_assert_eq(oracle_archive_open(REFERENCES, &archive, message, sizeof message), ASSAY_OK);
    for (int text = 0; text < result->num_texts; text++) {
        double *reference;
        int64_t num;
        cr_assert_eq(oracle_archive_read(archive, result->texts[text].domain, &reference, &num,
                                         message, sizeof message),
                     ASSAY_OK);
        cr_assert_eq(num, result->texts[text].num_ids - 1);
        for (int64_t w = 0; w < result->plan.num_windows; w++)
            if (result->plan.windows[w].text == text)
                worst = fmax(worst, fabs(result->windows[w].mean[s] -
                                         reference_mean(reference, &result->plan.windows[w])));
        free(reference);
    }
    oracle_archive_close(archive);
    return worst;
}

/* The engine keeps keys and values in bf16, the reference does not: a token's loss is off by up to
 * some 1e-3 in either direction, the mean over the 512 tokens of a window by far less. */
Test(quality_score, references)
{
    const struct quality_options options = options_of(1535);
    struct quality_result *result = measure(&options);
    cr_assert_eq(result->plan.num_windows, 6);
    const double worst = worst_window(result, 0);
    cr_log_info("engine: windows within %.1e nats of the references", worst);
    cr_assert_lt(worst, 1e-4, "a window is off by %g", worst);
    /* Other tokens of the same text would be seen. */
    result->plan.windows[1].begin -= 100;
    cr_assert_gt(worst_window(result, 0), 1e-3);
    release(result);
}

/* Two programs in binary64 over the same windows, of which each has its own state in either. */
Test(quality_score, oracle)
{
    struct quality_options options = options_of(48);
    options.against = QUALITY_ORACLE;
    options.path = SCORE_LANES;
    options.num_lanes = 3;
    struct quality_result *result = measure(&options);
    cr_assert_eq(result->num_sources, 2);
    cr_assert_str_eq(result->source[1].name, "oracle");
    const double worst = worst_window(result, 1);
    cr_assert_lt(worst, 1e-11, "the oracle is off by %g", worst);
    cr_assert(result->change[0].base == 1 && result->change[0].other == 0);
    cr_assert(result->change[0].kl.mean > 0.0 && result->change[0].kl.mean < 1e-5);
    release(result);
}

/* Each path takes its own routes, and the losses agree. */
Test(quality_score, paths)
{
    static const struct {
        enum score_path path;
        int64_t width, passes;
        int lanes;
    } cases[] = {{SCORE_PREFILL, 64, 12, 0},
                 {SCORE_DECODE, 0, 3 * 256, 0},
                 {SCORE_WIDTH, 4, 3 * 64, 0},
                 {SCORE_LANES, 2, 2 * 128, 2}}; /* three windows, so that one runs twice */
    double first = 0, decode = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quality_options options = options_of(256);
        options.path = cases[i].path;
        options.width = cases[i].width;
        options.num_lanes = cases[i].lanes;
        options.against = QUALITY_SETTING;
        struct quality_result *result = measure(&options);
        const struct quality_source *source = &result->source[result->setting];
        const bool chunked = cases[i].path == SCORE_PREFILL;
        cr_assert_eq(source->passes, cases[i].passes);
        cr_assert_eq(source->full_passes, cases[i].passes);
        cr_assert((source->chunked > 0) == chunked && (source->recurrent > 0) != chunked);
        /* A setting against itself, and the floor: exactly nothing. */
        cr_assert(result->change[0].kl_most == 0.0 && result->change[0].same_top.mean == 1.0);
        cr_assert(result->change[0].nll[PAIRED_BLOCK].mean == 0.0);
        cr_assert(result->has_floor && result->floor_self.kl_most == 0.0);
        cr_assert(result->floor_self.nll[PAIRED_BLOCK].mean == 0.0);
        cr_assert_not(result->needs_coverage);
        const double mean = result->overall.mean[0];
        cr_assert_float_eq(mean, i == 0 ? mean : first, 1e-4);
        first = i == 0 ? mean : first;
        /* Steps of any width and of any lanes give a row the same bits on this backend. */
        decode = cases[i].path == SCORE_DECODE ? mean : decode;
        cr_assert(chunked || mean == decode, "%s is off by %g", score_path_name(cases[i].path),
                  mean - decode);
        release(result);
    }
}
