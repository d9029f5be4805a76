/* SPDX-License-Identifier: MIT
 *
 * Hints: a finding's usual causes, and the parameters that separate failing from passing cases.
 * They are read off the cases that ran; the verdict does not depend on them.
 */
#include "tools/plugin_hints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST = 20 };

void hints_add(struct hint_cases *seen, const struct verify_outcome *outcome)
{
    if (outcome->verdict.finding == VERDICT_PASS && outcome->verdict.count == 0)
        return; /* no element: it could not have failed */
    if (seen->num_cases == seen->capacity) {
        int64_t capacity = 2 * seen->capacity + 256;
        struct hint_case *grown = realloc(seen->cases, (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return;
        seen->cases = grown;
        seen->capacity = capacity;
    }
    seen->cases[seen->num_cases++] =
        (struct hint_case){.c = outcome->c, .finding = outcome->verdict.finding};
}

void hints_free(struct hint_cases *seen)
{
    free(seen->cases);
    *seen = (struct hint_cases){.cases = NULL};
}

static const char *usual_cause(enum verdict_finding finding)
{
    switch (finding) {
    case VERDICT_STATUS:
        return "run() must return 0 for every call that accepts() takes";
    case VERDICT_UNWRITTEN:
        return "every element of an output must be written before run() returns, and none be read "
               "before (it holds a NaN, which an addition keeps): look at tails, accumulation into "
               "the output, threads that are not waited for";
    case VERDICT_GUARD:
        return "an output's memory has padding between rows that must keep its bytes: look at "
               "tails "
               "and strides";
    case VERDICT_INPUT_CHANGED:
        return "an input is read only, its padding too";
    case VERDICT_NONFINITE:
        return "outputs, padding and workspace hold NaN before a run: look for accumulation into "
               "an output, a race, a missing synchronisation, or memory that is read before it is "
               "written, reads behind a row's end; else for overflow";
    case VERDICT_ELEMENT:
        return "some element is wrong by more than any order of roundings explains: look at index, "
               "group, tail and stride";
    case VERDICT_RELATIVE_L2:
        return "each element is within its bound, all together are not: an operand in a narrower "
               "format, truncation, or a longer chain of additions than depth() says";
    case VERDICT_INEXACT:
        return "on small integers every sum is exact: look for a term that is missing or doubled";
    case VERDICT_NOT_REPEATED:
        return "the same call gave other bits: a race, a missing synchronisation, or memory that "
               "was "
               "never written";
    case VERDICT_HUNG:
        return "look for a lock or barrier that not all threads reach, and loops whose step may be "
               "0";
    case VERDICT_CRASHED:
        return "look for reads and writes behind a row's end, null tensors that are optional, and "
               "assertions";
    default:
        return NULL;
    }
}

/* Values of one property over the route's cases. */
struct split {
    int64_t failing, passing;       /* cases */
    int64_t least, most;            /* over the failing */
    int64_t passing_same;           /* passing cases with the failing ones' only value */
    int64_t passing_from;           /* passing cases at `least` or above */
    bool no_multiple[7];            /* no failing value is a multiple of 1 << i */
    int64_t passing_no_multiple[7]; /* passing cases whose value is none either */
    int64_t passing_multiple[7];    /* passing cases whose value is one, and not 0 */
};

typedef int64_t property(const struct assay_case *c, int index);

static int64_t param_value(const struct assay_case *c, int index)
{
    return c->value[index];
}

static int64_t layout_value(const struct assay_case *c, int index)
{
    (void)index;
    return (int64_t)c->layout;
}

static int64_t dist_value(const struct assay_case *c, int index)
{
    (void)index;
    return (int64_t)c->dist;
}

/* The cases of one route with one finding, against those that pass. */
struct group {
    const struct hint_cases *seen;
    const struct hint_case *first; /* failing */
};

static bool is_good(const struct hint_case *h)
{
    return !verdict_is_failure(h->finding);
}

static bool is_of(const struct group *g, const struct hint_case *h)
{
    return strcmp(h->c.route, g->first->c.route) == 0;
}

static struct split split_by(const struct group *g, property *value, int index)
{
    const struct hint_cases *seen = g->seen;
    struct split s = {.least = INT64_MAX, .most = INT64_MIN};
    memset(s.no_multiple, 1, sizeof s.no_multiple);
    for (int64_t i = 0; i < seen->num_cases; i++) {
        const struct hint_case *h = &seen->cases[i];
        if (!is_of(g, h) || h->finding != g->first->finding)
            continue;
        int64_t v = value(&h->c, index);
        s.failing++;
        s.least = v < s.least ? v : s.least;
        s.most = v > s.most ? v : s.most;
        for (int m = 0; m < 7; m++)
            s.no_multiple[m] = s.no_multiple[m] && v % (INT64_C(1) << m) != 0;
    }
    for (int64_t i = 0; i < seen->num_cases; i++) {
        const struct hint_case *h = &seen->cases[i];
        if (!is_of(g, h) || !is_good(h))
            continue;
        int64_t v = value(&h->c, index);
        s.passing++;
        s.passing_same += v == s.least;
        s.passing_from += v >= s.least;
        for (int m = 0; m < 7; m++) {
            bool multiple = v % (INT64_C(1) << m) == 0;
            s.passing_no_multiple[m] += !multiple;
            s.passing_multiple[m] += multiple && v != 0;
        }
    }
    return s;
}

/* What all failing cases have says something where few of the others have it. */
static bool separates(const struct split *s, int64_t passing_alike)
{
    return s->passing > 0 && 4 * passing_alike <= s->passing;
}

static const char *always(int64_t passing_alike)
{
    return passing_alike == 0 ? "exactly" : "only";
}

/* One value that all failing cases share, spelled as in the descriptor. */
static void print_value(const struct assay_case *like, const char *key, int64_t passing_alike)
{
    char text[CASE_TEXT_BYTES], pattern[64];
    case_print(like, text);
    snprintf(pattern, sizeof pattern, " %s=", key);
    const char *at = strstr(text, pattern);
    if (at != NULL)
        printf("    hint: fails %s with %.*s\n", always(passing_alike), (int)strcspn(at + 1, " "),
               at + 1);
}

static bool print_multiple(const struct split *s, const char *name)
{
    for (int m = 1; m < 7; m++) {
        if (!s->no_multiple[m])
            continue;
        if (!separates(s, s->passing_no_multiple[m]) || s->passing_multiple[m] < 2)
            return false;
        printf("    hint: fails %s where %s is no multiple of %d\n",
               always(s->passing_no_multiple[m]), name, 1 << m);
        return true;
    }
    return false;
}

/* A property of cases of which one value fails: said where other values pass. */
static void print_single(const struct group *g, const char *key, property *value, int index)
{
    struct split s = split_by(g, value, index);
    if (s.least == s.most && separates(&s, s.passing_same))
        print_value(&g->first->c, key, s.passing_same);
}

static void print_param(const struct group *g, int index)
{
    const struct case_param *p = &g->first->c.spec->params[index];
    struct split s = split_by(g, param_value, index);
    if (p->kind != CASE_COUNT || s.least == s.most) {
        print_single(g, p->name, param_value, index);
        return;
    }
    if (print_multiple(&s, p->name))
        return;
    if (separates(&s, s.passing_from))
        printf("    hint: fails %s where %s >= %lld\n", always(s.passing_from), p->name,
               (long long)s.least);
}

static void print_group(const struct group *g)
{
    const struct case_spec *spec = g->first->c.spec;
    struct split all = split_by(g, layout_value, 0);
    const char *cause = usual_cause(g->first->finding);
    printf("  %lld %s%s%s\n", (long long)all.failing, verdict_finding_name(g->first->finding),
           cause != NULL ? ": " : "", cause != NULL ? cause : "");
    if (all.failing < 2 || all.failing + all.passing < FEWEST)
        return; /* few cases have much in common by chance */
    print_single(g, "layout", layout_value, 0);
    print_single(g, "dist", dist_value, 0);
    for (int i = 0; i < spec->num_params; i++)
        print_param(g, i);
}

void hints_print(const struct hint_cases *seen, const char *route)
{
    const struct hint_case *first[VERDICT_NUM_FINDINGS] = {NULL};
    int64_t failing = 0, cases = 0;
    for (int64_t i = 0; i < seen->num_cases; i++) {
        const struct hint_case *h = &seen->cases[i];
        if (strcmp(h->c.route, route) != 0)
            continue;
        cases++;
        failing += !is_good(h);
        if (!is_good(h) && first[h->finding] == NULL)
            first[h->finding] = h;
    }
    if (failing == 0)
        return;
    printf("\n%s: %lld of %lld cases fail\n", route, (long long)failing, (long long)cases);
    for (int finding = 0; finding < VERDICT_NUM_FINDINGS; finding++)
        if (first[finding] != NULL)
            print_group(&(struct group){seen, first[finding]});
}
