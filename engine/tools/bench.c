/* SPDX-License-Identifier: MIT
 *
 * Measurements. A measurement repeats until its time is used and reports the fastest batch: what
 * the code can do when nobody disturbs it. Ratios are formed within one run only.
 */
#include "tools/bench.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/model.h>
#include <assay/session.h>

#include "core/core.h"
#include "oracle.h"
#include "tools/bench_kernels.h"
#include "tools/peer.h"
#include "tools/progress.h"
#include "tools/tool.h"
#include "trial.h"

/* Seconds of one call: the fastest of batches that are long enough for the clock. */
static double fastest(void (*call)(void *), void *argument, double seconds)
{
    call(argument); /* warm: pages, caches, branch predictors */
    double start = progress_now(), best = INFINITY;
    int64_t batch = 1;
    while (progress_now() - start < seconds || isinf(best)) {
        double before = progress_now();
        for (int64_t i = 0; i < batch; i++)
            call(argument);
        double took = progress_now() - before;
        if (took < 2e-4 && batch < 1 << 20) {
            batch *= 2;
            continue;
        }
        best = fmin(best, took / (double)batch);
    }
    return best;
}

/* ---- the machine ---------------------------------------------------------------------------- */

struct parallel {
    int num_threads;
    void (*body)(void *argument, int thread, int num_threads);
    void *argument;
};

struct parallel_share {
    const struct parallel *work;
    int thread;
};

static void *parallel_thread(void *argument)
{
    struct parallel_share *s = argument;
    s->work->body(s->work->argument, s->thread, s->work->num_threads);
    return NULL;
}

static void run_parallel(void *argument)
{
    const struct parallel *p = argument;
    pthread_t threads[64];
    struct parallel_share shares[64];
    int count = p->num_threads < 64 ? p->num_threads : 64, started = 1;
    for (int i = 1; i < count; i++) {
        shares[i] = (struct parallel_share){p, i};
        if (pthread_create(&threads[i], NULL, parallel_thread, &shares[i]) != 0)
            break;
        started++;
    }
    p->body(p->argument, 0, p->num_threads);
    for (int i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
}

enum { COPY_BYTES = 256 << 20 }; /* far beyond any cache */

struct copy {
    char *from, *to;
};

static void copy_share(void *argument, int thread, int num_threads)
{
    const struct copy *c = argument;
    size_t share = (size_t)COPY_BYTES / (size_t)num_threads / 64 * 64;
    memcpy(c->to + (size_t)thread * share, c->from + (size_t)thread * share, share);
}

static double measure_copy(int num_threads, double seconds)
{
    struct copy c = {malloc(COPY_BYTES), malloc(COPY_BYTES)};
    double bandwidth = 0;
    if (c.from != NULL && c.to != NULL) {
        memset(c.from, 1, COPY_BYTES);
        memset(c.to, 2, COPY_BYTES);
        struct parallel p = {num_threads, copy_share, &c};
        bandwidth = 2.0 * COPY_BYTES / fastest(run_parallel, &p, 2 * seconds);
    }
    free(c.from);
    free(c.to);
    return bandwidth;
}

static void madd_share(void *argument, int thread, int num_threads)
{
    (void)thread;
    (void)num_threads;
    bench_madds(*(enum assay_isa *)argument);
}

static double measure_madds(enum assay_isa isa, int num_threads, double seconds)
{
    struct parallel p = {num_threads, madd_share, &isa};
    return (double)num_threads * bench_madds_count(isa) / fastest(run_parallel, &p, seconds);
}

static void add_row(struct bench *b, json_t *row)
{
    json_array_append_new(b->rows, row);
}

int bench_begin(struct bench *b)
{
    struct assay_context_options options = assay_context_defaults();
    options.num_threads = b->options.num_threads;
    options.backend = b->options.backend;
    options.device = b->options.device;
    struct assay_error error = {0};
    b->rows = json_array();
    if (assay_context_create(&options, &b->context, &error) != ASSAY_OK)
        return tool_report(&error);
    if (b->options.backend == ASSAY_CUDA)
        return bench_device_begin(b);
    if (b->copy_bandwidth > 0)
        return TOOL_OK;
    b->copy_bandwidth = measure_copy(b->options.num_threads, b->options.seconds);
    b->madd_rate =
        measure_madds(assay_context_isa(b->context), b->options.num_threads, b->options.seconds);
    if (b->copy_bandwidth == 0) {
        fprintf(stderr, "assay bench: no memory to measure the copy bandwidth\n");
        return TOOL_USAGE;
    }
    return TOOL_OK;
}

void bench_machine(struct bench *b)
{
    if (b->options.backend == ASSAY_CUDA) {
        printf("device: %s: copy %.2f TB/s (read + write), %.0f TFLOP/s (bf16, cuBLAS)\n",
               b->device.name, b->copy_bandwidth * 1e-12, 2 * b->madd_rate * 1e-12);
        add_row(b, json_pack("{s:s, s:s, s:f, s:f}", "what", "device", "name", b->device.name,
                             "copy_bytes_per_second", b->copy_bandwidth, "madds_per_second",
                             b->madd_rate));
        return;
    }
    printf("machine: %s, %d thread%s: copy %.1f GB/s (read + write), %.1f G multiply-adds/s "
           "(binary32)\n",
           assay_isa_name(assay_context_isa(b->context)), b->options.num_threads,
           b->options.num_threads == 1 ? "" : "s", b->copy_bandwidth * 1e-9, b->madd_rate * 1e-9);
    add_row(b, json_pack("{s:s, s:f, s:f}", "what", "machine", "copy_bytes_per_second",
                         b->copy_bandwidth, "madds_per_second", b->madd_rate));
}

/* ---- routes --------------------------------------------------------------------------------- */

struct route_run {
    struct bench *bench;
    const struct assay_op *op;
    const void *args;
    assay_status status;
};

static void run_route(void *argument)
{
    struct route_run *r = argument;
    assay_status status = assay_run_op(r->bench->context, r->op, r->args);
    if (status != ASSAY_OK)
        r->status = status;
}

static void print_route(struct bench *b, const struct assay_case *c, const char *route,
                        double seconds, const struct assay_floor *f)
{
    double bytes = f->bytes_read + f->bytes_written;
    double memory = bytes / b->copy_bandwidth,
           compute = b->madd_rate > 0 ? f->operations / 2 / b->madd_rate : 0;
    double floor = fmax(memory, compute);
    char text[CASE_TEXT_BYTES];
    case_print(c, text);
    printf("%-30s %10.2f us  %7.2f GB/s %8.2f G madds/s  %5.1f %% of the %s floor  %s\n", route,
           seconds * 1e6, bytes / seconds * 1e-9, f->operations / 2 / seconds * 1e-9,
           100 * floor / seconds, memory > compute ? "memory" : "compute", text);
    add_row(b, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f}", "what", "route", "route", route,
                         "case", text, "seconds", seconds, "bytes", bytes, "operations",
                         f->operations, "floor_share", floor / seconds));
}

/* False when the route does not take the case. */
static bool bench_route(struct bench *b, const struct assay_case *c,
                        const struct assay_route *route)
{
    struct trial trial;
    bool on_device = b->options.backend == ASSAY_CUDA;
    if (!(on_device ? bench_device_trial(&trial, c) : trial_create(&trial, c))) {
        trial_destroy(&trial);
        fprintf(stderr, "assay bench: out of memory for a case of %s\n", c->spec->op->name);
        return false;
    }
    if (!on_device)
        trial_restore(&trial, 0);
    struct route_run r = {b, c->spec->op, trial.args, ASSAY_OK};
    bool takes = assay_route_takes(b->context, route, trial.args) &&
                 assay_context_force_route(b->context, NULL) == ASSAY_OK &&
                 assay_context_force_route(b->context, route->name) == ASSAY_OK;
    if (takes) {
        double seconds = 0;
        if (b->measuring != NULL)
            b->measuring(b->user, c, route);
        if (on_device)
            r.status = bench_device_case(b, &trial, &seconds);
        else
            seconds = fastest(run_route, &r, b->options.seconds);
        struct assay_floor floor = c->spec->op->floor(trial.args);
        if (r.status != ASSAY_OK)
            fprintf(stderr, "assay bench: %s: %s\n", route->name,
                    assay_context_error(b->context)->message);
        else
            print_route(b, c, route->name, seconds, &floor);
        b->last_seconds = r.status == ASSAY_OK ? seconds : INFINITY;
    }
    trial_destroy(&trial);
    return takes;
}

/* The plain routes are written to be read; they are measured where nothing else runs, or when they
 * are asked for by name. */
void bench_case(struct bench *b, const struct assay_case *c)
{
    const struct assay_op *op = c->spec->op;
    const struct assay_route *fastest_of_ours = NULL;
    double best = INFINITY;
    bool measured = false;
    for (int i = 0; i < assay_op_num_routes(op); i++) {
        const struct assay_route *route = assay_op_route(op, i);
        bool added = i >= op->num_routes;
        bool named = strcmp(c->route, route->name) == 0;
        if (route->backend != assay_context_backend(b->context) ||
            route->isa > assay_context_isa(b->context) || (c->route[0] != '\0' && !named))
            continue;
        if (route->backend == ASSAY_CPU && route->isa == ASSAY_ISA_PORTABLE && measured && !named &&
            !added)
            continue;
        bool taken = bench_route(b, c, route);
        measured = taken || measured;
        if (taken && !added && b->last_seconds < best) {
            best = b->last_seconds;
            fastest_of_ours = route;
        }
        if (taken && added && fastest_of_ours != NULL && isfinite(b->last_seconds))
            printf("  %s takes %.2f times as long as %s\n", route->name, b->last_seconds / best,
                   fastest_of_ours->name);
    }
    if (assay_context_force_route(b->context, NULL) != ASSAY_OK)
        fprintf(stderr, "assay bench: the forced route stays\n");
}

/* ---- the peer ------------------------------------------------------------------------------- */

enum { PEER_N = 2048, PEER_K = 1024, PEER_T = 512 };

static void run_peer(void *argument)
{
    peer_sgemm(argument);
}

static double linear_seconds(struct bench *b)
{
    struct assay_case c;
    char message[256], text[160];
    snprintf(text, sizeof text, "linear T=%d K=%d N=%d x=f32 y=f32", PEER_T, PEER_K, PEER_N);
    struct trial trial;
    if (!case_parse(text, &c, message, sizeof message)) {
        fprintf(stderr, "assay bench: %s\n", message);
        return 0;
    }
    double seconds = 0;
    if (trial_create(&trial, &c)) {
        trial_restore(&trial, 0);
        struct route_run r = {b, c.spec->op, trial.args, ASSAY_OK};
        seconds = fastest(run_route, &r, 2 * b->options.seconds);
        if (r.status != ASSAY_OK)
            seconds = 0;
    }
    trial_destroy(&trial);
    return seconds;
}

void bench_peer(struct bench *b)
{
    char message[256];
    struct peer *peer =
        peer_open(PEER_T, PEER_N, PEER_K, b->options.num_threads, message, sizeof message);
    if (peer == NULL) {
        printf("peer: OpenBLAS not measured: %s\n", message);
        return;
    }
    double work = (double)PEER_T * PEER_N * PEER_K;
    double theirs = fastest(run_peer, peer, 2 * b->options.seconds), ours = linear_seconds(b);
    peer_close(peer);
    if (ours == 0)
        return;
    printf("peer: linear [%d x %d], T = %d: bf16 weights %.1f, OpenBLAS sgemm %.1f G "
           "multiply-adds/s: %.0f %%\n",
           PEER_N, PEER_K, PEER_T, work / ours * 1e-9, work / theirs * 1e-9, 100 * theirs / ours);
    add_row(b, json_pack("{s:s, s:f, s:f, s:f}", "what", "peer", "seconds", ours,
                         "openblas_seconds", theirs, "ratio", theirs / ours));
}

/* ---- the oracles ---------------------------------------------------------------------------- */

struct oracle_run {
    const struct oracle_op *oracle;
    const void *args;
    struct oracle_output *outputs;
    long precision; /* 0: FP64 */
};

static void run_oracle(void *argument)
{
    struct oracle_run *r = argument;
    assay_status status = r->precision == 0 ? r->oracle->ref(r->args, r->outputs)
                                            : r->oracle->mpfr(r->args, r->precision, r->outputs);
    if (status != ASSAY_OK)
        fprintf(stderr, "assay bench: the oracle of %s failed\n", r->oracle->name);
}

static void bench_one_oracle(struct bench *b, const char *text, long precision)
{
    struct assay_case c;
    struct trial trial;
    char message[256];
    if (!case_parse(text, &c, message, sizeof message)) {
        fprintf(stderr, "assay bench: %s\n", message);
        return;
    }
    const struct oracle_op *oracle = oracle_find(c.spec->oracle_name);
    struct oracle_output outputs[ORACLE_MAX_OUTPUTS] = {{.name = NULL}};
    bool good = trial_create(&trial, &c);
    for (int k = 0; k < oracle->num_outputs && good; k++) {
        const struct trial_buffer *buffer = trial_find(&trial, oracle->outputs[k]);
        good = oracle_output_create(&outputs[k], oracle->outputs[k], buffer->tensor.dtype,
                                    assay_tensor_count(&buffer->tensor));
    }
    if (good) {
        trial_restore(&trial, 0);
        struct oracle_run r = {oracle, trial.args, outputs, precision};
        double seconds = fastest(run_oracle, &r, b->options.seconds);
        double rate = oracle->work(trial.args) / seconds;
        printf("oracle: %-14s %-10s %9.4f G multiply-adds/s a core  %s\n", oracle->name,
               precision == 0 ? "FP64" : "MPFR 256", rate * 1e-9, text);
        add_row(b, json_pack("{s:s, s:s, s:I, s:s, s:f}", "what", "oracle", "op", oracle->name,
                             "precision", (json_int_t)precision, "case", text, "madds_per_second",
                             rate));
    }
    for (int k = 0; k < oracle->num_outputs; k++)
        oracle_output_destroy(&outputs[k]);
    trial_destroy(&trial);
}

void bench_oracle(struct bench *b)
{
    bench_one_oracle(b, "linear T=32 K=1024 N=2048 x=f32 y=f32", 0);
    bench_one_oracle(b, "linear T=2 K=1024 N=256 x=f32 y=f32", 256);
}

/* ---- decoding ------------------------------------------------------------------------------- */

struct decode_run {
    assay_session *session;
    float *logits;
    struct assay_error error;
};

static void run_decode(void *argument)
{
    struct decode_run *r = argument;
    const int32_t id = 1;
    if (assay_session_length(r->session) > 200)
        assay_session_reset(r->session);
    assay_status status =
        assay_session_forward(r->session, &id, 1, ASSAY_LOGITS_LAST, r->logits, &r->error);
    if (status != ASSAY_OK)
        assay_session_reset(r->session);
}

/* The recurrent states of one sequence, in and out. */
static double state_bytes(const struct assay_model_config *c)
{
    double bytes = 0;
    for (int64_t i = 0; i < c->num_layers; i++)
        if (c->layers[i] == ASSAY_LAYER_LINEAR)
            bytes +=
                2.0 * 4 * (double)(c->linear_value_heads * c->linear_key_dim * c->linear_value_dim);
    return bytes;
}

/* Bytes that one token must read and write: every weight but the embedding table and the MTP head
 * once, of a mixture's experts those that it has, and the recurrent state of the linear layers in
 * and out. */
static double decode_bytes(const assay_model *model)
{
    const struct assay_model_config *c = assay_model_config(model);
    double bytes = 0;
    for (int64_t i = 0; i < assay_model_num_tensors(model); i++) {
        struct assay_stored stored;
        if (!assay_model_stored_at(model, i, &stored))
            continue;
        bool embedding = strstr(stored.name, "embed_tokens") != NULL && !c->tie_embeddings;
        if (embedding || strstr(stored.name, "mtp.") != NULL)
            continue;
        bool experts = strstr(stored.name, ".mlp.experts.") != NULL;
        bytes += (double)stored.bytes *
                 (experts ? (double)c->experts_per_token / (double)c->num_experts : 1);
    }
    return bytes + state_bytes(c);
}

static int decode_with(struct bench *b, const assay_model *model)
{
    struct decode_run r = {.logits = NULL};
    struct assay_session_options options = assay_session_defaults();
    options.capacity = 256;
    assay_status status = assay_session_create(b->context, model, &options, &r.session, &r.error);
    r.logits = malloc((size_t)assay_model_config(model)->vocab_size * sizeof *r.logits);
    if (status == ASSAY_OK && r.logits != NULL) {
        double seconds = fastest(run_decode, &r, 5 * b->options.seconds);
        double bytes = decode_bytes(model), floor = bytes / b->copy_bandwidth;
        printf("decode: %s: %.0f tokens/s, %.2f MB a token: %.0f %% of the bytes-over-bandwidth "
               "floor (%.0f tokens/s)\n",
               assay_model_dir(model), 1 / seconds, bytes * 1e-6, 100 * floor / seconds, 1 / floor);
        add_row(b, json_pack("{s:s, s:f, s:f, s:f}", "what", "decode", "seconds", seconds, "bytes",
                             bytes, "floor_share", floor / seconds));
    }
    assay_session_destroy(r.session);
    free(r.logits);
    return r.error.status != ASSAY_OK ? tool_report(&r.error) : TOOL_OK;
}

/* ---- decoding several sequences ------------------------------------------------------------- */

enum { LANES = 8 };

struct lanes_run {
    assay_session *lane[LANES];
    float *logits;
    struct assay_error error;
};

static void run_lanes(void *argument)
{
    struct lanes_run *r = argument;
    static const int32_t ids[LANES] = {1, 2, 3, 4, 5, 6, 7, 8};
    const bool is_full = assay_session_length(r->lane[0]) > 200;
    for (int i = 0; i < LANES && is_full; i++)
        assay_session_reset(r->lane[i]);
    const assay_status status =
        assay_session_verify_lanes(r->lane, LANES, ids, 1, r->logits, &r->error);
    for (int i = 0; i < LANES && status != ASSAY_OK; i++)
        assay_session_reset(r->lane[i]);
}

/* A step of one token of each lane: the weights once, each lane's state in and out. Of a mixture's
 * experts as many as one token has: lanes share them or not, as the router says. */
static int lanes_with(struct bench *b, const assay_model *model)
{
    struct lanes_run r = {.logits = NULL};
    struct assay_session_options options = assay_session_defaults();
    options.capacity = 256;
    assay_status status = ASSAY_OK;
    for (int i = 0; i < LANES && status == ASSAY_OK; i++)
        status = assay_session_create(b->context, model, &options, &r.lane[i], &r.error);
    r.logits = malloc(LANES * (size_t)assay_model_config(model)->vocab_size * sizeof *r.logits);
    if (status == ASSAY_OK && r.logits != NULL) {
        const double seconds = fastest(run_lanes, &r, 5 * b->options.seconds);
        const double states = state_bytes(assay_model_config(model));
        const double bytes = decode_bytes(model) + (LANES - 1) * states;
        const double floor = bytes / b->copy_bandwidth;
        printf("decode, %d lanes: %s: %.0f tokens/s, %.2f MB a step: %.0f %% of the "
               "bytes-over-bandwidth floor (%.0f tokens/s)\n",
               LANES, assay_model_dir(model), LANES / seconds, bytes * 1e-6, 100 * floor / seconds,
               LANES / floor);
        add_row(b, json_pack("{s:s, s:f, s:f, s:f}", "what", "decode.lanes", "seconds", seconds,
                             "bytes", bytes, "floor_share", floor / seconds));
    }
    for (int i = 0; i < LANES; i++)
        assay_session_destroy(r.lane[i]);
    free(r.logits);
    return r.error.status != ASSAY_OK ? tool_report(&r.error) : TOOL_OK;
}

int bench_decode(struct bench *b)
{
    assay_model *model;
    struct assay_error error = {0};
    if (assay_model_open(b->options.model, &model, &error) != ASSAY_OK)
        return tool_report(&error);
    int status = decode_with(b, model);
    if (status == TOOL_OK)
        status = lanes_with(b, model);
    assay_model_close(model);
    return status;
}

/* ---- the report ----------------------------------------------------------------------------- */

int bench_write(struct bench *b)
{
    if (b->options.json == NULL)
        return TOOL_OK;
    struct assay_error error = {0};
    struct assay_new_file file;
    if (assay_new_file_open(b->options.json, &file, &error) != ASSAY_OK)
        return tool_report(&error);
    if (json_dumpf(b->rows, file.stream, JSON_INDENT(1)) != 0) {
        assay_new_file_abort(&file);
        fprintf(stderr, "assay bench: %s: cannot be written\n", b->options.json);
        return TOOL_USAGE;
    }
    if (assay_new_file_commit(&file, &error) != ASSAY_OK)
        return tool_report(&error);
    return TOOL_OK;
}

void bench_end(struct bench *b)
{
    json_decref(b->rows);
    assay_context_destroy(b->context);
}
