/* SPDX-License-Identifier: MIT
 *
 * assay fuzz: random cases on a plugin's routes.
 */
#include "tools/tool.h"

#include <string.h>
#include <unistd.h>

#include "tools/plugin_verify.h"

enum {
    OPTION_PLUGIN = 256,
    OPTION_SECONDS,
    OPTION_SEED,
    OPTION_DEVICE,
    OPTION_TIME_LIMIT,
    OPTION_THREADS,
    OPTION_JSON,
    OPTION_JUNIT
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct plugin_verify_options *o = state->input;
    switch (key) {
    case 'j':
        o->jobs = (int)tool_integer(state, "--jobs", argument, 1, 256);
        return 0;
    case OPTION_PLUGIN:
        o->path = argument;
        return 0;
    case OPTION_SECONDS:
        o->fuzz_seconds = tool_number(state, "--seconds", argument, 0.1, 1e6);
        return 0;
    case OPTION_SEED:
        o->seed = (uint64_t)tool_integer(state, "--seed", argument, 0, INT64_MAX);
        return 0;
    case OPTION_DEVICE:
        o->device = (int)tool_integer(state, "--device", argument, 0, 1023);
        return 0;
    case OPTION_TIME_LIMIT:
        o->time_limit = tool_number(state, "--time-limit", argument, 0.1, 3600);
        return 0;
    case OPTION_THREADS:
        o->threads = (int)tool_integer(state, "--threads", argument, 1, 256);
        return 0;
    case OPTION_JSON:
        o->json = argument;
        return 0;
    case OPTION_JUNIT:
        o->junit = argument;
        return 0;
    case ARGP_KEY_ARGS:
        o->patterns = state->argv + state->next;
        o->num_patterns = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        if (o->path == NULL)
            argp_error(state, "--plugin FILE is missing");
        for (int i = 0; i < o->num_patterns; i++)
            if (strchr(o->patterns[i], '=') != NULL)
                argp_error(state, "a descriptor is one case: assay verify --plugin %s '%s'",
                           o->path, o->patterns[i]);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Draws cases of a plugin's routes for some seconds and judges each by its oracle, in a child "
    "process. PATTERN is an op's name or a glob over route names; all routes by default."
    "\vThe cases follow from the seed and their number alone. Failures print descriptors for "
    "`assay "
    "verify --plugin'.\n\n"
    "Examples:\n"
    "  assay fuzz --plugin ./mine.so --seconds 60\n"
    "  assay fuzz --plugin ./mine.so --seed 7 'rmsnorm.*'\n";

int tool_fuzz(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"plugin", OPTION_PLUGIN, "FILE", 0, "The shared object", 0},
        {"seconds", OPTION_SECONDS, "S", 0, "How long (10)", 0},
        {"seed", OPTION_SEED, "N", 0, "Seed of the cases (1)", 0},
        {"jobs", 'j', "N", 0, "Cases at a time (all processors)", 0},
        {"threads", OPTION_THREADS, "N", 0, "Threads that a call may use (2)", 0},
        {"device", OPTION_DEVICE, "N", 0, "Routes of backend cuda: which device (0)", 0},
        {"time-limit", OPTION_TIME_LIMIT, "S", 0, "Stop a call after so long (10)", 0},
        {"json", OPTION_JSON, "FILE", 0, "Write the report as JSON", 0},
        {"junit", OPTION_JUNIT, "FILE", 0, "Write the report as JUnit XML", 0},
        {0}};
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[PATTERN...]", .doc = doc};
    struct plugin_verify_options o = {.seed = 1,
                                      .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
                                      .threads = 2,
                                      .time_limit = 10,
                                      .fuzz_seconds = 10};
    if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
        return TOOL_USAGE;
    if (o.jobs < 1)
        o.jobs = 1;
    return plugin_verify(&o);
}
