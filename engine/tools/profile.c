/* SPDX-License-Identifier: MIT
 *
 * assay profile: runs passes of a session under a trace and sums its spans by phase.
 *
 * Calls carry their op's phase as a label. A replayed graph has no calls: its spans are those of
 * the same steps call by call, in the same order, and take their labels.
 */
#include "tools/profile.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <assay/device.h>
#include <assay/ops/attention.h>
#include <assay/trace.h>

#include "core/core.h"
#include "tools/tool.h"

enum { WARM_STEPS = 4, COPY_RUNS = 8 };
static const size_t device_copy_bytes = (size_t)1 << 30, host_copy_bytes = (size_t)128 << 20;

struct measurement {
    const struct profile_options *options;
    struct profile *profile;
    assay_model *model;
    assay_context *context;
    int32_t *ids; /* any tokens */
    int64_t num_ids;
    assay_trace *trace;
    int64_t length; /* of the session, for the floors of attention */
    double floor_bytes[NUM_PHASES];
    struct assay_error error;
};

/* ---- phases -------------------------------------------------------------------------------- */

static enum profile_phase phase_of(const char *op)
{
    static const struct {
        const char *prefix;
        enum profile_phase phase;
    } table[] = {
        {"linear", PHASE_LINEAR},      {"attention", PHASE_ATTENTION},
        {"kv_append", PHASE_KV_WRITE}, {"qk_norm_rope_append", PHASE_KV_WRITE},
        {"gdn_", PHASE_GDN},           {"causal_conv1d", PHASE_GDN},
        {"l2norm", PHASE_GDN},         {"gated_rmsnorm", PHASE_GDN},
        {"sample", PHASE_SAMPLING},    {"argmax", PHASE_SAMPLING},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strncmp(op, table[i].prefix, strlen(table[i].prefix)) == 0)
            return table[i].phase;
    return PHASE_ELEMENTWISE;
}

static double floor_bytes(const struct assay_op *op, const void *args, int64_t length)
{
    struct assay_attention_args attention;
    if (op == &assay_op_attention) {
        /* Recorded calls name a bound; the step reads what is there. */
        attention = *(const struct assay_attention_args *)args;
        if (attention.start_at.data != NULL && length < attention.start)
            attention.start = length;
        args = &attention;
    }
    const struct assay_floor floor = op->floor(args);
    return floor.bytes_read + floor.bytes_written;
}

static void observe(void *user, const struct assay_op *op, const struct assay_route *route,
                    const void *args, bool is_after)
{
    struct measurement *m = user;
    (void)route;
    if (m->trace == NULL)
        return;
    const enum profile_phase phase = phase_of(op->name);
    if (!is_after)
        m->floor_bytes[phase] += floor_bytes(op, args, m->length);
    assay_trace_label(m->trace, is_after ? ASSAY_TRACE_NO_LABEL : (int32_t)phase);
}

static enum profile_phase phase_of_span(const struct assay_trace_span *span)
{
    return span->label == ASSAY_TRACE_NO_LABEL ? PHASE_COPIES : (enum profile_phase)span->label;
}

/* Sums spans into a part, each divided by `times`. labels: of the spans in their order, or NULL for
 * their own. On the host the time between calls is slack, as are gaps on a device. */
static void sum_spans(const struct measurement *m, const struct assay_trace_span *spans,
                      size_t count, const enum profile_phase *labels, int64_t times,
                      struct profile_part *part)
{
    const bool on_host = m->options->context.backend != ASSAY_CUDA;
    double busy = 0, end = 0;
    for (size_t i = 0; i < count; i++) {
        const enum profile_phase phase = labels != NULL ? labels[i] : phase_of_span(&spans[i]);
        if (on_host && phase == PHASE_COPIES)
            continue;
        part->rows[phase].seconds += (spans[i].end - spans[i].start) / (double)times;
        part->rows[phase].spans += 1.0 / (double)times;
        busy += spans[i].end - spans[i].start;
        if (spans[i].end > end)
            end = spans[i].end;
    }
    part->seconds = count == 0 ? 0 : (end - spans[0].start) / (double)times;
    part->rows[PHASE_SLACK].seconds = part->seconds - busy / (double)times;
    if (part->rows[PHASE_SLACK].seconds < 0) /* overlapping spans */
        part->rows[PHASE_SLACK].seconds = 0;
    for (int phase = 0; phase < NUM_PHASES; phase++)
        part->rows[phase].floor_seconds =
            m->floor_bytes[phase] / m->profile->copy_rate / (double)times;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static assay_status create_session(struct measurement *m, enum assay_cuda_graphs graphs,
                                   assay_session **session)
{
    struct assay_session_options options = assay_session_defaults();
    options.capacity = m->num_ids;
    options.prefill_chunk = m->options->chunk;
    options.trades = m->options->trades;
    options.cuda_graphs = graphs;
    return assay_session_create(m->context, m->model, &options, session, &m->error);
}

/* Appends `count` tokens without a result. */
static assay_status feed(struct measurement *m, assay_session *session, int64_t count)
{
    const int64_t length = assay_session_length(session);
    return count == 0 ? ASSAY_OK
                      : assay_session_forward(session, m->ids + length, count, ASSAY_LOGITS_NONE,
                                              NULL, &m->error);
}

/* Greedy tokens behind one more of the prompt: `steps` passes of one token. */
static assay_status decode(struct measurement *m, assay_session *session, int64_t steps)
{
    struct assay_generation generation = {.max_new_tokens = steps,
                                          .sampling = assay_sampling_defaults()};
    return assay_session_generate(session, m->ids, 1, &generation, &m->error);
}

/* Runs a decode or a prefill under a trace, which the caller destroys. */
static assay_status run_traced(struct measurement *m, assay_session *session, int64_t steps,
                               const struct assay_trace_span **spans, size_t *count)
{
    memset(m->floor_bytes, 0, sizeof m->floor_bytes);
    m->length = assay_session_length(session);
    ASSAY_TRY(assay_trace_start(m->context, &m->trace, &m->error));
    ASSAY_TRY(steps > 0 ? decode(m, session, steps) : feed(m, session, m->options->chunk));
    return assay_trace_stop(m->trace, spans, count, &m->error);
}

static void end_trace(struct measurement *m)
{
    assay_trace_destroy(m->trace);
    m->trace = NULL;
}

static assay_status prepare_decode(struct measurement *m, enum assay_cuda_graphs graphs,
                                   assay_session **session)
{
    ASSAY_TRY(create_session(m, graphs, session));
    ASSAY_TRY(feed(m, *session, m->options->length));
    return decode(m, *session, WARM_STEPS);
}

/* The phases of `steps` steps call by call, in order; *labels is the caller's. */
static assay_status decode_by_calls(struct measurement *m, enum profile_phase **labels,
                                    size_t *count, struct profile_part *part)
{
    const int64_t steps = m->options->steps;
    assay_session *session = NULL;
    const struct assay_trace_span *spans;
    assay_status status = prepare_decode(m, ASSAY_CUDA_GRAPHS_OFF, &session);
    if (status == ASSAY_OK)
        status = run_traced(m, session, steps, &spans, count);
    if (status == ASSAY_OK) {
        sum_spans(m, spans, *count, NULL, steps, part);
        *labels = malloc(*count * sizeof **labels);
        if (*labels == NULL)
            status = assay_fail(&m->error, ASSAY_E_MEMORY, "profile", "", "no memory for spans");
        for (size_t i = 0; i < *count && status == ASSAY_OK; i++)
            (*labels)[i] = phase_of_span(&spans[i]);
    }
    end_trace(m);
    assay_session_destroy(session);
    return status;
}

static assay_status decode_by_graphs(struct measurement *m, const enum profile_phase *labels,
                                     size_t expected, struct profile_part *part)
{
    const int64_t steps = m->options->steps;
    double floors[NUM_PHASES]; /* of the calls: a replay has none */
    memcpy(floors, m->floor_bytes, sizeof floors);
    assay_session *session = NULL;
    const struct assay_trace_span *spans;
    size_t count = 0;
    assay_status status = prepare_decode(m, ASSAY_CUDA_GRAPHS_ON, &session);
    if (status == ASSAY_OK)
        status = run_traced(m, session, steps, &spans, &count);
    if (status == ASSAY_OK && count != expected)
        status = assay_fail(&m->error, ASSAY_E_INTERNAL, "profile", "graph",
                            "%zu kernels and copies in %lld replayed steps, %zu call by call",
                            count, (long long)steps, expected);
    if (status == ASSAY_OK) {
        memset(part, 0, sizeof *part);
        memcpy(m->floor_bytes, floors, sizeof floors);
        sum_spans(m, spans, count, labels, steps, part);
    }
    end_trace(m);
    assay_session_destroy(session);
    return status;
}

static assay_status measure_decode(struct measurement *m)
{
    enum profile_phase *labels = NULL;
    size_t count = 0;
    assay_status status = decode_by_calls(m, &labels, &count, &m->profile->decode);
    m->profile->replayed = m->options->context.backend == ASSAY_CUDA &&
                           m->options->cuda_graphs != ASSAY_CUDA_GRAPHS_OFF;
    if (status == ASSAY_OK && m->profile->replayed)
        status = decode_by_graphs(m, labels, count, &m->profile->decode);
    free(labels);
    return status;
}

/* The second chunk: the first one sizes the workspace. */
static assay_status measure_prefill(struct measurement *m)
{
    assay_session *session = NULL;
    const struct assay_trace_span *spans;
    size_t count = 0;
    ASSAY_TRY(create_session(m, ASSAY_CUDA_GRAPHS_OFF, &session));
    assay_status status = feed(m, session, m->options->length);
    if (status == ASSAY_OK)
        status = feed(m, session, m->options->chunk);
    if (status == ASSAY_OK)
        status = run_traced(m, session, 0, &spans, &count);
    if (status == ASSAY_OK)
        sum_spans(m, spans, count, NULL, 1, &m->profile->prefill);
    end_trace(m);
    assay_session_destroy(session);
    return status;
}

/* ---- the ceiling --------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of some copies, each a span of the trace. */
static assay_status measure_copy(struct measurement *m)
{
    const size_t bytes =
        m->options->context.backend == ASSAY_CUDA ? device_copy_bytes : host_copy_bytes;
    void *memory = NULL;
    const struct assay_trace_span *spans;
    size_t count = 0;
    double times[COPY_RUNS];
    assay_status status = assay_buffer_create(m->context, 2 * bytes, &memory);
    if (status == ASSAY_OK)
        status = assay_buffer_fill(m->context, memory, 1, 2 * bytes);
    if (status != ASSAY_OK)
        m->error = *assay_context_error(m->context);
    if (status == ASSAY_OK)
        status = assay_trace_start(m->context, &m->trace, &m->error);
    for (int i = 0; i < COPY_RUNS && status == ASSAY_OK; i++) {
        assay_trace_label(m->trace, 0);
        status = assay_buffer_stream(m->context, (char *)memory + bytes, memory, bytes);
        assay_trace_label(m->trace, ASSAY_TRACE_NO_LABEL);
    }
    if (status == ASSAY_OK)
        status = assay_trace_stop(m->trace, &spans, &count, &m->error);
    int found = 0;
    for (size_t i = 0; i < count && found < COPY_RUNS; i++)
        if (spans[i].label == 0)
            times[found++] = spans[i].end - spans[i].start;
    end_trace(m);
    assay_buffer_destroy(m->context, memory);
    ASSAY_TRY(status);
    if (found == 0)
        return assay_fail(&m->error, ASSAY_E_INTERNAL, "profile", "trace", "holds no copy");
    qsort(times, (size_t)found, sizeof times[0], ascending);
    m->profile->copy_rate = 2.0 * (double)bytes / times[found / 2];
    return ASSAY_OK;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static assay_status prepare(struct measurement *m)
{
    const struct profile_options *o = m->options;
    ASSAY_TRY(assay_model_open(o->model_dir, &m->model, &m->error));
    const struct assay_model_config *config = assay_model_config(m->model);
    const int64_t behind =
        2 * o->chunk > o->steps + WARM_STEPS ? 2 * o->chunk : o->steps + WARM_STEPS + 2;
    m->num_ids = o->length + behind + 2;
    if (m->num_ids > config->max_positions)
        return assay_fail(&m->error, ASSAY_E_FULL, "profile", "--context",
                          "needs %lld positions with its steps and chunks, the model has %lld",
                          (long long)m->num_ids, (long long)config->max_positions);
    m->ids = malloc((size_t)m->num_ids * sizeof *m->ids);
    if (m->ids == NULL)
        return assay_fail(&m->error, ASSAY_E_MEMORY, "profile", "", "no memory for tokens");
    for (int64_t i = 0; i < m->num_ids; i++)
        m->ids[i] = (int32_t)(i * 7919 % config->vocab_size);
    ASSAY_TRY(assay_context_create(&o->context, &m->context, &m->error));
    assay_context_observe(m->context, observe, m);
    return ASSAY_OK;
}

int profile_measure(const struct profile_options *options, struct profile *profile)
{
    *profile = (struct profile){.options = options};
    struct measurement m = {.options = options, .profile = profile};
    assay_status status = prepare(&m);
    if (status == ASSAY_OK)
        status = measure_copy(&m);
    if (status == ASSAY_OK)
        status = measure_decode(&m);
    if (status == ASSAY_OK)
        status = measure_prefill(&m);
    assay_context_destroy(m.context);
    assay_model_close(m.model);
    free(m.ids);
    return status == ASSAY_OK ? TOOL_OK : tool_report(&m.error);
}
