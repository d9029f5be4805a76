/* SPDX-License-Identifier: MIT
 *
 * The catalogue's score.
 */
#include "mutation_catalogue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 400, MOST_FAMILIES = 32, MOST_SEEDS = 20 };

struct entry {
    char id[8], family[12], name[24];
    char kind[12]; /* op, site, planted, none, open */
    char rest[512];
    int line;
};

struct catalogue {
    struct entry entry[MOST_LINES];
    int num_entries, wrong;
    const struct mutation_result *results;
    FILE *markdown;
};

struct family {
    char name[12];
    int ids, with_mutant, killed, none, open;
};

static bool parse_line(const char *line, struct entry *e)
{
    int used = 0;
    if (sscanf(line, "%7s %11s %23s | %11s %n", e->id, e->family, e->name, e->kind, &used) != 4)
        return false;
    snprintf(e->rest, sizeof e->rest, "%s", line + used);
    e->rest[strcspn(e->rest, "\n")] = '\0';
    e->kind[strcspn(e->kind, ":")] = '\0';
    return e->rest[0] != '\0';
}

static bool read_entries(const char *path, struct catalogue *c)
{
    char line[1024];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    bool good = true;
    for (int number = 1; good && fgets(line, sizeof line, file) != NULL; number++) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        struct entry e = {.line = number};
        good = c->num_entries < MOST_LINES && parse_line(line, &e);
        if (good)
            c->entry[c->num_entries] = e;
        c->num_entries += good;
        if (!good)
            fprintf(stderr, "%s:%d: not an entry\n", path, number);
    }
    fclose(file);
    return good;
}

static void complain(struct catalogue *c, const struct entry *e, const char *what,
                     const char *which)
{
    printf("catalogue.txt:%d: %s: %s: %s\n", e->line, e->id, what, which);
    c->wrong++;
}

/* One line of the table of mutants. */
static void show(const struct catalogue *c, const struct entry *e, const char *mutant,
                 const char *check, const char *effort)
{
    printf("  %s %-6s %-48s %-24s %s\n", e->id, e->family, mutant, check, effort);
    if (c->markdown != NULL)
        fprintf(c->markdown, "| %s | %s | %s | `%s` | %s | %s |\n", e->id, e->family, e->name,
                mutant, check, effort);
}

/* ---- op mutants ----------------------------------------------------------------------------- */

static const struct case_mutant *find_mutant(const char *name, const struct case_spec **spec)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int i = 0; i < num_specs; i++)
        for (int m = 0; m < specs[i]->num_mutants; m++)
            if (strcmp(specs[i]->mutants[m].route.name, name) == 0) {
                *spec = specs[i];
                return &specs[i]->mutants[m];
            }
    return NULL;
}

/* The first bad verdict of a seed's cases; VERDICT_PASS: none. */
static enum verdict_finding first_finding(assay_context *context, const struct case_spec *spec,
                                          const struct assay_route *route, int seed, int *cases)
{
    enum verdict_finding finding = VERDICT_PASS;
    struct case_list list = {NULL, 0, 0};
    if (!case_enumerate_route(spec, route, (uint64_t)seed, CASE_QUICK, &list))
        finding = VERDICT_MISTRUSTED;
    for (int64_t i = 0; i < list.num_cases && finding == VERDICT_PASS; i++) {
        struct verify_outcome outcome;
        verify_case(context, &list.cases[i], &outcome);
        *cases += !outcome.refused;
        if (!outcome.refused && outcome.verdict.finding != VERDICT_MISTRUSTED)
            finding = outcome.verdict.finding;
    }
    case_list_free(&list);
    return finding;
}

static bool run_op_mutant(struct catalogue *c, const struct entry *e, assay_context *context,
                          const char *name)
{
    const struct case_spec *spec = NULL;
    const struct case_mutant *mutant = find_mutant(name, &spec);
    if (mutant == NULL) {
        complain(c, e, "there is no such mutant", name);
        return false;
    }
    if (strstr(mutant->catalogue, e->id) == NULL)
        complain(c, e, "the mutant does not name the id", name);
    enum verdict_finding finding = VERDICT_PASS;
    int seed = 0, cases = 0;
    if (assay_route_add(&mutant->route, NULL) != ASSAY_OK)
        return false;
    while (finding == VERDICT_PASS && seed < MOST_SEEDS)
        finding = first_finding(context, spec, &mutant->route, ++seed, &cases);
    assay_route_remove(&mutant->route);
    bool killed = finding != VERDICT_PASS && finding != VERDICT_MISTRUSTED;
    char effort[48];
    snprintf(effort, sizeof effort, "seed %d, case %d", seed, cases);
    show(c, e, name, killed ? verdict_finding_name(finding) : "SURVIVES", effort);
    if (!killed)
        complain(c, e, "survives", name);
    return killed;
}

static bool run_op_mutants(struct catalogue *c, const struct entry *e, assay_context *context)
{
    char names[512], *rest = NULL;
    bool all = true;
    snprintf(names, sizeof names, "%s", e->rest);
    for (char *name = strtok_r(names, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest))
        all = run_op_mutant(c, e, context, name) && all;
    return all;
}

/* ---- mechanical mutants, faults of other tests ----------------------------------------------- */

static bool check_site(struct catalogue *c, const struct entry *e)
{
    char file[64], operator[16], id[MUTANT_ID_BYTES], effort[48] = "a whole run";
    int used = 0, found = 0, killed = 0;
    if (sscanf(e->rest, "%63s %15s %n", file, operator, & used) != 2) {
        complain(c, e, "not FILE OPERATOR text", e->rest);
        return false;
    }
    const char *check = "mutation.score";
    for (int m = 0; m < num_mutants; m++) {
        if (strcmp(mutants[m].file, file) != 0 || strcmp(mutants[m].operator, operator) != 0 ||
            strstr(mutants[m].text, e->rest + used) == NULL)
            continue;
        if (found++ == 0)
            mutant_id(&mutants[m], id);
        if (c->results == NULL || !c->results[m].killed)
            continue;
        if (killed++ == 0) {
            mutant_id(&mutants[m], id);
            check = c->results[m].check;
            snprintf(effort, sizeof effort, "seed %d, case %lld", c->results[m].seed,
                     (long long)c->results[m].cases);
        }
    }
    if (found == 0) {
        complain(c, e, "there is no such site", e->rest);
        return false;
    }
    bool good = c->results == NULL || killed > 0;
    show(c, e, id, good ? check : "SURVIVES", effort);
    if (!good)
        complain(c, e, "survives", id);
    return good;
}

static bool holds_word(const char *file, const char *word)
{
    char path[1024], line[1024];
    snprintf(path, sizeof path, "%s/%s", ASSAY_SOURCE_DIR, file);
    FILE *f = fopen(path, "r");
    bool found = false;
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found = strstr(line, word) != NULL;
    if (f != NULL)
        fclose(f);
    return found;
}

static bool check_planted(struct catalogue *c, const struct entry *e)
{
    char test[64], file[256], word[64];
    bool good = sscanf(e->rest, "%63s %255s %63s", test, file, word) == 3 && holds_word(file, word);
    if (good)
        show(c, e, word, test, "each run");
    else
        complain(c, e, "there is no such fault", e->rest);
    return good;
}

/* ---- families ------------------------------------------------------------------------------- */

static struct family *family_of(struct family *families, int *num, const char *name)
{
    for (int i = 0; i < *num; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    struct family *f = &families[(*num)++];
    *f = (struct family){0};
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

/* All lines of one id, which follow each other; the number of lines. */
static int check_id(struct catalogue *c, int first, assay_context *context, struct family *f)
{
    const struct entry *e = &c->entry[first];
    int lines = 0, mutants_here = 0;
    bool all = true, none = false, open = false;
    for (; first + lines < c->num_entries && strcmp(e[lines].id, e->id) == 0; lines++) {
        const struct entry *line = &e[lines];
        bool is_none = strcmp(line->kind, "none") == 0, is_open = strcmp(line->kind, "open") == 0;
        none = none || is_none;
        open = open || is_open;
        mutants_here += !is_none && !is_open;
        if (strcmp(line->kind, "op") == 0)
            all = run_op_mutants(c, line, context) && all;
        else if (strcmp(line->kind, "site") == 0)
            all = check_site(c, line) && all;
        else if (strcmp(line->kind, "planted") == 0)
            all = check_planted(c, line) && all;
        else if (!is_none && !is_open)
            complain(c, line, "not a kind", line->kind);
    }
    f->ids++;
    f->with_mutant += mutants_here > 0;
    f->killed += mutants_here > 0 && all;
    f->none += none && mutants_here == 0;
    f->open += open && mutants_here == 0;
    return lines;
}

static void show_families(const struct catalogue *c, const struct family *families, int num)
{
    struct family sum = {.name = "all"};
    printf("\n%-8s %4s %12s %6s %15s %5s\n", "family", "ids", "with mutant", "killed",
           "no counterpart", "open");
    if (c->markdown != NULL)
        fprintf(c->markdown,
                "\n| family | ids | with a mutant | killed | no counterpart here | open "
                "|\n| --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i <= num; i++) {
        const struct family *f = i < num ? &families[i] : &sum;
        printf("%-8s %4d %12d %6d %15d %5d\n", f->name, f->ids, f->with_mutant, f->killed, f->none,
               f->open);
        if (c->markdown != NULL)
            fprintf(c->markdown, "| %s | %d | %d | %d | %d | %d |\n", f->name, f->ids,
                    f->with_mutant, f->killed, f->none, f->open);
        sum.ids += f->ids;
        sum.with_mutant += f->with_mutant;
        sum.killed += f->killed;
        sum.none += f->none;
        sum.open += f->open;
    }
}

static void show_reasons(const struct catalogue *c)
{
    fprintf(c->markdown, "\n| id | family | bug | why there is no mutant |\n"
                         "| --- | --- | --- | --- |\n");
    for (int i = 0; i < c->num_entries; i++) {
        const struct entry *e = &c->entry[i];
        if (strcmp(e->kind, "none") == 0 || strcmp(e->kind, "open") == 0)
            fprintf(c->markdown, "| %s | %s | %s | %s: %s |\n", e->id, e->family, e->name, e->kind,
                    e->rest);
    }
}

bool catalogue_check(const char *path, const struct mutation_result *results, FILE *markdown)
{
    static struct catalogue c;
    struct family families[MOST_FAMILIES];
    int num_families = 0, ids = 0;
    c = (struct catalogue){.results = results, .markdown = markdown};
    assay_context *context;
    struct assay_context_options options = assay_context_defaults();
    if (!read_entries(path, &c) || assay_context_create(&options, &context, NULL) != ASSAY_OK)
        return false;
    if (markdown != NULL)
        fprintf(markdown,
                "\n## The catalogue of public bugs\n\n| id | family | bug | mutant | killed by | "
                "effort |\n| --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < c.num_entries; ids++)
        i += check_id(&c, i, context, family_of(families, &num_families, c.entry[i].family));
    assay_context_destroy(context);
    show_families(&c, families, num_families);
    if (markdown != NULL)
        show_reasons(&c);
    if (ids != CATALOGUE_IDS) {
        printf("%d ids, not %d\n", ids, CATALOGUE_IDS);
        c.wrong++;
    }
    return c.wrong == 0;
}
