/* SPDX-License-Identifier: MIT
 *
 * Byte-pair merging of one word. The symbols form a linked list in an array and the pairs that can
 * merge wait in a heap, so that a word of n bytes costs O(n log n): texts without spaces have words
 * of megabytes.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include "core/core.h"

struct merge_symbol {
    int32_t id;             /* -1: merged into its left neighbour */
    int32_t previous, next; /* -1 at the ends */
};

/* A pair found when it was adjacent. It is stale when either symbol has changed since; ids tell,
 * because a symbol's text only ever grows. */
struct merge_candidate {
    int32_t rank;
    int32_t position; /* of the left symbol */
    const struct merge *merge;
};

void merge_scratch_free(struct merge_scratch *scratch)
{
    assay_free(scratch->symbols);
    assay_free(scratch->heap);
    *scratch = (struct merge_scratch){0};
}

/* n symbols have n - 1 pairs at first, and each of at most n - 1 merges takes one candidate out and
 * puts at most two in: never more than 2n wait. */
static bool reserve(struct merge_scratch *scratch, size_t count)
{
    if (count <= scratch->capacity)
        return true;
    size_t capacity = count + count / 2;
    struct merge_symbol *symbols = assay_resize(scratch->symbols, capacity, sizeof *symbols);
    if (symbols == NULL)
        return false;
    scratch->symbols = symbols;
    struct merge_candidate *heap = assay_resize(scratch->heap, 2 * capacity, sizeof *heap);
    if (heap == NULL)
        return false;
    scratch->heap = heap;
    scratch->capacity = capacity;
    return true;
}

static bool before(const struct merge_candidate *a, const struct merge_candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->position < b->position;
}

static void heap_push(struct merge_candidate *heap, size_t *count, struct merge_candidate added)
{
    size_t at = (*count)++;
    while (at > 0 && before(&added, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = added;
}

static struct merge_candidate heap_pop(struct merge_candidate *heap, size_t *count)
{
    struct merge_candidate top = heap[0], moved = heap[--*count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < *count) {
        if (child + 1 < *count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    return top;
}

static void consider(const struct merge_table *table, struct merge_scratch *scratch,
                     size_t *waiting, int32_t left)
{
    int32_t right = left < 0 ? -1 : scratch->symbols[left].next;
    if (right < 0)
        return;
    const struct merge *merge =
        merge_table_find(table, scratch->symbols[left].id, scratch->symbols[right].id);
    if (merge != NULL)
        heap_push(scratch->heap, waiting, (struct merge_candidate){merge->rank, left, merge});
}

int64_t merge_word(const struct merge_table *table, struct merge_scratch *scratch, int32_t *ids,
                   size_t count)
{
    if (count < 2)
        return (int64_t)count;
    if (!reserve(scratch, count))
        return -1;
    struct merge_symbol *symbols = scratch->symbols;
    for (size_t i = 0; i < count; i++)
        symbols[i] =
            (struct merge_symbol){ids[i], (int32_t)i - 1, i + 1 < count ? (int32_t)i + 1 : -1};
    size_t waiting = 0;
    for (size_t i = 0; i + 1 < count; i++)
        consider(table, scratch, &waiting, (int32_t)i);

    while (waiting > 0) {
        struct merge_candidate best = heap_pop(scratch->heap, &waiting);
        struct merge_symbol *left = &symbols[best.position];
        if (left->id != best.merge->left || left->next < 0 ||
            symbols[left->next].id != best.merge->right)
            continue; /* stale */
        struct merge_symbol *right = &symbols[left->next];
        left->id = best.merge->result;
        left->next = right->next;
        right->id = -1;
        if (left->next >= 0)
            symbols[left->next].previous = best.position;
        consider(table, scratch, &waiting, left->previous);
        consider(table, scratch, &waiting, best.position);
    }
    size_t left_over = 0;
    for (int32_t at = 0; at >= 0; at = symbols[at].next) /* symbol 0 is never merged away */
        ids[left_over++] = symbols[at].id;
    return (int64_t)left_over;
}
