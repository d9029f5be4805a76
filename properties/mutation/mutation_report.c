/* SPDX-License-Identifier: MIT
 *
 * Counts, the list of survivors, docs/mutation-score.md.
 */
#include "mutation_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators.h"

void report_list(const bool *chosen)
{
    for (int m = 0; m < num_mutants; m++) {
        char id[MUTANT_ID_BYTES];
        mutant_id(&mutants[m], id);
        if (chosen[m])
            printf("%-44s %s\n", id, mutants[m].text);
    }
}

/* ---- counts --------------------------------------------------------------------------------- */

struct tally {
    const char *name;
    int mutants, killed, known[NUM_KNOWN_KINDS];
    int64_t cases; /* of the killed ones */
};

static void count(struct tally *tally, const struct mutant *m, const struct mutation_result *r,
                  const struct known_list *known)
{
    tally->mutants++;
    tally->killed += r->killed;
    tally->cases += r->killed ? r->cases : 0;
    if (r->killed)
        return;
    const struct known *k = known_find(known, m);
    tally->known[k != NULL ? k->kind : KNOWN_NOT]++;
}

/* By `name`, in order of first appearance; the number of tallies. */
static int tally_by(const char *(*name)(int m, const struct mutation_result *r),
                    const struct mutation_result *results, const struct known_list *known,
                    struct tally *tallies, int most)
{
    int num = 0;
    for (int m = 0; m < num_mutants; m++) {
        const char *own = name(m, &results[m]);
        int k = 0;
        while (k < num && strcmp(tallies[k].name, own) != 0)
            k++;
        if (k == most)
            return num;
        if (k == num)
            tallies[num++] = (struct tally){.name = own};
        count(&tallies[k], &mutants[m], &results[m], known);
    }
    return num;
}

static const char *name_all(int m, const struct mutation_result *r)
{
    (void)m;
    (void)r;
    return "all";
}

static const char *name_file(int m, const struct mutation_result *r)
{
    (void)r;
    return mutants[m].file;
}

static const char *name_operator(int m, const struct mutation_result *r)
{
    (void)r;
    return mutants[m].operator;
}

static const char *name_check(int m, const struct mutation_result *r)
{
    (void)m;
    return r->killed ? r->check : "";
}

bool report_summary(const struct mutation_result *results, const bool *chosen,
                    struct known_list *known, bool whole)
{
    int ran = 0, killed = 0, expected = 0, bad = 0;
    for (int m = 0; m < num_mutants; m++) {
        const struct mutation_result *r = &results[m];
        struct known *k = known_find(known, &mutants[m]);
        if (k != NULL)
            k->exists = true;
        if (!chosen[m])
            continue;
        ran++;
        killed += r->killed;
        expected += !r->killed && k != NULL;
        if (!r->killed && k != NULL)
            k->survived = true;
        if (r->killed || k != NULL)
            continue;
        char id[MUTANT_ID_BYTES];
        mutant_id(&mutants[m], id);
        printf("%s and is not known to: %s\n  = %s %s %d | %s\n",
               r->reaching > 0 ? "SURVIVED" : "NOT REACHED", id, mutants[m].file,
               mutants[m].operator, mutants[m].number, mutants[m].text);
        bad++;
    }
    for (int i = 0; i < known->num_known; i++) {
        const struct known *k = &known->known[i];
        bool proven = k->kind == KNOWN_EQUIVALENT || k->kind == KNOWN_WITHIN;
        if (k->exists && (!whole || k->survived))
            continue;
        if (k->exists && !proven) { /* good news, and perhaps chance: a read of what lies there */
            printf("survivors.txt:%d: is killed now: %s\n", k->line, k->description);
            continue;
        }
        printf("survivors.txt:%d: %s: %s\n", k->line,
               k->exists ? "is killed now" : "there is no such mutant", k->description);
        bad++;
    }
    printf("\n%d mutants: %d killed, %d known to survive, %d wrong\n", ran, killed, expected, bad);
    return bad == 0;
}

/* ---- docs/mutation-score.md ----------------------------------------------------------------- */

enum { MOST_TALLIES = 256 };

static void write_row(FILE *f, const struct tally *t)
{
    int same = t->known[KNOWN_EQUIVALENT] + t->known[KNOWN_WITHIN];
    int others = t->known[KNOWN_OPEN] + t->known[KNOWN_NOT];
    int real = t->mutants - same;
    fprintf(f, "| %s | %d | %d | %d | %d | %d | %.1f %% | %.1f |\n", t->name, t->mutants, t->killed,
            same, t->known[KNOWN_UNREACHED], others, real > 0 ? 100.0 * t->killed / real : 100.0,
            t->killed > 0 ? (double)t->cases / t->killed : 0.0);
}

static void write_table(FILE *f, const char *title, const char *column,
                        const char *(*name)(int m, const struct mutation_result *r),
                        const struct mutation_result *results, const struct known_list *known)
{
    struct tally tallies[MOST_TALLIES];
    int num = tally_by(name, results, known, tallies, MOST_TALLIES);
    fprintf(f, "\n## %s\n\n", title);
    fprintf(f,
            "| %s | mutants | killed | equivalent | not reached | open | score | cases to kill |\n",
            column);
    fprintf(f, "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < num; i++)
        write_row(f, &tallies[i]);
}

static void write_operators(FILE *f)
{
    static const char *const rows[][3] = {
#define OPERATOR_ROW(name, pattern, replacement) {#name, pattern, replacement},
        OPERATOR_TABLE(OPERATOR_ROW)
#undef OPERATOR_ROW
    };
    fprintf(f, "\n## Operators\n\n| name | text | mutant |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fprintf(f, "| %s | `", rows[i][0]);
        for (const char *c = rows[i][1]; *c != '\0'; c++)
            fprintf(f, *c == '|' ? "\\|" : "%c", *c);
        fprintf(f, "` | `%s` |\n", rows[i][2]);
    }
}

static void write_checks(FILE *f, const struct mutation_result *results,
                         const struct known_list *known)
{
    struct tally tallies[MOST_TALLIES];
    int num = tally_by(name_check, results, known, tallies, MOST_TALLIES);
    fprintf(f, "\n## The check that killed\n\n| check | mutants | cases to kill |\n"
               "| --- | --- | --- |\n");
    for (int i = 0; i < num; i++)
        if (tallies[i].name[0] != '\0')
            fprintf(f, "| %s | %d | %.1f |\n", tallies[i].name, tallies[i].killed,
                    (double)tallies[i].cases / tallies[i].killed);
}

/* A survivor's own kind: KNOWN_NOT when survivors.txt lacks it; -1: was killed. */
static int kind_of(const struct mutation_result *results, const struct known_list *known, int m)
{
    const struct known *k = known_find(known, &mutants[m]);
    return results[m].killed ? -1 : k != NULL ? (int)k->kind : (int)KNOWN_NOT;
}

static void write_heading(FILE *f, enum known_kind kind)
{
    fprintf(f, "\n## Survivors: %s\n\n%s.\n", kind == KNOWN_NOT ? "unknown" : known_word(kind),
            known_meaning(kind));
}

/* Each reason with the number of its mutants and their files. */
static void write_reasons(FILE *f, const struct mutation_result *results,
                          const struct known_list *known, enum known_kind kind)
{
    write_heading(f, kind);
    fprintf(f, "\n| mutants | files | reason |\n| --- | --- | --- |\n");
    for (int i = 0; i < known->num_known; i++) {
        const char *reason = known->known[i].reason, *file = "";
        bool is_first = known->known[i].kind == kind;
        for (int j = 0; j < i && is_first; j++)
            is_first = strcmp(known->known[j].reason, reason) != 0;
        int count = 0, files = 0;
        for (int m = 0; m < num_mutants && is_first; m++) {
            if (kind_of(results, known, m) != (int)kind ||
                strcmp(known_find(known, &mutants[m])->reason, reason) != 0)
                continue;
            count++;
            files += strcmp(file, mutants[m].file) != 0;
            file = mutants[m].file;
        }
        if (files == 1)
            fprintf(f, "| %d | %s | %s |\n", count, file, reason);
        else if (files > 1)
            fprintf(f, "| %d | %d files | %s |\n", count, files, reason);
    }
}

/* Those of one reason, a line for each line of source: file:line operator[:number], ... */
static void write_lines(FILE *f, const struct mutation_result *results,
                        const struct known_list *known, enum known_kind kind, const char *reason)
{
    const struct mutant *last = NULL;
    for (int m = 0; m < num_mutants; m++) {
        const struct mutant *own = &mutants[m];
        const struct known *k = known_find(known, own);
        if (kind_of(results, known, m) != (int)kind ||
            (k != NULL && strcmp(k->reason, reason) != 0))
            continue;
        if (last == NULL)
            fprintf(f, "\n%s:\n", reason);
        if (last == NULL || own->line != last->line || strcmp(own->file, last->file) != 0)
            fprintf(f, "\n- %s:%d %s", own->file, own->line, own->operator);
        else
            fprintf(f, ", %s", own->operator);
        if (own->number > 1)
            fprintf(f, ":%d", own->number);
        last = own;
    }
    if (last != NULL)
        fprintf(f, "\n");
}

static void write_each(FILE *f, const struct mutation_result *results,
                       const struct known_list *known)
{
    write_heading(f, KNOWN_OPEN);
    for (int i = 0; i < known->num_known; i++) {
        const char *reason = known->known[i].reason;
        bool is_first = known->known[i].kind == KNOWN_OPEN;
        for (int j = 0; j < i && is_first; j++)
            is_first = strcmp(known->known[j].reason, reason) != 0;
        if (is_first)
            write_lines(f, results, known, KNOWN_OPEN, reason);
    }
    write_lines(f, results, known, KNOWN_NOT, "not in survivors.txt");
}

void report_survivors(FILE *f, const struct mutation_result *results,
                      const struct known_list *known)
{
    fprintf(f, "\n## Survivors\n\n[survivors.txt](../properties/mutation/survivors.txt) names all "
               "of them, each with its reason.\n");
    for (int kind = KNOWN_EQUIVALENT; kind < KNOWN_OPEN; kind++)
        write_reasons(f, results, known, (enum known_kind)kind);
    write_each(f, results, known);
}

void report_markdown(FILE *f, const struct mutation_result *results, const struct known_list *known)
{
    struct tally all;
    tally_by(name_all, results, known, &all, 1);
    fprintf(
        f,
        "# Mutation score\n\n"
        "Written by `ctest -C mutation -R mutation.score` (`assay_mutation --markdown`).\n\n"
        "Generic operators, each applied at every site of the sources that are listed below, or "
        "at every n-th alone: " MUTATION_SAMPLED
        ". A mutant runs the cases of `assay verify` that come to its site, those that "
        "execute the fewest sites first and some of the largest last, until a verdict is bad. "
        "score = killed / (mutants - "
        "equivalent). `equivalent` counts what is proven to compute the same and what stays "
        "within the profile's bound.\n\n"
        "%d mutants: %d killed, %d equivalent, %d not reached, %d open.\n",
        all.mutants, all.killed, all.known[KNOWN_EQUIVALENT] + all.known[KNOWN_WITHIN],
        all.known[KNOWN_UNREACHED], all.known[KNOWN_OPEN] + all.known[KNOWN_NOT]);
    write_operators(f);
    write_checks(f, results, known);
    write_table(f, "By operator", "operator", name_operator, results, known);
    write_table(f, "By file", "file", name_file, results, known);
}
