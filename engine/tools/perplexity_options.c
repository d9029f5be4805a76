/* SPDX-License-Identifier: MIT
 *
 * The command line of assay perplexity: options, ranges, combinations that make no sense.
 */
#include "tools/perplexity_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

enum {
    KEY_TEXT = 256,
    KEY_DATA,
    KEY_TOKENS,
    KEY_QUICK,
    KEY_CONTEXT,
    KEY_STRIDE,
    KEY_THROUGH,
    KEY_CHUNK,
    KEY_UNGATED,
    KEY_LEDGER,
    KEY_PLANT,
    KEY_AGAINST,
    KEY_ORACLE,
    KEY_LIMIT,
    KEY_KL_LIMIT,
    KEY_POWER,
    KEY_BLOCK,
    KEY_SEED,
    KEY_BACKEND,
    KEY_DEVICE,
    KEY_THREADS,
    KEY_WINDOWS,
    KEY_JSON,
    KEY_TRADE /* the first trade; the others follow */
};

enum { QUICK_CONTEXT = 1024, QUICK_STRIDE = 512, QUICK_TOKENS = 4096, ORACLE_TOKENS = 512 };

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "Texts:", 1},
    {"text", KEY_TEXT, "[DOMAIN=]FILE", 0,
     "Score this text, again for more (default: the bundled held-out texts); texts of one domain "
     "get a mean of their own",
     1},
    {"tokens", KEY_TOKENS, "N", 0,
     "Score about N tokens of each text, in windows spread over it (default: all; 512 with the "
     "oracle)",
     1},
    {"quick", KEY_QUICK, NULL, 0, "--context 1024 --stride 512 --tokens 4096", 1},
    {"context", KEY_CONTEXT, "N", 0, "Tokens of a window, from an empty state (4096)", 1},
    {"stride", KEY_STRIDE, "N", 0, "A window begins every N tokens, below the context (2048)", 1},
    {"data", KEY_DATA, "DIR", 0, "Golden data: corpora", 1},
    {NULL, 0, NULL, 0, "What is measured (a trade needs a passing gate record):", 2},
#define TRADE_OPTION(enumerator, name, change) \
    {name, KEY_TRADE + ASSAY_TRADE_##enumerator, NULL, 0, "Trade: " change, 2},
    ASSAY_TRADE_TABLE(TRADE_OPTION)
#undef TRADE_OPTION
        {"ledger", KEY_LEDGER, "FILE", 0, "Gate records to look in", 2},
#ifdef ASSAY_ALLOW_UNGATED
    {"ungated", KEY_UNGATED, NULL, 0,
     "Measure the lossy option without a gate record; marks the output", 2},
#endif
    {"through", KEY_THROUGH, "PATH", 0,
     "prefill (default); decode: one token a pass; width=N: verify steps of N tokens; lanes=N or "
     "lanes=NxC: steps of N windows at once, C tokens of each",
     2},
    {"chunk", KEY_CHUNK, "N", 0, "Tokens of a prefill pass (default 512)", 2},
    {"plant", KEY_PLANT, "MUTANT", 0,
     "Plant a mutant to see a limit broken, such as gdn_recurrent.mutant.state_bf16.cpu", 2},
    {NULL, 0, NULL, 0, "Comparison on the same tokens:", 3},
    {"against", KEY_AGAINST, "none|TRADES|oracle", 0,
     "With no trade, with a list of trades, or with the FP64 oracle", 3},
    {"oracle", KEY_ORACLE, NULL, 0, "Compare both settings with the FP64 oracle as well", 3},
    {"limit", KEY_LIMIT, "X", 0, "Decide whether the mean loss rises by at most X nats a token", 3},
    {"kl-limit", KEY_KL_LIMIT, "X", 0, "Decide whether the mean divergence is at most X nats", 3},
    {"power", KEY_POWER, "X", 0, "Power for which needed tokens are told (0.8)", 3},
    {"block", KEY_BLOCK, "N", 0, "Tokens of the smallest unit that is resampled (256)", 3},
    {"seed", KEY_SEED, "N", 0, "Seed of the resampling (1)", 3},
    {NULL, 0, NULL, 0, "Execution:", 4},
    {"backend", KEY_BACKEND, "NAME", 0, "cpu (default), cuda or simt", 4},
    {"device", KEY_DEVICE, "N", 0, "The device of backend cuda (default 0)", 4},
    {"threads", KEY_THREADS, "N", 0, "Use N threads (default: all processors)", 4},
    {NULL, 0, NULL, 0, "Reports:", 5},
    {"windows", KEY_WINDOWS, NULL, 0, "Show every window", 5},
    {"json", KEY_JSON, "FILE", 0, "Write all figures as JSON", 5},
    {0},
};

static const char doc[] =
    "Measures the loss of a model on held-out texts, through the path that a lossy option changes, "
    "and what the option changes on the same tokens: loss, divergence, agreement, with intervals, "
    "the tool's own floor, and whether there were enough tokens to decide. Exit code 0: within the "
    "limits, or none was given; 1: beyond; 2: inconclusive or blind."
    "\vExamples:\n"
    "  assay perplexity models/tiny\n"
    "  assay perplexity models/tiny --quick --through decode --json loss.json\n"
    "  assay perplexity models/tiny --lm-head-q4 --against none --limit 0.001\n"
    "  assay perplexity models/tiny --gdn-state-fp16 --against none --through width=4\n"
    "  assay perplexity models/tiny-q4.assay --mlp-a8-decode --against none --through lanes=8x4\n"
    "  assay perplexity models/tiny --against oracle --tokens 256\n"
    "  assay perplexity models/tiny --text prose=a.txt --text prose=b.txt --text code=main.c\n"
    "\nSee docs/quality.md for the formulas.";

/* What parsing remembers beyond the result. */
struct parsing {
    struct perplexity_options *options;
    bool quick, device;
    int64_t chunk; /* 0: not given */
};

/* ---- values --------------------------------------------------------------------------------- */

/* "8" or "8x2" */
static void parse_lanes(const struct argp_state *state, char *text, struct quality_options *m)
{
    char *const columns = strchr(text, 'x');
    if (columns != NULL)
        *columns = '\0';
    m->path = SCORE_LANES;
    m->num_lanes = (int)tool_integer(state, "--through lanes", text, 1, SCORE_LARGEST_WIDTH);
    m->width = columns == NULL ? 1
                               : tool_integer(state, "--through lanes: columns of each",
                                              columns + 1, 1, SCORE_LARGEST_WIDTH / m->num_lanes);
}

static void parse_through(const struct argp_state *state, char *text, struct quality_options *m)
{
    if (strcmp(text, "prefill") == 0) {
        m->path = SCORE_PREFILL;
    } else if (strcmp(text, "decode") == 0) {
        m->path = SCORE_DECODE;
    } else if (strncmp(text, "width=", 6) == 0) {
        m->path = SCORE_WIDTH;
        m->width = tool_integer(state, "--through width", text + 6, 1, SCORE_LARGEST_WIDTH);
    } else if (strncmp(text, "lanes=", 6) == 0) {
        parse_lanes(state, text + 6, m);
    } else {
        argp_error(state,
                   "--through must be prefill, decode, width=N, lanes=N or lanes=NxC, is \"%s\"",
                   text);
    }
}

static void parse_against(const struct argp_state *state, char *text, struct quality_options *m)
{
    struct assay_error error = {.status = ASSAY_OK};
    if (strcmp(text, "oracle") == 0) {
        m->against = QUALITY_ORACLE;
        return;
    }
    m->against = QUALITY_SETTING;
    if (assay_trade_set_parse(text, &m->against_trades, &error) != ASSAY_OK)
        argp_error(state, "--against %s: %s", text, error.message);
}

static error_t parse_execution(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct perplexity_options *options = parsing->options;
    struct quality_options *m = &options->measure;
    switch (key) {
    case KEY_UNGATED:
        options->ungated = true;
        return 0;
    case KEY_LEDGER:
        options->ledger = text;
        return 0;
    case KEY_PLANT:
        m->plant = text;
        return 0;
    case KEY_BACKEND:
        m->backend = tool_backend(state, text);
        return 0;
    case KEY_DEVICE:
        m->device = (int)tool_integer(state, "--device", text, 0, INT32_MAX);
        parsing->device = true;
        return 0;
    case KEY_THREADS:
        m->threads = (int)tool_integer(state, "--threads", text, 1, 1024);
        return 0;
    case KEY_WINDOWS:
        options->windows = true;
        return 0;
    case KEY_JSON:
        options->json = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_comparison(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct quality_options *m = &parsing->options->measure;
    switch (key) {
    case KEY_AGAINST:
        parse_against(state, text, m);
        return 0;
    case KEY_ORACLE:
        m->oracle = true;
        return 0;
    case KEY_LIMIT:
        m->limit = tool_number(state, "--limit", text, 1e-12, 100.0);
        return 0;
    case KEY_KL_LIMIT:
        m->kl_limit = tool_number(state, "--kl-limit", text, 0.0, 100.0);
        return 0;
    case KEY_POWER:
        m->power = tool_number(state, "--power", text, 0.5, 0.999);
        return 0;
    case KEY_BLOCK:
        m->block = tool_integer(state, "--block", text, 1, INT32_MAX);
        return 0;
    case KEY_SEED:
        m->seed = (uint64_t)tool_integer(state, "--seed", text, 0, INT64_MAX);
        return 0;
    default:
        return parse_execution(key, text, state);
    }
}

/* ---- combinations --------------------------------------------------------------------------- */

static void fill_defaults(struct parsing *parsing)
{
    struct quality_options *m = &parsing->options->measure;
    const bool quick = parsing->quick;
    if (m->context == 0)
        m->context = quick ? QUICK_CONTEXT : QUALITY_CONTEXT;
    if (m->stride == 0)
        m->stride = quick ? QUICK_STRIDE : QUALITY_STRIDE;
    if (m->path == SCORE_PREFILL)
        m->width = parsing->chunk;
    if (m->tokens == 0 && (m->oracle || m->against == QUALITY_ORACLE))
        m->tokens = ORACLE_TOKENS;
    else if (m->tokens == 0 && quick)
        m->tokens = QUICK_TOKENS;
}

static void check(struct parsing *parsing, const struct argp_state *state)
{
    const struct perplexity_options *options = parsing->options;
    const struct quality_options *m = &options->measure;
    struct assay_precision precision;
    struct assay_error error = {.status = ASSAY_OK};
    fill_defaults(parsing);
    if (m->stride >= m->context)
        argp_error(state, "--stride must be below the context of %lld, is %lld",
                   (long long)m->context, (long long)m->stride);
    if (m->num_texts > 0 && m->data_dir != NULL)
        argp_error(state, "--data has no effect with --text");
    if (parsing->chunk != 0 && m->path != SCORE_PREFILL)
        argp_error(state, "--chunk has no effect without --through prefill");
    if (m->oracle && m->against != QUALITY_SETTING)
        argp_error(state, "--oracle goes with --against none or --against TRADES");
    if (m->against == QUALITY_ALONE && !(isnan(m->limit) && isnan(m->kl_limit)))
        argp_error(state, "--limit and --kl-limit need --against");
    if (m->backend != ASSAY_CUDA && parsing->device)
        argp_error(state, "--device has no effect without --backend cuda");
    if (options->ungated && options->ledger != NULL)
        argp_error(state, "--ungated and --ledger exclude each other: an ungated run looks in no "
                          "ledger");
    if (assay_precision_resolve(m->trades, &precision, &error) != ASSAY_OK)
        argp_error(state, "--%s %s", error.what, error.message);
    if ((m->trades | m->against_trades) == 0 && (options->ungated || options->ledger != NULL))
        argp_error(state, "%s has no effect without a lossy option such as --gdn-state-fp16",
                   options->ungated ? "--ungated" : "--ledger");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct quality_options *m = &parsing->options->measure;
    if (key >= KEY_TRADE && key < KEY_TRADE + ASSAY_NUM_TRADES) {
        m->trades |= 1u << (unsigned)(key - KEY_TRADE);
        return 0;
    }
    switch (key) {
    case KEY_TEXT:
        if (m->num_texts == QUALITY_MAX_TEXTS)
            argp_error(state, "at most %d texts", QUALITY_MAX_TEXTS);
        m->texts[m->num_texts++] = text;
        return 0;
    case KEY_DATA:
        m->data_dir = text;
        return 0;
    case KEY_TOKENS:
        m->tokens = tool_integer(state, "--tokens", text, 1, INT32_MAX);
        return 0;
    case KEY_QUICK:
        parsing->quick = true;
        return 0;
    case KEY_CONTEXT:
        m->context = tool_integer(state, "--context", text, 2, INT32_MAX);
        return 0;
    case KEY_STRIDE:
        m->stride = tool_integer(state, "--stride", text, 1, INT32_MAX);
        return 0;
    case KEY_THROUGH:
        parse_through(state, text, m);
        return 0;
    case KEY_CHUNK:
        parsing->chunk = tool_integer(state, "--chunk", text, 1, INT32_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (m->model_dir != NULL)
            argp_error(state, "one MODEL is enough, found \"%s\" as well", text);
        m->model_dir = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "MODEL is missing");
        return EINVAL;
    case ARGP_KEY_SUCCESS:
        check(parsing, state);
        return 0;
    default:
        return parse_comparison(key, text, state);
    }
}

void perplexity_options_parse(struct perplexity_options *options, int argc, char **argv)
{
    const struct argp argp = {
        .options = option_table, .parser = parse, .args_doc = "MODEL", .doc = doc};
    *options = (struct perplexity_options){
        .measure = {.limit = NAN, .kl_limit = NAN, .power = 0.8, .block = QUALITY_BLOCK, .seed = 1},
    };
    struct parsing parsing = {.options = options};
    if (argp_parse(&argp, argc, argv, 0, NULL, &parsing) != 0)
        exit(TOOL_USAGE);
}
