/* SPDX-License-Identifier: MIT
 *
 * assay bench: routes over their floors, a peer, the oracles, and decoding, all in one run.
 */
#include "tools/tool.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench.h"

enum {
    OPTION_DECK = 256,
    OPTION_MODEL,
    OPTION_SECONDS,
    OPTION_JSON,
    OPTION_ONLY,
    OPTION_BACKEND,
    OPTION_DEVICE,
    OPTION_PLUGIN,
    OPTION_TIME_LIMIT
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct bench_options *o = state->input;
    switch (key) {
    case 't':
        o->num_threads = (int)tool_integer(state, "--threads", argument, 1, 1024);
        return 0;
    case OPTION_BACKEND:
        if (strcmp(argument, "cpu") != 0 && strcmp(argument, "cuda") != 0)
            argp_error(state, "--backend: cpu or cuda, not \"%s\"", argument);
        o->backend = strcmp(argument, "cuda") == 0 ? ASSAY_CUDA : ASSAY_CPU;
        return 0;
    case OPTION_DEVICE:
        o->device = (int)tool_integer(state, "--device", argument, 0, 1023);
        return 0;
    case OPTION_DECK:
        o->deck = argument;
        return 0;
    case OPTION_MODEL:
        o->model = argument;
        return 0;
    case OPTION_SECONDS:
        o->seconds = tool_number(state, "--seconds", argument, 0.01, 60);
        return 0;
    case OPTION_JSON:
        o->json = argument;
        return 0;
    case OPTION_PLUGIN:
        o->plugin = argument;
        return 0;
    case OPTION_TIME_LIMIT:
        o->time_limit = tool_number(state, "--time-limit", argument, 0.1, 3600);
        return 0;
    case ARGP_KEY_ARGS:
        o->arguments = state->argv + state->next;
        o->num_arguments = state->argc - state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool wanted(const struct bench_options *o, const char *name)
{
    if (o->num_arguments == 0)
        return true;
    for (int i = 0; i < o->num_arguments; i++)
        if (strcmp(o->arguments[i], name) == 0)
            return true;
    return false;
}

static bool bench_wanted(void *user, const struct assay_case *c)
{
    struct bench *b = user;
    if (wanted(&b->options, c->spec->op->name))
        bench_case(b, c);
    return true;
}

static int run_deck(struct bench *b, const char *path)
{
    char message[512];
    if (case_deck_read(path, bench_wanted, b, message, sizeof message))
        return TOOL_OK;
    fprintf(stderr, "assay bench: %s\n", message);
    return TOOL_USAGE;
}

static int run_decks(struct bench *b)
{
    if (b->options.deck != NULL)
        return run_deck(b, b->options.deck);
    glob_t found;
    int status = TOOL_OK;
    const char *pattern = b->options.backend == ASSAY_CUDA ? ASSAY_DECK_DIR "/*/device_*.deck"
                                                           : ASSAY_DECK_DIR "/*/perf_*.deck";
    if (glob(pattern, 0, NULL, &found) != 0) {
        fprintf(stderr, "assay bench: no decks in %s; name one with --deck\n", ASSAY_DECK_DIR);
        return TOOL_USAGE;
    }
    for (size_t i = 0; i < found.gl_pathc && status == TOOL_OK; i++)
        status = run_deck(b, found.gl_pathv[i]);
    globfree(&found);
    return status;
}

static const char doc[] =
    "Measures routes against their floors: the larger of bytes over the copy bandwidth and "
    "operations "
    "over the multiply-add rate, both measured in the same run. Peers: OpenBLAS sgemm for linear. "
    "WHAT is an op's name, or machine, peer, oracle, decode; all by default."
    "\vExamples:\n"
    "  assay bench linear\n"
    "  assay bench decode --model golden/models/tiny-hybrid --threads 2\n"
    "  assay bench oracle\n"
    "  assay bench --plugin ./mine.so\n"
    "  assay bench --backend cuda --json device.json\n";

int tool_bench(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"threads", 't', "N", 0, "Threads of the routes and of the peer (1)", 0},
        {"backend", OPTION_BACKEND, "NAME", 0, "cpu or cuda (cpu)", 0},
        {"device", OPTION_DEVICE, "N", 0, "Backend cuda: which device (0)", 0},
        {"deck", OPTION_DECK, "FILE", 0, "Case descriptors to measure, one a line", 0},
        {"model", OPTION_MODEL, "DIR", 0, "Model for decode", 0},
        {"seconds", OPTION_SECONDS, "S", 0, "Time for each measurement (0.2)", 0},
        {"plugin", OPTION_PLUGIN, "FILE", 0,
         "Measure the routes of a shared object (docs/validate-your-kernel.md) beside ours", 0},
        {"time-limit", OPTION_TIME_LIMIT, "S", 0, "Stop a call of the plugin after so long (10)",
         0},
        {"json", OPTION_JSON, "FILE", 0, "Write the numbers as JSON", 0},
        {0}};
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[WHAT...]", .doc = doc};
    struct bench b = {
        .options = {.num_threads = 1, .seconds = 0.2, .model = ASSAY_MODEL_DIR, .time_limit = 10}};
    if (argp_parse(&argp, argc, argv, 0, NULL, &b.options) != 0)
        return TOOL_USAGE;
    if (b.options.plugin != NULL)
        return bench_plugin(&b.options);
    int status = bench_begin(&b);
    if (status == TOOL_OK && wanted(&b.options, "machine"))
        bench_machine(&b);
    if (status == TOOL_OK)
        status = run_decks(&b);
    bool on_host = b.options.backend == ASSAY_CPU;
    if (status == TOOL_OK && on_host &&
        (wanted(&b.options, "peer") || wanted(&b.options, "linear")))
        bench_peer(&b);
    if (status == TOOL_OK && on_host && wanted(&b.options, "oracle"))
        bench_oracle(&b);
    if (status == TOOL_OK && wanted(&b.options, "decode"))
        status = bench_decode(&b);
    if (status == TOOL_OK)
        status = bench_write(&b);
    bench_end(&b);
    int flushed = tool_flush_stdout();
    return status != TOOL_OK ? status : flushed;
}
