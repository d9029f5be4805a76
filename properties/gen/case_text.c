/* SPDX-License-Identifier: MIT
 *
 * Case descriptors: printing and parsing.
 */
#include "case.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

static const char *const layout_names[CASE_NUM_LAYOUTS] = {"packed", "strided", "inplace", "far"};

static int param_index(const struct case_spec *spec, const char *name)
{
    for (int i = 0; i < spec->num_params; i++)
        if (strcmp(spec->params[i].name, name) == 0)
            return i;
    return -1;
}

int64_t case_get(const struct assay_case *c, const char *param)
{
    int i = param_index(c->spec, param);
    if (i < 0) {
        fprintf(stderr, "case_get: op %s has no parameter '%s'\n", c->spec->op->name, param);
        abort();
    }
    return c->value[i];
}

void case_set(struct assay_case *c, const char *param, int64_t value)
{
    int i = param_index(c->spec, param);
    if (i < 0) {
        fprintf(stderr, "case_set: op %s has no parameter '%s'\n", c->spec->op->name, param);
        abort();
    }
    c->value[i] = value;
}

struct assay_case case_base(const struct case_spec *spec)
{
    struct assay_case c = {
        .spec = spec, .layout = CASE_PACKED, .dist = CASE_DIST_NORMAL, .seed = 1};
    for (int i = 0; i < spec->num_params; i++)
        c.value[i] = spec->params[i].fallback;
    return c;
}

void case_print(const struct assay_case *c, char text[CASE_TEXT_BYTES])
{
    size_t used = (size_t)snprintf(text, CASE_TEXT_BYTES, "%s", c->spec->op->name);
    for (int i = 0; i < c->spec->num_params && used < CASE_TEXT_BYTES; i++) {
        const struct case_param *p = &c->spec->params[i];
        char *at = text + used;
        size_t room = CASE_TEXT_BYTES - used;
        int wrote;
        if (p->kind == CASE_FORMAT)
            wrote = snprintf(at, room, " %s=%s", p->name,
                             assay_dtype_name((enum assay_dtype)c->value[i]));
        else if (p->kind == CASE_CHOICE)
            wrote = snprintf(at, room, " %s=%s", p->name, p->names[c->value[i]]);
        else
            wrote = snprintf(at, room, " %s=%" PRId64, p->name, c->value[i]);
        used += (size_t)wrote;
    }
    if (used < CASE_TEXT_BYTES)
        used += (size_t)snprintf(text + used, CASE_TEXT_BYTES - used, " layout=%s dist=%s",
                                 layout_names[c->layout], case_dist_name(c->dist));
    if (c->route[0] != '\0' && used < CASE_TEXT_BYTES)
        used += (size_t)snprintf(text + used, CASE_TEXT_BYTES - used, " route=%s", c->route);
    if (used < CASE_TEXT_BYTES)
        snprintf(text + used, CASE_TEXT_BYTES - used, " seed=%" PRIu64, c->seed);
}

struct parser {
    struct assay_case *c;
    bool seen[CASE_MAX_PARAMS + 4];
    char *message;
    size_t message_bytes;
};

static bool complain(struct parser *p, const char *key, const char *problem, const char *value)
{
    snprintf(p->message, p->message_bytes, "case descriptor: %s: %s%s%s", key, problem,
             value[0] != '\0' ? ": " : "", value);
    return false;
}

static bool parse_number(const char *text, int64_t *number)
{
    char *end;
    if (text[0] == '\0')
        return false;
    long long value = strtoll(text, &end, 10);
    *number = value;
    return *end == '\0';
}

static bool parse_param(struct parser *p, int index, const char *value)
{
    const struct case_param *param = &p->c->spec->params[index];
    int64_t *to = &p->c->value[index];
    if (param->kind == CASE_FORMAT) {
        enum assay_dtype dtype = assay_dtype_from_name(value);
        if (dtype == ASSAY_NUM_DTYPES || (param->formats & 1u << dtype) == 0)
            return complain(p, param->name, "no such format for this parameter", value);
        *to = dtype;
        return true;
    }
    if (param->kind == CASE_CHOICE) {
        for (int64_t i = 0; i <= param->hi; i++) {
            if (strcmp(param->names[i], value) == 0) {
                *to = i;
                return true;
            }
        }
        return complain(p, param->name, "no such choice", value);
    }
    int64_t hi = param->kind == CASE_FLAG ? 1 : param->hi;
    if (!parse_number(value, to))
        return complain(p, param->name, "not a number", value);
    if (*to < param->lo || *to > hi) {
        char range[96];
        snprintf(range, sizeof range, "%s is not in [%" PRId64 ", %" PRId64 "]", value, param->lo,
                 hi);
        return complain(p, param->name, "out of range", range);
    }
    return true;
}

static bool parse_common(struct parser *p, const char *key, const char *value, int *slot)
{
    struct assay_case *c = p->c;
    if (strcmp(key, "layout") == 0) {
        *slot = CASE_MAX_PARAMS;
        for (int i = 0; i < CASE_NUM_LAYOUTS; i++) {
            if (strcmp(layout_names[i], value) == 0 &&
                ((c->spec->layouts | 1u << CASE_FAR) & 1u << i) != 0) {
                c->layout = (enum case_layout)i;
                return true;
            }
        }
        return complain(p, key, "no such layout for this op", value);
    }
    if (strcmp(key, "dist") == 0) {
        *slot = CASE_MAX_PARAMS + 1;
        for (int i = 0; i < CASE_NUM_DISTS; i++) {
            if (strcmp(case_dist_name((enum case_dist)i), value) == 0 &&
                (c->spec->dists & 1u << i) != 0) {
                c->dist = (enum case_dist)i;
                return true;
            }
        }
        return complain(p, key, "no such distribution for this op", value);
    }
    if (strcmp(key, "route") == 0) {
        *slot = CASE_MAX_PARAMS + 2;
        if (strlen(value) >= sizeof c->route)
            return complain(p, key, "name too long", value);
        snprintf(c->route, sizeof c->route, "%s", value);
        return true;
    }
    if (strcmp(key, "seed") == 0) {
        *slot = CASE_MAX_PARAMS + 3;
        char *end;
        errno = 0;
        c->seed = strtoull(value, &end, 10);
        if (value[0] < '0' || value[0] > '9' || *end != '\0')
            return complain(p, key, "not a number", value);
        if (errno == ERANGE)
            return complain(p, key, "out of range: more than 64 bits", value);
        return true;
    }
    return complain(p, key, "no such parameter of this op", "");
}

static bool parse_word(struct parser *p, char *word)
{
    char *equals = strchr(word, '=');
    if (equals == NULL)
        return complain(p, word, "must be KEY=VALUE", "");
    *equals = '\0';
    const char *value = equals + 1;
    int slot = param_index(p->c->spec, word);
    bool good = slot >= 0 ? parse_param(p, slot, value) : parse_common(p, word, value, &slot);
    if (!good)
        return false;
    if (p->seen[slot])
        return complain(p, word, "given twice", "");
    p->seen[slot] = true;
    return true;
}

bool case_parse(const char *text, struct assay_case *c, char *message, size_t message_bytes)
{
    char copy[2 * CASE_TEXT_BYTES];
    struct parser p = {.c = c, .message = message, .message_bytes = message_bytes};
    memset(c, 0, sizeof *c);
    if (strlen(text) >= sizeof copy)
        return complain(&p, "text", "longer than any case", "");
    snprintf(copy, sizeof copy, "%s", text);
    char *rest, *word = strtok_r(copy, " \t\n", &rest);
    if (word == NULL)
        return complain(&p, "op", "missing", "");
    const struct case_spec *spec = case_spec_find(word);
    if (spec == NULL)
        return complain(&p, "op", "there is no op of this name", word);
    *c = case_base(spec);
    while ((word = strtok_r(NULL, " \t\n", &rest)) != NULL)
        if (!parse_word(&p, word))
            return false;
    return true;
}
