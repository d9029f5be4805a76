/* SPDX-License-Identifier: MIT
 *
 * assay run: generates text and streams it to standard output.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/gate_record.h>
#include <assay/route.h>
#include <assay/session.h>
#include <assay/tokenizer.h>

#include "core/core.h"
#include "tools/run_options.h"
#include "tools/tool.h"
#include "tools/trade_gate.h"

/* Prompt tokens between two looks at the interrupt flag; also the session's prefill chunk. */
#define PREFILL_CHUNK 512

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first SIGINT sets the flag and restores the default action, so the second one kills. */
static void catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

/* One run: what was opened, what came out. */
struct run {
    const struct run_options *options;
    assay_model *model;
    assay_tokenizer *tokenizer;
    assay_context *context;
    assay_session *session;
    int32_t *prompt;
    size_t num_prompt;
    int64_t fed; /* prompt tokens that the session has seen */
    char trades[256];
    int64_t restored; /* tokens of the saved session */
    int32_t newest;   /* generated token that the session has not seen; -1: none */
    const char *gate; /* "not needed", "passed", "certified", "UNGATED" */
    struct assay_generation generation;
    double prefill_seconds;
    struct assay_detokenizer detokenizer;
    char *text; /* characters that the newest token completed */
    size_t text_bytes, text_capacity;
    assay_status status; /* of the detokeniser, which runs inside a callback */
    bool write_failed;
    struct assay_error error;
};

static void close_run(struct run *run)
{
    assay_text_free(run->text);
    assay_session_destroy(run->session);
    assay_context_destroy(run->context);
    assay_tokens_free(run->prompt);
    assay_tokenizer_close(run->tokenizer);
    assay_model_close(run->model);
}

/* ---- before the run ------------------------------------------------------------------------ */

/* Refuses a trade without a passing gate record. */
static assay_status ask_gate(struct run *run)
{
    const struct run_options *options = run->options;
    const struct assay_gate_machine machine = {options->backend, assay_isa_detect(),
                                               options->device};
    assay_trade_set_format(options->trades, run->trades, sizeof run->trades);
    run->gate = assay_trade_set_lossy(options->trades) == 0 ? "not needed"
                : options->ungated                          ? "UNGATED"
                : options->certificate != NULL              ? "certified"
                                                            : "passed";
    return options->ungated
               ? ASSAY_OK
               : trade_gate_ask("run", run->model, options->trades, options->certificate,
                                options->ledger, &machine, &run->error);
}

/* The text that goes to the tokenizer; free it with assay_text_free. */
static assay_status render(struct run *run, char **text, size_t *bytes)
{
    const struct run_options *options = run->options;
    const struct assay_template_options template = {.add_generation_prompt = true,
                                                    .thinking = !options->no_thinking};
    if (options->prompt != NULL) {
        const struct assay_message message = {.role = "user", .content = options->prompt};
        return assay_template_render(&message, 1, &template, text, bytes, &run->error);
    }
    struct assay_map map;
    ASSAY_TRY(assay_map_open(options->messages, &map, &run->error));
    const assay_status status = assay_template_render_json((const char *)map.data, map.bytes,
                                                           &template, text, bytes, &run->error);
    assay_map_close(&map);
    return status;
}

static assay_status encode_prompt(struct run *run)
{
    const struct run_options *options = run->options;
    if (options->prompt == NULL && options->messages == NULL)
        return ASSAY_OK;
    if (options->raw)
        return assay_encode(run->tokenizer, options->prompt, strlen(options->prompt), &run->prompt,
                            &run->num_prompt, &run->error);
    char *text = NULL;
    size_t bytes = 0;
    ASSAY_TRY(render(run, &text, &bytes));
    const assay_status status =
        assay_encode(run->tokenizer, text, bytes, &run->prompt, &run->num_prompt, &run->error);
    assay_text_free(text);
    return status;
}

/* The session is as long as asked for, or as prompt and new tokens need; the generation is cut to
 * what fits. The last generated token is appended only where the session is saved, hence the 1. */
static assay_status plan_capacity(struct run *run, int64_t *capacity)
{
    const struct run_options *options = run->options;
    const int64_t positions = assay_model_config(run->model)->max_positions;
    const int64_t prompt = run->restored + (int64_t)run->num_prompt;
    const int64_t last = options->save == NULL;
    int64_t new_tokens = options->max_new_tokens;
    *capacity = options->context != 0 ? options->context : prompt + new_tokens;
    if (options->context == 0 && *capacity > positions)
        *capacity = positions;
    if (prompt > *capacity)
        return assay_fail(&run->error, ASSAY_E_FULL, "run", "prompt",
                          "is %lld tokens long, the context has room for %lld", (long long)prompt,
                          (long long)*capacity);
    if (new_tokens > *capacity - prompt + last) {
        new_tokens = *capacity - prompt + last;
        fprintf(stderr, "assay: the context of %lld tokens leaves room for %lld new ones\n",
                (long long)*capacity, (long long)new_tokens);
    }
    run->generation.max_new_tokens = new_tokens;
    return ASSAY_OK;
}

static assay_status create_session(struct run *run)
{
    const struct run_options *options = run->options;
    int64_t capacity;
    ASSAY_TRY(plan_capacity(run, &capacity));
    struct assay_context_options context = assay_context_defaults();
    context.backend = options->backend;
    context.device = options->device;
    context.num_threads = options->threads;
    ASSAY_TRY(assay_context_create(&context, &run->context, &run->error));
    struct assay_session_options session = assay_session_defaults();
    session.capacity = capacity;
    session.prefill_chunk = PREFILL_CHUNK;
    session.trades = options->trades;
    session.cuda_graphs = options->cuda_graphs;
    ASSAY_TRY(assay_session_create(run->context, run->model, &session, &run->session, &run->error));
    return options->restore == NULL
               ? ASSAY_OK
               : assay_session_restore(run->session, options->restore, &run->error);
}

static assay_status prepare(struct run *run)
{
    ASSAY_TRY(assay_model_open(run->options->model_dir, &run->model, &run->error));
    ASSAY_TRY(ask_gate(run));
    ASSAY_TRY(assay_tokenizer_open(run->options->model_dir, &run->tokenizer, &run->error));
    ASSAY_TRY(encode_prompt(run));
    if (run->options->restore != NULL)
        ASSAY_TRY(assay_session_file_length(run->options->restore, &run->restored, &run->error));
    if (run->num_prompt == 0 && run->restored == 0)
        return assay_fail(&run->error, ASSAY_E_USAGE, "run", "prompt",
                          "is empty: nothing to continue");
    return create_session(run);
}

/* ---- the run ------------------------------------------------------------------------------- */

/* Writes what the detokeniser completed; at once, since a reader may be waiting. */
static bool write_text(struct run *run)
{
    const size_t bytes = run->text_bytes;
    run->text_bytes = 0;
    if (bytes > 0)
        fwrite(run->text, 1, bytes, stdout);
    run->write_failed = tool_flush_stdout() != TOOL_OK;
    return !run->write_failed;
}

static bool on_token(void *user, int32_t id)
{
    struct run *run = user;
    run->newest = id;
    run->status = assay_detokenizer_push(&run->detokenizer, id, &run->text, &run->text_bytes,
                                         &run->text_capacity, &run->error);
    return run->status == ASSAY_OK && write_text(run) && !interrupted;
}

/* Feeds all but the last piece of the prompt, so that an interrupt is seen between pieces. */
static assay_status feed_prompt(struct run *run)
{
    while ((int64_t)run->num_prompt - run->fed > PREFILL_CHUNK && !interrupted) {
        struct assay_generation piece = {.sampling = assay_sampling_defaults()};
        ASSAY_TRY(assay_session_generate(run->session, run->prompt + run->fed, PREFILL_CHUNK,
                                         &piece, &run->error));
        run->prefill_seconds += piece.prefill_seconds;
        run->fed += PREFILL_CHUNK;
    }
    return ASSAY_OK;
}

static assay_status generate(struct run *run)
{
    const struct assay_model_config *config = assay_model_config(run->model);
    const int64_t tokens = assay_tokenizer_size(run->tokenizer);
    struct assay_generation *generation = &run->generation;
    generation->sampling = run->options->sampling;
    generation->stop_tokens = config->stop_tokens;
    generation->num_stop_tokens = config->num_stop_tokens;
    generation->limit = tokens < config->vocab_size ? tokens : config->vocab_size;
    generation->callback = on_token;
    generation->user = run;
    assay_detokenizer_init(&run->detokenizer, run->tokenizer, true);

    ASSAY_TRY(feed_prompt(run));
    if (!interrupted) {
        ASSAY_TRY(assay_session_generate(run->session, run->prompt + run->fed,
                                         (int64_t)run->num_prompt - run->fed, generation,
                                         &run->error));
        run->fed = (int64_t)run->num_prompt;
    }
    run->prefill_seconds += generation->prefill_seconds;
    ASSAY_TRY(run->status);
    if (run->write_failed)
        return ASSAY_OK;
    /* An unfinished character, then the end of the last line. */
    ASSAY_TRY(assay_detokenizer_finish(&run->detokenizer, &run->text, &run->text_bytes,
                                       &run->text_capacity, &run->error));
    write_text(run);
    putchar('\n');
    run->write_failed = tool_flush_stdout() != TOOL_OK;
    return ASSAY_OK;
}

/* The last generated token is part of what goes on. Before a stop token the session has seen it. */
static assay_status save(struct run *run)
{
    if (run->fed < (int64_t)run->num_prompt) {
        fprintf(stderr, "assay: interrupted within the prompt: no session is saved\n");
        return ASSAY_OK;
    }
    if (run->newest >= 0 && !run->generation.stopped) {
        float *logits =
            assay_alloc((size_t)assay_model_config(run->model)->vocab_size * sizeof *logits);
        if (logits == NULL)
            return assay_fail(&run->error, ASSAY_E_MEMORY, "run", "save", "no memory");
        const assay_status status =
            assay_session_verify(run->session, &run->newest, 1, logits, &run->error);
        assay_free(logits);
        ASSAY_TRY(status);
    }
    return assay_session_save(run->session, run->options->save, &run->error);
}

/* ---- after the run ------------------------------------------------------------------------- */

/* How often routes ran whose names begin with one of the trade's prefixes: a trade that changed
 * nothing must be visible. */
static uint64_t coverage(const struct run *run, enum assay_trade trade)
{
    uint64_t count = 0;
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    for (const char *const *prefix = assay_trade_coverage_routes(trade); *prefix != NULL; prefix++)
        for (int i = 0; i < num_ops; i++)
            for (int j = 0; j < assay_op_num_routes(ops[i]); j++) {
                const char *name = assay_op_route(ops[i], j)->name;
                if (strncmp(name, *prefix, strlen(*prefix)) == 0)
                    count += assay_context_route_count(run->context, name);
            }
    return count;
}

static const char *ending(const struct run *run)
{
    if (interrupted)
        return "interrupted";
    if (run->write_failed)
        return "output failed";
    return run->generation.stopped ? "stop token" : "length";
}

static double rate(double tokens, double duration)
{
    return duration > 0.0 ? tokens / duration : 0.0;
}

static void print_memory(const struct assay_session_memory *m, enum run_stats form)
{
    if (form == RUN_STATS_TEXT)
        fprintf(stderr,
                "assay: bytes: weights %zu (a step reads %zu, copied %zu), KV %zu, states %zu, "
                "scratch %zu, workspace of products %zu\n",
                m->weights, m->decode_reads, m->weight_copies, m->kv, m->states, m->scratch,
                m->workspace);
    else if (form == RUN_STATS_JSON)
        fprintf(stderr,
                "\"bytes\": {\"weights\": %zu, \"decode_step_reads\": %zu, \"weight_copies\": %zu, "
                "\"kv\": %zu, \"states\": %zu, \"scratch\": %zu, \"workspace\": %zu}}\n",
                m->weights, m->decode_reads, m->weight_copies, m->kv, m->states, m->scratch,
                m->workspace);
}

static void print_stats(const struct run *run)
{
    const struct assay_generation *generation = &run->generation;
    const double prefill = run->prefill_seconds, decode = generation->decode_seconds;
    const double prefill_rate = rate((double)run->fed, prefill);
    const double decode_rate = rate((double)generation->num_new_tokens, decode);
    uint64_t routes = 0;
    for (unsigned i = 0; i < ASSAY_NUM_TRADES; i++)
        if ((run->options->trades >> i & 1u) != 0)
            routes += coverage(run, (enum assay_trade)i);
    if (run->options->stats == RUN_STATS_TEXT) {
        fprintf(stderr, "assay: prompt %lld tokens in %.3f s (%.1f tokens/s)\n",
                (long long)run->fed, prefill, prefill_rate);
        fprintf(stderr, "assay: new %lld tokens in %.3f s (%.1f tokens/s), ended by %s\n",
                (long long)generation->num_new_tokens, decode, decode_rate, ending(run));
        fprintf(stderr, "assay: trades %s, gate %s", run->trades, run->gate);
        if (run->options->trades != 0)
            fprintf(stderr, ", their routes ran %llu times", (unsigned long long)routes);
        fputc('\n', stderr);
    } else if (run->options->stats == RUN_STATS_JSON) {
        fprintf(stderr,
                "{\"prompt_tokens\": %lld, \"prefill_seconds\": %.6f, "
                "\"prefill_tokens_per_second\": %.3f, \"new_tokens\": %lld, "
                "\"decode_seconds\": %.6f, \"decode_tokens_per_second\": %.3f, "
                "\"ended_by\": \"%s\", \"trades\": \"%s\", \"gate\": \"%s\", "
                "\"trade_route_runs\": %llu, ",
                (long long)run->fed, prefill, prefill_rate, (long long)generation->num_new_tokens,
                decode, decode_rate, ending(run), run->trades, run->gate,
                (unsigned long long)routes);
    }
    struct assay_session_memory memory;
    if (assay_session_memory(run->session, &memory, NULL) == ASSAY_OK)
        print_memory(&memory, run->options->stats);
}

int tool_run(int argc, char **argv)
{
    struct run_options options;
    run_options_parse(&options, argc, argv);
    struct run run = {.options = &options, .newest = -1};
    if (options.ungated) {
        assay_trade_set_format(options.trades, run.trades, sizeof run.trades);
        fprintf(stderr, "UNGATED: %s\n", run.trades);
    }
    catch_interrupt();
    assay_status status = prepare(&run);
    const bool ran = status == ASSAY_OK;
    if (ran)
        status = generate(&run);
    if (ran && status == ASSAY_OK && options.save != NULL)
        status = save(&run);
    int code = status == ASSAY_OK ? TOOL_OK : tool_report(&run.error);
    if (ran && status == ASSAY_OK)
        print_stats(&run);
    if (run.write_failed)
        code = TOOL_USAGE;
    else if (interrupted && code == TOOL_OK)
        code = TOOL_INTERRUPTED;
    /* The mark frames everything that an ungated run printed, so that no excerpt loses it. */
    if (options.ungated)
        fprintf(stderr, "UNGATED: %s\n", run.trades);
    close_run(&run);
    return code;
}
