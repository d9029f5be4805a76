/* SPDX-License-Identifier: MIT
 *
 * Tokens by id and by bytes.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include <string.h>

#include "core/core.h"

/* FNV-1a, then a multiply-shift finish because slots are taken from the low bits. */
static uint32_t hash_bytes(const unsigned char *raw, size_t bytes)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ raw[i]) * 0x100000001B3u;
    hash ^= hash >> 32;
    hash *= 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32);
}

bool token_table_create(struct token_table *table, int64_t size, size_t reserved, size_t count)
{
    uint32_t slots = 16;
    while (slots < 2 * count) /* at most half full: probes stay short and always end */
        slots *= 2;
    *table = (struct token_table){
        .tokens = assay_alloc_zero((size_t)size, sizeof(struct token)),
        .size = size,
        .bytes = assay_alloc(reserved),
        .bytes_reserved = reserved,
        .slots = assay_alloc_zero(slots, sizeof(int32_t)),
        .slot_mask = slots - 1,
    };
    if (table->tokens == NULL || table->bytes == NULL || table->slots == NULL)
        return false;
    for (uint32_t i = 0; i < slots; i++)
        table->slots[i] = -1;
    return true;
}

void token_table_destroy(struct token_table *table)
{
    assay_free(table->tokens);
    assay_free(table->bytes);
    assay_free(table->slots);
    *table = (struct token_table){0};
}

/* The slot that holds these bytes, or the empty one where they belong; NULL when both are further
 * than TOKENIZER_MAX_PROBES away, where nothing is ever put. */
static int32_t *slot_of(const struct token_table *table, const unsigned char *raw, size_t bytes)
{
    uint32_t slot = hash_bytes(raw, bytes);
    for (int probe = 0; probe < TOKENIZER_MAX_PROBES; probe++, slot++) {
        int32_t *id = &table->slots[slot & table->slot_mask];
        if (*id < 0)
            return id;
        const struct token *token = &table->tokens[*id];
        if (token->length == bytes && memcmp(table->bytes + token->offset, raw, bytes) == 0)
            return id;
    }
    return NULL;
}

int32_t token_table_find(const struct token_table *table, const unsigned char *raw, size_t bytes)
{
    const int32_t *slot = slot_of(table, raw, bytes);
    return slot != NULL ? *slot : -1;
}

bool token_table_put(struct token_table *table, int32_t id, enum token_kind kind,
                     const unsigned char *raw, size_t bytes)
{
    int32_t *slot = slot_of(table, raw, bytes);
    if (slot == NULL)
        return false;
    memmove(table->bytes + table->bytes_used, raw, bytes);
    table->tokens[id] = (struct token){(uint32_t)table->bytes_used, (uint32_t)bytes, kind};
    table->bytes_used += bytes;
    *slot = id;
    return true;
}
