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

void report_survivors(FILE *f, const struct mutation_result *results,
                      const struct known_list *known)
{
    for (int kind = 0; kind < NUM_KNOWN_KINDS; kind++) {
        int listed = 0;
        const char *reason = "";
        for (int m = 0; m < num_mutants; m++) {
            const struct known *k = known_find(known, &mutants[m]);
            if (results[m].killed || (int)(k != NULL ? k->kind : KNOWN_NOT) != kind)
                continue;
            if (listed++ == 0)
                fprintf(f, "\n## Survivors: %s\n\n%s.\n",
                        kind == KNOWN_NOT ? "unknown" : known_word((enum known_kind)kind),
                        known_meaning((enum known_kind)kind));
            if (k != NULL && strcmp(k->reason, reason) != 0) {
                reason = k->reason;
                fprintf(f, "\n%s:\n\n", reason);
            }
            char id[MUTANT_ID_BYTES];
            mutant_id(&mutants[m], id);
            fprintf(f, "- `%s` `%s`\n", id, mutants[m].text);
        }
    }
}

void report_markdown(FILE *f, const struct mutation_result *results, const struct known_list *known)
{
    struct tally all;
    tally_by(name_all, results, known, &all, 1);
    fprintf(f,
            "# Mutation score\n\n"
            "Written by `ctest -C mutation -R mutation.score` (`assay_mutation --markdown`).\n\n"
            "Generic operators, each applied at every site of the routes' sources that are listed "
            "below; a mutant runs the cases of `assay verify` that come to its site, those that "
            "execute the fewest sites first, until a verdict is bad. score = killed / (mutants - "
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
