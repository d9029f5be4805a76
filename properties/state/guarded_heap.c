/* SPDX-License-Identifier: MIT
 *
 * Canaries and poison around aligned blocks: see guarded_heap.h.
 */
#include "guarded_heap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

enum { GUARD = 64, CANARY = 0xa5, POISON = 0xff, MAX_BLOCKS = 256, MAX_FREED = 64 };

struct block {
    uint8_t *memory; /* the caller's; guards before and behind it */
    size_t size;
};

static struct block live[MAX_BLOCKS], freed[MAX_FREED];
static int num_live, next_freed;
static const char *damage;

static bool all(const uint8_t *bytes, size_t count, uint8_t value)
{
    return count == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static void check_guards(const struct block *block)
{
    if (!all(block->memory - GUARD, GUARD, CANARY))
        damage = "somebody wrote before a block";
    if (!all(block->memory + block->size, GUARD, CANARY))
        damage = "somebody wrote behind a block";
}

/* The oldest freed block makes room; it must be as it was left. */
static void retire(struct block block)
{
    struct block *const oldest = &freed[next_freed];
    if (oldest->memory != NULL) {
        if (!all(oldest->memory, oldest->size, POISON))
            damage = "somebody wrote into freed memory";
        __real_free(oldest->memory - GUARD);
    }
    *oldest = block;
    next_freed = (next_freed + 1) % MAX_FREED;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    if (alignment > GUARD || num_live == MAX_BLOCKS)
        return __real_aligned_alloc(alignment, size);
    uint8_t *const base = __real_aligned_alloc(GUARD, (size + 3 * GUARD - 1) / GUARD * GUARD);
    if (base == NULL)
        return NULL;
    memset(base, CANARY, GUARD);
    memset(base + GUARD, POISON, size);
    memset(base + GUARD + size, CANARY, GUARD);
    live[num_live++] = (struct block){base + GUARD, size};
    return base + GUARD;
}

void __wrap_free(void *memory)
{
    for (int i = 0; i < num_live && memory != NULL; i++) {
        const struct block block = live[i];
        if (block.memory != memory)
            continue;
        check_guards(&block);
        memset(block.memory, POISON, block.size);
        live[i] = live[--num_live];
        retire(block);
        return;
    }
    __real_free(memory);
}

const char *guarded_heap_check(void)
{
    for (int i = 0; i < num_live; i++)
        check_guards(&live[i]);
    for (int i = 0; i < MAX_FREED; i++)
        if (freed[i].memory != NULL && !all(freed[i].memory, freed[i].size, POISON))
            damage = "somebody wrote into freed memory";
    const char *const found = damage;
    damage = NULL;
    return found;
}
