/* SPDX-License-Identifier: MIT
 *
 * Children that run cases: without a mutant, to see which sites each case comes to; with one, until
 * a verdict is bad. A mutant may crash, hang or write anywhere: it has a process for itself.
 */
#include "mutation.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mutation_switch.h"

enum { MOST_WALL_SECONDS = 120 };

int mutation_active = -1;
uint32_t *mutation_reached;

const struct mutant mutants[] = {
#define MUTANT(folder, file, line, operator, number, text) \
    {folder, file, line, operator, number, text},
#include "sites.inc"
#undef MUTANT
};
const int num_mutants = sizeof mutants / sizeof mutants[0];

void mutant_id(const struct mutant *m, char id[MUTANT_ID_BYTES])
{
    int used = snprintf(id, MUTANT_ID_BYTES, "%s:%d:%s", m->file, m->line, m->operator);
    if (m->number > 1)
        snprintf(id + used, (size_t)(MUTANT_ID_BYTES - used), ":%d", m->number);
}

static void *shared_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static size_t row_words(void)
{
    return ((size_t)num_mutants + 63) / 64;
}

bool mutation_reaches(const struct mutation_target *t, int64_t at, int mutant)
{
    return (t->reach[(size_t)at * row_words() + (size_t)mutant / 64] >> mutant % 64 & 1) != 0;
}

static assay_context *new_context(enum assay_backend backend, int num_threads)
{
    struct assay_context_options options = assay_context_defaults();
    options.backend = backend;
    options.num_threads = num_threads;
    assay_context *context = NULL;
    struct assay_error error = {0};
    if (assay_context_create(&options, &context, &error) != ASSAY_OK)
        fprintf(stderr, "%s\n", error.message);
    return context;
}

static bool is_bad(const struct verify_outcome *outcome)
{
    return !outcome->refused && outcome->verdict.finding != VERDICT_PASS &&
           outcome->verdict.finding != VERDICT_MISTRUSTED;
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- without a mutant ----------------------------------------------------------------------- */

/* Whether it comes to any site. */
static bool measure_case(struct mutation_target *t, assay_context *context, int64_t i)
{
    memset(mutation_reached, 0, (size_t)num_mutants * sizeof *mutation_reached);
    double start = cpu_now();
    struct verify_outcome outcome;
    verify_case(context, &t->list.cases[i], &outcome);
    t->seconds[i] = cpu_now() - start;
    if (is_bad(&outcome)) {
        char text[CASE_TEXT_BYTES];
        case_print(&t->list.cases[i], text);
        fprintf(stderr, "bad without a mutant: %s\n  %s\n", text, outcome.verdict.message);
        _exit(1);
    }
    if (outcome.refused)
        return false;
    for (int m = 0; m < num_mutants; m++) {
        t->work[i] += mutation_reached[m];
        if (mutation_reached[m] > 0)
            t->reach[(size_t)i * row_words() + (size_t)m / 64] |= 1ull << m % 64;
    }
    return t->work[i] > 0;
}

/* A route none of whose first cases comes to a site has none: its source is no copy. */
static void measure_cases(struct mutation_target *t, assay_context *context)
{
    enum { FIRST = 8 };
    const char *route = "";
    int64_t tried = 0, useful = 0;
    for (int64_t i = 0; i < t->list.num_cases; i++) {
        if (strcmp(t->list.cases[i].route, route) != 0)
            tried = useful = 0;
        route = t->list.cases[i].route;
        if (tried++ < FIRST || useful > 0)
            useful += measure_case(t, context, i);
    }
}

static bool measure(struct mutation_target *t)
{
    fflush(NULL);
    int child = fork();
    if (child == 0) {
        assay_context *context = new_context(t->backend, 1); /* counters have no locks */
        if (context != NULL)
            measure_cases(t, context);
        _exit(context == NULL);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static const uint64_t *sorted_work;

static int by_work(const void *a, const void *b)
{
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    uint64_t x = sorted_work[i], y = sorted_work[k];
    return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

static bool list_cases(struct mutation_target *t, uint64_t seed)
{
    const struct assay_op *op = t->spec->op;
    for (int r = 0; r < op->num_routes; r++)
        if (op->routes[r].backend == t->backend && op->routes[r].isa <= assay_isa_detect() &&
            !case_enumerate_route(t->spec, &op->routes[r], seed, CASE_QUICK, &t->list))
            return false;
    return t->list.num_cases > 0;
}

bool mutation_target_create(struct mutation_target *t, const struct case_spec *spec,
                            enum assay_backend backend, uint64_t seed, bool measured)
{
    *t = (struct mutation_target){.spec = spec, .backend = backend};
    if (mutation_reached == NULL)
        mutation_reached = calloc((size_t)num_mutants + 1, sizeof *mutation_reached);
    if (mutation_reached == NULL || !list_cases(t, seed))
        return false;
    size_t cases = (size_t)t->list.num_cases;
    t->seconds = shared_memory(cases * sizeof *t->seconds);
    t->work = shared_memory(cases * sizeof *t->work);
    t->reach = shared_memory(cases * row_words() * sizeof *t->reach);
    t->order = malloc(cases * sizeof *t->order);
    if (t->seconds == NULL || t->work == NULL || t->reach == NULL || t->order == NULL)
        return false;
    for (size_t i = 0; i < cases; i++)
        t->order[i] = (int64_t)i;
    if (!measured) {
        memset(t->reach, 0xff, cases * row_words() * sizeof *t->reach);
        return true;
    }
    if (!measure(t))
        return false;
    sorted_work = t->work;
    qsort(t->order, cases, sizeof *t->order, by_work);
    return true;
}

void mutation_target_destroy(struct mutation_target *t)
{
    size_t cases = (size_t)t->list.num_cases;
    if (t->seconds != NULL)
        munmap(t->seconds, cases * sizeof *t->seconds);
    if (t->work != NULL)
        munmap(t->work, cases * sizeof *t->work);
    if (t->reach != NULL)
        munmap(t->reach, cases * row_words() * sizeof *t->reach);
    free(t->order);
    case_list_free(&t->list);
    *t = (struct mutation_target){0};
}

/* ---- with a mutant -------------------------------------------------------------------------- */

/* A hang is 20 times the time without the mutant and 2 seconds more, of this process's own time. */
static void limit_case(double seconds)
{
    double limit = 20 * seconds + 2;
    struct itimerval cpu = {.it_value = {.tv_sec = (time_t)limit}};
    struct itimerval wall = {.it_value = {.tv_sec = MOST_WALL_SECONDS}};
    setitimer(ITIMER_PROF, &cpu, NULL);
    setitimer(ITIMER_REAL, &wall, NULL);
}

/* The executor's messages begin with the kind of fault: "race: file.cu:12: ...". */
static void name_check(const struct verdict *v, char check[32])
{
    snprintf(check, 32, "%s", verdict_finding_name(v->finding));
    const char *kind = strstr(v->message, ": ");
    if (v->finding != VERDICT_STATUS || kind == NULL ||
        strstr(v->message, "ASSAY_SIMT_SEED") == NULL)
        return;
    kind += 2;
    int length = (int)strcspn(kind, ":");
    if (length < 20)
        snprintf(check, 32, "executor: %.*s", length, kind);
}

/* True: the case is bad. */
static bool run_case(const struct mutation_target *t, assay_context *context, int index, int64_t i,
                     struct mutation_result *result)
{
    result->at = i;
    limit_case(t->seconds[i]);
    struct verify_outcome outcome;
    verify_case(context, &t->list.cases[i], &outcome);
    result->cases += !outcome.refused;
    if (!is_bad(&outcome))
        return false;
    result->target = index;
    name_check(&outcome.verdict, result->check);
    case_print(&t->list.cases[i], result->by);
    snprintf(result->message, sizeof result->message, "%.255s", outcome.verdict.message);
    result->killed = true;
    return true;
}

/* The cases in `context`, least work first; true: one is bad. What the share leaves out is the
 * large shapes: some of them follow where patience is asked for. */
static bool run_pass(const struct mutation_target *t, assay_context *context, int index, int mutant,
                     int shares, struct mutation_result *result)
{
    static const int64_t percent[] = {60, 80, 95, 99};
    uint64_t share = t->backend == ASSAY_CPU ? MUTATION_SHARE_CPU : MUTATION_SHARE_SIMT;
    uint64_t work = 0, most = shares > 0 ? share * (uint64_t)shares : UINT64_MAX;
    int64_t reaching = 0, reached = 0;
    for (int64_t i = 0; i < t->list.num_cases; i++)
        reaching += mutation_reaches(t, i, mutant);
    for (int64_t k = 0; k < t->list.num_cases; k++) {
        int64_t i = t->order[k];
        if (!mutation_reaches(t, i, mutant))
            continue;
        bool chosen = work <= most;
        for (size_t p = 0; p < sizeof percent / sizeof percent[0] && shares > 1; p++)
            chosen = chosen || reached == reaching * percent[p] / 100;
        reached++;
        work += t->work[i];
        if (chosen && run_case(t, context, index, i, result))
            return true;
    }
    return false;
}

/* A thread alone takes every item; then each of three has its part of the items and of the
 * workspace. */
static void run_cases(const struct mutation_target *t, int index, int mutant, int shares,
                      struct mutation_result *result)
{
    int last = t->backend == ASSAY_CPU ? 3 : 1;
    mutation_active = mutant;
    for (int threads = 1; threads <= last; threads += 2) {
        assay_context *context = new_context(t->backend, threads);
        if (context == NULL)
            _exit(1);
        if (run_pass(t, context, index, mutant, shares, result))
            break;
    }
    _exit(0);
}

int mutation_start(const struct mutation_target *t, int index, int mutant, int shares,
                   struct mutation_result *result)
{
    fflush(NULL);
    int child = fork();
    if (child != 0)
        return child;
    /* Nothing of a crash goes to the terminal or to a file. */
    struct rlimit none = {0, 0}; /* none for memory: layout=far maps what it never touches */
    setrlimit(RLIMIT_CORE, &none);
    run_cases(t, index, mutant, shares, result);
    return -1;
}

void mutation_finish(const struct mutation_target *t, int status, struct mutation_result *result)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool hung = number == SIGPROF || number == SIGALRM;
    result->killed = true;
    result->cases++;
    snprintf(result->check, sizeof result->check, "%s",
             verdict_finding_name(hung ? VERDICT_HUNG : VERDICT_CRASHED));
    case_print(&t->list.cases[result->at], result->by);
    if (number > 0)
        snprintf(result->message, sizeof result->message, "signal %d: %s", number,
                 strsignal(number));
    else
        snprintf(result->message, sizeof result->message, "the process ended");
}
