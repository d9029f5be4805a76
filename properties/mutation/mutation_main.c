/* SPDX-License-Identifier: MIT
 *
 * assay_mutation: the score of the cases against the generic mutation operators.
 *
 *   assay_mutation                           every mutant
 *   assay_mutation --only FILE:LINE:OP[:N]   one, or all of FILE, or of FILE:LINE
 *   assay_mutation --sample N                N of them, chosen by a counter
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "mutation_catalogue.h"
#include "mutation_known.h"
#include "mutation_laws.h"
#include "mutation_report.h"
#include "philox.h"

enum {
    MOST_JOBS = 64,
    OPTION_ONLY = 256,
    OPTION_SAMPLE,
    OPTION_SEEDS,
    OPTION_MARKDOWN,
    OPTION_LIST,
    OPTION_BACKEND,
    OPTION_FULL,
    OPTION_CATALOGUE,
    OPTION_KNOWN,
    OPTION_LAWS,
    OPTION_RESULTS
};

struct options {
    const char *only, *markdown, *known, *backend, *catalogue, *results;
    int sample, seeds, jobs;
    bool list, full, only_known, only_laws;
};

struct session {
    struct options o;
    struct known_list known;
    struct mutation_result *result; /* of each mutant */
    bool *chosen;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case OPTION_ONLY:
        o->only = argument;
        return 0;
    case OPTION_MARKDOWN:
        o->markdown = argument;
        return 0;
    case OPTION_LIST:
        o->list = true;
        return 0;
    case OPTION_CATALOGUE:
        o->catalogue = argument;
        return 0;
    case OPTION_RESULTS:
        o->results = argument;
        return 0;
    case OPTION_LAWS:
        o->only_laws = true;
        return 0;
    case OPTION_KNOWN:
        o->only_known = true;
        return 0;
    case OPTION_FULL:
        o->full = true;
        return 0;
    case OPTION_BACKEND:
        o->backend = argument;
        return strcmp(argument, "cpu") == 0 || strcmp(argument, "simt") == 0 ? 0 : EINVAL;
    case OPTION_SAMPLE:
        o->sample = atoi(argument);
        return o->sample > 0 ? 0 : EINVAL;
    case OPTION_SEEDS:
        o->seeds = atoi(argument);
        return o->seeds > 0 ? 0 : EINVAL;
    case 'j':
        o->jobs = atoi(argument);
        return o->jobs > 0 && o->jobs <= MOST_JOBS ? 0 : EINVAL;
    case ARGP_KEY_ARG:
        o->known = argument;
        return state->arg_num == 0 ? 0 : ARGP_ERR_UNKNOWN;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* An id, or a beginning of it that ends before a colon. */
static bool is_named(const char *only, const struct mutant *m)
{
    char id[MUTANT_ID_BYTES];
    mutant_id(m, id);
    size_t length = strlen(only);
    return strncmp(id, only, length) == 0 && (id[length] == '\0' || id[length] == ':');
}

static bool is_kernel(const struct mutant *m)
{
    return strstr(m->file, ".cu") != NULL;
}

/* A sample is part of every test run: no kernels whose sweep takes minutes. */
static bool is_slow(const struct mutant *m)
{
    static const char *const ops[] = {"attention", "linear", "linear_grouped", "sample"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (is_kernel(m) && strcmp(m->folder, ops[i]) == 0)
            return true;
    return false;
}

static int choose(struct session *s)
{
    int count = 0, candidates = 0;
    for (int m = 0; m < num_mutants; m++) {
        const struct mutant *mutant = &mutants[m];
        s->chosen[m] = s->o.only == NULL || is_named(s->o.only, mutant);
        if (s->o.only_known && known_find(&s->known, mutant) == NULL)
            s->chosen[m] = false;
        if (s->o.backend != NULL && is_kernel(mutant) != (strcmp(s->o.backend, "simt") == 0))
            s->chosen[m] = false;
        if (s->o.sample > 0 && (known_find(&s->known, mutant) != NULL ||
                                case_spec_find(mutant->folder) == NULL || is_slow(mutant)))
            s->chosen[m] = false; /* survives, or its op is not known without a whole run */
        candidates += s->chosen[m];
    }
    for (int m = 0; m < num_mutants; m++) {
        if (s->o.sample > 0 && s->chosen[m])
            s->chosen[m] = (int64_t)(philox_u64(1, "mutation", (uint64_t)m) %
                                     (uint64_t)candidates) < s->o.sample;
        count += s->chosen[m];
    }
    return count;
}

/* Ops whose kernels are all of a header that every op's kernels include, and quick to run. */
static bool represents_shared(const char *op)
{
    static const char *const ops[] = {"gated_rmsnorm", "kv_append", "rmsnorm", "silu_mul"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(ops[i], op) == 0)
            return true;
    return false;
}

/* The folder's own op; and moe_experts_grouped, whose routes are moe_experts' for other formats. */
static bool has_routes_in(const char *op, const char *folder)
{
    return strcmp(folder, op) == 0 ||
           (strcmp(op, "moe_experts_grouped") == 0 && strcmp(folder, "moe_experts") == 0);
}

/* The mutant's own op and backend, or, of a file that all ops share, some. */
static bool is_target_of(const struct mutation_target *t, const struct mutant *m)
{
    if (is_kernel(m) != (t->backend == ASSAY_SIMT))
        return false;
    const char *op = t->spec->op->name;
    return has_routes_in(op, m->folder) ||
           (case_spec_find(m->folder) == NULL && represents_shared(op));
}

struct pool {
    int running, child[MOST_JOBS], mutant[MOST_JOBS];
};

static void print_result(const struct session *s, int m)
{
    const struct mutation_result *r = &s->result[m];
    char id[MUTANT_ID_BYTES];
    mutant_id(&mutants[m], id);
    printf("%-9s %-44s %5lld/%-5lld %s\n", r->killed ? "killed" : "survived", id,
           (long long)r->cases, (long long)r->reaching, r->check);
    if (s->o.only != NULL)
        printf("          %s\n          %s\n          %s\n", mutants[m].text, r->by, r->message);
}

/* t: NULL when the children run laws. */
static void wait_one(struct session *s, const struct mutation_target *t, int seed,
                     struct pool *pool)
{
    int status, child = wait(&status);
    for (int i = 0; i < pool->running; i++) {
        if (pool->child[i] != child)
            continue;
        int m = pool->mutant[i];
        struct mutation_result *r = &s->result[m];
        if (t != NULL)
            mutation_finish(t, status, r);
        else
            mutation_laws_finish(status, mutants[m].folder, r);
        if (r->killed)
            r->seed = seed;
        print_result(s, m);
        pool->running--;
        pool->child[i] = pool->child[pool->running];
        pool->mutant[i] = pool->mutant[pool->running];
        return;
    }
}

static void add_child(struct pool *pool, int child, int mutant)
{
    pool->child[pool->running] = child;
    pool->mutant[pool->running++] = mutant;
}

/* All chosen mutants that live and that the target's cases reach. */
static bool run_target(struct session *s, const struct mutation_target *t, int index, int seed)
{
    struct pool pool = {0};
    bool good = true;
    for (int m = 0; m < num_mutants && good; m++) {
        struct mutation_result *r = &s->result[m];
        if (!s->chosen[m] || r->killed || !is_target_of(t, &mutants[m]))
            continue;
        int64_t reaching = 0;
        for (int64_t i = 0; i < t->list.num_cases; i++)
            reaching += mutation_reaches(t, i, m);
        r->reaching += reaching;
        if (reaching == 0)
            continue;
        if (pool.running == s->o.jobs)
            wait_one(s, t, seed, &pool);
        bool is_known = known_find(&s->known, &mutants[m]) != NULL;
        int shares = s->o.full ? 0 : is_known ? 1 : MUTATION_PATIENCE;
        int child = mutation_start(t, index, m, shares, r);
        good = child > 0;
        if (good)
            add_child(&pool, child, m);
    }
    while (pool.running > 0)
        wait_one(s, t, seed, &pool);
    return good;
}

static bool is_wanted(const struct session *s, const struct case_spec *spec,
                      enum assay_backend backend)
{
    const struct mutation_target t = {.spec = spec, .backend = backend};
    for (int m = 0; m < num_mutants; m++)
        if (s->chosen[m] && !s->result[m].killed && is_target_of(&t, &mutants[m]))
            return true;
    return false;
}

static bool has_routes(const struct case_spec *spec, enum assay_backend backend)
{
    for (int r = 0; r < spec->op->num_routes; r++)
        if (spec->op->routes[r].backend == backend)
            return true;
    return false;
}

/* Ops whose kernels carry mutants: others reach none and need no run. */
static bool has_mutants(const struct case_spec *spec, enum assay_backend backend)
{
    for (int m = 0; m < num_mutants; m++)
        if (has_routes_in(spec->op->name, mutants[m].folder) &&
            is_kernel(&mutants[m]) == (backend == ASSAY_SIMT))
            return true;
    return false;
}

static bool run_all(struct session *s)
{
    static const enum assay_backend backends[] = {ASSAY_CPU, ASSAY_SIMT};
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int seed = 1; seed <= s->o.seeds; seed++) {
        for (int i = 0; i < 2 * num_specs; i++) {
            const struct case_spec *spec = specs[i / 2];
            if (!has_routes(spec, backends[i % 2]) || !has_mutants(spec, backends[i % 2]) ||
                !is_wanted(s, spec, backends[i % 2]))
                continue;
            struct mutation_target t;
            bool good = mutation_target_create(&t, spec, backends[i % 2], (uint64_t)seed,
                                               s->o.sample == 0) &&
                        run_target(s, &t, i, seed);
            mutation_target_destroy(&t);
            if (!good)
                return false;
        }
    }
    return true;
}

/* What survived the cases of its op's cpu routes. */
static bool run_laws(struct session *s)
{
    struct pool pool = {0};
    const char *op = "";
    bool holds = false, good = true;
    for (int m = 0; m < num_mutants && good; m++) {
        if (!s->chosen[m] || s->result[m].killed || is_kernel(&mutants[m]))
            continue;
        if (strcmp(op, mutants[m].folder) != 0) {
            while (pool.running > 0)
                wait_one(s, NULL, 1, &pool);
            op = mutants[m].folder;
            holds = mutation_laws_hold(op);
            if (!holds)
                printf("%s.laws: not built, or fails without a mutant\n", op);
        }
        if (!holds)
            continue;
        if (pool.running == s->o.jobs)
            wait_one(s, NULL, 1, &pool);
        int child = mutation_laws_start(op, m);
        good = child > 0;
        if (good)
            add_child(&pool, child, m);
    }
    while (pool.running > 0)
        wait_one(s, NULL, 1, &pool);
    return good;
}

/* Of another number of mutants: of another build. */
static bool load_results(struct session *s)
{
    FILE *file = s->o.results != NULL ? fopen(s->o.results, "rb") : NULL;
    size_t count = (size_t)num_mutants;
    if (file == NULL)
        return false;
    bool good = fread(s->result, sizeof *s->result, count, file) == count && fgetc(file) == EOF;
    fclose(file);
    if (!good)
        memset(s->result, 0, count * sizeof *s->result);
    return good;
}

static bool save_results(const struct session *s)
{
    if (s->o.results == NULL)
        return true;
    FILE *file = fopen(s->o.results, "wb");
    size_t count = (size_t)num_mutants;
    bool good = file != NULL && fwrite(s->result, sizeof *s->result, count, file) == count;
    return file != NULL && fclose(file) == 0 && good;
}

static bool run(struct session *s)
{
    const struct options *o = &s->o;
    bool whole =
        o->only == NULL && o->sample == 0 && o->backend == NULL && !o->only_known && !o->only_laws;
    if (o->list) {
        report_list(s->chosen);
        return true;
    }
    if (o->catalogue != NULL && o->markdown == NULL)
        return catalogue_check(o->catalogue, NULL, NULL);
    bool good = (load_results(s) || (o->only_laws ? run_laws(s) : run_all(s))) && save_results(s) &&
                report_summary(s->result, s->chosen, &s->known, whole);
    if (o->markdown == NULL)
        return good;
    FILE *file = fopen(o->markdown, "w");
    if (file == NULL) {
        perror(o->markdown);
        return false;
    }
    report_markdown(file, s->result, &s->known);
    if (o->catalogue != NULL)
        good = catalogue_check(o->catalogue, s->result, file) && good;
    report_survivors(file, s->result, &s->known);
    return fclose(file) == 0 && good;
}

static const char doc[] = "Plants one fault at a time into copies of the routes and runs the cases "
                          "of verify. KNOWN is survivors.txt.";

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"only", OPTION_ONLY, "ID", 0, "file:line:operator[:n], or the beginning of ids", 0},
        {"sample", OPTION_SAMPLE, "N", 0, "About N mutants, chosen by a counter", 0},
        {"seeds", OPTION_SEEDS, "N", 0, "Seeds to try before a mutant counts as survived (1)", 0},
        {"jobs", 'j', "N", 0, "Mutants that run at once (1)", 0},
        {"markdown", OPTION_MARKDOWN, "FILE", 0, "Write the report", 0},
        {"full", OPTION_FULL, NULL, 0, "Also the cases beyond a mutant's share of work", 0},
        {"catalogue", OPTION_CATALOGUE, "FILE", 0, "Alone: the score of the catalogue", 0},
        {"results", OPTION_RESULTS, "FILE", 0,
         "Take the results of this build's last run from FILE, or write them there", 0},
        {"laws", OPTION_LAWS, NULL, 0, "The ops' laws alone, no cases", 0},
        {"known", OPTION_KNOWN, NULL, 0, "Those of survivors.txt only", 0},
        {"backend", OPTION_BACKEND, "NAME", 0, "cpu or simt", 0},
        {"list", OPTION_LIST, NULL, 0, "Print the mutants and run none", 0},
        {0}};
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "KNOWN", .doc = doc};
    struct session s = {.o = {.seeds = 1, .jobs = 1}};
    if (argp_parse(&argp, argc, argv, 0, NULL, &s.o) != 0 || s.o.known == NULL)
        return 2;
    size_t bytes = (size_t)num_mutants * sizeof *s.result;
    s.result = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    s.chosen = calloc((size_t)num_mutants, sizeof *s.chosen);
    if (s.result == MAP_FAILED || s.chosen == NULL || !known_read(s.o.known, &s.known))
        return 2;
    if (choose(&s) == 0) {
        fprintf(stderr, "assay_mutation: no such mutant\n");
        return 2;
    }
    bool good = run(&s);
    known_free(&s.known);
    free(s.chosen);
    return good ? 0 : 1;
}
