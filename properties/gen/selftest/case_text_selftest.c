/* SPDX-License-Identifier: MIT
 *
 * Descriptors: what is printed is parsed back to the same case, for every op; what is wrong is
 * refused with the key named.
 */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "philox.h"
#include "values.h"

static int64_t draw_param(const struct case_param *p, uint64_t draw)
{
    if (p->kind == CASE_FORMAT) {
        int64_t dtype = (int64_t)(draw % ASSAY_NUM_DTYPES);
        while ((p->formats & 1u << dtype) == 0)
            dtype = (dtype + 1) % ASSAY_NUM_DTYPES;
        return dtype;
    }
    int64_t lo = p->kind == CASE_COUNT ? p->lo : 0, hi = p->kind == CASE_FLAG ? 1 : p->hi;
    if (draw % 8 == 0)
        return hi; /* the longest number, often */
    return lo + (int64_t)((draw >> 8) % (uint64_t)(hi - lo + 1));
}

/* Any case that the grammar allows, whether or not it makes sense. */
static struct assay_case random_case(const struct case_spec *spec, uint64_t number)
{
    struct assay_case c = case_base(spec);
    uint64_t i = number * 64;
    for (int k = 0; k < spec->num_params; k++)
        c.value[k] = draw_param(&spec->params[k], philox_u64(1, "param", i++));
    do
        c.dist = (enum case_dist)(philox_u64(1, "param", i++) % CASE_NUM_DISTS);
    while ((spec->dists & 1u << c.dist) == 0);
    do
        c.layout = (enum case_layout)(philox_u64(1, "param", i++) % CASE_NUM_LAYOUTS);
    while ((spec->layouts & 1u << c.layout) == 0);
    uint64_t route = philox_u64(1, "param", i++) % (uint64_t)(spec->op->num_routes + 1);
    if (route > 0)
        snprintf(c.route, sizeof c.route, "%s", spec->op->routes[route - 1].name);
    c.seed = philox_u64(1, "param", i++) >> number % 64;
    return c;
}

static void same_case(const struct assay_case *a, const struct assay_case *b, const char *text)
{
    cr_assert_eq(a->spec, b->spec, "%s", text);
    cr_assert(memcmp(a->value, b->value, sizeof a->value) == 0, "%s", text);
    cr_assert_eq(a->layout, b->layout, "%s", text);
    cr_assert_eq(a->dist, b->dist, "%s", text);
    cr_assert_str_eq(a->route, b->route, "%s", text);
    cr_assert_eq(a->seed, b->seed, "%s", text);
}

Test(case_text, round_trip)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    cr_assert(num_specs > 0);
    for (int s = 0; s < num_specs; s++) {
        for (uint64_t n = 0; n < 300; n++) {
            struct assay_case c = random_case(specs[s], n), parsed;
            char text[CASE_TEXT_BYTES], again[CASE_TEXT_BYTES], message[256] = "";
            case_print(&c, text);
            cr_assert(strlen(text) < CASE_TEXT_BYTES - 1, "cut: %s", text);
            cr_assert(case_parse(text, &parsed, message, sizeof message), "%s: %s", text, message);
            same_case(&c, &parsed, text);
            case_print(&parsed, again);
            cr_assert_str_eq(text, again);
        }
    }
}

/* Missing keys take the fallback; the order of keys and extra blanks do not matter. */
Test(case_text, defaults_and_order)
{
    struct assay_case a, b, base = case_base(case_spec_find("rmsnorm"));
    char message[256];
    cr_assert(case_parse("rmsnorm", &a, message, sizeof message));
    same_case(&a, &base, "rmsnorm");
    cr_assert(case_parse("rmsnorm H=65 seed=7 rows=2 dist=large", &a, message, sizeof message));
    cr_assert(
        case_parse("  rmsnorm\tdist=large rows=2\n seed=7   H=65 ", &b, message, sizeof message));
    same_case(&a, &b, "order");
    cr_assert_eq(case_get(&a, "H"), 65);
    case_set(&a, "H", 3);
    cr_assert_eq(case_get(&a, "H"), 3);
    cr_assert(case_parse("rmsnorm seed=010", &a, message, sizeof message));
    cr_assert_eq(a.seed, 10, "numbers are decimal");
}

static void refuse(const char *text, const char *key, const char *problem)
{
    struct assay_case c;
    char message[256] = "";
    cr_assert(!case_parse(text, &c, message, sizeof message), "accepted: %s", text);
    cr_assert_not_null(strstr(message, key), "'%s' does not name %s: %s", text, key, message);
    cr_assert_not_null(strstr(message, problem), "'%s': %s", text, message);
    char small[8];
    memset(small, '#', sizeof small);
    cr_assert(!case_parse(text, &c, small, 7));
    cr_assert(small[7] == '#' && memchr(small, '\0', 7) != NULL, "message is overrun");
}

/* Every parameter of every op. */
Test(case_text, wrong_values)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    for (int s = 0; s < num_specs; s++) {
        const char *op = specs[s]->op->name;
        for (int i = 0; i < specs[s]->num_params; i++) {
            const struct case_param *p = &specs[s]->params[i];
            char key[64], text[256];
            snprintf(key, sizeof key, "%s:", p->name);
#define REFUSE(problem, ...)                      \
    do {                                          \
        snprintf(text, sizeof text, __VA_ARGS__); \
        refuse(text, key, problem);               \
    } while (0)
            bool number = p->kind == CASE_COUNT || p->kind == CASE_FLAG;
            const char *bad = number                   ? "not a number"
                              : p->kind == CASE_FORMAT ? "no such format"
                                                       : "no such choice";
            REFUSE(bad, "%s %s=nonsense", op, p->name);
            REFUSE(bad, "%s %s=", op, p->name);
            if (p->kind == CASE_FORMAT)
                REFUSE("no such format", "%s %s=f64", op, p->name);
            if (!number)
                continue;
            int64_t hi = p->kind == CASE_FLAG ? 1 : p->hi;
            REFUSE("out of range", "%s %s=%" PRId64, op, p->name, p->lo - 1);
            REFUSE("out of range", "%s %s=%" PRId64, op, p->name, hi + 1);
            REFUSE("out of range", "%s %s=99999999999999999999999", op, p->name);
            REFUSE("not a number", "%s %s=%" PRId64 "x", op, p->name, hi);
            REFUSE("given twice", "%s %s=%" PRId64 " seed=3 %s=%" PRId64, op, p->name, hi, p->name,
                   hi);
#undef REFUSE
        }
    }
}

Test(case_text, wrong_words)
{
    refuse("", "op", "missing");
    refuse(" \t", "op", "missing");
    refuse("nonsense H=3", "op", "nonsense");
    refuse("rmsnorm nonsense=1", "nonsense", "no such parameter");
    refuse("rmsnorm H", "H", "KEY=VALUE");
    refuse("rmsnorm =3", "", "no such parameter");
    refuse("rmsnorm layout=diagonal", "layout", "diagonal");
    refuse("rmsnorm dist=cauchy", "dist", "cauchy");
    refuse("rmsnorm layout=packed layout=packed", "layout", "given twice");
    refuse("rmsnorm dist=normal H=3 dist=normal", "dist", "given twice");
    refuse("rmsnorm seed=1 seed=1", "seed", "given twice");
    refuse("rmsnorm route=a route=a", "route", "given twice");
    refuse("rmsnorm seed=-1", "seed", "not a number");
    refuse("rmsnorm seed=", "seed", "not a number");
    refuse("rmsnorm seed=1x", "seed", "not a number");
    refuse("rmsnorm seed=18446744073709551616", "seed", "out of range");
    char text[2 * CASE_TEXT_BYTES + 2] = "rmsnorm route=";
    memset(text + 14, 'r', 64);
    refuse(text, "route", "too long");
    memset(text, ' ', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    refuse(text, "text", "longer");
}
