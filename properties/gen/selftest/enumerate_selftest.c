/* SPDX-License-Identifier: MIT
 *
 * What enumeration promises: for every route, every distribution, layout, format, listed value,
 * and every boundary with its two neighbours.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "case.h"
#include "values.h"

struct count {
    int boundaries, values, formats;
};

static bool has_value(const struct case_list *list, int param, int64_t value)
{
    for (int64_t i = 0; i < list->num_cases; i++)
        if (list->cases[i].value[param] == value)
            return true;
    return false;
}

/* Dependent parameters, the route and the limit on work may forbid a value beside the base case. */
static bool is_legal(const struct case_spec *spec, const struct assay_route *route, int param,
                     int64_t value)
{
    struct assay_case c = case_base(spec);
    snprintf(c.route, sizeof c.route, "%s", route->name);
    c.value[param] = value;
    if (spec->adjust != NULL)
        spec->adjust(&c);
    return c.value[param] == value;
}

static void check_value(const struct case_spec *spec, const struct assay_route *route,
                        const struct case_list *list, int param, int64_t value, const char *why)
{
    const struct case_param *p = &spec->params[param];
    if (value < p->lo || value > p->hi || !is_legal(spec, route, param, value))
        return;
    cr_assert(has_value(list, param, value), "%s: %s=%lld (%s) is never tried", route->name,
              p->name, (long long)value, why);
}

static void check_param(const struct case_spec *spec, const struct assay_route *route,
                        const struct case_list *list, int param, struct count *count)
{
    const struct case_param *p = &spec->params[param];
    for (int d = 0; p->kind == CASE_FORMAT && d < ASSAY_NUM_DTYPES; d++) {
        if ((p->formats & 1u << d) == 0)
            continue;
        count->formats++;
        if (is_legal(spec, route, param, d))
            cr_assert(has_value(list, param, d), "%s: %s=%s is never tried", route->name, p->name,
                      assay_dtype_name((enum assay_dtype)d));
    }
    for (int64_t i = 0; p->kind == CASE_CHOICE && i <= p->hi; i++)
        check_value(spec, route, list, param, i, "a choice");
    for (int64_t i = 0; p->kind == CASE_FLAG && i <= 1; i++)
        cr_assert(!is_legal(spec, route, param, i) || has_value(list, param, i), "%s: %s=%lld",
                  route->name, p->name, (long long)i);
    for (int i = 0; p->kind == CASE_COUNT && p->values != NULL && p->values[i] >= 0; i++) {
        count->values++;
        check_value(spec, route, list, param, p->values[i], "listed");
    }
}

static void check_boundaries(const struct case_spec *spec, const struct assay_route *route,
                             const struct case_list *list, struct count *count)
{
    for (const struct assay_boundary *b = route->boundaries; b != NULL && b->parameter != NULL;
         b++) {
        int param = 0;
        while (param < spec->num_params && strcmp(spec->params[param].name, b->parameter) != 0)
            param++;
        cr_assert(param < spec->num_params, "%s: boundary of '%s', which no case has", route->name,
                  b->parameter);
        for (int64_t d = -1; d <= 1; d++)
            check_value(spec, route, list, param, b->at + d, "a boundary");
        count->boundaries++;
        bool near = false;
        for (int64_t d = -1; d <= 1; d++)
            near = near || has_value(list, param, b->at + d);
        cr_assert(near, "%s: no case near the boundary %s=%lld", route->name, b->parameter,
                  (long long)b->at);
    }
}

static void check_route(const struct case_spec *spec, const struct assay_route *route,
                        struct count *count)
{
    struct case_list list = {NULL, 0, 0};
    cr_assert(case_enumerate_route(spec, route, 1, CASE_QUICK, &list));
    unsigned dists[CASE_NUM_LAYOUTS] = {0}, layouts = 0;
    for (int64_t i = 0; i < list.num_cases; i++) {
        const struct assay_case *c = &list.cases[i];
        dists[c->layout] |= 1u << c->dist;
        layouts |= 1u << c->layout;
        cr_assert_str_eq(c->route, route->name);
        char text[CASE_TEXT_BYTES], message[256] = "";
        struct assay_case parsed;
        case_print(c, text);
        cr_assert(case_parse(text, &parsed, message, sizeof message),
                  "adjust made an illegal case: %s: %s", text, message);
    }
    /* Far is tried once for every route, whatever the spec says of the others. */
    cr_assert_eq(layouts, spec->layouts | 1u << CASE_FAR, "%s: a layout is missing", route->name);
    for (int l = 0; l < CASE_FAR; l++)
        if ((layouts & 1u << l) != 0)
            cr_assert_eq(dists[l], spec->dists, "%s: a distribution is missing in layout %d",
                         route->name, l);
    for (int p = 0; p < spec->num_params; p++)
        check_param(spec, route, &list, p, count);
    check_boundaries(spec, route, &list, count);
    case_list_free(&list);
}

Test(enumerate, everything_is_tried)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    struct count count = {0, 0, 0};
    for (int s = 0; s < num_specs; s++)
        for (int r = 0; r < specs[s]->op->num_routes; r++)
            check_route(specs[s], &specs[s]->op->routes[r], &count);
    cr_log_info("%d boundaries, %d listed values, %d formats", count.boundaries, count.values,
                count.formats);
    cr_assert(count.values > 0 && count.formats > 0);
}

static int64_t inner_boundary(int64_t inner)
{
    return inner;
}

/* A route with boundaries that no table has: they appear although nobody lists them. */
Test(enumerate, added_route)
{
    static const struct assay_boundary boundaries[] = {
        {"H", 37}, {"H", 4097}, {"rows", 0}, {"H", 65536}, {NULL, 0}};
    const struct assay_route route = {
        .name = "rmsnorm.test.enumerated.cpu", .boundaries = boundaries, .depth = inner_boundary};
    struct count count = {0, 0, 0};
    check_route(case_spec_find("rmsnorm"), &route, &count);
    cr_assert_eq(count.boundaries, 4);
    struct case_list list = {NULL, 0, 0};
    cr_assert(case_enumerate_route(case_spec_find("rmsnorm"), &route, 1, CASE_QUICK, &list));
    for (int64_t h = 36; h <= 38; h++)
        cr_assert(has_value(&list, 2, h), "H=%lld", (long long)h);
    cr_assert(has_value(&list, 2, 65535) && has_value(&list, 2, 65536));
    cr_assert(!has_value(&list, 2, 65537) && !has_value(&list, 0, -1), "out of the range");
    case_list_free(&list);
}

/* A seed gives the same cases every time; another seed, other mixtures; full, more of them. */
Test(enumerate, seeds_and_effort)
{
    const struct case_spec *spec = case_spec_find("rmsnorm");
    struct case_list list[4] = {{NULL, 0, 0}};
    cr_assert(case_enumerate(spec, 1, CASE_QUICK, &list[0]));
    cr_assert(case_enumerate(spec, 1, CASE_QUICK, &list[1]));
    cr_assert(case_enumerate(spec, 2, CASE_QUICK, &list[2]));
    cr_assert(case_enumerate(spec, 1, CASE_FULL, &list[3]));
    cr_assert_eq(list[0].num_cases, list[1].num_cases);
    int64_t differ = 0;
    for (int64_t i = 0; i < list[0].num_cases; i++) {
        char a[CASE_TEXT_BYTES], b[CASE_TEXT_BYTES], c[CASE_TEXT_BYTES];
        case_print(&list[0].cases[i], a);
        case_print(&list[1].cases[i], b);
        case_print(&list[2].cases[i], c);
        cr_assert_str_eq(a, b);
        differ += strcmp(a, c) != 0;
    }
    cr_assert(differ > list[0].num_cases / 2);
    cr_assert(list[3].num_cases > 2 * list[0].num_cases);
    for (int k = 0; k < 4; k++)
        case_list_free(&list[k]);
}
