/* SPDX-License-Identifier: MIT
 *
 * What changed between two runs of the ledger.
 */
#include "ledger_read.h"

#include <math.h>
#include <string.h>

#include "gate.h"

/* Walks a run: calls visit for every scalar with its group and dotted name. */
typedef void visitor(json_t *into, const char *group, const char *name, json_t *value);

static const struct {
    const char *key, *group;
} columns[] = {
    {"verdict", "verdict"},      {"reason", "verdict"},        {"trades", "settings"},
    {"model_dir", "settings"},   {"planted", "settings"},      {"quick", "settings"},
    {"seed", "settings"},        {"expires", "settings"},      {"model_digest", "digests"},
    {"build_digest", "digests"}, {"policy_digest", "digests"}, {"corpus_digest", "digests"},
    {"backend", "machine"},      {"isa", "machine"},           {"device", "machine"},
    {"driver", "machine"},       {"seconds", "durations"},
};

/* What names an element of a list, before its index. */
static const char *element_name(const json_t *element)
{
    static const char *const keys[] = {"name", "text", "run", "key"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *name = json_string_value(json_object_get(element, keys[i]));
        if (name != NULL)
            return name;
    }
    return NULL;
}

/* Numbers below `value` by their path. Lists of numbers (the points of plots) are left out. */
static void walk_numbers(json_t *into, const char *path, json_t *value, visitor visit)
{
    char below[256];
    const char *key;
    json_t *member;
    size_t i;
    if (json_is_number(value))
        visit(into, "measurements", path, value);
    json_object_foreach(value, key, member)
    {
        snprintf(below, sizeof below, "%.120s.%.80s", path, key);
        walk_numbers(into, below, member, visit);
    }
    json_array_foreach(value, i, member)
    {
        const char *name = element_name(member);
        if (json_is_number(member))
            continue;
        if (name != NULL)
            snprintf(below, sizeof below, "%.120s.%.80s", path, name);
        else
            snprintf(below, sizeof below, "%.120s.%zu", path, i);
        walk_numbers(into, below, member, visit);
    }
}

static void walk_evidence(json_t *into, const json_t *run, visitor visit)
{
    char name[256];
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(run, "checks"), i, row)
    {
        const char *evidence = json_string_value(json_object_get(row, "evidence"));
        const char *measure = json_string_value(json_object_get(row, "measure"));
        static const char *const parts[] = {"value", "bound", "state"};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            snprintf(name, sizeof name, "%.64s.%.64s%s%s", evidence == NULL ? "?" : evidence,
                     measure == NULL ? "?" : measure, k == 0 ? "" : ".", k == 0 ? "" : parts[k]);
            visit(into, "measurements", name, json_object_get(row, parts[k]));
        }
    }
    json_array_foreach(json_object_get(run, "evidence"), i, row)
    {
        const char *evidence = json_string_value(json_object_get(row, "evidence"));
        snprintf(name, sizeof name, "%.64s.coverage", evidence == NULL ? "?" : evidence);
        visit(into, "measurements", name, json_object_get(row, "coverage"));
        snprintf(name, sizeof name, "%.64s.seconds", evidence == NULL ? "?" : evidence);
        visit(into, "durations", name, json_object_get(row, "seconds"));
    }
}

static void walk(json_t *into, const json_t *run, visitor visit)
{
    static const char *const parts[] = {"drift", "greedy", "losses", "loss_changes", "gain"};
    const json_t *report = json_object_get(run, "report");
    const char *key;
    json_t *value;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        visit(into, columns[i].group, columns[i].key, json_object_get(run, columns[i].key));
    json_object_foreach(json_object_get(run, "settings"), key,
                        value) if (json_object_get(run, key) == NULL)
        visit(into, "settings", key, value);
    walk_evidence(into, run, visit);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        walk_numbers(into, parts[i], json_object_get(report, parts[i]), visit);
}

/* ---- comparison ----------------------------------------------------------------------------- */

static void remember(json_t *into, const char *group, const char *name, json_t *value)
{
    char full[320];
    snprintf(full, sizeof full, "%s/%s", group, name);
    if (value != NULL)
        json_object_set(into, full, value);
}

static json_t *relative_change(const json_t *a, const json_t *b)
{
    const double x = json_number_value(a), y = json_number_value(b);
    if (!json_is_number(a) || !json_is_number(b) || x == 0.0 || !isfinite((y - x) / fabs(x)))
        return json_null();
    return json_real((y - x) / fabs(x));
}

static void compare(json_t *changed, const char *full, json_t *a, json_t *b)
{
    const char *slash = strchr(full, '/');
    json_array_append_new(changed, json_pack("{s:s%, s:s, s:O?, s:O?, s:o}", "group", full,
                                             (size_t)(slash - full), "name", slash + 1, "a", a, "b",
                                             b, "relative_change", relative_change(a, b)));
}

json_t *ledger_diff(const json_t *a, const json_t *b)
{
    json_t *left = json_object(), *right = json_object(), *changed = json_array(), *value;
    const char *full;
    json_int_t same = 0;
    walk(left, a, remember);
    walk(right, b, remember);
    json_object_foreach(left, full, value)
    {
        json_t *other = json_object_get(right, full);
        if (other != NULL && json_equal(value, other))
            same++;
        else
            compare(changed, full, value, other);
    }
    json_object_foreach(right, full, value) if (json_object_get(left, full) == NULL)
        compare(changed, full, NULL, value);
    json_decref(left);
    json_decref(right);
    return json_pack("{s:O, s:O, s:o, s:I}", "a", json_object_get(a, "id"), "b",
                     json_object_get(b, "id"), "changed", changed, "same", same);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void format_value(const json_t *value, char text[64])
{
    if (json_is_integer(value))
        snprintf(text, 64, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, 64, "%.6g", json_real_value(value));
    else if (json_is_string(value))
        snprintf(text, 64, "%.44s%s", json_string_value(value),
                 json_string_length(value) > 44 ? "..." : "");
    else if (json_is_boolean(value))
        snprintf(text, 64, "%s", json_is_true(value) ? "true" : "false");
    else
        snprintf(text, 64, "-");
}

void ledger_diff_print(const json_t *diff, FILE *out)
{
    static const char *const groups[] = {"verdict", "settings",     "digests",
                                         "machine", "measurements", "durations"};
    const json_t *changed = json_object_get(diff, "changed");
    size_t i;
    json_t *row;
    fprintf(out, "run %lld against run %lld\n",
            (long long)json_integer_value(json_object_get(diff, "b")),
            (long long)json_integer_value(json_object_get(diff, "a")));
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        bool first = true;
        json_array_foreach(changed, i, row)
        {
            char a[64], b[64];
            const json_t *change = json_object_get(row, "relative_change");
            if (strcmp(json_string_value(json_object_get(row, "group")), groups[g]) != 0)
                continue;
            format_value(json_object_get(row, "a"), a);
            format_value(json_object_get(row, "b"), b);
            fprintf(out, "%s%s  %-44s %s -> %s", first ? groups[g] : "", first ? "\n" : "",
                    json_string_value(json_object_get(row, "name")), a, b);
            if (json_is_real(change))
                fprintf(out, "  (%+.3g %%)", 100.0 * json_real_value(change));
            fputc('\n', out);
            first = false;
        }
    }
    fprintf(out, "%zu changed, %lld the same\n", json_array_size(changed),
            (long long)json_integer_value(json_object_get(diff, "same")));
}

/* ---- regressions ---------------------------------------------------------------------------- */

static const json_t *find_check(const json_t *run, const char *evidence, const char *measure)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(run, "checks"), i, row)
    {
        const char *e = json_string_value(json_object_get(row, "evidence"));
        const char *m = json_string_value(json_object_get(row, "measure"));
        if (e != NULL && m != NULL && strcmp(e, evidence) == 0 && strcmp(m, measure) == 0)
            return row;
    }
    return NULL;
}

static bool is_met(const json_t *row)
{
    const char *state = json_string_value(json_object_get(row, "state"));
    return state != NULL && strcmp(state, gate_state_name(GATE_MET)) == 0;
}

/* Nearer to the limit by more than a hundredth of it; of a figure that is only reported, of what it
 * was. */
static bool is_nearer(const json_t *before, const json_t *now, enum gate_side side)
{
    const json_t *x = json_object_get(before, "value"), *y = json_object_get(now, "value");
    const double bound = json_number_value(json_object_get(now, "bound"));
    const double a = json_number_value(x), b = json_number_value(y);
    const double unit = json_is_number(json_object_get(now, "bound")) && bound > 0.0 ? bound : a;
    if (!json_is_number(x) || !json_is_number(y))
        return json_is_number(x);
    return side == GATE_MOST ? b - a > 0.01 * fabs(unit) : a - b > 0.01 * fabs(unit);
}

int ledger_regressions(const json_t *a, const json_t *b, FILE *out)
{
    int count = 0;
    for (int i = 0; i < GATE_NUM_LIMITS; i++) {
        const struct gate_limit_row *row = &gate_limit_rows[i];
        const char *evidence = gate_evidence_rows[row->evidence].name;
        const json_t *before = find_check(a, evidence, row->key);
        const json_t *now = find_check(b, evidence, row->key);
        char x[64], y[64];
        const bool lost = is_met(before) && now != NULL && !is_met(now);
        if (before == NULL || now == NULL || (!lost && !is_nearer(before, now, row->side)))
            continue;
        format_value(json_object_get(before, "value"), x);
        format_value(json_object_get(now, "value"), y);
        fprintf(out, "  %s %s: %s: %s -> %s%s\n", lost ? "REGRESSION" : "worse     ", evidence,
                row->what, x, y, lost ? ", no longer met" : "");
        count++;
    }
    return count;
}
