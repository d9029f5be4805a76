/* SPDX-License-Identifier: MIT
 *
 * From a spec to the cases that are tried: one thing changed at a time, then seeded mixtures.
 */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "philox.h"

enum { MIXTURES_QUICK = 24, MIXTURES_FULL = 400, MAX_VALUES = 96 };

struct enumeration {
    const struct case_spec *spec;
    const struct assay_route *route;
    struct case_list *list;
    uint64_t seed;
    bool out_of_memory;
};

bool case_list_append(struct case_list *list, const struct assay_case *c)
{
    if (list->num_cases == list->capacity) {
        int64_t capacity = list->capacity > 0 ? 2 * list->capacity : 256;
        struct assay_case *grown = realloc(list->cases, (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        list->cases = grown;
        list->capacity = capacity;
    }
    list->cases[list->num_cases++] = *c;
    return true;
}

static void append(struct enumeration *e, struct assay_case c)
{
    memcpy(c.route, e->route->name, strlen(e->route->name) + 1);
    c.seed = philox_u64(e->seed, e->route->name, (uint64_t)e->list->num_cases) >> 32;
    if (e->spec->adjust != NULL)
        e->spec->adjust(&c);
    if (!case_list_append(e->list, &c))
        e->out_of_memory = true;
}

static int add_value(int64_t *values, int count, int64_t value, const struct case_param *p)
{
    if (value < p->lo || value > p->hi || count == MAX_VALUES)
        return count;
    for (int i = 0; i < count; i++)
        if (values[i] == value)
            return count;
    values[count] = value;
    return count + 1;
}

/* The values of one parameter that are worth trying with this route. */
static int values_of_param(const struct enumeration *e, const struct case_param *p,
                           int64_t values[MAX_VALUES])
{
    int count = 0;
    if (p->kind == CASE_FORMAT) {
        for (int d = 0; d < ASSAY_NUM_DTYPES; d++)
            if ((p->formats & 1u << d) != 0)
                values[count++] = d;
        return count;
    }
    if (p->kind == CASE_FLAG || p->kind == CASE_CHOICE) {
        for (int64_t i = 0; i <= (p->kind == CASE_FLAG ? 1 : p->hi) && count < MAX_VALUES; i++)
            values[count++] = i;
        return count;
    }
    for (int i = 0; p->values != NULL && p->values[i] >= 0; i++)
        count = add_value(values, count, p->values[i], p);
    if (p->values == NULL) {
        count = add_value(values, count, p->lo, p);
        count = add_value(values, count, p->lo + 1, p);
        count = add_value(values, count, p->fallback, p);
    }
    for (const struct assay_boundary *b = e->route->boundaries; b != NULL && b->parameter != NULL;
         b++) {
        if (strcmp(b->parameter, p->name) != 0)
            continue;
        for (int64_t d = -1; d <= 1; d++)
            count = add_value(values, count, b->at + d, p);
    }
    return count;
}

static int set_bits(unsigned mask, int limit, int bits[])
{
    int count = 0;
    for (int i = 0; i < limit; i++)
        if ((mask & 1u << i) != 0)
            bits[count++] = i;
    return count;
}

static void one_at_a_time(struct enumeration *e)
{
    const struct case_spec *spec = e->spec;
    struct assay_case base = case_base(spec);
    int dists[CASE_NUM_DISTS], layouts[CASE_NUM_LAYOUTS];
    int num_dists = set_bits(spec->dists, CASE_NUM_DISTS, dists);
    int num_layouts = set_bits(spec->layouts, CASE_NUM_LAYOUTS, layouts);
    for (int d = 0; d < num_dists; d++) {
        for (int l = 0; l < num_layouts; l++) {
            struct assay_case c = base;
            c.dist = (enum case_dist)dists[d];
            c.layout = (enum case_layout)layouts[l];
            append(e, c);
        }
    }
    base.layout = CASE_FAR;
    append(e, base);
    base.layout = CASE_PACKED;
    for (int i = 0; i < spec->num_params; i++) {
        int64_t values[MAX_VALUES];
        int count = values_of_param(e, &spec->params[i], values);
        for (int k = 0; k < count; k++) {
            struct assay_case c = base;
            c.value[i] = values[k];
            append(e, c);
        }
    }
}

static void mixtures(struct enumeration *e, int count)
{
    const struct case_spec *spec = e->spec;
    int dists[CASE_NUM_DISTS], layouts[CASE_NUM_LAYOUTS];
    int num_dists = set_bits(spec->dists, CASE_NUM_DISTS, dists);
    int num_layouts = set_bits(spec->layouts, CASE_NUM_LAYOUTS, layouts);
    for (int m = 0; m < count; m++) {
        struct assay_case c = case_base(spec);
        uint64_t draw = (uint64_t)m * (CASE_MAX_PARAMS + 2);
        for (int i = 0; i < spec->num_params; i++) {
            int64_t values[MAX_VALUES];
            int n = values_of_param(e, &spec->params[i], values);
            if (n > 0) /* a parameter without a legal value keeps its fallback */
                c.value[i] = values[philox_u64(e->seed, "mixture", draw++) % (uint64_t)n];
        }
        uint64_t pick = philox_u64(e->seed, "mixture", draw);
        c.dist = (enum case_dist)dists[pick % (uint64_t)num_dists];
        c.layout = (enum case_layout)layouts[(pick >> 32) % (uint64_t)num_layouts];
        append(e, c);
    }
}

static void together(struct enumeration *e)
{
    const char *const *texts = e->spec->together;
    for (int i = 0; texts != NULL && texts[i] != NULL; i++) {
        struct assay_case c = case_base(e->spec);
        char name[24];
        long long value;
        int used;
        for (const char *at = texts[i]; sscanf(at, "%23[^=]=%lld %n", name, &value, &used) == 2;
             at += used)
            case_set(&c, name, value);
        append(e, c);
    }
}

bool case_enumerate(const struct case_spec *spec, uint64_t seed, enum case_effort effort,
                    struct case_list *list)
{
    enum assay_isa isa = assay_isa_detect();
    for (int r = 0; r < spec->op->num_routes; r++) {
        struct enumeration e = {
            .spec = spec, .route = &spec->op->routes[r], .list = list, .seed = seed};
        if (e.route->isa > isa || e.route->backend != ASSAY_CPU)
            continue;
        one_at_a_time(&e);
        mixtures(&e, effort == CASE_FULL ? MIXTURES_FULL : MIXTURES_QUICK);
        together(&e);
        if (e.out_of_memory)
            return false;
    }
    return true;
}

bool case_enumerate_route(const struct case_spec *spec, const struct assay_route *route,
                          uint64_t seed, enum case_effort effort, struct case_list *list)
{
    struct enumeration e = {.spec = spec, .route = route, .list = list, .seed = seed};
    one_at_a_time(&e);
    mixtures(&e, effort == CASE_FULL ? MIXTURES_FULL : MIXTURES_QUICK);
    together(&e);
    return !e.out_of_memory;
}

void case_list_free(struct case_list *list)
{
    free(list->cases);
    *list = (struct case_list){NULL, 0, 0};
}
