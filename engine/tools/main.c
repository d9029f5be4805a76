/* SPDX-License-Identifier: MIT
 *
 * The assay program: finds the subcommand and runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/version.h>

#include "tools/tool.h"

struct tool {
    const char *name;      /* as in the table: with _ for - */
    const char *full_name; /* argv[0] of the subcommand: help and errors show it */
    const char *summary;
    int (*run)(int argc, char **argv);
};

static const struct tool tools[] = {
#define TOOL_ROW(name, summary) {#name, "assay " #name, summary, tool_##name},
    TOOL_TABLE(TOOL_ROW)
#undef TOOL_ROW
};

enum { NUM_TOOLS = sizeof tools / sizeof *tools };

/* As it is typed. */
static const char *spelled(const char *name, char text[64])
{
    snprintf(text, 64, "%s", name);
    for (char *at = text; *at != '\0'; at++)
        if (*at == '_')
            *at = '-';
    return text;
}

struct command_line {
    const struct tool *tool;
    int first; /* index of the subcommand in argv */
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct command_line *line = state->input;
    char name[64];
    switch (key) {
    case ARGP_KEY_ARG:
        for (int i = 0; i < NUM_TOOLS; i++)
            if (strcmp(argument, spelled(tools[i].name, name)) == 0)
                line->tool = &tools[i];
        if (line->tool == NULL)
            argp_error(state, "there is no command \"%s\"", argument);
        /* What follows belongs to the subcommand. */
        line->first = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a command is missing");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Lists the commands below the program's description. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    char *list = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&list, &size);
    if (stream == NULL)
        return (char *)text;
    char name[64];
    fputs("Commands:\n", stream);
    for (int i = 0; i < NUM_TOOLS; i++)
        fprintf(stream, "  %-12s %s\n", spelled(tools[i].name, name), tools[i].summary);
    fputs("\nExit codes: 0 success; 1 a verdict or gate says no, or a run failed; 2 inconclusive; "
          "3 usage or environment; 130 interrupted.\n"
          "`assay COMMAND --help' describes a command.",
          stream);
    return fclose(stream) == 0 ? list : (char *)text;
}

/* Help and version leave through argp's exit: output that got lost must not look like success. */
static void check_stdout(void)
{
    if (tool_flush_stdout() != TOOL_OK)
        _exit(TOOL_USAGE);
}

/* A standard stream that was closed would hand its number to the next file opened, and text or
 * errors would go there. The mode is the wrong one on purpose: using the stream still fails. */
static void occupy_standard_streams(void)
{
    for (int stream = 0; stream <= 2; stream++)
        if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
            (void)open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    static char version[] = "assay " ASSAY_VERSION;
    const struct argp argp = {
        .parser = parse,
        .args_doc = "COMMAND [ARGUMENT...]",
        .doc = "Runs language models with evidence: every kernel verified against an oracle, every "
               "lossy option behind a gate.\v ",
        .help_filter = help_filter,
    };
    occupy_standard_streams();
    argp_program_version = version;
    argp_err_exit_status = TOOL_USAGE;
    /* A reader that went away is a write error like any other, reported with an exit code. */
    signal(SIGPIPE, SIG_IGN);
    atexit(check_stdout);

    struct command_line line = {0};
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &line) != 0 || line.tool == NULL)
        return TOOL_USAGE;
    /* A private copy: argp takes a char *, and a name must not be a literal. */
    char name[64];
    spelled(line.tool->full_name, name);
    argv[line.first] = name;
    return line.tool->run(argc - line.first, argv + line.first);
}
