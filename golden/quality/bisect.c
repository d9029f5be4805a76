/* SPDX-License-Identifier: MIT
 *
 * Runs two sessions pass by pass and holds their op calls against the oracle and each other.
 */
#include "bisect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/device.h>
#include <assay/route.h>
#include <assay/tokenizer.h>

#include "case.h"
#include "gate.h"
#include "gate_bench.h"
#include "gate_try.h"
#include "verdict.h"
#include "words.h"

enum { FORMATS = 512 };

/* One output as it was written, and as the oracle would have it. */
struct kept {
    char name[16];
    int64_t count;
    double *actual, *reference;
    struct verdict verdict;
};

struct call {
    char op[32], tensor[128], formats[FORMATS];
    const char *route;
    int num_outputs;
    struct kept outputs[ORACLE_MAX_OUTPUTS];
};

struct place {
    const void *data;
    const char *name;
};

struct side {
    struct bisect_run *run;
    assay_context *context;
    const struct case_mutant *planted;
    struct score_source source;
    struct call *calls; /* of the newest pass */
    int64_t num_calls, capacity;
    struct oracle_output pending[ORACLE_MAX_OUTPUTS];
    bool evaluated;
    char tensor[128];    /* the newest */
    assay_status status; /* of the observer */
};

struct bisect_run {
    const struct bisect_options *options;
    struct bisect_result *result;
    assay_model *model;
    struct place *places; /* by address */
    int64_t num_places;
    int32_t *ids;
    int64_t num_ids;
    struct side side[2];
};

const char *bisect_kind_name(enum bisect_kind kind)
{
    static const char *const names[] = {"same", "FAULT A", "FAULT B", "ACTS"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

/* ---- the model's tensors -------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->data > y->data) - (x->data < y->data);
}

static assay_status find_places(struct bisect_run *run, struct assay_error *error)
{
    const int64_t count = assay_model_num_tensors(run->model);
    run->places = calloc((size_t)count, sizeof *run->places);
    if (run->places == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "bisect", "tensors", "no memory");
    for (int64_t i = 0; i < count; i++) {
        struct assay_weights weights;
        const char *name;
        struct assay_tensor tensor = assay_model_tensor_at(run->model, i, &name);
        if (tensor.data == NULL && assay_model_weights(run->model, name, &weights))
            tensor.data = weights.base.data;
        if (tensor.data != NULL)
            run->places[run->num_places++] = (struct place){tensor.data, name};
    }
    qsort(run->places, (size_t)run->num_places, sizeof *run->places, by_address);
    return ASSAY_OK;
}

static const struct assay_tensor *view(const void *args, const struct assay_argument *argument)
{
    return (const struct assay_tensor *)((const char *)args + argument->offset);
}

/* Names the place: calls without a tensor of the model follow one that has. */
static void note_place(struct side *side, const struct assay_op *op, const void *args)
{
    const struct bisect_run *run = side->run;
    for (const struct assay_argument *a = op->arguments; a->name != NULL; a++) {
        const struct place key = {view(args, a)->data, NULL};
        const struct place *found = key.data == NULL
                                        ? NULL
                                        : bsearch(&key, run->places, (size_t)run->num_places,
                                                  sizeof *run->places, by_address);
        if (found != NULL)
            snprintf(side->tensor, sizeof side->tensor, "%s", found->name);
    }
}

static void describe_formats(const struct assay_op *op, const void *args, char *text)
{
    size_t used = (size_t)snprintf(text, FORMATS, "%s", op->name);
    for (const struct assay_argument *a = op->arguments; a->name != NULL; a++) {
        const struct assay_tensor *tensor = view(args, a);
        if (tensor->data == NULL)
            continue;
        used += (size_t)snprintf(text + used, used < FORMATS ? FORMATS - used : 0, " %s:%s",
                                 a->name, assay_dtype_name(tensor->dtype));
        used = used < FORMATS ? used : FORMATS - 1;
    }
}

/* ---- watching calls ------------------------------------------------------------------------- */

static void free_call(struct call *call)
{
    for (int k = 0; k < call->num_outputs; k++) {
        free(call->outputs[k].actual);
        free(call->outputs[k].reference);
    }
}

static void clear_calls(struct side *side)
{
    for (int64_t i = 0; i < side->num_calls; i++)
        free_call(&side->calls[i]);
    side->num_calls = 0;
}

static void drop_pending(struct side *side)
{
    for (int k = 0; k < ORACLE_MAX_OUTPUTS; k++)
        oracle_output_destroy(&side->pending[k]);
    side->evaluated = false;
}

static const struct assay_tensor *output_view(const struct assay_op *op, const void *args,
                                              const char *name)
{
    for (const struct assay_argument *a = op->arguments; a->name != NULL; a++)
        if (strcmp(a->name, name) == 0)
            return view(args, a);
    return NULL;
}

/* Before the call, since many calls write where they read. */
static assay_status expect(struct side *side, const struct assay_op *op,
                           const struct assay_route *route, const void *args)
{
    const struct oracle_op *oracle = oracle_find(op->name);
    const struct oracle_route facts = {route->profile, route->depth};
    bool used_mpfr;
    if (oracle == NULL)
        return ASSAY_OK;
    for (int k = 0; k < oracle->num_outputs; k++) {
        const struct assay_tensor *tensor = output_view(op, args, oracle->outputs[k]);
        if (tensor == NULL || tensor->data == NULL)
            return ASSAY_OK;
        if (!oracle_output_create(&side->pending[k], oracle->outputs[k], tensor->dtype,
                                  assay_tensor_count(tensor)))
            return ASSAY_E_MEMORY;
    }
    TRY(oracle_evaluate(oracle, args, &facts, side->pending, &used_mpfr));
    side->evaluated = true;
    return ASSAY_OK;
}

static struct call *new_call(struct side *side)
{
    if (side->num_calls == side->capacity) {
        const int64_t capacity = side->capacity * 2 + 64;
        struct call *calls = realloc(side->calls, (size_t)capacity * sizeof *calls);
        if (calls == NULL)
            return NULL;
        side->calls = calls;
        side->capacity = capacity;
    }
    side->calls[side->num_calls] = (struct call){.num_outputs = 0};
    return &side->calls[side->num_calls++];
}

static assay_status keep(struct side *side, const struct assay_op *op,
                         const struct assay_route *route, const void *args)
{
    const struct oracle_op *oracle = oracle_find(op->name);
    struct call *call = new_call(side);
    if (call == NULL)
        return ASSAY_E_MEMORY;
    snprintf(call->op, sizeof call->op, "%s", op->name);
    snprintf(call->tensor, sizeof call->tensor, "%s", side->tensor);
    describe_formats(op, args, call->formats);
    call->route = route->name;
    if (!side->evaluated)
        return ASSAY_OK;
    const double ceiling = oracle->ceiling != NULL ? oracle->ceiling(args, route->profile) : 1;
    for (int k = 0; k < oracle->num_outputs; k++) {
        const struct assay_tensor *tensor = output_view(op, args, oracle->outputs[k]);
        struct oracle_output *pending = &side->pending[k];
        struct kept *kept = &call->outputs[call->num_outputs++];
        verdict_compare(tensor, pending, ceiling, false, &kept->verdict);
        snprintf(kept->name, sizeof kept->name, "%s", oracle->outputs[k]);
        kept->count = pending->count;
        kept->actual = oracle_get_all(tensor);
        kept->reference = pending->value;
        pending->value = NULL; /* now the call's */
        if (kept->actual == NULL)
            return ASSAY_E_MEMORY;
    }
    return ASSAY_OK;
}

static void observe(void *user, const struct assay_op *op, const struct assay_route *route,
                    const void *args, bool is_after)
{
    struct side *side = user;
    if (side->status != ASSAY_OK)
        return;
    if (!is_after) {
        note_place(side, op, args);
        side->status = expect(side, op, route, args);
        return;
    }
    side->status = keep(side, op, route, args);
    drop_pending(side);
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* |a - b|_2 / |a|_2; a NaN on one side only is infinite. */
static double relative(const double *a, const double *b, int64_t count)
{
    double difference = 0.0, size = 0.0;
    for (int64_t i = 0; i < count; i++) {
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i])))
            continue;
        difference += (a[i] - b[i]) * (a[i] - b[i]);
    }
    for (int64_t i = 0; i < count; i++)
        size += isfinite(a[i]) ? a[i] * a[i] : 0.0;
    if (isnan(difference))
        return INFINITY;
    return difference == 0.0 ? 0.0 : sqrt(difference / size);
}

static enum bisect_kind judge(const struct bisect_output *o, const struct kept *const kept[2])
{
    if (kept[0]->verdict.finding != VERDICT_PASS)
        return BISECT_FAULT_A;
    if (kept[1]->verdict.finding != VERDICT_PASS)
        return BISECT_FAULT_B;
    if (!o->same_formats && o->difference > o->allowance[0] + o->allowance[1])
        return BISECT_ACTS;
    return BISECT_SAME;
}

/* True: go on. */
static bool compare_output(struct bisect_run *run, int64_t pass, int64_t number, int k)
{
    const struct call *calls[2] = {&run->side[0].calls[number], &run->side[1].calls[number]};
    const struct kept *kept[2] = {&calls[0]->outputs[k], &calls[1]->outputs[k]};
    struct bisect_result *result = run->result;
    struct bisect_output o = {.pass = pass, .call = number};
    snprintf(o.tensor, sizeof o.tensor, "%s", calls[1]->tensor);
    snprintf(o.output, sizeof o.output, "%s", kept[1]->name);
    o.same_formats = strcmp(calls[0]->formats, calls[1]->formats) == 0;
    o.difference = relative(kept[0]->actual, kept[1]->actual, kept[0]->count);
    o.passed_on = relative(kept[0]->reference, kept[1]->reference, kept[0]->count);
    for (int s = 0; s < 2; s++) {
        snprintf(o.op[s], sizeof o.op[s], "%s", calls[s]->op);
        o.route[s] = calls[s]->route;
        o.error[s] = kept[s]->verdict.relative_l2;
        o.allowance[s] = kept[s]->verdict.allowance;
    }
    o.kind = judge(&o, kept);
    if (o.kind == BISECT_FAULT_A || o.kind == BISECT_FAULT_B)
        snprintf(o.message, sizeof o.message, "%.255s",
                 kept[o.kind == BISECT_FAULT_B]->verdict.message);
    result->outputs++;
    if (o.kind != BISECT_SAME && !result->parts) {
        result->parts = true;
        result->first = o;
    }
    return run->options->output == NULL || run->options->output(run->options->user, &o);
}

static bool compare_pass(struct bisect_run *run, int64_t pass)
{
    const struct side *a = &run->side[0], *b = &run->side[1];
    struct bisect_result *result = run->result;
    for (int64_t i = 0; i < a->num_calls && i < b->num_calls; i++) {
        const struct call *x = &a->calls[i], *y = &b->calls[i];
        bool same = x->num_outputs == y->num_outputs;
        for (int k = 0; k < x->num_outputs && same; k++)
            same = x->outputs[k].count == y->outputs[k].count;
        result->other_calls = result->other_calls || !same;
        if (!same)
            return false;
        result->calls++;
        result->without_oracle += x->num_outputs == 0;
        for (int k = 0; k < x->num_outputs; k++)
            if (!compare_output(run, pass, i, k))
                return false;
    }
    result->other_calls = result->other_calls || a->num_calls != b->num_calls;
    return !result->other_calls;
}

/* ---- running -------------------------------------------------------------------------------- */

static assay_status open_side(struct bisect_run *run, int number, struct assay_error *error)
{
    const struct bisect_options *options = run->options;
    const struct bisect_side *asked = &options->side[number];
    struct side *side = &run->side[number];
    struct assay_context_options context = assay_context_defaults();
    const struct score_setting setting = {
        .trades = asked->trades, .path = options->path, .width = options->width};
    side->run = run;
    context.backend = options->backend;
    context.num_threads = options->threads;
    TRY(assay_context_create(&context, &side->context, error));
    if (asked->route != NULL) {
        const struct case_mutant *mutant = gate_find_mutant(asked->route);
        const bool there = number == 1 && mutant != NULL && mutant == run->side[0].planted;
        if (mutant != NULL && !there) {
            TRY(assay_route_add(&mutant->route, error));
            side->planted = mutant;
        }
        if (assay_context_force_route(side->context, asked->route) != ASSAY_OK)
            return assay_fail(error, ASSAY_E_ROUTE_UNKNOWN, "bisect", "route",
                              "there is no route and no mutant \"%.64s\"; assay ops and assay "
                              "mutants list them",
                              asked->route);
    }
    TRY(score_source_open(side->context, run->model, &setting, run->num_ids, &side->source, error));
    assay_context_observe(side->context, observe, side);
    return ASSAY_OK;
}

static void close_side(struct side *side)
{
    score_source_close(&side->source);
    assay_context_destroy(side->context);
    if (side->planted != NULL)
        assay_route_remove(&side->planted->route);
    clear_calls(side);
    drop_pending(side);
    free(side->calls);
}

static assay_status read_ids(struct bisect_run *run, struct assay_error *error)
{
    const struct bisect_options *options = run->options;
    char data[4096], path[4352], *text;
    size_t bytes = 0, num_ids = 0;
    assay_tokenizer *tokenizer;
    if (options->text != NULL) {
        snprintf(path, sizeof path, "%s", options->text);
    } else {
        TRY(gate_data_dir(options->data_dir, data, sizeof data, error));
        snprintf(path, sizeof path, "%s/corpora/heldout-%s.txt", data, gate_texts[0]);
    }
    TRY(assay_tokenizer_open(options->model_dir, &tokenizer, error));
    assay_status status = gate_read_file(path, &text, &bytes, error);
    if (status == ASSAY_OK) {
        status = assay_encode(tokenizer, text, bytes, &run->ids, &num_ids, error);
        free(text);
    }
    assay_tokenizer_close(tokenizer);
    run->num_ids = (int64_t)num_ids < options->tokens ? (int64_t)num_ids : options->tokens;
    if (status == ASSAY_OK && run->num_ids == 0)
        return assay_fail(error, ASSAY_E_USAGE, "bisect", "text", "holds no token");
    return status;
}

static assay_status run_passes(struct bisect_run *run, struct assay_error *error)
{
    const int64_t width = run->side[0].source.width;
    for (int64_t begin = 0, pass = 0; begin < run->num_ids; begin += width, pass++) {
        const int64_t left = run->num_ids - begin, count = left < width ? left : width;
        for (int s = 0; s < 2; s++) {
            struct side *side = &run->side[s];
            clear_calls(side);
            TRY(score_source_pass(&side->source, run->ids + begin, count, true, error));
            if (side->status != ASSAY_OK)
                return assay_fail(error, side->status, "bisect", "oracle",
                                  "no memory, or a call that the oracle does not take");
        }
        if (!compare_pass(run, pass))
            return ASSAY_OK;
    }
    return ASSAY_OK;
}

assay_status bisect_run(const struct bisect_options *options, struct bisect_result *result,
                        struct assay_error *error)
{
    struct bisect_run run = {.options = options, .result = result};
    *result = (struct bisect_result){0};
    if (options->backend == ASSAY_CUDA)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "bisect", "--backend",
                          "the oracle reads what ops are given on the host: cpu and simt, not "
                          "cuda");
    assay_status status = assay_model_open(options->model_dir, &run.model, error);
    if (status == ASSAY_OK)
        status = read_ids(&run, error);
    if (status == ASSAY_OK)
        status = find_places(&run, error);
    for (int s = 0; s < 2 && status == ASSAY_OK; s++)
        status = open_side(&run, s, error);
    if (status == ASSAY_OK)
        status = run_passes(&run, error);
    for (int s = 0; s < 2; s++)
        close_side(&run.side[s]);
    assay_tokens_free(run.ids);
    free(run.places);
    assay_model_close(run.model);
    return status;
}
