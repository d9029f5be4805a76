/* SPDX-License-Identifier: MIT
 *
 * assay new-kernel: a folder with the template of a plugin for an op, which compiles and whose
 * verdict is "not written".
 */
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <assay/route.h>

#include "core/core.h"

static const unsigned char plugin_header[] = {
#include "plugin_text.inc"
};

struct kernel_options {
    const struct assay_op *op;
    const char *folder;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct kernel_options *o = state->input;
    switch (key) {
    case 'o':
        o->folder = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one op is enough");
        o->op = assay_op_find(argument);
        if (o->op == NULL)
            argp_error(state, "there is no op \"%s\"; see: assay ops", argument);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "OP is missing");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* A name of the ABI as an identifier: "w.base" is w_base, "sections[0]" is sections_0. */
static const char *identifier(const char *name, char text[64])
{
    size_t used = 0;
    for (; *name != '\0' && used < 63; name++)
        if (*name != ']')
            text[used++] = *name == '.' || *name == '[' ? '_' : *name;
    text[used] = '\0';
    return text;
}

static void print_tensors(FILE *f, const struct assay_op *op)
{
    static const char *const roles[] = {
        [ASSAY_INPUT] = "", [ASSAY_OUTPUT] = " /* written */", [ASSAY_INOUT] = " /* in and out */"};
    char name[64];
    fprintf(f,
            "    /* Tensors; those that the contract calls optional are NULL where absent. */\n");
    for (const struct assay_argument *a = op->arguments; a->name != NULL; a++)
        fprintf(f,
                "    const struct assay_plugin_tensor *%s = assay_plugin_tensor(call, \"%s\");%s\n",
                identifier(a->name, name), a->name, roles[a->role]);
}

static void print_scalars(FILE *f, const struct assay_op *op)
{
    char name[64];
    for (const struct assay_scalar *s = op->scalars; s != NULL && s->name != NULL; s++) {
        bool real = s->kind == ASSAY_SCALAR_REAL;
        fprintf(f, "    %s %s = assay_plugin_%s(call, \"%s\");%s\n", real ? "double" : "int64_t",
                identifier(s->name, name), real ? "real" : "integer", s->name,
                s->kind == ASSAY_SCALAR_WEIGHT_FORMAT ? " /* enum assay_plugin_weight_format */"
                                                      : "");
    }
}

/* The compiler says nothing about what is not used yet. */
static void print_unused(FILE *f, const struct assay_op *op)
{
    char name[64];
    for (const struct assay_argument *a = op->arguments; a->name != NULL; a++)
        fprintf(f, "    (void)%s;\n", identifier(a->name, name));
    for (const struct assay_scalar *s = op->scalars; s != NULL && s->name != NULL; s++)
        fprintf(f, "    (void)%s;\n", identifier(s->name, name));
}

static void print_source(FILE *f, const struct assay_op *op)
{
    fprintf(
        f,
        "/* %s: %s\n"
        " *\n"
        " * A plugin for Assay. What the op promises: engine/ops/%s/%s.h, the formats of numbers "
        "and the\n"
        " * helpers: plugin.h.\n"
        " *\n"
        " *   make\n"
        " *   assay verify --plugin ./%s_kernel.so      is it right?\n"
        " *   assay fuzz --plugin ./%s_kernel.so        still, on random cases?\n"
        " *   assay bench --plugin ./%s_kernel.so       how fast?\n"
        " */\n"
        "#include \"plugin.h\"\n\n"
        "static int run(const struct assay_plugin_call *call)\n{\n",
        op->name, op->summary, op->name, op->name, op->name, op->name, op->name);
    print_tensors(f, op);
    print_scalars(f, op);
    fprintf(f, "\n    /* The op goes here; then remove these lines and the failure. */\n");
    print_unused(f, op);
    fprintf(
        f,
        "    return assay_plugin_fail(call, \"not written\");\n"
        "}\n\n"
        "static const struct assay_plugin_route route = {\n"
        "    .size = sizeof route,\n"
        "    .name = \"%s.kernel\",\n"
        "    .profile = \"f32\", /* what it may do to precision: assay ops --markdown, at the "
        "end */\n"
        "    .backend = \"cpu\",\n"
        "    .run = run,\n"
        "    /* .when = \"H a multiple of 16\", .accepts = ...: where it does not take all calls "
        "*/\n"
        "    /* .workspace_bytes = ...: memory beside the tensors */\n"
        "    /* .boundaries = ...: sizes at which its code path changes */\n"
        "};\n\n"
        "static const struct assay_plugin_route *const routes[] = {&route};\n\n"
        "static const struct assay_plugin plugin = {\n"
        "    .size = sizeof plugin,\n"
        "    .version = ASSAY_PLUGIN_VERSION,\n"
        "    .num_routes = 1,\n"
        "    .routes = routes,\n"
        "};\n\n"
        "ASSAY_PLUGIN_EXPORT const struct assay_plugin *assay_plugin_v1(void)\n{\n"
        "    return &plugin;\n}\n",
        op->name);
}

static void print_makefile(FILE *f, const struct assay_op *op)
{
    fprintf(f,
            "CFLAGS ?= -std=c17 -O2 -g -Wall -Wextra\n\n"
            "%s_kernel.so: %s_kernel.c plugin.h\n"
            "\t$(CC) $(CFLAGS) -ffp-contract=off -fPIC -shared -o $@ $< -lm\n\n"
            "clean:\n\trm -f %s_kernel.so\n\n.PHONY: clean\n",
            op->name, op->name, op->name);
}

static void print_header(FILE *f, const struct assay_op *op)
{
    (void)op;
    fwrite(plugin_header, 1, sizeof plugin_header - 1, f);
}

/* DIR/NAME, which must not be there yet. */
static assay_status write_file(const struct kernel_options *o, const char *name,
                               void (*print)(FILE *f, const struct assay_op *op),
                               struct assay_error *error)
{
    char *path = assay_path_join(o->folder, name);
    if (path == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, o->folder, name, "out of memory");
    assay_status status = ASSAY_OK;
    struct assay_new_file file;
    if (access(path, F_OK) == 0)
        status = assay_fail(error, ASSAY_E_IO, path, "",
                            "is there already and stays as it is; choose a folder with -o");
    else
        status = assay_new_file_open(path, &file, error);
    if (status == ASSAY_OK) {
        print(file.stream, o->op);
        status = assay_new_file_commit(&file, error);
    }
    if (status == ASSAY_OK)
        printf("%s\n", path);
    assay_free(path);
    return status;
}

static const char doc[] =
    "Writes the template of a plugin for OP: OP_kernel.c, Makefile and plugin.h. It compiles, and "
    "its verdict is \"not written\" until it is."
    "\vExample:\n"
    "  assay new-kernel rmsnorm -o mine && make -C mine && assay verify --plugin "
    "mine/rmsnorm_kernel.so\n";

int tool_new_kernel(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "DIR", 0, "The folder, made if it is not there (.)", 0}, {0}};
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "OP", .doc = doc};
    struct kernel_options o = {.folder = "."};
    if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0 || o.op == NULL)
        return TOOL_USAGE;
    struct assay_error error = {.status = ASSAY_OK};
    if (mkdir(o.folder, 0777) != 0 && errno != EEXIST) {
        assay_fail(&error, ASSAY_E_IO, o.folder, "", "cannot be made: %s", strerror(errno));
        return tool_report(&error);
    }
    char source[96];
    snprintf(source, sizeof source, "%s_kernel.c", o.op->name);
    if (write_file(&o, source, print_source, &error) != ASSAY_OK ||
        write_file(&o, "Makefile", print_makefile, &error) != ASSAY_OK ||
        write_file(&o, "plugin.h", print_header, &error) != ASSAY_OK)
        return tool_report(&error);
    printf("next: make -C %s && assay verify --plugin %s/%s_kernel.so\n", o.folder, o.folder,
           o.op->name);
    return tool_flush_stdout();
}
