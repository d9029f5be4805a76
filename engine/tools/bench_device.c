/* SPDX-License-Identifier: MIT
 *
 * Measurements on a device: one case's calls in a graph, over sets of buffers that together are
 * larger than the L2 cache, timed by events; the median of many replays. Launch gaps of a host that
 * cannot keep up are therefore not in the numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/device.h>

#include "tools/bench.h"
#include "tools/tool.h"
#include "trial.h"
#include "values.h"
#include "words.h"

enum {
    REPLAYS = 31,
    WARM_REPLAYS = 3,
    LEAST_CALLS = 24, /* in a graph */
    MOST_SETS = 64,
    CACHES = 4, /* all sets together: so many times the L2 */
    ALIGNMENT = 256
};
static const size_t drawn_bytes = (size_t)8 << 20; /* larger buffers repeat a block of draws */
static const size_t most_memory = (size_t)24 << 30;

struct device_sets {
    struct trial *trial;
    unsigned char *memory; /* on the device */
    unsigned char *args;   /* of all sets */
    size_t set_bytes;
    int num_sets;
};

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- buffers -------------------------------------------------------------------------------- */

/* Fills `bytes` bytes with a repeated block of normal draws. */
static assay_status fill_large(assay_context *context, const struct trial_buffer *b,
                               unsigned char *to)
{
    size_t size = assay_dtype_bytes(b->tensor.dtype), block = drawn_bytes;
    unsigned char *draws = malloc(block);
    if (draws == NULL)
        return ASSAY_E_MEMORY;
    struct assay_tensor view = assay_tensor_1d(draws, b->tensor.dtype, (int64_t)(block / size));
    struct values normal = {.dist = CASE_DIST_NORMAL, .scale = 1};
    for (int64_t i = 0; i < view.extent[0]; i++)
        oracle_put(&view, i,
                   values_draw(normal, view.dtype, 1, b->name, i, view.extent[0], view.extent[0]));
    if (block > b->bytes)
        block = b->bytes;
    assay_status status = assay_buffer_write(context, to, draws, block);
    for (size_t done = block; done < b->bytes && status == ASSAY_OK;) {
        size_t count = done < b->bytes - done ? done : b->bytes - done;
        status = assay_buffer_copy(context, to + done, to, count);
        done += count;
    }
    free(draws);
    return status;
}

static assay_status fill_set(assay_context *context, const struct device_sets *s, int set)
{
    unsigned char *to = s->memory + (size_t)set * s->set_bytes;
    if (set > 0)
        return assay_buffer_copy(context, to, s->memory, s->set_bytes);
    for (int i = 0; i < s->trial->state->num_buffers; i++) {
        const struct trial_buffer *b = &s->trial->state->buffer[i];
        assay_status status = b->is_virtual ? fill_large(context, b, to)
                                            : assay_buffer_write(context, to, b->live, b->bytes);
        if (status != ASSAY_OK)
            return status;
        to += rounded(b->bytes);
    }
    return ASSAY_OK;
}

/* The set's args: every tensor at the same place in the set as in the trial's memory. */
static void place(const struct device_sets *s, int set)
{
    const struct assay_op *op = s->trial->c->spec->op;
    unsigned char *args = s->args + (size_t)set * op->args_bytes;
    memcpy(args, s->trial->args, op->args_bytes);
    for (const struct assay_argument *a = op->arguments; a->name != NULL; a++) {
        struct assay_tensor *tensor = (struct assay_tensor *)(void *)(args + a->offset);
        unsigned char *at = s->memory + (size_t)set * s->set_bytes;
        for (int i = 0; i < s->trial->state->num_buffers && tensor->data != NULL; i++) {
            const struct trial_buffer *b = &s->trial->state->buffer[i];
            const unsigned char *host = tensor->data;
            if (host >= b->live && host < b->live + b->bytes) {
                tensor->data = at + (host - b->live);
                break;
            }
            at += rounded(b->bytes);
        }
    }
}

static assay_status make_sets(struct bench *bench, struct device_sets *s)
{
    const struct trial_state *state = s->trial->state;
    s->set_bytes = 0;
    for (int i = 0; i < state->num_buffers; i++)
        s->set_bytes += rounded(state->buffer[i].bytes);
    double wanted = ceil(CACHES * (double)bench->device.cache_bytes / (double)s->set_bytes);
    s->num_sets = wanted > MOST_SETS ? MOST_SETS : wanted < 2 ? 2 : (int)wanted;
    if ((size_t)s->num_sets > most_memory / s->set_bytes)
        s->num_sets = most_memory > s->set_bytes ? (int)(most_memory / s->set_bytes) : 1;
    s->args = calloc((size_t)s->num_sets, s->trial->c->spec->op->args_bytes);
    if (s->args == NULL)
        return ASSAY_E_MEMORY;
    void *memory;
    assay_status status =
        assay_buffer_create(bench->context, (size_t)s->num_sets * s->set_bytes, &memory);
    s->memory = memory;
    for (int i = 0; i < s->num_sets && status == ASSAY_OK; i++) {
        status = fill_set(bench->context, s, i);
        place(s, i);
    }
    return status;
}

/* ---- time ----------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median seconds of one replay. */
static assay_status time_graph(assay_context *context, assay_graph *graph, double *seconds)
{
    double times[REPLAYS];
    assay_timer *timer;
    assay_status status = assay_timer_create(context, &timer);
    for (int i = -WARM_REPLAYS; i < REPLAYS && status == ASSAY_OK; i++) {
        double took = 0;
        status = assay_timer_start(timer);
        if (status == ASSAY_OK)
            status = assay_graph_replay(context, graph);
        if (status == ASSAY_OK)
            status = assay_timer_stop(timer, &took);
        if (i >= 0)
            times[i] = took;
    }
    if (status == ASSAY_OK) {
        qsort(times, REPLAYS, sizeof times[0], ascending);
        *seconds = times[REPLAYS / 2];
    }
    assay_timer_destroy(timer);
    return status;
}

/* Seconds of one of `calls` calls that take the sets in turn. */
static assay_status time_calls(assay_context *context, const struct device_sets *s, int calls,
                               double *seconds)
{
    const struct assay_op *op = s->trial->c->spec->op;
    assay_graph *graph = NULL;
    assay_status status = assay_run_op(context, op, s->args); /* sizes the workspace */
    if (status == ASSAY_OK)
        status = assay_context_synchronize(context);
    if (status == ASSAY_OK)
        status = assay_graph_begin(context);
    if (status != ASSAY_OK)
        return status;
    for (int i = 0; i < calls && status == ASSAY_OK; i++)
        status = assay_run_op(context, op, s->args + (size_t)(i % s->num_sets) * op->args_bytes);
    assay_status ended = assay_graph_end(context, &graph);
    if (status == ASSAY_OK)
        status = ended;
    if (status == ASSAY_OK)
        status = time_graph(context, graph, seconds);
    *seconds /= calls;
    assay_graph_destroy(graph);
    return status;
}

assay_status bench_device_case(struct bench *bench, struct trial *trial, double *seconds)
{
    struct device_sets s = {.trial = trial};
    *seconds = 0;
    assay_status status = make_sets(bench, &s);
    if (status == ASSAY_OK)
        status = time_calls(bench->context, &s, s.num_sets > LEAST_CALLS ? s.num_sets : LEAST_CALLS,
                            seconds);
    assay_buffer_destroy(bench->context, s.memory);
    free(s.args);
    return status;
}

bool bench_device_trial(struct trial *trial, const struct assay_case *c)
{
    return trial_create_sized(trial, c, drawn_bytes);
}

/* ---- the device's two rates ----------------------------------------------------------------- */

static assay_status measure_copy(struct bench *bench)
{
    const size_t bytes = (size_t)2 << 30;
    void *memory = NULL;
    assay_graph *graph = NULL;
    double seconds = 0;
    assay_status status = assay_buffer_create(bench->context, 2 * bytes, &memory);
    if (status == ASSAY_OK)
        status = assay_buffer_fill(bench->context, memory, 1, 2 * bytes);
    if (status == ASSAY_OK)
        status = assay_graph_begin(bench->context);
    if (status == ASSAY_OK) {
        assay_status copied =
            assay_buffer_stream(bench->context, (unsigned char *)memory + bytes, memory, bytes);
        status = assay_graph_end(bench->context, &graph);
        if (copied != ASSAY_OK)
            status = copied;
    }
    if (status == ASSAY_OK)
        status = time_graph(bench->context, graph, &seconds);
    if (status == ASSAY_OK)
        bench->copy_bandwidth = 2 * (double)bytes / seconds;
    assay_graph_destroy(graph);
    assay_buffer_destroy(bench->context, memory);
    return status;
}

/* The rate of bf16 matrix products, by the library's own; 0 where it is not there. */
static assay_status measure_madds(struct bench *bench)
{
    struct assay_case c;
    struct trial trial;
    char message[256];
    const char *route = "linear.cublas.cuda";
    if (assay_route_find(route, NULL) == NULL ||
        !case_parse("linear T=4096 N=16384 K=8192 x=bf16 y=bf16", &c, message, sizeof message))
        return ASSAY_OK;
    double seconds = 0;
    assay_status status = ASSAY_E_MEMORY;
    if (bench_device_trial(&trial, &c))
        status = assay_context_force_route(bench->context, route);
    if (status == ASSAY_OK)
        status = bench_device_case(bench, &trial, &seconds);
    trial_destroy(&trial);
    assay_status freed = assay_context_force_route(bench->context, NULL);
    if (status == ASSAY_E_ROUTE_REFUSED)
        return freed; /* no library here */
    if (status == ASSAY_OK)
        bench->madd_rate = 4096.0 * 16384.0 * 8192.0 / seconds;
    return status;
}

int bench_device_begin(struct bench *bench)
{
    struct assay_error error = {.status = ASSAY_OK};
    if (assay_device_describe(bench->options.device, &bench->device, &error) != ASSAY_OK)
        return tool_report(&error);
    assay_status status = measure_copy(bench);
    if (status == ASSAY_OK)
        status = measure_madds(bench);
    if (status != ASSAY_OK)
        return tool_report(assay_context_error(bench->context));
    return TOOL_OK;
}
