/* SPDX-License-Identifier: MIT
 *
 * From a finding to one line of text.
 */
#include "cuda/executor/executor_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *simt_fault_name(enum simt_fault_kind kind)
{
    static const char *const names[SIMT_NUM_FAULTS] = {
#define FAULT_NAME(enumerator, name) [SIMT_FAULT_##enumerator] = name,
        SIMT_FAULT_TABLE(FAULT_NAME)
#undef FAULT_NAME
    };
    return (unsigned)kind < SIMT_NUM_FAULTS ? names[kind] : "?";
}

/* For people: the file's name without its folders. */
static struct simt_site named(struct simt_site site)
{
    const char *slash = site.file != NULL ? strrchr(site.file, '/') : NULL;
    return (struct simt_site){slash != NULL ? slash + 1 : site.file, site.line};
}

static void record(struct launch_state *l, enum simt_fault_kind kind, int thread,
                   struct simt_site site, struct simt_site other, const char *format,
                   va_list arguments)
{
    if (l->fault.kind != SIMT_FAULT_NONE)
        return;
    site = named(site);
    other = named(other);
    l->fault = (struct simt_fault){.kind = kind,
                                   .site = site,
                                   .other = other,
                                   .block = l->block,
                                   .thread = thread,
                                   .seed = l->seed};
    char *text = l->fault.message;
    size_t size = sizeof l->fault.message;
    int used = snprintf(text, size, "%s: ", simt_fault_name(kind));
    if (site.file != NULL)
        used += snprintf(text + used, size - (size_t)used, "%s:%d: ", site.file, site.line);
    if (thread >= 0)
        used += snprintf(text + used, size - (size_t)used, "block %lld thread %d ",
                         (long long)l->block, thread);
    used += vsnprintf(text + used, size - (size_t)used, format, arguments);
    if ((size_t)used < size && other.file != NULL)
        used += snprintf(text + used, size - (size_t)used, " (%s:%d)", other.file, other.line);
    if ((size_t)used < size)
        snprintf(text + used, size - (size_t)used, "; seed %llu", (unsigned long long)l->seed);
}

void fault_record(struct launch_state *l, enum simt_fault_kind kind, int thread,
                  struct simt_site site, struct simt_site other, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(l, kind, thread, site, other, format, arguments);
    va_end(arguments);
}

void fault_raise(enum simt_fault_kind kind, struct simt_site site, struct simt_site other,
                 const char *format, ...)
{
    struct simt_thread *t = simt_current;
    va_list arguments;
    va_start(arguments, format);
    record(t->launch, kind, t->rank, site, other, format, arguments);
    va_end(arguments);
    fiber_leave(&t->fiber);
}

void fault_out_of_memory(void)
{
    struct simt_thread *t = simt_current;
    struct simt_site none = {NULL, 0};
    t->launch->out_of_memory = true;
    fault_record(t->launch, SIMT_FAULT_MEMORY, -1, none, none,
                 "no memory for the launch's records");
    fiber_leave(&t->fiber);
}
