/* SPDX-License-Identifier: MIT
 *
 * assay verify: routes against the oracle.
 */
#include "tools/tool.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/plugin_verify.h"
#include "tools/progress.h"
#include "tools/verify_invariance.h"
#include "tools/verify_noise.h"
#include "tools/verify_report.h"
#include "tools/verify_sequence.h"

enum {
    OPTION_SEED = 256,
    OPTION_LIST,
    OPTION_FULL,
    OPTION_ORACLE,
    OPTION_VECTORS,
    OPTION_JSON,
    OPTION_JUNIT,
    OPTION_PRECISION,
    OPTION_BACKEND,
    OPTION_DEVICE,
    OPTION_INVARIANCE,
    OPTION_NOISE,
    OPTION_TOLERATE,
    OPTION_DECK,
    OPTION_PLUGIN,
    OPTION_TIME_LIMIT,
    OPTION_THREADS
};

struct verify_options {
    char **arguments;
    int num_arguments;
    enum assay_backend backend;
    int device;
    uint64_t seed;
    int jobs;
    bool list, full, oracle, vectors, invariance, noise;
    long precision;
    const char *json, *junit, *tolerate;
    const char *deck[256];
    int num_decks;
    const char *plugin;
    double time_limit;
    int threads;
};

static bool is_descriptor(const char *argument)
{
    return strchr(argument, '=') != NULL;
}

static bool one_case(const struct verify_options *o)
{
    return !o->vectors && o->num_arguments == 1 && is_descriptor(o->arguments[0]);
}

/* Modes, reports and sources of cases that contradict each other. */
static void check_options(const struct argp_state *state, const struct verify_options *o)
{
    if (o->vectors && (o->oracle || o->list || o->json != NULL || o->junit != NULL))
        argp_error(state, "--vectors goes with no other mode or report");
    if (o->vectors && o->num_arguments == 0)
        argp_error(state, "--vectors needs at least one file");
    if (o->invariance && (o->vectors || o->oracle || o->list || o->full || o->json != NULL ||
                          o->junit != NULL || one_case(o)))
        argp_error(state, "--invariance goes with no other mode, report or descriptor");
    if (o->noise && (o->vectors || o->oracle || o->invariance || o->list || o->plugin != NULL ||
                     o->json != NULL || o->junit != NULL || one_case(o)))
        argp_error(state, "--noise goes with no other mode, report or descriptor");
    if (o->tolerate != NULL &&
        (o->vectors || o->oracle || o->invariance || o->list || o->noise || one_case(o)))
        argp_error(state, "--tolerate goes with sweeps and decks only");
    if (o->num_decks > 0 && (o->vectors || o->oracle || o->invariance || o->full || one_case(o)))
        argp_error(state, "--deck goes with no other source of cases");
    if (o->oracle && (o->list || o->json != NULL || o->junit != NULL))
        argp_error(state, "--oracle goes with no other mode or report");
    if (o->list && (o->json != NULL || o->junit != NULL))
        argp_error(state, "--list runs nothing that --json or --junit could report");
    if (one_case(o) && (o->list || o->full || o->json != NULL || o->junit != NULL))
        argp_error(state, "a descriptor goes with no other mode or report");
    if (one_case(o) && is_sequence(o->arguments[0]) && (o->oracle || o->plugin != NULL))
        argp_error(state, "a program over sessions goes with no other mode");
    if (o->plugin != NULL &&
        (o->vectors || o->oracle || o->invariance || o->list || o->num_decks > 0))
        argp_error(state, "--plugin goes with no other mode or source of cases");
    if (o->plugin != NULL && o->backend != ASSAY_CPU)
        argp_error(state, "--backend has no effect with --plugin: each route names its own");
    if (o->plugin == NULL && (o->time_limit > 0 || o->threads > 0))
        argp_error(state, "--time-limit and --threads go with --plugin");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct verify_options *o = state->input;
    switch (key) {
    case 'j':
        o->jobs = (int)tool_integer(state, "--jobs", argument, 1, 256);
        return 0;
    case OPTION_SEED:
        o->seed = (uint64_t)tool_integer(state, "--seed", argument, 0, INT64_MAX);
        return 0;
    case OPTION_LIST:
        o->list = true;
        return 0;
    case OPTION_FULL:
        o->full = true;
        return 0;
    case OPTION_ORACLE:
        o->oracle = true;
        return 0;
    case OPTION_DECK:
        if (o->num_decks == (int)(sizeof o->deck / sizeof o->deck[0]))
            argp_error(state, "--deck: at most %d files", o->num_decks);
        o->deck[o->num_decks++] = argument;
        return 0;
    case OPTION_PLUGIN:
        o->plugin = argument;
        return 0;
    case OPTION_TIME_LIMIT:
        o->time_limit = tool_number(state, "--time-limit", argument, 0.1, 3600);
        return 0;
    case OPTION_THREADS:
        o->threads = (int)tool_integer(state, "--threads", argument, 1, 256);
        return 0;
    case OPTION_INVARIANCE:
        o->invariance = true;
        return 0;
    case OPTION_TOLERATE:
        o->tolerate = argument;
        return 0;
    case OPTION_NOISE:
        o->noise = true;
        return 0;
    case OPTION_VECTORS:
        o->vectors = true;
        return 0;
    case OPTION_BACKEND:
        o->backend = tool_backend(state, argument);
        return 0;
    case OPTION_DEVICE:
        o->device = (int)tool_integer(state, "--device", argument, 0, 1023);
        return 0;
    case OPTION_PRECISION:
        o->precision = (long)tool_integer(state, "--precision", argument, 64, 65536);
        return 0;
    case OPTION_JSON:
        o->json = argument;
        return 0;
    case OPTION_JUNIT:
        o->junit = argument;
        return 0;
    case ARGP_KEY_ARGS:
        o->arguments = state->argv + state->next;
        o->num_arguments = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        check_options(state, o);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* A pattern names an op, or is a glob over route names; a descriptor has '='. */
static bool matches(const struct verify_options *o, const char *op, const char *route)
{
    if (o->num_arguments == 0)
        return true;
    for (int i = 0; i < o->num_arguments; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): argv's strings are not null */
        if (strcmp(o->arguments[i], op) == 0 || fnmatch(o->arguments[i], route, 0) == 0)
            return true;
    return false;
}

/* The first argument that names nothing, NULL when there is none: a misspelt op must not pass. */
static const char *unknown_pattern(const struct verify_options *o)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int a = 0; a < o->num_arguments; a++) {
        struct verify_options one = {.arguments = &o->arguments[a], .num_arguments = 1};
        bool known = false;
        for (int i = 0; i < num_specs && !known; i++) {
            const struct assay_op *op = specs[i]->op;
            for (int r = 0; r < op->num_routes && !known; r++)
                known = matches(&one, op->name, op->routes[r].name);
        }
        if (!known)
            return o->arguments[a];
    }
    return NULL;
}

/* ---- the sweep ------------------------------------------------------------------------------ */

struct sweep {
    enum assay_backend backend;
    int device;
    struct case_list list;
    struct verify_report report;
    atomic_llong next;
    int64_t done;
    pthread_mutex_t mutex;
    struct progress progress;
};

static assay_context *new_context(enum assay_backend backend, int device)
{
    struct assay_context_options options = assay_context_defaults();
    options.backend = backend;
    options.device = device;
    assay_context *context;
    struct assay_error error = {0};
    if (assay_context_create(&options, &context, &error) != ASSAY_OK)
        tool_report(&error);
    return context;
}

static void *sweep_worker(void *argument)
{
    struct sweep *s = argument;
    assay_context *context = new_context(s->backend, s->device);
    if (context == NULL)
        return NULL;
    for (;;) {
        int64_t i = atomic_fetch_add(&s->next, 1);
        if (i >= s->list.num_cases)
            break;
        struct verify_outcome outcome;
        verify_case(context, &s->list.cases[i], &outcome);
        pthread_mutex_lock(&s->mutex);
        verify_report_add(&s->report, &outcome);
        s->done++;
        progress_update(&s->progress, s->done, s->list.cases[i].route);
        pthread_mutex_unlock(&s->mutex);
    }
    assay_context_destroy(context);
    oracle_thread_end();
    return NULL;
}

static bool add_row(struct sweep *s, const struct assay_op *op, const struct assay_route *route)
{
    struct verify_report *report = &s->report;
    struct verify_row *grown =
        realloc(report->rows, (size_t)(report->num_rows + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    report->rows = grown;
    report->rows[report->num_rows++] =
        (struct verify_row){.op = op->name, .route = route->name, .profile = route->profile};
    return true;
}

static bool collect(struct sweep *s, const struct verify_options *o)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int i = 0; i < num_specs; i++) {
        const struct assay_op *op = specs[i]->op;
        for (int r = 0; r < op->num_routes; r++) {
            const struct assay_route *route = &op->routes[r];
            if (route->backend != o->backend || route->isa > assay_isa_detect() ||
                !matches(o, op->name, route->name))
                continue;
            if (!add_row(s, op, route) ||
                !case_enumerate_route(specs[i], route, o->seed, o->full ? CASE_FULL : CASE_QUICK,
                                      &s->list))
                return false;
        }
    }
    return true;
}

/* A deck's case for each route of the backend that takes it, or for the one that it names. */
static bool collect_case(struct sweep *s, const struct verify_options *o,
                         const struct assay_case *c)
{
    const struct assay_op *op = c->spec->op;
    for (int r = 0; r < op->num_routes; r++) {
        const struct assay_route *route = &op->routes[r];
        if (route->backend != o->backend || route->isa > assay_isa_detect() ||
            !matches(o, op->name, route->name) ||
            (c->route[0] != '\0' && strcmp(c->route, route->name) != 0))
            continue;
        bool known = false;
        for (int i = 0; i < s->report.num_rows && !known; i++)
            known = s->report.rows[i].route == route->name;
        if (!known && !add_row(s, op, route))
            return false;
        struct assay_case one = *c;
        snprintf(one.route, sizeof one.route, "%s", route->name);
        one.seed = o->seed;
        if (!case_list_append(&s->list, &one))
            return false;
    }
    return true;
}

struct deck_cases {
    struct sweep *sweep;
    const struct verify_options *options;
};

static bool collect_deck_case(void *user, const struct assay_case *c)
{
    struct deck_cases *d = user;
    return collect_case(d->sweep, d->options, c);
}

/* False: said what is wrong. */
static bool collect_decks(struct sweep *s, const struct verify_options *o)
{
    struct deck_cases cases = {s, o};
    char message[512];
    for (int i = 0; i < o->num_decks; i++) {
        if (case_deck_read(o->deck[i], collect_deck_case, &cases, message, sizeof message))
            continue;
        fprintf(stderr, "assay verify: %s\n", message);
        return false;
    }
    return true;
}

static void shrink_failures(struct sweep *s)
{
    assay_context *context = new_context(s->backend, s->device);
    for (int i = 0; i < s->report.num_rows && context != NULL; i++) {
        struct verify_row *row = &s->report.rows[i];
        for (int k = 0; k < row->num_failures; k++)
            verify_shrink(context, &row->failures[k].outcome.c, &row->failures[k].smallest);
    }
    assay_context_destroy(context);
}

static void run_workers(struct sweep *s, int jobs, void *(*worker)(void *))
{
    pthread_t threads[256];
    int started = 0;
    for (; started < jobs - 1; started++)
        if (pthread_create(&threads[started], NULL, worker, s) != 0)
            break;
    worker(s); /* this thread works too, so that a failed start loses speed only */
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

static int write_reports(const struct verify_report *report, const struct verify_options *o)
{
    struct assay_error error = {0};
    if (o->json != NULL && verify_report_json(report, o->json, &error) != ASSAY_OK)
        return tool_report(&error);
    if (o->junit != NULL && verify_report_junit(report, o->junit, &error) != ASSAY_OK)
        return tool_report(&error);
    return TOOL_OK;
}

static int list_cases(const struct sweep *s)
{
    char text[CASE_TEXT_BYTES];
    for (int64_t i = 0; i < s->list.num_cases; i++) {
        case_print(&s->list.cases[i], text);
        puts(text);
    }
    return tool_flush_stdout();
}

static int run_sweep(struct sweep *s, const struct verify_options *o)
{
    double start = progress_now();
    struct assay_error error = {0};
    if (o->tolerate != NULL && verify_report_tolerate(&s->report, o->tolerate, &error) != ASSAY_OK)
        return tool_report(&error);
    progress_begin(&s->progress, "verify", s->list.num_cases);
    run_workers(s, o->jobs, sweep_worker);
    progress_end(&s->progress);
    shrink_failures(s);
    s->report.seconds = progress_now() - start;
    verify_report_print(&s->report);
    int written = write_reports(&s->report, o), flushed = tool_flush_stdout();
    if (s->done < s->list.num_cases || verify_report_cases(&s->report) == 0)
        return TOOL_USAGE;
    const int64_t bad = verify_report_bad(&s->report), not_run = verify_report_not_run(&s->report);
    if (not_run > 0)
        fprintf(stderr, "assay: %lld cases found no memory: repeat them with nothing beside\n",
                (long long)not_run);
    if (bad > 0)
        return bad > not_run ? TOOL_FAILED : TOOL_USAGE;
    return written != TOOL_OK ? written : flushed;
}

/* ---- FP64 against MPFR ---------------------------------------------------------------------- */

/* Routes do not matter here: one route's cases of each op. */
static int run_oracle(const struct sweep *s, const struct verify_options *o)
{
    int64_t checked = 0, bad = 0;
    struct progress progress;
    progress_begin(&progress, "oracle", s->list.num_cases);
    const char *op = "", *route = "";
    for (int64_t i = 0; i < s->list.num_cases; i++) {
        const struct assay_case *c = &s->list.cases[i];
        if (strcmp(op, c->spec->op->name) != 0) {
            op = c->spec->op->name;
            route = c->route;
        }
        if (strcmp(route, c->route) != 0)
            continue;
        char message[512], text[CASE_TEXT_BYTES];
        progress_update(&progress, i, op);
        checked++;
        if (verify_oracle(c, o->precision, message, sizeof message))
            continue;
        bad++;
        case_print(c, text);
        printf("FAILED oracle: %s\n  repeat: assay verify --oracle '%s'\n", message, text);
    }
    progress_end(&progress);
    printf("%lld cases: FP64 against MPFR at %ld and %ld bits, %lld bad\n", (long long)checked,
           o->precision, 2 * o->precision, (long long)bad);
    int flushed = tool_flush_stdout();
    return checked == 0 ? TOOL_USAGE : bad > 0 ? TOOL_FAILED : flushed;
}

/* ---- golden vectors ------------------------------------------------------------------------- */

struct vector_count {
    int vectors, runs, bad;
};

static void check_vector(assay_context *context, const char *path, struct vector *vector,
                         struct vector_count *count)
{
    const struct assay_op *op = vector->c.spec->op;
    count->vectors++;
    for (int r = 0; r < op->num_routes; r++) {
        if (op->routes[r].backend != assay_context_backend(context) ||
            op->routes[r].isa > assay_context_isa(context))
            continue;
        struct verify_outcome outcome;
        char message[512] = "";
        bool good =
            verify_vector(context, vector, op->routes[r].name, &outcome, message, sizeof message);
        if (outcome.refused)
            continue;
        count->runs++;
        if (good && outcome.verdict.finding == VERDICT_PASS)
            continue;
        count->bad++;
        printf("FAILED %s:%d: %s: %s\n", path, vector->line, op->routes[r].name,
               good ? outcome.verdict.message : message);
    }
}

static int check_file(assay_context *context, const char *path, struct vector_count *count)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "assay verify: %s: %s\n", path, strerror(errno));
        return TOOL_USAGE;
    }
    int line = 0, got;
    struct vector vector;
    char message[512];
    while ((got = vector_read(file, &line, &vector, message, sizeof message)) > 0) {
        check_vector(context, path, &vector, count);
        vector_destroy(&vector);
    }
    fclose(file);
    if (got < 0) {
        fprintf(stderr, "assay verify: %s: %s\n", path, message);
        return TOOL_USAGE;
    }
    return TOOL_OK;
}

static int run_vectors(const struct verify_options *o)
{
    assay_context *context = new_context(o->backend, o->device);
    if (context == NULL)
        return TOOL_USAGE;
    struct vector_count count = {0, 0, 0};
    int status = TOOL_OK;
    for (int i = 0; i < o->num_arguments && status == TOOL_OK; i++)
        status = check_file(context, o->arguments[i], &count);
    assay_context_destroy(context);
    if (status == TOOL_OK) /* no score for files that were not read to their end */
        printf("%d vectors, %d runs, %d bad\n", count.vectors, count.runs, count.bad);
    int flushed = tool_flush_stdout();
    if (status != TOOL_OK)
        return status;
    if (count.runs == 0)
        return TOOL_USAGE; /* a file without vectors checks nothing */
    return count.bad > 0 ? TOOL_FAILED : flushed;
}

/* ---- invariance ----------------------------------------------------------------------------- */

static bool is_wanted(const void *user, const char *op, const char *route)
{
    return matches(user, op, route);
}

static int run_invariance(const struct verify_options *o)
{
    assay_context *context = new_context(o->backend, o->device);
    if (context == NULL)
        return TOOL_USAGE;
    int status = verify_invariance_report(context, is_wanted, o);
    assay_context_destroy(context);
    return status;
}

/* ---- one case ------------------------------------------------------------------------------- */

static int run_one(const char *text, const struct verify_options *o)
{
    struct assay_case c;
    char message[512];
    if (!case_parse(text, &c, message, sizeof message)) {
        fprintf(stderr, "assay verify: %s\n", message);
        return TOOL_USAGE;
    }
    if (o->oracle) {
        bool good = verify_oracle(&c, o->precision, message, sizeof message);
        printf("%s\n", good ? "pass: FP64 and MPFR agree within their bounds" : message);
        return good ? tool_flush_stdout() : TOOL_FAILED;
    }
    /* a route named in the case brings its backend */
    const struct assay_route *route = assay_route_find(c.route, NULL);
    assay_context *context = new_context(route != NULL ? route->backend : o->backend, o->device);
    if (context == NULL)
        return TOOL_USAGE;
    struct verify_outcome outcome;
    verify_case(context, &c, &outcome);
    assay_context_destroy(context);
    if (outcome.refused) {
        printf("%s does not accept this call\n", outcome.route);
        return TOOL_USAGE;
    }
    verify_outcome_print(&outcome);
    verify_noise_print(&c, &outcome.verdict);
    int flushed = tool_flush_stdout();
    return outcome.verdict.finding != VERDICT_PASS ? TOOL_FAILED : flushed;
}

/* ---- a plugin ------------------------------------------------------------------------------- */

static int run_plugin(const struct verify_options *o)
{
    struct plugin_verify_options options = {.path = o->plugin,
                                            .patterns = o->arguments,
                                            .num_patterns = o->num_arguments,
                                            .seed = o->seed,
                                            .jobs = o->jobs,
                                            .threads = o->threads > 0 ? o->threads : 2,
                                            .device = o->device,
                                            .full = o->full,
                                            .time_limit = o->time_limit > 0 ? o->time_limit : 10,
                                            .json = o->json,
                                            .junit = o->junit,
                                            .tolerate = o->tolerate};
    return plugin_verify(&options);
}

static const char doc[] =
    "Runs every route of every op against its oracle. PATTERN is an op's name or a glob over route "
    "names; a case descriptor repeats exactly one case, a sequence one program over sessions."
    "\vA failure prints its smallest failing case as a descriptor.\n\n"
    "Examples:\n"
    "  assay verify                     all ops, all routes\n"
    "  assay verify rmsnorm             one op\n"
    "  assay verify '*.avx2.cpu' --full --seed 7\n"
    "  assay verify 'rmsnorm rows=3 H=65 dist=large route=rmsnorm.avx2.cpu seed=9'\n"
    "  assay verify 'sequence seed=7 length=24'    a program over sessions\n"
    "  assay verify --plugin ./mine.so  other people's kernels\n"
    "  assay verify --invariance        what the rows of each route depend on\n"
    "  assay verify rope --oracle       the FP64 oracle against MPFR\n"
    "  assay verify rope --noise        random rounding beside the bounds\n"
    "  assay verify --vectors golden/ops/rope/special.vec\n";

int tool_verify(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"seed", OPTION_SEED, "N", 0, "Seed of the cases (1)", 0},
        {"jobs", 'j', "N", 0, "Cases at a time (all processors)", 0},
        {"list", OPTION_LIST, NULL, 0, "Print the descriptors of the cases, run none", 0},
        {"full", OPTION_FULL, NULL, 0, "Many more seeded mixtures", 0},
        {"oracle", OPTION_ORACLE, NULL, 0, "Check the FP64 oracles against MPFR instead", 0},
        {"backend", OPTION_BACKEND, "NAME", 0, "Whose routes: cpu, cuda, simt (cpu)", 0},
        {"device", OPTION_DEVICE, "N", 0, "Backend cuda: which device (0)", 0},
        {"precision", OPTION_PRECISION, "BITS", 0, "Of MPFR with --oracle (256)", 0},
        {"invariance", OPTION_INVARIANCE, NULL, 0,
         "Measure what the rows of a route do not depend on instead", 0},
        {"tolerate", OPTION_TOLERATE, "FILE", 0,
         "Known failures, each with a reason and a last day, are no failures", 0},
        {"noise", OPTION_NOISE, NULL, 0,
         "Measure what random rounding in binary32 uses of the bounds instead", 0},
        {"deck", OPTION_DECK, "FILE", 0,
         "The cases of a file, one descriptor a line, on every route that takes them", 0},
        {"vectors", OPTION_VECTORS, NULL, 0, "The arguments are files of golden vectors", 0},
        {"plugin", OPTION_PLUGIN, "FILE", 0,
         "Verify the routes of a shared object (docs/validate-your-kernel.md) in a child process",
         0},
        {"time-limit", OPTION_TIME_LIMIT, "S", 0, "Stop a call of the plugin after so long (10)",
         0},
        {"threads", OPTION_THREADS, "N", 0, "Threads that the plugin's calls may use (2)", 0},
        {"json", OPTION_JSON, "FILE", 0, "Write the report as JSON", 0},
        {"junit", OPTION_JUNIT, "FILE", 0, "Write the report as JUnit XML", 0},
        {0}};
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[PATTERN... | DESCRIPTOR]", .doc = doc};
    struct verify_options o = {.seed = 1,
                               .precision = ORACLE_DEFAULT_PRECISION,
                               .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
        return TOOL_USAGE;
    if (o.jobs < 1 || o.jobs > 256)
        o.jobs = o.jobs < 1 ? 1 : 256;
    if (o.plugin != NULL)
        return run_plugin(&o);
    if (o.vectors)
        return run_vectors(&o);
    if (one_case(&o) && is_sequence(o.arguments[0]))
        return verify_sequence(o.arguments[0]);
    if (one_case(&o))
        return run_one(o.arguments[0], &o);
    struct sweep sweep = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .report = {.seed = o.seed},
                          .backend = o.backend,
                          .device = o.device};
    int status = TOOL_USAGE;
    const char *unknown = unknown_pattern(&o);
    if (unknown != NULL)
        fprintf(stderr, "assay verify: %s: %s\n", unknown,
                is_descriptor(unknown) ? "a descriptor must be the only argument"
                                       : "no op or route is called so; see: assay ops");
    else if (o.invariance)
        status = run_invariance(&o);
    else if (o.num_decks > 0 && !collect_decks(&sweep, &o))
        ; /* said already */
    else if (o.num_decks == 0 && !collect(&sweep, &o))
        fprintf(stderr, "assay verify: out of memory\n");
    else if (sweep.list.num_cases == 0)
        fprintf(stderr, "assay verify: no route matches; see: assay ops\n");
    else if (o.list)
        status = list_cases(&sweep);
    else
        status = o.oracle  ? run_oracle(&sweep, &o)
                 : o.noise ? verify_noise_report(sweep.list.cases, sweep.list.num_cases)
                           : run_sweep(&sweep, &o);
    case_list_free(&sweep.list);
    verify_report_free(&sweep.report);
    return status;
}
