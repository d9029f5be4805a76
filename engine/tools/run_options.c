/* SPDX-License-Identifier: MIT
 *
 * The command line of assay run: options, ranges, combinations that make no sense.
 */
#include "tools/run_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

/* Keys above 255 have no short form. */
enum {
    KEY_PROMPT = 'p',
    KEY_MESSAGES = 'm',
    KEY_MAX_NEW = 'n',
    KEY_THREADS = 't',
    KEY_CONTEXT = 'c',
    KEY_RAW = 256,
    KEY_NO_THINKING,
    KEY_GREEDY,
    KEY_TEMPERATURE,
    KEY_TOP_K,
    KEY_TOP_P,
    KEY_MIN_P,
    KEY_PRESENCE,
    KEY_FREQUENCY,
    KEY_SEED,
    KEY_UNGATED,
    KEY_LEDGER,
    KEY_CERTIFICATE,
    KEY_STATS,
    KEY_BACKEND,
    KEY_DEVICE,
    KEY_CUDA_GRAPHS,
    KEY_SAVE,
    KEY_RESTORE,
    KEY_TRADE /* the first trade; the others follow */
};

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "Input (exactly one of prompt and messages, but with --restore):", 1},
    {"prompt", KEY_PROMPT, "TEXT", 0, "A user message; with --raw, the text itself", 1},
    {"messages", KEY_MESSAGES, "FILE", 0, "A conversation: JSON array of {\"role\", \"content\"}",
     1},
    {"raw", KEY_RAW, NULL, 0, "Apply no chat template to the prompt", 1},
    {"no-thinking", KEY_NO_THINKING, NULL, 0, "Ask for an answer without a think block", 1},
    {"restore", KEY_RESTORE, "FILE", 0, "Go on with a saved session; --raw --prompt may add to it",
     1},
    {"save", KEY_SAVE, "FILE", 0, "Save the session at the end, all new tokens included", 1},
    {NULL, 0, NULL, 0, "Generation:", 2},
    {"max-new", KEY_MAX_NEW, "N", 0, "Stop after N new tokens (default 256)", 2},
    {"greedy", KEY_GREEDY, NULL, 0, "Always take the most likely token (the default)", 2},
    {"temperature", KEY_TEMPERATURE, "X", 0, "Sample at temperature X; 0 is greedy", 2},
    {"top-k", KEY_TOP_K, "N", 0, "Keep the N most likely tokens; 0 keeps all", 2},
    {"top-p", KEY_TOP_P, "X", 0, "Keep the likeliest tokens up to probability X", 2},
    {"min-p", KEY_MIN_P, "X", 0, "Keep tokens of at least X times the best probability", 2},
    {"seed", KEY_SEED, "N", 0, "Seed of the sampling (default 0)", 2},
    {"presence", KEY_PRESENCE, "X", 0, "Penalty once for a token already generated", 2},
    {"frequency", KEY_FREQUENCY, "X", 0, "Penalty for each time it was generated", 2},
    {NULL, 0, NULL, 0, "Precision (a trade needs a passing gate record):", 3},
#define TRADE_OPTION(enumerator, name, change) \
    {name, KEY_TRADE + ASSAY_TRADE_##enumerator, NULL, 0, "Trade: " change, 3},
    ASSAY_TRADE_TABLE(TRADE_OPTION)
#undef TRADE_OPTION
        {"ledger", KEY_LEDGER, "FILE", 0, "Gate records to look in", 3},
    {"certificate", KEY_CERTIFICATE, "FILE", 0,
     "A gate record signed with a trusted key, instead of the ledger", 3},
#ifdef ASSAY_ALLOW_UNGATED
    {"ungated", KEY_UNGATED, NULL, 0,
     "Use the lossy option without a gate record; marks the output", 3},
#endif
    {NULL, 0, NULL, 0, "Execution:", 4},
    {"backend", KEY_BACKEND, "NAME", 0,
     "cpu (default), cuda, or simt: the CUDA kernels on the host, for tests", 4},
    {"device", KEY_DEVICE, "N", 0, "The device of backend cuda (default 0); see: assay devices", 4},
    {"cuda-graphs", KEY_CUDA_GRAPHS, "on|off", 0,
     "Replay decode steps as CUDA Graphs (default on, backend cuda)", 4},
    {"threads", KEY_THREADS, "N", 0, "Use N threads (default: all processors)", 4},
    {"context", KEY_CONTEXT, "N", 0, "Room for N tokens (default: prompt and new tokens)", 4},
    {"stats", KEY_STATS, "FORM", 0, "Statistics on stderr: text (default), json, none", 4},
    {0},
};

static const char doc[] =
    "Generates text: what the model says goes to standard output as it appears, everything else "
    "to standard error. MODEL is a folder of safetensors, an .assay folder, or a .gguf file with "
    "tokenizer.json beside it. "
    "Ctrl-C stops after the current token, a second one at once."
    "\vExamples:\n"
    "  assay run models/tiny --prompt 'What is 12 times 10?'\n"
    "  assay run models/tiny --raw --prompt 'Call me' --max-new 40\n"
    "  assay run models/tiny --messages talk.json --temperature 0.7 --top-p 0.9 --seed 1\n"
    "  assay run models/tiny --prompt hello --save talk.session\n"
    "  assay run models/tiny --restore talk.session --max-new 100\n"
    "  assay run models/tiny --prompt hello --gdn-state-fp16\n"
    "  assay run models/tiny --prompt hello --backend cuda --device 1\n"
    "\nA lossy option is refused until its gate has passed on this model:\n"
    "  assay gate models/tiny --trade gdn-state-fp16";

/* What parsing remembers beyond the result: options that were given at all. */
struct parsing {
    struct run_options *options;
    bool greedy;
    const char *sampling_option; /* the last option that only sampling uses */
    bool device;
};

static error_t parse_sampling(int key, const char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct assay_sampling *sampling = &parsing->options->sampling;
    switch (key) {
    case KEY_GREEDY:
        parsing->greedy = true;
        return 0;
    case KEY_TEMPERATURE:
        sampling->temperature = tool_number(state, "--temperature", text, 0.0, 1000.0);
        return 0;
    case KEY_TOP_K:
        sampling->top_k = tool_integer(state, "--top-k", text, 0, INT32_MAX);
        parsing->sampling_option = "--top-k";
        return 0;
    case KEY_TOP_P:
        sampling->top_p = tool_number(state, "--top-p", text, 1e-9, 1.0);
        parsing->sampling_option = "--top-p";
        return 0;
    case KEY_MIN_P:
        sampling->min_p = tool_number(state, "--min-p", text, 0.0, 1.0);
        parsing->sampling_option = "--min-p";
        return 0;
    case KEY_SEED:
        sampling->seed = (uint64_t)tool_integer(state, "--seed", text, 0, INT64_MAX);
        parsing->sampling_option = "--seed";
        return 0;
    case KEY_PRESENCE:
        sampling->presence = tool_number(state, "--presence", text, -100.0, 100.0);
        return 0;
    case KEY_FREQUENCY:
        sampling->frequency = tool_number(state, "--frequency", text, -100.0, 100.0);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum run_stats parse_stats(const char *text, const struct argp_state *state)
{
    static const char *const forms[] = {"text", "json", "none"};
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(text, forms[i]) == 0)
            return (enum run_stats)i;
    argp_error(state, "--stats must be text, json or none, is \"%s\"", text);
    return RUN_STATS_TEXT;
}

static enum assay_cuda_graphs parse_cuda_graphs(const char *text, const struct argp_state *state)
{
    if (strcmp(text, "on") == 0)
        return ASSAY_CUDA_GRAPHS_ON;
    if (strcmp(text, "off") != 0)
        argp_error(state, "--cuda-graphs must be on or off, is \"%s\"", text);
    return ASSAY_CUDA_GRAPHS_OFF;
}

static error_t parse_execution(int key, const char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct run_options *options = parsing->options;
    switch (key) {
    case KEY_BACKEND:
        options->backend = tool_backend(state, text);
        return 0;
    case KEY_DEVICE:
        options->device = (int)tool_integer(state, "--device", text, 0, INT32_MAX);
        parsing->device = true;
        return 0;
    case KEY_CUDA_GRAPHS:
        options->cuda_graphs = parse_cuda_graphs(text, state);
        return 0;
    case KEY_THREADS:
        options->threads = (int)tool_integer(state, "--threads", text, 1, 1024);
        return 0;
    case KEY_CONTEXT:
        options->context = tool_integer(state, "--context", text, 1, INT32_MAX);
        return 0;
    default:
        return parse_sampling(key, text, state);
    }
}

/* A saved session has no place for the beginning that the chat template makes. */
static void check_input(const struct run_options *options, const struct argp_state *state)
{
    if (options->prompt != NULL && options->messages != NULL)
        argp_error(state, "--prompt and --messages exclude each other");
    if (options->restore == NULL && options->prompt == NULL && options->messages == NULL)
        argp_error(state, "--prompt or --messages is missing");
    if (options->restore != NULL && options->messages != NULL)
        argp_error(state, "--restore and --messages exclude each other: a conversation begins "
                          "anew");
    if (options->restore != NULL && options->prompt != NULL && !options->raw)
        argp_error(state, "--restore takes --prompt with --raw only: the chat template begins a "
                          "conversation");
    if (options->restore != NULL && options->no_thinking)
        argp_error(state, "--restore and --no-thinking exclude each other: thinking is a matter "
                          "of the chat template");
    if (options->raw && options->prompt == NULL && options->messages == NULL)
        argp_error(state, "--raw has no effect without --prompt");
    if (options->raw && options->messages != NULL)
        argp_error(state, "--raw and --messages exclude each other: a conversation needs the "
                          "chat template");
    if (options->raw && options->no_thinking)
        argp_error(state, "--raw and --no-thinking exclude each other: thinking is a matter of "
                          "the chat template");
}

/* Combinations that contradict themselves or would have no effect. */
static void check(const struct parsing *parsing, const struct argp_state *state)
{
    const struct run_options *options = parsing->options;
    check_input(options, state);
    if (parsing->greedy && options->sampling.temperature > 0.0)
        argp_error(state, "--greedy and --temperature above 0 exclude each other");
    if (parsing->sampling_option != NULL && options->sampling.temperature == 0.0)
        argp_error(state, "%s has no effect on greedy generation: add --temperature above 0",
                   parsing->sampling_option);
    if (options->backend != ASSAY_CUDA && parsing->device)
        argp_error(state, "--device has no effect without --backend cuda");
    if (options->backend != ASSAY_CUDA && options->cuda_graphs == ASSAY_CUDA_GRAPHS_ON)
        argp_error(state, "--cuda-graphs on needs --backend cuda");
    if (options->ungated && options->ledger != NULL)
        argp_error(state, "--ungated and --ledger exclude each other: an ungated run looks in no "
                          "ledger");
    if (options->certificate != NULL && (options->ungated || options->ledger != NULL))
        argp_error(state, "--certificate and --%s exclude each other: one answer is enough",
                   options->ungated ? "ungated" : "ledger");
    if (options->certificate != NULL && options->trades == 0)
        argp_error(state, "--certificate has no effect without a lossy option such as "
                          "--gdn-state-fp16");
    struct assay_precision precision;
    struct assay_error error = {.status = ASSAY_OK};
    if (assay_precision_resolve(options->trades, &precision, &error) != ASSAY_OK)
        argp_error(state, "--%s %s", error.what, error.message);
    if (options->trades == 0 && (options->ungated || options->ledger != NULL))
        argp_error(state, "%s has no effect without a lossy option such as --gdn-state-fp16",
                   options->ungated ? "--ungated" : "--ledger");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct run_options *options = parsing->options;
    if (key >= KEY_TRADE && key < KEY_TRADE + ASSAY_NUM_TRADES) {
        options->trades |= 1u << (unsigned)(key - KEY_TRADE);
        return 0;
    }
    switch (key) {
    case KEY_PROMPT:
        options->prompt = text;
        return 0;
    case KEY_MESSAGES:
        options->messages = text;
        return 0;
    case KEY_RESTORE:
        options->restore = text;
        return 0;
    case KEY_SAVE:
        options->save = text;
        return 0;
    case KEY_RAW:
        options->raw = true;
        return 0;
    case KEY_NO_THINKING:
        options->no_thinking = true;
        return 0;
    case KEY_MAX_NEW:
        options->max_new_tokens = tool_integer(state, "--max-new", text, 0, INT32_MAX);
        return 0;
    case KEY_UNGATED:
        options->ungated = true;
        return 0;
    case KEY_LEDGER:
        options->ledger = text;
        return 0;
    case KEY_CERTIFICATE:
        options->certificate = text;
        return 0;
    case KEY_STATS:
        options->stats = parse_stats(text, state);
        return 0;
    case ARGP_KEY_ARG:
        if (options->model_dir != NULL)
            argp_error(state, "one MODEL is enough, found \"%s\" as well", text);
        options->model_dir = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "MODEL is missing");
        return EINVAL;
    case ARGP_KEY_SUCCESS:
        check(parsing, state);
        return 0;
    default:
        return parse_execution(key, text, state);
    }
}

void run_options_parse(struct run_options *options, int argc, char **argv)
{
    const struct argp argp = {
        .options = option_table, .parser = parse, .args_doc = "MODEL", .doc = doc};
    *options = (struct run_options){.max_new_tokens = 256, .sampling = assay_sampling_defaults()};
    struct parsing parsing = {.options = options};
    if (argp_parse(&argp, argc, argv, 0, NULL, &parsing) != 0)
        exit(TOOL_USAGE);
}
