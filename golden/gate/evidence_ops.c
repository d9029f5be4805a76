/* SPDX-License-Identifier: MIT
 *
 * Evidence op-verdicts: the cases of every route that the trade changes and this machine can run,
 * each against the FP64 oracle. A planted route is swept in place of the routes of its op.
 */
#include "gate_bench.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "verify.h"

enum { MAX_WORKERS = 64 };

struct sweep {
    const struct gate_bench *bench;
    struct case_list list;
    pthread_mutex_t mutex; /* of all that follows */
    int64_t next, done, cases, failures, refused, not_run;
    double bound_ratio, l2_ratio;
    uint64_t coverage[ASSAY_NUM_TRADES];
    bool stopped;
    char first[512]; /* the first failing case */
    struct assay_error error;
    assay_status status;
};

static bool sweep_route(const struct gate_bench *bench, const struct assay_op *op,
                        const struct assay_route *route)
{
    const struct case_mutant *planted = bench->planted;
    if (route->backend != bench->options->backend || route->isa > assay_isa_detect() ||
        !gate_bench_changes(bench, route->name))
        return false;
    if (planted != NULL && assay_route_find(planted->route.name, NULL) != NULL) {
        const struct assay_op *planted_op = NULL;
        (void)assay_route_find(planted->route.name, &planted_op);
        if (planted_op == op)
            return strcmp(route->name, planted->route.name) == 0;
    }
    return true;
}

static bool enumerate(struct sweep *sweep)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int i = 0; i < num_specs; i++)
        for (int r = 0; r < assay_op_num_routes(specs[i]->op); r++) {
            const struct assay_route *route = assay_op_route(specs[i]->op, r);
            if (sweep_route(sweep->bench, specs[i]->op, route) &&
                !case_enumerate_route(specs[i], route, sweep->bench->options->seed, CASE_QUICK,
                                      &sweep->list))
                return false;
        }
    return true;
}

/* The route's row; NULL when there is no room for it. */
static struct gate_route *row_of(struct gate_result *result, const char *route)
{
    int i = 0;
    while (i < result->num_routes && strcmp(result->route[i].name, route) != 0)
        i++;
    if (i == GATE_MAX_ROUTES)
        return NULL;
    if (i == result->num_routes) {
        result->num_routes++;
        result->route[i] = (struct gate_route){.cases = 0};
        snprintf(result->route[i].name, sizeof result->route[i].name, "%s", route);
    }
    return &result->route[i];
}

static void add(struct sweep *sweep, const struct verify_outcome *outcome)
{
    const struct verdict *verdict = &outcome->verdict;
    if (outcome->refused) {
        sweep->refused++;
        return;
    }
    if (verdict->finding == VERDICT_NOT_RUN) {
        sweep->not_run++;
        return;
    }
    const double l2_share =
        verdict->allowance > 0.0 ? verdict->relative_l2 / verdict->allowance : 0.0;
    struct gate_route *row = row_of(sweep->bench->result, outcome->route);
    if (row != NULL) {
        row->cases++;
        row->failures += verdict->finding != VERDICT_PASS;
        row->bound_share = fmax(row->bound_share, verdict->worst_ratio);
        row->l2_share = fmax(row->l2_share, l2_share);
    }
    sweep->cases++;
    sweep->bound_ratio = fmax(sweep->bound_ratio, verdict->worst_ratio);
    sweep->l2_ratio = fmax(sweep->l2_ratio, l2_share);
    if (verdict->finding == VERDICT_PASS)
        return;
    if (sweep->failures++ == 0) {
        char text[CASE_TEXT_BYTES];
        case_print(&outcome->c, text);
        snprintf(sweep->first, sizeof sweep->first, "%s: %.100s; repeat: assay verify '%.300s'",
                 verdict_finding_name(verdict->finding), verdict->message, text);
    }
}

/* Takes cases until there are no more; false when told to stop. */
static void work(struct sweep *sweep, assay_context *context)
{
    pthread_mutex_lock(&sweep->mutex);
    while (!sweep->stopped && sweep->next < sweep->list.num_cases) {
        const struct assay_case *c = &sweep->list.cases[sweep->next++];
        pthread_mutex_unlock(&sweep->mutex);
        struct verify_outcome outcome;
        verify_case(context, c, &outcome);
        pthread_mutex_lock(&sweep->mutex);
        add(sweep, &outcome);
        sweep->done++;
        sweep->status = gate_bench_progress(sweep->bench, "op verdicts", sweep->done,
                                            sweep->list.num_cases, &sweep->error);
        sweep->stopped = sweep->stopped || sweep->status != ASSAY_OK;
    }
    for (int t = 0; t < ASSAY_NUM_TRADES; t++)
        sweep->coverage[t] += gate_bench_trade_coverage(sweep->bench, context, (enum assay_trade)t);
    pthread_mutex_unlock(&sweep->mutex);
}

static void *worker(void *argument)
{
    struct sweep *sweep = argument;
    struct assay_context_options options = assay_context_defaults();
    options.backend = sweep->bench->options->backend;
    options.device = sweep->bench->options->device;
    assay_context *context;
    /* A worker that cannot start leaves its share to the others. */
    if (assay_context_create(&options, &context, NULL) == ASSAY_OK) {
        work(sweep, context);
        assay_context_destroy(context);
    }
    return NULL;
}

static void run(struct sweep *sweep, int num_workers)
{
    pthread_t threads[MAX_WORKERS];
    int started = 0;
    while (started < num_workers - 1 && started < MAX_WORKERS &&
           pthread_create(&threads[started], NULL, worker, sweep) == 0)
        started++;
    worker(sweep);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

assay_status gate_collect_ops(struct gate_bench *bench, struct assay_error *error)
{
    struct gate_result *result = bench->result;
    struct sweep sweep = {.bench = bench, .mutex = PTHREAD_MUTEX_INITIALIZER};
    if (!enumerate(&sweep)) {
        case_list_free(&sweep.list);
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "op-verdicts", "no memory for the cases");
    }
    run(&sweep, result->threads);
    const int64_t num_cases = sweep.list.num_cases;
    case_list_free(&sweep.list);
    if (sweep.stopped) {
        *error = sweep.error;
        return error->status;
    }
    if (sweep.done < num_cases)
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "op-verdicts",
                          "no context: %lld of %lld cases ran", (long long)sweep.done,
                          (long long)num_cases);
    struct gate_item *item = &result->item[GATE_OPS];
    item->coverage = gate_bench_fewest(bench, GATE_OPS, sweep.coverage);
    /* Cases without memory decide nothing, and without them the evidence is not whole. */
    item->taken = sweep.not_run > 0 && sweep.failures == 0 ? GATE_NOT_TAKEN : GATE_TAKEN;
    if (item->taken == GATE_NOT_TAKEN)
        snprintf(item->note, sizeof item->note,
                 "%lld of %lld cases found no memory: repeat it with nothing beside",
                 (long long)sweep.not_run, (long long)num_cases);
    else if (sweep.failures > 0)
        snprintf(item->note, sizeof item->note, "%s", sweep.first);
    else
        snprintf(item->note, sizeof item->note,
                 "worst element uses %.0f %% of its bound, worst case %.0f %% of its allowance",
                 100.0 * sweep.bound_ratio, 100.0 * sweep.l2_ratio);
    result->measured[GATE_LIMIT_OPS_CASES] = (double)sweep.cases;
    result->measured[GATE_LIMIT_OPS_FAILURES] = (double)sweep.failures;
    result->worst_bound_ratio = sweep.bound_ratio;
    result->worst_l2_ratio = sweep.l2_ratio;
    return ASSAY_OK;
}
