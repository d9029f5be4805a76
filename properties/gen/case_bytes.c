/* SPDX-License-Identifier: MIT
 *
 * Bytes to a case: what a fuzzer's input stands for.
 */
#include "case.h"

#include <stdio.h>

struct bytes {
    const uint8_t *data;
    size_t size, used;
};

/* Zeros once the input has ended: short inputs are simple cases. */
static uint64_t take(struct bytes *b, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value = value << 8 | (b->used < b->size ? b->data[b->used++] : 0);
    return value;
}

static int64_t take_param(struct bytes *b, const struct case_param *p)
{
    uint64_t draw = take(b, 2);
    if (p->kind == CASE_FORMAT) {
        int formats[ASSAY_NUM_DTYPES], count = 0;
        for (int d = 0; d < ASSAY_NUM_DTYPES; d++)
            if ((p->formats & 1u << d) != 0)
                formats[count++] = d;
        return formats[draw % (uint64_t)count];
    }
    int64_t hi = p->kind == CASE_FLAG ? 1 : p->hi;
    /* Small sizes mostly: the low 9 bits; sometimes the whole range. */
    if (p->kind == CASE_COUNT && hi - p->lo > 96 && draw % 16 != 0)
        hi = p->lo + 96;
    return p->lo + (int64_t)(draw / 16 % (uint64_t)(hi - p->lo + 1));
}

static int take_bit(struct bytes *b, unsigned mask, int limit)
{
    int choices[32], count = 0;
    for (int i = 0; i < limit; i++)
        if ((mask & 1u << i) != 0)
            choices[count++] = i;
    return choices[take(b, 1) % (uint64_t)count];
}

struct assay_case case_from_bytes(const struct case_spec *spec, const struct assay_route *route,
                                  const uint8_t *bytes, size_t num_bytes)
{
    struct bytes b = {.data = bytes, .size = num_bytes};
    struct assay_case c = case_base(spec);
    c.dist = (enum case_dist)take_bit(&b, spec->dists, CASE_NUM_DISTS);
    c.layout = (enum case_layout)take_bit(&b, spec->layouts, CASE_NUM_LAYOUTS);
    const struct assay_route *drawn =
        &spec->op->routes[take(&b, 1) % (uint64_t)spec->op->num_routes];
    if (route != NULL)
        snprintf(c.route, sizeof c.route, "%s", route->name);
    else if (drawn->backend == ASSAY_CPU && drawn->isa <= assay_isa_detect())
        snprintf(c.route, sizeof c.route, "%s", drawn->name);
    for (int i = 0; i < spec->num_params; i++)
        c.value[i] = take_param(&b, &spec->params[i]);
    c.seed = take(&b, 4);
    if (spec->adjust != NULL)
        spec->adjust(&c);
    return c;
}

const struct assay_route *case_route_from_bytes(const struct case_spec *spec,
                                                enum assay_backend backend, const uint8_t *bytes,
                                                size_t num_bytes)
{
    enum { ROUTE_BYTE = 2 }; /* after distribution and layout */
    int rows = 0;
    for (int i = 0; i < spec->op->num_routes; i++)
        rows += spec->op->routes[i].backend == backend;
    int left = rows > 0 && num_bytes > ROUTE_BYTE ? bytes[ROUTE_BYTE] % rows : 0;
    for (int i = 0; i < spec->op->num_routes; i++)
        if (spec->op->routes[i].backend == backend && left-- == 0)
            return &spec->op->routes[i];
    return NULL;
}
