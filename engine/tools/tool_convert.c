/* SPDX-License-Identifier: MIT
 *
 * assay convert: a model of any container to an .assay folder.
 */
#include "tools/tool.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <assay/convert.h>

#include "tools/progress.h"

enum { KEY_IMPORTANCE = 256 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first SIGINT or SIGTERM stops at the next rows and cleans up, a second one kills. A limit on
 * file sizes must end in an error and not in a signal, which would leave the temporary folder. */
static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

static bool show(void *argument, const struct assay_convert_progress *progress)
{
    struct progress *bar = argument;

    bar->total = progress->total;
    progress_update(bar, progress->done, progress->tensor);
    return !interrupted;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    enum { MOST_JOBS = 1024 };
    struct assay_convert_options *options = state->input;

    switch (key) {
    case 'r':
        options->recipe = argument;
        return 0;
    case 'o':
        options->output = argument;
        return 0;
    case 'e':
        options->encoder = assay_weight_encoder_from_name(argument);
        if (options->encoder == ASSAY_NUM_WEIGHT_ENCODERS)
            argp_error(state, "--encoder must be maxabs, clip25 or grouped, is \"%s\"", argument);
        return 0;
    case 'j':
        options->num_threads = (int)tool_integer(state, "--jobs", argument, 1, MOST_JOBS);
        return 0;
    case KEY_IMPORTANCE:
        options->importance = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (options->model != NULL)
            argp_error(state, "one MODEL is enough, found \"%s\" as well", argument);
        options->model = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->model == NULL)
            argp_error(state, "MODEL is missing");
        if (options->recipe == NULL)
            argp_error(state, "--recipe is missing: bf16, q8, q4-mixed or a JSON file");
        if (options->output == NULL)
            argp_error(state, "--output is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int report(const struct assay_convert_options *options,
                  const struct assay_convert_result *result, double seconds)
{
    printf("%s: %lld tensors, %lld bytes from %lld (%.1f %%), %.1f s\n", options->output,
           (long long)result->num_tensors, (long long)result->payload_bytes,
           (long long)result->source_bytes,
           100.0 * (double)result->payload_bytes / (double)result->source_bytes, seconds);
    return tool_flush_stdout();
}

int tool_convert(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"recipe", 'r', "NAME|FILE", 0, "bf16, q8, q4-mixed, or a JSON file of rules", 0},
        {"output", 'o', "FOLDER", 0, "The folder to make, by custom NAME.assay", 0},
        {"encoder", 'e', "NAME", 0,
         "How scales are chosen: maxabs (default), clip25, grouped; rules may say otherwise", 0},
        {"importance", KEY_IMPORTANCE, "FILE", 0,
         "Weights of the squared error for encoder grouped: an importance matrix in GGUF", 0},
        {"jobs", 'j', "N", 0, "Threads (default: all processors)", 0},
        {0}};
    static const struct argp argp = {
        .options = option_table,
        .parser = parse,
        .args_doc = "MODEL",
        .doc = "Converts a model (a folder of safetensors, an .assay folder or a .gguf file) to an "
               ".assay folder. The folder appears when it is complete; whatever stops the "
               "conversion leaves nothing behind."
               "\vExamples:\n"
               "  assay convert models/tiny --recipe q8 -o tiny-q8.assay\n"
               "  assay convert model.gguf --recipe bf16 -o model.assay\n"
               "  assay convert models/tiny --recipe q4-mixed --encoder grouped -o tiny-q4.assay\n"
               "\nA recipe file; the first pattern that fits a matrix decides, other matrices are "
               "bf16:\n"
               "  {\"rules\": [{\"pattern\": \"*.in_proj_[ab].weight\", \"format\": \"bf16\"},\n"
               "             {\"pattern\": \"*.mlp.*\", \"format\": \"q5g64\", \"encoder\": "
               "\"clip25\"}]}\n",
    };
    struct assay_convert_options options = assay_convert_defaults();
    struct assay_convert_result result = {0};
    struct assay_error error = {0};
    struct progress bar;

    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return TOOL_USAGE;
    watch_signals();
    progress_begin(&bar, "convert", 1);
    options.progress = show;
    options.argument = &bar;
    const assay_status status = assay_convert(&options, &result, &error);
    progress_end(&bar);
    if (status != ASSAY_OK)
        return tool_report(&error);
    return report(&options, &result, progress_now() - bar.start);
}
