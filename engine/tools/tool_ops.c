/* SPDX-License-Identifier: MIT
 *
 * assay ops: all ops and routes, as text or as the page docs/ops.md.
 */
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>

#include <assay/route.h>

static error_t parse(int key, char *argument, struct argp_state *state)
{
    bool *markdown = state->input;
    (void)argument;
    switch (key) {
    case 'm':
        *markdown = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "takes no argument, found \"%s\"", argument);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *when(const struct assay_route *route)
{
    return route->when == NULL ? "always" : route->when;
}

/* "avx2"; routes of other backends have no instruction set. */
static const char *isa(const struct assay_route *route)
{
    return route->backend == ASSAY_CPU ? assay_isa_name(route->isa) : "-";
}

/* What rows do not depend on. */
static const char *invariance(const struct assay_route *route)
{
    static const char *const names[] = {"-", "batch", "width", "batch, width"};
    return names[route->invariance & (ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT)];
}

static void print_text(const struct assay_op *op)
{
    printf("%s: %s\n", op->name, op->summary);
    for (int i = 0; i < assay_op_num_routes(op); i++) {
        const struct assay_route *route = assay_op_route(op, i);
        printf("  %-36s %-8s %-9s %s\n", route->name, assay_profile_name(route->profile),
               isa(route), when(route));
    }
}

/* Text in a table cell: a bar would end the cell. */
static void print_cell(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
}

static void print_markdown(const struct assay_op *op)
{
    printf("\n## %s\n\n`%s`\n\n", op->name, op->summary);
    printf("| route | profile | instruction set | invariant in | taken when |\n"
           "|---|---|---|---|---|\n");
    for (int i = 0; i < assay_op_num_routes(op); i++) {
        const struct assay_route *route = assay_op_route(op, i);
        printf("| `%s` | %s | %s | %s | ", route->name, assay_profile_name(route->profile),
               isa(route), invariance(route));
        print_cell(when(route));
        printf(" |\n");
    }
}

static void print_profiles(void)
{
    printf("\n## Profiles\n\n| profile | meaning |\n|---|---|\n");
    for (unsigned i = 0; i < ASSAY_NUM_PROFILES; i++) {
        printf("| %s | ", assay_profile_name((enum assay_profile)i));
        print_cell(assay_profile_meaning((enum assay_profile)i));
        printf(" |\n");
    }
}

int tool_ops(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"markdown", 'm', NULL, 0, "Print the page docs/ops.md", 0}, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Lists all ops with their routes in the order of dispatch: name, what the route "
               "does to precision, the instruction set it needs, and when it is taken."
               "\vExample:\n  assay ops --markdown > docs/ops.md",
    };
    bool markdown = false;
    if (argp_parse(&argp, argc, argv, 0, NULL, &markdown) != 0)
        return TOOL_USAGE;
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    if (markdown)
        printf("# Ops and routes\n\nWritten by `assay ops --markdown`. Dispatch takes the first "
               "route of an op whose condition holds\nand whose instruction set the processor "
               "has. Invariant in: a row's bits do not depend on\nthe other rows of the call "
               "(batch), on how many rows the call has or how a sequence is split\ninto calls "
               "(width); held by `assay verify --invariance`.\n");
    for (int i = 0; i < num_ops; i++) {
        if (markdown)
            print_markdown(ops[i]);
        else
            print_text(ops[i]);
    }
    if (markdown)
        print_profiles();
    return tool_flush_stdout();
}
