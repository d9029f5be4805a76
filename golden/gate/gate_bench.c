/* SPDX-License-Identifier: MIT
 *
 * Opens what the collectors need, counts coverage.
 */
#include "gate_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the planted route ---------------------------------------------------------------------- */

const struct case_mutant *gate_find_mutant(const char *route)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int i = 0; i < num_specs; i++)
        for (int m = 0; m < specs[i]->num_mutants; m++)
            if (strcmp(specs[i]->mutants[m].route.name, route) == 0)
                return &specs[i]->mutants[m];
    return NULL;
}

static assay_status plant(struct gate_bench *bench, struct assay_error *error)
{
    const char *route = bench->options->plant;
    if (route == NULL)
        return ASSAY_OK;
    const struct case_mutant *mutant = gate_find_mutant(route);
    if (mutant == NULL)
        return assay_fail(error, ASSAY_E_ROUTE_UNKNOWN, "gate", "--plant",
                          "there is no mutant \"%.64s\"; assay mutants lists them", route);
    TRY(assay_route_add(&mutant->route, error));
    bench->planted = mutant;
    snprintf(bench->result->plant, sizeof bench->result->plant, "%s", route);
    return ASSAY_OK;
}

assay_status gate_bench_context(const struct gate_bench *bench, int num_threads,
                                assay_context **context, struct assay_error *error)
{
    struct assay_context_options options = assay_context_defaults();
    options.num_threads = num_threads;
    options.backend = bench->options->backend;
    options.device = bench->options->device;
    TRY(assay_context_create(&options, context, error));
    if (bench->planted == NULL)
        return ASSAY_OK;
    const assay_status status = assay_context_force_route(*context, bench->planted->route.name);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    assay_fail(error, status, "gate", "--plant", "%s", assay_context_error(*context)->message);
    assay_context_destroy(*context);
    *context = NULL;
    return status;
}

/* ---- opening -------------------------------------------------------------------------------- */

assay_status gate_bench_open(const struct gate_options *options, struct gate_result *result,
                             struct gate_bench *bench, struct assay_error *error)
{
    struct assay_context_options plain = assay_context_defaults();
    plain.num_threads = options->threads;
    plain.backend = options->backend;
    plain.device = options->device;
    *bench = (struct gate_bench){.options = options, .result = result};
    assay_trade_set_compared(options->trades, &bench->trades_without, &bench->trades_with);
    TRY(assay_model_open(options->model_dir, &bench->model, error));
    TRY(assay_tokenizer_open(options->model_dir, &bench->tokenizer, error));
    const int64_t tokens = assay_tokenizer_size(bench->tokenizer);
    bench->vocab = assay_model_config(bench->model)->vocab_size;
    bench->addressable = tokens < bench->vocab ? tokens : bench->vocab;
    TRY(assay_context_create(&plain, &bench->without, error));
    TRY(plant(bench, error));
    return gate_bench_context(bench, options->threads, &bench->with, error);
}

void gate_bench_close(struct gate_bench *bench)
{
    assay_context_destroy(bench->with);
    assay_context_destroy(bench->without);
    if (bench->planted != NULL)
        assay_route_remove(&bench->planted->route);
    assay_tokenizer_close(bench->tokenizer);
    assay_model_close(bench->model);
}

/* ---- coverage and progress ------------------------------------------------------------------ */

static bool is_planted(const struct gate_bench *bench, const char *route)
{
    return bench->planted != NULL && strcmp(route, bench->planted->route.name) == 0;
}

static bool changes(const struct gate_bench *bench, const char *route, enum assay_trade trade)
{
    const char *const *prefix = assay_trade_coverage_routes(trade);
    for (; *prefix != NULL; prefix++)
        if (strncmp(route, *prefix, strlen(*prefix)) == 0)
            return true;
    return is_planted(bench, route);
}

bool gate_bench_changes(const struct gate_bench *bench, const char *route)
{
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++)
        if ((bench->options->trades >> t & 1u) != 0 && changes(bench, route, (enum assay_trade)t))
            return true;
    return false;
}

uint64_t gate_bench_trade_coverage(const struct gate_bench *bench, const assay_context *context,
                                   enum assay_trade trade)
{
    uint64_t count = 0;
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    for (int i = 0; i < num_ops; i++)
        for (int r = 0; r < assay_op_num_routes(ops[i]); r++) {
            const char *route = assay_op_route(ops[i], r)->name;
            if (changes(bench, route, trade))
                count += assay_context_route_count(context, route);
        }
    return count;
}

/* The trades that need the evidence; all where the policy of the set asks for it of its own. */
static assay_trade_set needing(const struct gate_bench *bench, enum gate_evidence evidence)
{
    const assay_trade_set members = bench->result->policy.members[evidence];
    return members != 0 ? members : bench->options->trades;
}

uint64_t gate_bench_fewest(const struct gate_bench *bench, enum gate_evidence evidence,
                           const uint64_t counts[ASSAY_NUM_TRADES])
{
    const assay_trade_set trades = needing(bench, evidence);
    uint64_t least = UINT64_MAX;
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++)
        if ((trades >> t & 1u) != 0 && counts[t] < least)
            least = counts[t];
    return least == UINT64_MAX ? 0 : least;
}

void gate_bench_coverage_begin(struct gate_bench *bench)
{
    assay_context_reset_counts(bench->without);
    assay_context_reset_counts(bench->with);
}

void gate_bench_coverage_add(const struct gate_bench *bench, const assay_context *context,
                             uint64_t counts[ASSAY_NUM_TRADES])
{
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++)
        if ((bench->options->trades >> t & 1u) != 0)
            counts[t] += gate_bench_trade_coverage(bench, context, (enum assay_trade)t);
}

uint64_t gate_bench_extra(const struct gate_bench *bench, enum gate_evidence evidence,
                          const uint64_t without[ASSAY_NUM_TRADES],
                          const uint64_t with[ASSAY_NUM_TRADES])
{
    uint64_t extra[ASSAY_NUM_TRADES];
    for (unsigned t = 0; t < ASSAY_NUM_TRADES; t++)
        extra[t] = with[t] > without[t] ? with[t] - without[t] : 0;
    return gate_bench_fewest(bench, evidence, extra);
}

uint64_t gate_bench_extra_coverage(const struct gate_bench *bench, enum gate_evidence evidence)
{
    uint64_t without[ASSAY_NUM_TRADES] = {0}, with[ASSAY_NUM_TRADES] = {0};
    gate_bench_coverage_add(bench, bench->without, without);
    gate_bench_coverage_add(bench, bench->with, with);
    return gate_bench_extra(bench, evidence, without, with);
}

assay_status gate_bench_progress(const struct gate_bench *bench, const char *what, int64_t done,
                                 int64_t total, struct assay_error *error)
{
    const struct gate_options *options = bench->options;
    if (options->progress == NULL || options->progress(options->user, what, done, total))
        return ASSAY_OK;
    return assay_fail(error, ASSAY_E_CANCELLED, "gate", what,
                      "stopped before a verdict: nothing was recorded");
}
