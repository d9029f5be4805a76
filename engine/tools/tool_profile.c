/* SPDX-License-Identifier: MIT
 *
 * assay profile: where the time of a decode step and of a prefill chunk goes.
 */
#include <errno.h>
#include <string.h>

#include "tools/profile.h"
#include "tools/tool.h"

enum {
    KEY_BACKEND = 256,
    KEY_DEVICE,
    KEY_CUDA_GRAPHS,
    KEY_CHUNK,
    KEY_STEPS,
    KEY_JSON,
    KEY_TRADE /* the first trade; the others follow */
};

static const struct argp_option option_table[] = {
    {"backend", KEY_BACKEND, "NAME", 0, "cpu (default), cuda or simt", 0},
    {"device", KEY_DEVICE, "N", 0, "The device of backend cuda (default 0)", 0},
    {"cuda-graphs", KEY_CUDA_GRAPHS, "on|off", 0, "Replay decode steps (default on, backend cuda)",
     0},
    {"threads", 't', "N", 0, "Use N threads (default 1)", 0},
    {"context", 'c', "N", 0, "Tokens before what is measured (default 512)", 0},
    {"chunk", KEY_CHUNK, "N", 0, "Tokens of the prefill chunk (default 512)", 0},
    {"steps", KEY_STEPS, "N", 0, "Decode steps to average (default 32)", 0},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {NULL, 0, NULL, 0, "Measure with a trade:", 1},
#define TRADE_OPTION(enumerator, name, change) \
    {name, KEY_TRADE + ASSAY_TRADE_##enumerator, NULL, 0, change, 1},
    ASSAY_TRADE_TABLE(TRADE_OPTION)
#undef TRADE_OPTION
        {0},
};

static const char doc[] =
    "Measures a decode step and a prefill chunk of MODEL by phase: linear, attention, KV write, "
    "GDN, norm and elementwise, sampling, and what is left between kernels. On backend cuda by "
    "the device's own time stamps (CUPTI), with CUDA Graphs as a run would replay them; elsewhere "
    "by the host's clock. floor: the bytes that a phase's ops must move, over the copy rate of "
    "the same run, as a share of its time."
    "\vExamples:\n"
    "  assay profile models/tiny\n"
    "  assay profile models/tiny --backend cuda --context 4096\n"
    "  assay profile models/tiny --backend cuda --cuda-graphs off --json";

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct profile_options *options = state->input;
    if (key >= KEY_TRADE && key < KEY_TRADE + ASSAY_NUM_TRADES) {
        options->trades |= 1u << (unsigned)(key - KEY_TRADE);
        return 0;
    }
    switch (key) {
    case KEY_BACKEND:
        options->context.backend = tool_backend(state, text);
        return 0;
    case KEY_DEVICE:
        options->context.device = (int)tool_integer(state, "--device", text, 0, 1023);
        return 0;
    case KEY_CUDA_GRAPHS:
        if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
            argp_error(state, "--cuda-graphs must be on or off, is \"%s\"", text);
        options->cuda_graphs =
            strcmp(text, "on") == 0 ? ASSAY_CUDA_GRAPHS_ON : ASSAY_CUDA_GRAPHS_OFF;
        return 0;
    case 't':
        options->context.num_threads = (int)tool_integer(state, "--threads", text, 1, 1024);
        return 0;
    case 'c':
        options->length = tool_integer(state, "--context", text, 0, 1 << 24);
        return 0;
    case KEY_CHUNK:
        options->chunk = tool_integer(state, "--chunk", text, 1, 1 << 20);
        return 0;
    case KEY_STEPS:
        options->steps = tool_integer(state, "--steps", text, 1, 100000);
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->model_dir != NULL)
            argp_error(state, "one MODEL is enough, found \"%s\" as well", text);
        options->model_dir = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "MODEL is missing");
        return EINVAL;
    case ARGP_KEY_END:
        if (options->cuda_graphs != ASSAY_CUDA_GRAPHS_AUTO &&
            options->context.backend != ASSAY_CUDA)
            argp_error(state, "--cuda-graphs goes with --backend cuda");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int tool_profile(int argc, char **argv)
{
    static const struct argp argp = {option_table, parse, "MODEL", doc, NULL, NULL, NULL};
    struct profile_options options = {
        .context = assay_context_defaults(), .length = 512, .chunk = 512, .steps = 32};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    struct profile profile;
    int code = profile_measure(&options, &profile);
    if (code != TOOL_OK)
        return code;
    if (options.json)
        code = profile_print_json(&profile, stdout);
    else
        profile_print(&profile, stdout);
    const int flushed = tool_flush_stdout();
    return code != TOOL_OK ? code : flushed;
}
