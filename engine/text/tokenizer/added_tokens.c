/* SPDX-License-Identifier: MIT
 *
 * Finding added tokens in a text: they are kept in the order of their bytes, and the candidates at
 * a place are narrowed byte by byte.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include <stdlib.h>
#include <string.h>

#include "core/core.h"

static const unsigned char *text_of(const struct token_table *table, int32_t id)
{
    return table->bytes + table->tokens[id].offset;
}

/* Byte order, a prefix before what it begins. */
static int compare(const struct token_table *table, int32_t a, int32_t b)
{
    uint32_t a_length = table->tokens[a].length, b_length = table->tokens[b].length;
    int order =
        memcmp(text_of(table, a), text_of(table, b), a_length < b_length ? a_length : b_length);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* Heapsort: qsort has no place for the table, and must not recurse or allocate here. */
static void sift(const struct token_table *table, int32_t *ids, int32_t at, int32_t count)
{
    for (int32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && compare(table, ids[child], ids[child + 1]) < 0)
            child++;
        if (compare(table, ids[at], ids[child]) >= 0)
            return;
        int32_t swap = ids[at];
        ids[at] = ids[child];
        ids[child] = swap;
    }
}

static void sort(const struct token_table *table, int32_t *ids, int32_t count)
{
    for (int32_t i = count / 2; i-- > 0;)
        sift(table, ids, i, count);
    for (int32_t last = count - 1; last > 0; last--) {
        int32_t swap = ids[0];
        ids[0] = ids[last];
        ids[last] = swap;
        sift(table, ids, 0, last);
    }
}

bool added_tokens_create(struct added_tokens *added, const struct token_table *table)
{
    *added = (struct added_tokens){0};
    for (int64_t id = 0; id < table->size; id++)
        if (table->tokens[id].kind >= TOKEN_ADDED)
            added->count++;
    added->ids = assay_alloc((size_t)added->count * sizeof *added->ids);
    if (added->ids == NULL)
        return false;
    int32_t count = 0;
    for (int64_t id = 0; id < table->size; id++)
        if (table->tokens[id].kind >= TOKEN_ADDED)
            added->ids[count++] = (int32_t)id;
    sort(table, added->ids, count);
    for (int byte = 0, at = 0; byte <= 256; byte++) {
        while (at < count && text_of(table, added->ids[at])[0] < byte)
            at++;
        added->first[byte] = at;
    }
    return true;
}

void added_tokens_destroy(struct added_tokens *added)
{
    assay_free(added->ids);
    *added = (struct added_tokens){0};
}

/* First of ids[low, high), which agree in `depth` bytes, whose byte `depth` is >= byte; one that
 * ends there comes before all. */
static int32_t lower(const struct added_tokens *added, const struct token_table *table, int32_t low,
                     int32_t high, uint32_t depth, int byte)
{
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        const struct token *token = &table->tokens[added->ids[middle]];
        int found = token->length > depth ? table->bytes[token->offset + depth] : -1;
        if (found < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int32_t added_tokens_match(const struct added_tokens *added, const struct token_table *table,
                           const unsigned char *text, size_t bytes)
{
    int32_t low = added->first[text[0]], high = added->first[text[0] + 1], longest = -1;
    for (uint32_t depth = 1; low < high; depth++) {
        if (table->tokens[added->ids[low]].length == depth)
            longest = added->ids[low];
        if (depth >= bytes)
            break;
        high = lower(added, table, low, high, depth, text[depth] + 1);
        low = lower(added, table, low, high, depth, text[depth]);
    }
    return longest;
}
