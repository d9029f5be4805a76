/* SPDX-License-Identifier: MIT
 *
 * Memory of the library: see memory_meter.h. Single-threaded.
 */
#include "memory_meter.h"

#include <malloc.h>
#include <stdlib.h>

#include <jansson.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static size_t live, peak, largest_request;

static void note_request(size_t size)
{
    if (size > largest_request)
        largest_request = size;
}

static void *enter(void *memory)
{
    if (memory != NULL)
        live += malloc_usable_size(memory);
    if (live > peak)
        peak = live;
    return memory;
}

static void leave(void *memory)
{
    size_t size = memory != NULL ? malloc_usable_size(memory) : 0;

    live -= size < live ? size : live; /* memory from before the reset: let pass */
}

void *__wrap_malloc(size_t size)
{
    note_request(size);
    return enter(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    note_request(count * size);
    return enter(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    size_t before = memory != NULL ? malloc_usable_size(memory) : 0;
    void *resized;

    note_request(size);
    resized = __real_realloc(memory, size);
    if (resized == NULL)
        return NULL;
    live -= before < live ? before : live;
    return enter(resized);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    note_request(size);
    return enter(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    leave(memory);
    __real_free(memory);
}

void memory_meter_start(void)
{
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    memory_meter_reset();
}

void memory_meter_reset(void)
{
    live = peak = largest_request = 0;
}

size_t memory_meter_peak(void)
{
    return peak;
}

size_t memory_meter_request(void)
{
    return largest_request;
}

size_t memory_meter_live(void)
{
    return live;
}
