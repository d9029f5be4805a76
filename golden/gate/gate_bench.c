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

bool gate_bench_changes(const struct gate_bench *bench, const char *route)
{
    const char *const *prefix = assay_trade_coverage_routes(bench->options->trade);
    for (; *prefix != NULL; prefix++)
        if (strncmp(route, *prefix, strlen(*prefix)) == 0)
            return true;
    return bench->planted != NULL && strcmp(route, bench->planted->route.name) == 0;
}

uint64_t gate_bench_coverage(const struct gate_bench *bench, const assay_context *context)
{
    uint64_t count = 0;
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    for (int i = 0; i < num_ops; i++)
        for (int r = 0; r < assay_op_num_routes(ops[i]); r++) {
            const char *route = assay_op_route(ops[i], r)->name;
            if (gate_bench_changes(bench, route))
                count += assay_context_route_count(context, route);
        }
    return count;
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
