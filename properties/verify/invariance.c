/* SPDX-License-Identifier: MIT
 *
 * Of a call's rows: what do their bits not depend on? The whole call's outputs are compared with
 * those of calls on a part of the rows (width), and with those of the same call whose other rows
 * hold something else (batch).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"
#include "verify.h"

struct rows {
    assay_context *context;
    struct trial *trial;
    int64_t count;
    unsigned char *before[TRIAL_MAX_BUFFERS]; /* live bytes after the whole call */
    char *message;
    size_t message_bytes;
};

/* True when the field has rows; *dimension says where. */
static bool has_rows(const struct case_spec *spec, const char *field, const struct assay_tensor *t,
                     int *dimension)
{
    size_t length = strlen(field);
    for (const char *at = spec->row_fields; (at = strstr(at, field)) != NULL; at += length) {
        char after = at[length];
        if ((at > spec->row_fields && at[-1] != ' ') ||
            (after != '\0' && after != ' ' && after != '-'))
            continue;
        *dimension = after == '-' ? t->rank - 1 : 0;
        return t->data != NULL;
    }
    return false;
}

static struct assay_tensor *field_of(void *args, const struct assay_argument *a)
{
    return (struct assay_tensor *)(void *)((unsigned char *)args + a->offset);
}

/* Args for the rows [first, first + count), views of the trial's memory. */
static void narrow(const struct rows *r, int64_t first, int64_t count, void *args)
{
    const struct case_spec *spec = r->trial->c->spec;
    memcpy(args, r->trial->args, spec->op->args_bytes);
    for (const struct assay_argument *a = spec->op->arguments; a->name != NULL; a++) {
        struct assay_tensor *t = field_of(args, a);
        int dimension;
        if (!has_rows(spec, a->name, t, &dimension))
            continue;
        t->data = (unsigned char *)t->data +
                  first * t->stride[dimension] * (int64_t)assay_dtype_bytes(t->dtype);
        t->extent[dimension] = count;
    }
    if (spec->row_shift != NULL)
        spec->row_shift(args, first);
}

static bool takes(const struct rows *r, const void *args)
{
    const struct assay_route *route = assay_route_find(r->trial->c->route, NULL);
    return assay_route_takes(r->context, route, args);
}

/* The op on other args of the same memory. */
static bool run(struct rows *r, void *args)
{
    void *whole = r->trial->args;
    r->trial->args = args;
    assay_status status = trial_run(r->trial, r->context);
    r->trial->args = whole;
    if (status != ASSAY_OK)
        snprintf(r->message, r->message_bytes, "%s", assay_context_error(r->context)->message);
    return status == ASSAY_OK;
}

static unsigned char *element(const struct assay_tensor *t, int64_t index)
{
    int64_t offset = 0;
    for (int i = t->rank - 1; i >= 0; i--) {
        offset += index % t->extent[i] * t->stride[i];
        index /= t->extent[i];
    }
    return (unsigned char *)t->data + offset * (int64_t)assay_dtype_bytes(t->dtype);
}

/* The bits that an address had after the whole call. */
static const unsigned char *bits_before(const struct rows *r, const unsigned char *now)
{
    for (int i = 0; i < r->trial->state->num_buffers; i++) {
        const struct trial_buffer *b = &r->trial->state->buffer[i];
        if (now >= b->live && now < b->live + b->bytes)
            return r->before[i] + (now - b->live);
    }
    return NULL;
}

/* The outputs that the args reach have the bits that they had after the whole call. */
static bool same_bits(const struct rows *r, void *args)
{
    const struct case_spec *spec = r->trial->c->spec;
    for (const struct assay_argument *a = spec->op->arguments; a->name != NULL; a++) {
        struct assay_tensor *t = field_of(args, a);
        int dimension;
        if (a->role == ASSAY_INPUT || !has_rows(spec, a->name, t, &dimension))
            continue;
        size_t size = assay_dtype_bytes(t->dtype);
        for (int64_t i = 0; i < assay_tensor_count(t); i++) {
            const unsigned char *now = element(t, i);
            if (memcmp(now, bits_before(r, now), size) != 0)
                return false;
        }
    }
    return true;
}

/* Every input row becomes a copy of row `chosen`. */
static void repeat_row(const struct rows *r, int64_t chosen)
{
    const struct case_spec *spec = r->trial->c->spec;
    for (const struct assay_argument *a = spec->op->arguments; a->name != NULL; a++) {
        struct assay_tensor *t = field_of(r->trial->args, a);
        int dimension;
        if (a->role != ASSAY_INPUT || !has_rows(spec, a->name, t, &dimension))
            continue;
        size_t size = assay_dtype_bytes(t->dtype);
        int64_t inner = 1;
        for (int i = dimension + 1; i < t->rank; i++)
            inner *= t->extent[i];
        for (int64_t i = 0; i < assay_tensor_count(t); i++) {
            int64_t row = i / inner % r->count;
            memmove(element(t, i), element(t, i + (chosen - row) * inner), size);
        }
    }
}

/* Calls on all rows but the last, and all but the first. */
static bool try_widths(struct rows *r, unsigned *tried, unsigned *holds)
{
    void *args = malloc(r->trial->c->spec->op->args_bytes);
    if (args == NULL)
        return false;
    bool good = true, same = true;
    for (int64_t first = 0; first <= (r->trial->c->spec->is_sequence ? 0 : 1) && good; first++) {
        narrow(r, first, r->count - 1, args);
        if (!takes(r, args))
            continue;
        trial_restore(r->trial, 0);
        good = run(r, args);
        same = same && good && same_bits(r, args);
        *tried |= ASSAY_WIDTH_INVARIANT;
    }
    if (!same)
        *holds &= ~(unsigned)ASSAY_WIDTH_INVARIANT;
    free(args);
    return good;
}

static bool try_batch(struct rows *r, unsigned *tried, unsigned *holds)
{
    if (r->trial->c->spec->is_sequence)
        return true;
    int64_t chosen = r->count / 2;
    trial_restore(r->trial, 0);
    repeat_row(r, chosen);
    void *args = malloc(r->trial->c->spec->op->args_bytes);
    bool good = args != NULL && run(r, r->trial->args);
    if (good) {
        narrow(r, chosen, 1, args);
        *tried |= ASSAY_BATCH_INVARIANT;
        if (!same_bits(r, args))
            *holds &= ~(unsigned)ASSAY_BATCH_INVARIANT;
    }
    free(args);
    return good;
}

static bool keep_bits(struct rows *r)
{
    for (int i = 0; i < r->trial->state->num_buffers; i++) {
        const struct trial_buffer *b = &r->trial->state->buffer[i];
        r->before[i] = malloc(b->bytes);
        if (r->before[i] == NULL)
            return false;
        memcpy(r->before[i], b->live, b->bytes);
    }
    return true;
}

bool verify_invariance(assay_context *context, const struct assay_case *c, unsigned *tried,
                       unsigned *holds, char *message, size_t message_bytes)
{
    struct trial trial;
    const char *count = c->spec->row_count != NULL ? c->spec->row_count : "T";
    struct rows r = {.context = context,
                     .trial = &trial,
                     .count = case_get(c, count),
                     .message = message,
                     .message_bytes = message_bytes};
    *tried = 0;
    *holds = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT;
    snprintf(message, message_bytes, "out of memory");
    bool good = trial_create(&trial, c);
    if (good && c->spec->row_fields != NULL && r.count > 1 && takes(&r, trial.args)) {
        good = assay_context_force_route(context, c->route) == ASSAY_OK;
        trial_restore(&trial, 0);
        good = good && run(&r, trial.args) && keep_bits(&r) && try_widths(&r, tried, holds) &&
               try_batch(&r, tried, holds);
    }
    for (int i = 0; i < TRIAL_MAX_BUFFERS; i++)
        free(r.before[i]);
    trial_destroy(&trial);
    return good;
}
