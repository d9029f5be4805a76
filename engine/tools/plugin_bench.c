/* SPDX-License-Identifier: MIT
 *
 * A plugin's routes measured on the decks of their ops, with ours beside them, in a child. The
 * child prints; its rows come back as JSON, so that they outlive it.
 */
#include "tools/bench.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/plugin_child.h"
#include "tools/tool.h"

enum message_kind { MESSAGE_ERROR, MESSAGE_USAGE, MESSAGE_EXIT, MESSAGE_ROW };

/* Measured by the first child, for those that follow. */
struct machine_rates {
    double copy_bandwidth, madd_rate;
};

struct plugin_measure {
    const struct bench_options *o;
    struct machine_rates *rates; /* shared */
    /* the parent's */
    json_t *rows;
    int status;
    /* the child's */
    struct case_list list;
    size_t num_sent;
};

/* ---- in the child --------------------------------------------------------------------------- */

static const struct assay_route *plugin_route_of(const struct assay_op *op,
                                                 enum assay_backend backend)
{
    for (int i = op->num_routes; i < assay_op_num_routes(op); i++)
        if (assay_op_route(op, i)->backend == backend)
            return assay_op_route(op, i);
    return NULL;
}

static bool is_asked_for(const struct bench_options *o, const char *op)
{
    bool wanted = o->num_arguments == 0;
    for (int i = 0; i < o->num_arguments && !wanted; i++)
        wanted = strcmp(o->arguments[i], op) == 0;
    return wanted;
}

static bool collect(void *user, const struct assay_case *c)
{
    struct plugin_measure *m = user;
    const struct assay_op *op = c->spec->op;
    return plugin_route_of(op, m->o->backend) == NULL || !is_asked_for(m->o, op->name) ||
           case_list_append(&m->list, c);
}

/* The named deck, or all of the backend. */
static bool read_decks(struct plugin_measure *m, char *message, size_t size)
{
    if (m->o->deck != NULL)
        return case_deck_read(m->o->deck, collect, m, message, size);
    glob_t found;
    const char *pattern = m->o->backend == ASSAY_CUDA ? ASSAY_DECK_DIR "/*/device_*.deck"
                                                      : ASSAY_DECK_DIR "/*/perf_*.deck";
    if (glob(pattern, 0, NULL, &found) != 0) {
        snprintf(message, size, "no decks in %s; name one with --deck", ASSAY_DECK_DIR);
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < found.gl_pathc && good; i++)
        good = case_deck_read(found.gl_pathv[i], collect, m, message, size);
    globfree(&found);
    return good;
}

static bool make_cases(struct plugin_measure *m, struct plugin_child *child)
{
    struct assay_plugin_options options = plugin_child_options(child, false);
    assay_plugin_file *plugin;
    struct assay_error error = {.status = ASSAY_OK};
    if (assay_plugin_open(m->o->plugin, &options, &plugin, &error) != ASSAY_OK) {
        plugin_child_send(child, MESSAGE_ERROR, &error, sizeof error);
        return false;
    }
    char message[512] =
        "no deck has a case of the plugin's ops on this backend; name one with --deck";
    if (read_decks(m, message, sizeof message) && m->list.num_cases > 0)
        return true;
    plugin_child_send(child, MESSAGE_USAGE, message, strlen(message) + 1);
    return false;
}

static void send_rows(struct plugin_measure *m, const struct bench *b, struct plugin_child *child)
{
    for (; m->num_sent < json_array_size(b->rows); m->num_sent++) {
        char *text = json_dumps(json_array_get(b->rows, m->num_sent), JSON_COMPACT);
        if (text != NULL)
            plugin_child_send(child, MESSAGE_ROW, text, strlen(text) + 1);
        free(text);
    }
}

/* What the parent would name. */
static void name_route(void *user, const struct assay_case *c, const struct assay_route *route)
{
    struct plugin_shared *shared = ((struct plugin_child *)user)->shared;
    (void)c;
    snprintf(shared->c.route, sizeof shared->c.route, "%s", route->name);
}

static void run(void *user, struct plugin_child *child)
{
    struct plugin_measure *m = user;
    if (!make_cases(m, child))
        return;
    struct bench b = {.options = *m->o,
                      .measuring = name_route,
                      .user = child,
                      .copy_bandwidth = m->rates->copy_bandwidth,
                      .madd_rate = m->rates->madd_rate};
    bool is_first = b.copy_bandwidth == 0;
    int status = bench_begin(&b);
    if (status != TOOL_OK) {
        plugin_child_send(child, MESSAGE_EXIT, &status, sizeof status);
        return;
    }
    m->rates->madd_rate = b.madd_rate;
    m->rates->copy_bandwidth = b.copy_bandwidth;
    if (is_first)
        bench_machine(&b);
    for (int64_t i = child->first; i < m->list.num_cases; i += child->step) {
        const struct assay_case *c = &m->list.cases[i];
        plugin_child_begin(child, i, c);
        bench_case(&b, c);
        fflush(stdout);
        send_rows(m, &b, child);
    }
}

/* ---- in the parent -------------------------------------------------------------------------- */

static bool receive(void *user, int kind, const void *payload, size_t bytes)
{
    struct plugin_measure *m = user;
    if (kind == MESSAGE_ROW && bytes > 0) {
        json_array_append_new(m->rows, json_loadb(payload, bytes - 1, 0, NULL));
        return true;
    }
    m->status = TOOL_USAGE;
    if (kind == MESSAGE_ERROR && bytes == sizeof(struct assay_error)) {
        struct assay_error error;
        memcpy(&error, payload, sizeof error);
        m->status = tool_report(&error);
    } else if (kind == MESSAGE_USAGE && bytes > 0) {
        fprintf(stderr, "assay bench: %s: %.*s\n", m->o->plugin, (int)bytes - 1,
                (const char *)payload);
    } else if (kind == MESSAGE_EXIT && bytes == sizeof m->status) {
        memcpy(&m->status, payload, sizeof m->status);
    }
    return false;
}

static bool ended(void *user, const struct plugin_shared *shared, enum plugin_end end,
                  const char *how, const char *output)
{
    struct plugin_measure *m = user;
    m->status = TOOL_FAILED;
    fprintf(stderr, "FAILED %s: %s: %s\n", m->o->plugin, end == PLUGIN_HUNG ? "hung" : "crashed",
            how);
    if (output[0] != '\0')
        fprintf(stderr, "  it printed: %s\n", output);
    if (atomic_load(&shared->item) < 0 || end == PLUGIN_BROKE_PIPE)
        return false;
    char text[CASE_TEXT_BYTES];
    case_print(&shared->c, text);
    fprintf(stderr, "  repeat: assay verify --plugin %s '%s'\n", m->o->plugin, text);
    return true;
}

int bench_plugin(const struct bench_options *options)
{
    struct plugin_measure m = {.o = options, .rows = json_array()};
    m.rates =
        mmap(NULL, sizeof *m.rates, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m.rates == MAP_FAILED || m.rows == NULL) {
        json_decref(m.rows);
        fprintf(stderr, "assay bench: out of memory\n");
        return TOOL_USAGE;
    }
    struct plugin_work work = {.jobs = 1,
                               .time_limit = options->time_limit,
                               .keep_output = true,
                               .user = &m,
                               .run = run,
                               .receive = receive,
                               .ended = ended};
    int status = plugin_supervise(&work) ? m.status : TOOL_USAGE;
    struct bench report = {.options = *options, .rows = m.rows};
    int written = status == TOOL_USAGE ? TOOL_OK : bench_write(&report);
    json_decref(m.rows);
    munmap(m.rates, sizeof *m.rates);
    return status != TOOL_OK ? status : written;
}
