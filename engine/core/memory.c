/* SPDX-License-Identifier: MIT
 *
 * The engine's allocations, and the countdown by which tests make any of them fail.
 */
#include "core/core.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <assay/testing.h>

static _Atomic int64_t fault_countdown; /* 0: off */
static atomic_bool fault_happened;
static _Atomic int64_t live_allocations;

void assay_fault_after(int64_t n)
{
    atomic_store(&fault_happened, false);
    atomic_store(&fault_countdown, n);
}

bool assay_fault_happened(void)
{
    return atomic_load(&fault_happened);
}

int64_t assay_live_allocations(void)
{
    return atomic_load(&live_allocations);
}

bool assay_fault_now(void)
{
    if (atomic_load_explicit(&fault_countdown, memory_order_relaxed) <= 0)
        return false;
    if (atomic_fetch_sub(&fault_countdown, 1) != 1)
        return false;
    atomic_store(&fault_happened, true);
    return true;
}

static void *counted(void *memory)
{
    if (memory != NULL)
        atomic_fetch_add_explicit(&live_allocations, 1, memory_order_relaxed);
    return memory;
}

void *assay_alloc(size_t bytes)
{
    if (assay_fault_now())
        return NULL;
    return counted(malloc(bytes > 0 ? bytes : 1));
}

void *assay_alloc_zero(size_t count, size_t size)
{
    if (assay_fault_now())
        return NULL;
    return counted(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *assay_alloc_aligned(size_t bytes)
{
    enum { ALIGNMENT = 64 };
    if (assay_fault_now() || bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return counted(aligned_alloc(ALIGNMENT, rounded > 0 ? rounded : ALIGNMENT));
}

void *assay_resize(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (assay_fault_now() || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *resized = realloc(memory, bytes > 0 ? bytes : 1);
    if (resized != NULL && memory == NULL)
        counted(resized);
    return resized;
}

char *assay_duplicate(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = assay_alloc(bytes);
    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

void assay_free(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub_explicit(&live_allocations, 1, memory_order_relaxed);
    free(memory);
}
