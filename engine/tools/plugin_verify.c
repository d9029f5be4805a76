/* SPDX-License-Identifier: MIT
 *
 * A plugin's routes against the oracle. The children open the plugin, make the cases and judge
 * them; the parent keeps the report and never runs a line of the plugin.
 */
#include "tools/plugin_verify.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "philox.h"
#include "tools/plugin_child.h"
#include "tools/plugin_hints.h"
#include "tools/progress.h"
#include "tools/tool.h"
#include "tools/verify_report.h"

enum message_kind {
    MESSAGE_ERROR,    /* struct assay_error: nothing runs */
    MESSAGE_USAGE,    /* text: nothing runs */
    MESSAGE_ROUTE,    /* struct route_message */
    MESSAGE_TOTAL,    /* int64_t: cases of all children */
    MESSAGE_OUTCOME,  /* struct verify_outcome */
    MESSAGE_SMALLEST, /* struct smallest_message */
};

/* A hang costs its time limit, a crash a new child. */
enum { MOST_HANGS = 5, MOST_CRASHES = 100, FUZZ_BYTES = 96, FEW_CASES = 40, DEVICE_JOBS = 4 };

struct route_message {
    char op[64], route[64];
    enum assay_profile profile;
};

struct smallest_message {
    struct assay_case failing, smallest;
};

struct names { /* of a row of the report */
    char op[64], route[64];
};

struct plugin_sweep {
    const struct plugin_verify_options *o;
    bool one_case;
    double fuzz_end;
    /* the parent's */
    struct verify_report report;
    struct names *names[ASSAY_PLUGIN_MAX_ROUTES];
    struct hint_cases seen;
    struct progress progress;
    int64_t total, done;
    int hangs, crashes, status;
    bool stopped, has_outcome;
    struct verify_outcome outcome; /* the last one */
    /* the child's */
    struct case_list list;
    const struct assay_route *routes[ASSAY_PLUGIN_MAX_ROUTES];
    const struct case_spec *specs[ASSAY_PLUGIN_MAX_ROUTES];
    int num_routes;
    assay_context *contexts[ASSAY_NUM_BACKENDS];
    int shrunk[ASSAY_PLUGIN_MAX_ROUTES];
};

/* ---- in the child --------------------------------------------------------------------------- */

static void send_usage(struct plugin_child *child, const char *text)
{
    plugin_child_send(child, MESSAGE_USAGE, text, strlen(text) + 1);
}

static void send_error(struct plugin_child *child, const struct assay_error *error)
{
    plugin_child_send(child, MESSAGE_ERROR, error, sizeof *error);
}

static bool is_wanted(const struct plugin_sweep *s, const char *op, const char *route)
{
    bool wanted = s->o->num_patterns == 0 || s->one_case;
    for (int i = 0; i < s->o->num_patterns && !wanted; i++)
        wanted = strcmp(s->o->patterns[i], op) == 0 || fnmatch(s->o->patterns[i], route, 0) == 0;
    return wanted;
}

static bool open_plugin(struct plugin_sweep *s, struct plugin_child *child)
{
    struct assay_plugin_options options = plugin_child_options(child, true);
    assay_plugin_file *plugin;
    struct assay_error error = {.status = ASSAY_OK};
    if (assay_plugin_open(s->o->path, &options, &plugin, &error) != ASSAY_OK) {
        send_error(child, &error);
        return false;
    }
    for (int i = 0; i < assay_plugin_num_routes(plugin); i++) {
        const struct assay_op *op;
        const struct assay_route *route = assay_plugin_route_at(plugin, i, &op);
        const struct case_spec *spec = case_spec_find(op->name);
        if (spec == NULL || !is_wanted(s, op->name, route->name))
            continue;
        struct route_message m = {.profile = route->profile};
        snprintf(m.op, sizeof m.op, "%s", op->name);
        snprintf(m.route, sizeof m.route, "%s", route->name);
        plugin_child_send(child, MESSAGE_ROUTE, &m, sizeof m);
        s->routes[s->num_routes] = route;
        s->specs[s->num_routes++] = spec;
    }
    if (s->num_routes == 0)
        send_usage(child, "no route of the plugin is called so");
    return s->num_routes > 0;
}

static int route_index(const struct plugin_sweep *s, const char *name)
{
    for (int i = 0; i < s->num_routes; i++)
        if (strcmp(s->routes[i]->name, name) == 0)
            return i;
    return -1;
}

/* The descriptor's case; without a route in it, the plugin's only one of the op. */
static bool parse_one(struct plugin_sweep *s, struct plugin_child *child)
{
    struct assay_case c;
    char message[512];
    if (!case_parse(s->o->patterns[0], &c, message, sizeof message)) {
        send_usage(child, message);
        return false;
    }
    int found = -1, count = 0;
    for (int i = 0; i < s->num_routes && c.route[0] == '\0'; i++) {
        if (s->specs[i] == c.spec) {
            found = i;
            count++;
        }
    }
    if (c.route[0] != '\0')
        found = route_index(s, c.route);
    if (found < 0 || count > 1) {
        send_usage(child, count > 1 ? "the descriptor needs route=NAME: the plugin has several"
                                    : "the plugin has no such route");
        return false;
    }
    snprintf(c.route, sizeof c.route, "%s", s->routes[found]->name);
    return case_list_append(&s->list, &c);
}

static bool make_cases(struct plugin_sweep *s, struct plugin_child *child)
{
    bool good = true;
    if (s->one_case)
        return parse_one(s, child);
    if (s->fuzz_end > 0)
        return true;
    for (int i = 0; i < s->num_routes && good; i++) {
        /* A route that refuses calls may refuse most of the quick cases. */
        bool full = s->o->full || s->routes[i]->accepts != NULL;
        good = case_enumerate_route(s->specs[i], s->routes[i], s->o->seed,
                                    full ? CASE_FULL : CASE_QUICK, &s->list);
    }
    if (!good)
        send_usage(child, "out of memory for the cases");
    return good;
}

/* Most cases small, some large: sizes are halved, one or the other, until their product is at most
 * 2^10 .. 2^18. */
static void hold_sizes(struct assay_case *c, uint32_t draw)
{
    const struct case_spec *spec = c->spec;
    double most = (double)(1 << (10 + draw % 9));
    for (int tries = 0; tries < 400; tries++) {
        double product = 1;
        for (int i = 0; i < spec->num_params; i++)
            if (spec->params[i].kind == CASE_COUNT && c->value[i] > 1)
                product *= (double)c->value[i];
        if (product <= most)
            break;
        draw = draw * 1664525u + 1013904223u;
        int i = (int)((draw >> 16) % (uint32_t)spec->num_params);
        int64_t lo = spec->params[i].lo;
        if (spec->params[i].kind == CASE_COUNT)
            c->value[i] = lo + (c->value[i] - lo) / 2;
    }
    if (spec->adjust != NULL)
        spec->adjust(c);
}

/* The item's case; false behind the last one. */
static bool case_at(const struct plugin_sweep *s, int64_t item, struct assay_case *c)
{
    if (s->fuzz_end == 0) {
        if (item < s->list.num_cases)
            *c = s->list.cases[item];
        return item < s->list.num_cases;
    }
    uint32_t words[FUZZ_BYTES / 4];
    for (int i = 0; i < FUZZ_BYTES / 16; i++)
        philox_stream(s->o->seed, "plugin fuzz", (uint64_t)item * (FUZZ_BYTES / 16) + (uint64_t)i,
                      words + 4 * i);
    int route = (int)(item % s->num_routes);
    *c = case_from_bytes(s->specs[route], s->routes[route], (const uint8_t *)words, sizeof words);
    hold_sizes(c, words[FUZZ_BYTES / 4 - 1]);
    return progress_now() < s->fuzz_end;
}

/* The context of the route's backend; NULL: it cannot be had, and the parent knows. */
static assay_context *context_for(struct plugin_sweep *s, struct plugin_child *child,
                                  enum assay_backend backend)
{
    if (s->contexts[backend] != NULL)
        return s->contexts[backend];
    struct assay_context_options options = assay_context_defaults();
    options.backend = backend;
    options.device = s->o->device;
    options.num_threads = s->o->threads;
    struct assay_error error = {.status = ASSAY_OK};
    if (assay_context_create(&options, &s->contexts[backend], &error) != ASSAY_OK)
        send_error(child, &error);
    return s->contexts[backend];
}

static void judge(struct plugin_sweep *s, struct plugin_child *child, assay_context *context,
                  const struct assay_case *c)
{
    struct verify_outcome outcome;
    verify_case(context, c, &outcome);
    enum verdict_finding finding = outcome.verdict.finding;
    /* MISTRUSTED says that a case is weak, which random cases may be. */
    if (s->fuzz_end > 0 && !verdict_is_failure(finding) && finding != VERDICT_PASS)
        outcome.refused = true;
    plugin_child_send(child, MESSAGE_OUTCOME, &outcome, sizeof outcome);
    int route = route_index(s, c->route);
    if (outcome.refused || finding == VERDICT_PASS || s->one_case ||
        s->shrunk[route]++ >= VERIFY_MAX_FAILURES)
        return;
    atomic_store(&child->shared->shrinking, true);
    atomic_store(&child->shared->item_since, (long long)(progress_now() * 1e6));
    struct smallest_message m = {.failing = *c};
    verify_shrink(context, c, &m.smallest);
    plugin_child_send(child, MESSAGE_SMALLEST, &m, sizeof m);
}

static void run_cases(void *user, struct plugin_child *child)
{
    struct plugin_sweep *s = user;
    if (!open_plugin(s, child) || !make_cases(s, child))
        return;
    for (int i = 0; i < s->num_routes; i++)
        if (s->routes[i]->backend == ASSAY_CUDA && !plugin_child_limit(child, DEVICE_JOBS))
            return;
    plugin_child_send(child, MESSAGE_TOTAL, &s->list.num_cases, sizeof s->list.num_cases);
    struct assay_case c;
    for (int64_t item = child->first; case_at(s, item, &c); item += child->step) {
        const struct assay_route *route = assay_route_find(c.route, NULL);
        assay_context *context = context_for(s, child, route->backend);
        if (context == NULL)
            return;
        plugin_child_begin(child, item, &c);
        judge(s, child, context, &c);
    }
}

/* ---- in the parent -------------------------------------------------------------------------- */

static bool add_route(struct plugin_sweep *s, const struct route_message *m)
{
    struct verify_report *report = &s->report;
    for (int i = 0; i < report->num_rows; i++)
        if (strcmp(report->rows[i].route, m->route) == 0)
            return true;
    if (report->num_rows == ASSAY_PLUGIN_MAX_ROUTES)
        return false;
    struct names *names = malloc(sizeof *names);
    struct verify_row *grown =
        realloc(report->rows, (size_t)(report->num_rows + 1) * sizeof *grown);
    if (grown != NULL)
        report->rows = grown;
    if (names == NULL || grown == NULL) {
        free(names);
        return false;
    }
    snprintf(names->op, sizeof names->op, "%s", m->op);
    snprintf(names->route, sizeof names->route, "%s", m->route);
    s->names[report->num_rows] = names;
    report->rows[report->num_rows++] =
        (struct verify_row){.op = names->op, .route = names->route, .profile = m->profile};
    return true;
}

static void add_outcome(struct plugin_sweep *s, const struct verify_outcome *outcome)
{
    verify_report_add(&s->report, outcome);
    if (!outcome->refused)
        hints_add(&s->seen, outcome);
    s->outcome = *outcome;
    s->has_outcome = true;
    s->done++;
    if (s->total > 0)
        progress_update(&s->progress, s->done, outcome->c.route);
}

static void add_smallest(struct plugin_sweep *s, const struct smallest_message *m)
{
    char failing[CASE_TEXT_BYTES], text[CASE_TEXT_BYTES];
    case_print(&m->failing, failing);
    for (int i = 0; i < s->report.num_rows; i++) {
        struct verify_row *row = &s->report.rows[i];
        for (int k = 0; k < row->num_failures; k++) {
            case_print(&row->failures[k].outcome.c, text);
            if (strcmp(text, failing) == 0)
                row->failures[k].smallest = m->smallest;
        }
    }
}

static bool give_up(struct plugin_sweep *s, const char *why)
{
    progress_end(&s->progress);
    fprintf(stderr, "assay: %s: %s; the cases that are left are not run\n", s->o->path, why);
    s->stopped = true;
    s->status = TOOL_FAILED;
    return false;
}

static bool receive(void *user, int kind, const void *payload, size_t bytes)
{
    struct plugin_sweep *s = user;
    if (kind == MESSAGE_ROUTE && bytes == sizeof(struct route_message)) {
        struct route_message m;
        memcpy(&m, payload, sizeof m);
        m.op[sizeof m.op - 1] = m.route[sizeof m.route - 1] = '\0';
        return add_route(s, &m);
    }
    if (kind == MESSAGE_TOTAL && bytes == sizeof s->total) {
        memcpy(&s->total, payload, sizeof s->total);
        s->progress.total = s->total;
        return true;
    }
    if (kind == MESSAGE_OUTCOME && bytes == sizeof(struct verify_outcome)) {
        struct verify_outcome outcome;
        memcpy(&outcome, payload, sizeof outcome);
        outcome.route[sizeof outcome.route - 1] = '\0';
        outcome.verdict.output[sizeof outcome.verdict.output - 1] = '\0';
        outcome.verdict.message[sizeof outcome.verdict.message - 1] = '\0';
        if (!plugin_case_is_sound(&outcome.c) ||
            (unsigned)outcome.verdict.finding >= VERDICT_NUM_FINDINGS)
            return give_up(s, "its process sent nonsense");
        add_outcome(s, &outcome);
        return true;
    }
    if (kind == MESSAGE_SMALLEST && bytes == sizeof(struct smallest_message)) {
        struct smallest_message m;
        memcpy(&m, payload, sizeof m);
        if (!plugin_case_is_sound(&m.failing) || !plugin_case_is_sound(&m.smallest))
            return give_up(s, "its process sent nonsense");
        add_smallest(s, &m);
        return true;
    }
    progress_end(&s->progress);
    s->stopped = true;
    s->status = TOOL_USAGE;
    if (kind == MESSAGE_ERROR && bytes == sizeof(struct assay_error)) {
        struct assay_error error;
        memcpy(&error, payload, sizeof error);
        s->status = tool_report(&error);
    } else if (kind == MESSAGE_USAGE && bytes > 0) {
        fprintf(stderr, "assay: %s: %.*s\n", s->o->path, (int)bytes - 1, (const char *)payload);
    } else {
        fprintf(stderr, "assay: %s: its process sent nonsense\n", s->o->path);
    }
    return false;
}

/* What the plugin printed last, as one line of printable characters. */
static void printable(const char *from, char *to, size_t size)
{
    size_t used = 0, length = strlen(from);
    if (length > size - 1)
        from += length - (size - 1);
    for (; *from != '\0' && used + 1 < size; from++)
        to[used++] = *from >= ' ' && *from <= '~' ? *from : ' ';
    while (used > 0 && to[used - 1] == ' ')
        used--;
    to[used] = '\0';
}

static bool ended(void *user, const struct plugin_shared *shared, enum plugin_end end,
                  const char *how, const char *output)
{
    struct plugin_sweep *s = user;
    char printed[200];
    printable(output, printed, sizeof printed);
    if (end == PLUGIN_BROKE_PIPE)
        return give_up(s, how);
    s->hangs += end == PLUGIN_HUNG;
    s->crashes += end == PLUGIN_CRASHED;
    if (atomic_load(&shared->item) < 0) {
        progress_end(&s->progress);
        fprintf(stderr, "assay: %s: while it was opened, its process was %s%s%s\n", s->o->path, how,
                printed[0] != '\0' ? "; it printed: " : "", printed);
        s->stopped = true;
        s->status = TOOL_FAILED;
        return false;
    }
    if (!atomic_load(&shared->shrinking)) {
        struct verify_outcome outcome = {.c = shared->c};
        outcome.verdict.finding = end == PLUGIN_HUNG ? VERDICT_HUNG : VERDICT_CRASHED;
        snprintf(outcome.route, sizeof outcome.route, "%s", shared->c.route);
        snprintf(outcome.verdict.message, sizeof outcome.verdict.message, "%s%s%s", how,
                 printed[0] != '\0' ? "; it printed: " : "", printed);
        add_outcome(s, &outcome);
    }
    if (s->hangs >= MOST_HANGS)
        return give_up(s, "it hung too often");
    return s->crashes < MOST_CRASHES || give_up(s, "it crashed too often");
}

static int write_reports(const struct plugin_sweep *s)
{
    struct assay_error error = {.status = ASSAY_OK};
    if (s->o->json != NULL && verify_report_json(&s->report, s->o->json, &error) != ASSAY_OK)
        return tool_report(&error);
    if (s->o->junit != NULL && verify_report_junit(&s->report, s->o->junit, &error) != ASSAY_OK)
        return tool_report(&error);
    return TOOL_OK;
}

static int report_one(struct plugin_sweep *s)
{
    if (!s->has_outcome)
        return s->status != TOOL_OK ? s->status : TOOL_USAGE;
    if (s->outcome.refused) {
        printf("%s does not accept this call\n", s->outcome.route);
        return TOOL_USAGE;
    }
    verify_outcome_print(&s->outcome);
    int flushed = tool_flush_stdout();
    return s->outcome.verdict.finding != VERDICT_PASS ? TOOL_FAILED : flushed;
}

/* A route that refuses nearly everything has not been verified by what is left. */
static void warn_few(const struct plugin_sweep *s)
{
    for (int i = 0; i < s->report.num_rows; i++) {
        const struct verify_row *r = &s->report.rows[i];
        if (r->refused > 0 && r->cases < FEW_CASES)
            printf("\n%s refused %lld cases and ran %lld: too few to trust; try --full, other "
                   "seeds, assay fuzz\n",
                   r->route, (long long)r->refused, (long long)r->cases);
    }
}

static int report_all(struct plugin_sweep *s)
{
    if (s->report.num_rows == 0 || (s->stopped && !s->has_outcome))
        return s->status != TOOL_OK ? s->status : TOOL_USAGE;
    verify_report_print(&s->report);
    for (int i = 0; i < s->report.num_rows; i++)
        hints_print(&s->seen, s->report.rows[i].route);
    warn_few(s);
    int written = write_reports(s), flushed = tool_flush_stdout();
    if (s->stopped)
        return s->status;
    if (verify_report_cases(&s->report) == 0) {
        fprintf(stderr, "assay: %s: its routes accept no case: nothing was checked\n", s->o->path);
        return TOOL_USAGE;
    }
    if (verify_report_bad(&s->report) > 0)
        return TOOL_FAILED;
    return written != TOOL_OK ? written : flushed;
}

static bool run_supervised(struct plugin_sweep *s, struct plugin_work *work, double begin)
{
    progress_begin(&s->progress, s->o->fuzz_seconds > 0 ? "fuzz" : "verify", 0);
    const bool good = plugin_supervise(work);
    if (good)
        progress_end(&s->progress);
    s->report.seconds = progress_now() - begin;
    return good;
}

int plugin_verify(const struct plugin_verify_options *options)
{
    struct plugin_sweep *s = calloc(1, sizeof *s);
    if (s == NULL) {
        fprintf(stderr, "assay: out of memory\n");
        return TOOL_USAGE;
    }
    s->o = options;
    s->one_case = options->num_patterns == 1 && strchr(options->patterns[0], '=') != NULL;
    double begin = progress_now();
    if (options->fuzz_seconds > 0 && !s->one_case)
        s->fuzz_end = begin + options->fuzz_seconds;
    s->report.seed = options->seed;
    s->report.plugin = options->path;
    struct plugin_work work = {.jobs = s->one_case ? 1 : options->jobs,
                               .time_limit = options->time_limit,
                               .user = s,
                               .run = run_cases,
                               .receive = receive,
                               .ended = ended};
    struct assay_error error = {.status = ASSAY_OK};
    int status = TOOL_USAGE;
    if (options->tolerate != NULL &&
        verify_report_tolerate(&s->report, options->tolerate, &error) != ASSAY_OK)
        status = tool_report(&error);
    else if (run_supervised(s, &work, begin))
        status = s->one_case ? report_one(s) : report_all(s);
    verify_report_free(&s->report);
    for (int i = 0; i < ASSAY_PLUGIN_MAX_ROUTES; i++)
        free(s->names[i]);
    hints_free(&s->seen);
    free(s);
    return status;
}
