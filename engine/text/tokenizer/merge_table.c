/* SPDX-License-Identifier: MIT
 *
 * Merges by their pair of ids: open addressing with linear probing.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include "core/core.h"

static uint32_t hash_pair(int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    key *= 0x9E3779B97F4A7C15u;
    key ^= key >> 29;
    key *= 0xBF58476D1CE4E5B9u;
    return (uint32_t)(key >> 32);
}

bool merge_table_create(struct merge_table *table, size_t count)
{
    uint32_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    table->slots = assay_alloc_zero(slots, sizeof *table->slots);
    table->slot_mask = slots - 1;
    if (table->slots == NULL)
        return false;
    for (uint32_t i = 0; i < slots; i++)
        table->slots[i].left = -1;
    return true;
}

void merge_table_destroy(struct merge_table *table)
{
    assay_free(table->slots);
    *table = (struct merge_table){0};
}

/* The slot of the pair, or the empty one where it belongs; NULL as in token_table.c. */
static struct merge *slot_of(const struct merge_table *table, int32_t left, int32_t right)
{
    uint32_t slot = hash_pair(left, right);
    for (int probe = 0; probe < TOKENIZER_MAX_PROBES; probe++, slot++) {
        struct merge *merge = &table->slots[slot & table->slot_mask];
        if (merge->left < 0 || (merge->left == left && merge->right == right))
            return merge;
    }
    return NULL;
}

const struct merge *merge_table_find(const struct merge_table *table, int32_t left, int32_t right)
{
    const struct merge *merge = slot_of(table, left, right);
    return merge != NULL && merge->left >= 0 ? merge : NULL;
}

bool merge_table_put(struct merge_table *table, struct merge merge)
{
    struct merge *slot = slot_of(table, merge.left, merge.right);
    if (slot == NULL)
        return false;
    *slot = merge;
    return true;
}
