/* SPDX-License-Identifier: MIT
 *
 * Opens the sources that the options ask for, scores, summarises.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <assay/route.h>
#include <assay/tokenizer.h>

#include "case.h"
#include "gate_bench.h"
#include "gate_try.h"
#include "quality.h"

enum {
    FLOOR_TOKENS = 512, /* of each text, at most */
    FLOOR_SHARE = 4,    /* and of --tokens no more than one in so many */
    FLOOR_SOURCES = 3
};

struct bench {
    const struct quality_options *options;
    struct quality_result *result;
    assay_model *model;
    struct oracle_model *oracle;
    const struct case_mutant *planted;
    assay_context *context[SCORE_MAX_SOURCES]; /* of the sources; NULL for the oracle */
    struct score_source source[SCORE_MAX_SOURCES];
    struct score_source floor[FLOOR_SOURCES];
    struct score_table table, floor_table;
    const char *what; /* for progress */
};

/* ---- opening -------------------------------------------------------------------------------- */

static assay_status plant(struct bench *bench, struct assay_error *error)
{
    const char *route = bench->options->plant;
    if (route == NULL)
        return ASSAY_OK;
    const struct case_mutant *mutant = gate_find_mutant(route);
    if (mutant == NULL)
        return assay_fail(error, ASSAY_E_ROUTE_UNKNOWN, "quality", "--plant",
                          "there is no mutant \"%.64s\"; assay mutants lists them", route);
    TRY(assay_route_add(&mutant->route, error));
    bench->planted = mutant;
    return ASSAY_OK;
}

static assay_status open_context(struct bench *bench, bool planted, assay_context **context,
                                 struct assay_error *error)
{
    struct assay_context_options options = assay_context_defaults();
    options.num_threads = bench->options->threads;
    options.backend = bench->options->backend;
    options.device = bench->options->device;
    TRY(assay_context_create(&options, context, error));
    if (!planted || bench->planted == NULL)
        return ASSAY_OK;
    const assay_status status = assay_context_force_route(*context, bench->planted->route.name);
    if (status != ASSAY_OK)
        return assay_fail(error, status, "quality", "--plant", "%s",
                          assay_context_error(*context)->message);
    return ASSAY_OK;
}

static int64_t longest_window(const struct score_plan *plan)
{
    int64_t longest = 0;
    for (int64_t w = 0; w < plan->num_windows; w++)
        if (plan->windows[w].length > longest)
            longest = plan->windows[w].length;
    return longest;
}

/* The next source: a session with its own context, so that its routes are counted apart. */
static assay_status add_session(struct bench *bench, assay_trade_set trades, bool planted,
                                struct assay_error *error)
{
    const struct quality_options *options = bench->options;
    const struct score_setting setting = {.trades = trades,
                                          .path = options->path,
                                          .width = options->width,
                                          .num_lanes = options->num_lanes};
    const int i = bench->result->num_sources++;
    char name[200];
    assay_trade_set_format(trades, name, sizeof name);
    snprintf(bench->result->source[i].name, sizeof bench->result->source[i].name, "%.180s%s%.64s",
             name, planted && options->plant != NULL ? " with " : "",
             planted && options->plant != NULL ? options->plant : "");
    TRY(open_context(bench, planted, &bench->context[i], error));
    return score_source_open(bench->context[i], bench->model, &setting,
                             longest_window(&bench->result->plan), &bench->source[i], error);
}

static assay_status add_oracle(struct bench *bench, struct assay_error *error)
{
    char message[256] = "";
    const int i = bench->result->num_sources++;
    snprintf(bench->result->source[i].name, sizeof bench->result->source[i].name, "oracle");
    const assay_status status =
        oracle_model_open(bench->options->model_dir, &bench->oracle, message, sizeof message);
    if (status != ASSAY_OK)
        return assay_fail(error, status, "quality", "oracle",
                          "%s; the oracle reads models in folders of safetensors", message);
    /* The setting's context says how many threads there are. */
    const assay_context *any = bench->context[bench->result->setting];
    const int num_lanes = bench->source[bench->result->setting].setting.num_lanes;
    return score_source_oracle(bench->oracle, any != NULL ? assay_context_num_threads(any) : 1,
                               num_lanes, &bench->source[i], error);
}

static void add_pair(struct score_table *table, int base, int other)
{
    table->pair[table->num_pairs++] = (struct score_pair){.base = base, .other = other};
}

static assay_status open_sources(struct bench *bench, struct assay_error *error)
{
    const struct quality_options *options = bench->options;
    if (options->against == QUALITY_SETTING)
        TRY(add_session(bench, options->against_trades, false, error));
    bench->result->setting = bench->result->num_sources;
    TRY(add_session(bench, options->trades, true, error));
    if (options->against == QUALITY_SETTING)
        add_pair(&bench->table, 0, 1);
    if (options->against != QUALITY_ORACLE && !options->oracle)
        return ASSAY_OK;
    TRY(add_oracle(bench, error));
    const int oracle = bench->result->num_sources - 1;
    for (int s = 0; s < oracle; s++)
        add_pair(&bench->table, oracle, s);
    return ASSAY_OK;
}

static void close_bench(struct bench *bench)
{
    for (int i = 0; i < FLOOR_SOURCES; i++)
        score_source_close(&bench->floor[i]);
    for (int i = 0; i < SCORE_MAX_SOURCES; i++) {
        score_source_close(&bench->source[i]);
        assay_context_destroy(bench->context[i]);
    }
    if (bench->planted != NULL)
        assay_route_remove(&bench->planted->route);
    score_table_free(&bench->table);
    score_table_free(&bench->floor_table);
    oracle_model_close(bench->oracle);
    assay_model_close(bench->model);
}

/* ---- routes --------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void count_route(const struct bench *bench, const char *name)
{
    struct quality_result *result = bench->result;
    struct quality_route route = {.name = name};
    uint64_t all = 0;
    for (int s = 0; s < result->num_sources; s++) {
        if (bench->context[s] == NULL)
            continue;
        route.count[s] = assay_context_route_count(bench->context[s], name);
        all += route.count[s];
        if (begins(name, "gdn_chunked."))
            result->source[s].chunked += route.count[s];
        if (begins(name, "gdn_recurrent."))
            result->source[s].recurrent += route.count[s];
    }
    if (all > 0 && result->num_routes < QUALITY_MAX_ROUTES)
        result->routes[result->num_routes++] = route;
}

/* Runs in source s of the routes that the trade changes. */
static uint64_t trade_runs(const struct quality_result *result, int s, enum assay_trade trade)
{
    uint64_t count = 0;
    for (const char *const *prefix = assay_trade_coverage_routes(trade); *prefix != NULL; prefix++)
        for (int r = 0; r < result->num_routes; r++)
            if (begins(result->routes[r].name, *prefix))
                count += result->routes[r].count[s];
    return count;
}

static void require(struct quality_result *result, uint64_t count)
{
    result->coverage =
        !result->needs_coverage || count < result->coverage ? count : result->coverage;
    result->needs_coverage = true;
}

/* What differs between the two settings must have run: the planted route, which stands in for the
 * routes that it replaces, else those of every trade that one of the two has, on either side (a
 * trade may also switch a route off). */
static void count_coverage(const struct bench *bench)
{
    const struct quality_options *options = bench->options;
    struct quality_result *result = bench->result;
    const int setting = result->setting;
    const assay_trade_set base = options->against == QUALITY_SETTING ? options->against_trades : 0;
    if (bench->planted != NULL) {
        uint64_t count = 0;
        for (int r = 0; r < result->num_routes; r++)
            if (strcmp(result->routes[r].name, bench->planted->route.name) == 0)
                count = result->routes[r].count[setting];
        require(result, count);
        return;
    }
    for (unsigned i = 0; i < ASSAY_NUM_TRADES; i++) {
        if ((options->trades >> i & 1u) == (base >> i & 1u))
            continue;
        const uint64_t runs = trade_runs(result, setting, (enum assay_trade)i);
        const uint64_t base_runs = trade_runs(result, 0, (enum assay_trade)i);
        require(result, runs > base_runs ? runs : base_runs);
    }
}

static void count_routes(const struct bench *bench)
{
    struct quality_result *result = bench->result;
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    for (int i = 0; i < num_ops; i++)
        for (int r = 0; r < assay_op_num_routes(ops[i]); r++)
            count_route(bench, assay_op_route(ops[i], r)->name);
    for (int s = 0; s < result->num_sources; s++) {
        result->source[s].width = bench->source[s].width;
        result->source[s].passes = bench->source[s].passes;
        result->source[s].full_passes = bench->source[s].full_passes;
    }
    count_coverage(bench);
}

/* ---- scoring -------------------------------------------------------------------------------- */

static bool on_tokens(void *user, int64_t done, int64_t total)
{
    const struct bench *bench = user;
    const struct quality_options *options = bench->options;
    return options->progress == NULL || options->progress(options->user, bench->what, done, total);
}

static assay_status run(struct bench *bench, const char *what, struct score_source *sources,
                        int num_sources, const struct score_plan *plan, struct score_table *table,
                        struct assay_error *error)
{
    struct score_source *list[SCORE_MAX_SOURCES];
    for (int i = 0; i < num_sources; i++)
        list[i] = &sources[i];
    bench->what = what;
    return score_run(list, num_sources, bench->result->texts, plan, on_tokens, bench, table, error);
}

static assay_status compare(struct bench *bench, struct assay_error *error)
{
    struct quality_result *result = bench->result;
    const struct quality_options *options = bench->options;
    for (int p = 0; p < bench->table.num_pairs; p++) {
        TRY(quality_summarise(&result->plan, &bench->table, p, options->block, options->seed,
                              &result->change[p], error));
        result->num_changes++;
    }
    return ASSAY_OK;
}

/* Another size of pass that takes the same path where there is one. */
static struct score_setting other_passes(const struct score_setting *setting)
{
    struct score_setting other = *setting;
    if (setting->path == SCORE_LANES) {
        const int64_t more = setting->width + 1;
        if (setting->width > 1)
            other.width = setting->width - 1;
        else if (more * setting->num_lanes <= SCORE_LARGEST_WIDTH)
            other.width = more;
        else
            other.path = SCORE_DECODE; /* each lane alone */
    } else if (setting->path == SCORE_PREFILL) {
        other.width = setting->width > 4 ? setting->width * 3 / 4 : setting->width + 1;
    } else {
        other.path = SCORE_WIDTH;
        other.width = setting->width > 2 ? setting->width - 1 : setting->width + 1;
    }
    return other;
}

/* What the tool itself adds: the base again, and the base in other passes, on part of the texts.
 * Its sessions share the base's context and so, on a device, its copy of the weights. */
static assay_status measure_floor(struct bench *bench, const struct score_plan *plan,
                                  struct assay_error *error)
{
    const struct quality_options *options = bench->options;
    struct quality_result *result = bench->result;
    /* The base is source 0, also where that is compared with the oracle. */
    const struct score_setting same = bench->source[0].setting, other = other_passes(&same);
    for (int i = 0; i < FLOOR_SOURCES; i++)
        TRY(score_source_open(bench->context[0], bench->model, i < 2 ? &same : &other,
                              longest_window(plan), &bench->floor[i], error));
    add_pair(&bench->floor_table, 0, 1);
    add_pair(&bench->floor_table, 0, 2);
    TRY(run(bench, "floor", bench->floor, FLOOR_SOURCES, plan, &bench->floor_table, error));
    TRY(quality_summarise(plan, &bench->floor_table, 0, options->block, options->seed,
                          &result->floor_self, error));
    TRY(quality_summarise(plan, &bench->floor_table, 1, options->block, options->seed,
                          &result->floor_width_change, error));
    result->floor_tokens = plan->num_tokens;
    result->floor_width[0] = bench->floor[0].width;
    result->floor_width[1] = bench->floor[2].width;
    result->has_floor = true;
    return ASSAY_OK;
}

static assay_status take_floor(struct bench *bench, struct assay_error *error)
{
    const struct quality_options *options = bench->options;
    struct quality_result *result = bench->result;
    struct score_plan plan;
    const int64_t share = options->tokens / FLOOR_SHARE + 1;
    const int64_t limit = options->tokens > 0 && share < FLOOR_TOKENS ? share : FLOOR_TOKENS;
    if (result->num_changes == 0)
        return ASSAY_OK;
    assay_status status = score_plan_make(result->texts, result->num_texts, result->context,
                                          result->stride, limit, &plan, error);
    if (status == ASSAY_OK)
        status = measure_floor(bench, &plan, error);
    score_plan_free(&plan);
    return status;
}

static assay_status measure(struct bench *bench, struct assay_error *error)
{
    const struct quality_options *options = bench->options;
    struct quality_result *result = bench->result;
    TRY(assay_model_open(options->model_dir, &bench->model, error));
    TRY(quality_read_texts(options, result, error));
    const int64_t positions = assay_model_config(bench->model)->max_positions;
    if (options->context > positions)
        return assay_fail(error, ASSAY_E_USAGE, "quality", "--context",
                          "is %lld, the model has %lld positions", (long long)options->context,
                          (long long)positions);
    result->context = options->context;
    result->stride = options->stride;
    TRY(score_plan_make(result->texts, result->num_texts, options->context, options->stride,
                        options->tokens, &result->plan, error));
    TRY(plant(bench, error));
    TRY(open_sources(bench, error));
    TRY(run(bench, "held-out text", bench->source, result->num_sources, &result->plan,
            &bench->table, error));
    count_routes(bench);
    TRY(quality_losses(&bench->table, result, error));
    TRY(compare(bench, error));
    TRY(take_floor(bench, error));
    quality_judge(options, result);
    return ASSAY_OK;
}

assay_status quality_measure(const struct quality_options *options, struct quality_result *result,
                             struct assay_error *error)
{
    struct bench bench = {.options = options, .result = result};
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const assay_status status = measure(&bench, error);
    close_bench(&bench);
    clock_gettime(CLOCK_MONOTONIC, &end);
    result->seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    return status;
}

void quality_result_free(struct quality_result *result)
{
    for (int i = 0; i < result->num_texts; i++)
        assay_tokens_free(result->texts[i].ids);
    free(result->texts);
    free(result->windows);
    free(result->streams);
    free(result->domains);
    score_plan_free(&result->plan);
}
