/* SPDX-License-Identifier: MIT
 *
 * From a failing case to the smallest one that fails alike.
 */
#include "verify.h"

#include <string.h>

enum { MAX_RUNS = 300 };

struct shrink {
    assay_context *context;
    struct assay_case best;
    enum verdict_finding finding;
    int runs;
};

/* Takes the candidate when it gives the same finding. */
static bool accept(struct shrink *s, struct assay_case candidate)
{
    if (candidate.spec->adjust != NULL)
        candidate.spec->adjust(&candidate);
    bool same = candidate.layout == s->best.layout && candidate.dist == s->best.dist &&
                memcmp(candidate.value, s->best.value, sizeof candidate.value) == 0;
    if (same || s->runs == MAX_RUNS)
        return false;
    s->runs++;
    struct verify_outcome outcome;
    verify_case(s->context, &candidate, &outcome);
    if (outcome.refused || outcome.verdict.finding != s->finding)
        return false;
    s->best = candidate;
    return true;
}

/* Towards lo: first all the way, then by halves, then by one. */
static bool shrink_count(struct shrink *s, int index)
{
    const struct case_param *p = &s->best.spec->params[index];
    bool changed = false, going = true;
    while (going) {
        int64_t value = s->best.value[index];
        const int64_t tries[] = {p->lo, p->lo + (value - p->lo) / 2, value - 1};
        going = false;
        for (int k = 0; k < 3 && !going; k++) {
            if (tries[k] < p->lo || tries[k] >= value)
                continue;
            struct assay_case candidate = s->best;
            candidate.value[index] = tries[k];
            going = accept(s, candidate) && s->best.value[index] < value;
        }
        changed = changed || going;
    }
    return changed;
}

static bool shrink_once(struct shrink *s)
{
    bool changed = false;
    struct assay_case candidate = s->best;
    candidate.layout = CASE_PACKED;
    changed |= accept(s, candidate);
    candidate = s->best;
    candidate.dist = CASE_DIST_NORMAL;
    changed |= accept(s, candidate);
    for (int i = 0; i < s->best.spec->num_params; i++) {
        const struct case_param *p = &s->best.spec->params[i];
        if (p->kind == CASE_COUNT) {
            changed |= shrink_count(s, i);
        } else if (s->best.value[i] != p->fallback) {
            candidate = s->best;
            candidate.value[i] = p->fallback;
            changed |= accept(s, candidate);
        }
    }
    return changed;
}

void verify_shrink(assay_context *context, const struct assay_case *failing,
                   struct assay_case *smallest)
{
    struct verify_outcome outcome;
    verify_case(context, failing, &outcome);
    struct shrink s = {.context = context, .best = *failing, .finding = outcome.verdict.finding};
    while (s.finding != VERDICT_PASS && shrink_once(&s) && s.runs < MAX_RUNS)
        continue;
    *smallest = s.best;
}
