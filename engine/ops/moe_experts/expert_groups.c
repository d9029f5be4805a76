/* SPDX-License-Identifier: MIT
 *
 * The tokens of a call in order of experts: see expert_banks.h.
 */
#include "ops/linear_grouped/linear_grouped_routes.h"
#include "ops/moe_experts/expert_banks.h"

#include <string.h>

enum { ALIGNMENT = 64 };

static char *take(char **at, size_t bytes)
{
    char *part = *at;
    *at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return part;
}

/* Bytes of a row in the order of the codes; 0 for bf16. */
static size_t ordered_bytes(const struct assay_weights *w)
{
    return w->format == ASSAY_WEIGHT_BF16
               ? 0
               : sizeof(float) * (size_t)linear_grouped_padded(w->columns);
}

size_t expert_memory_layout(const struct expert_call *call, void *workspace,
                            struct expert_memory *memory)
{
    const size_t pairs = (size_t)expert_pairs(call), width = (size_t)expert_width(call);
    const size_t hidden = (size_t)expert_hidden(call), tokens = (size_t)call->x.extent[0];
    const size_t ordered = ordered_bytes(&call->gate_up.matrix);
    struct expert_memory m = {.pair = NULL};
    char *const start = workspace != NULL ? workspace : (char *)(uintptr_t)ALIGNMENT, *at = start;
    m.x_row_bytes = ordered > 0 ? ordered : hidden * assay_dtype_bytes(call->x.dtype);
    m.pair = (int32_t *)(void *)take(&at, pairs * sizeof *m.pair);
    m.place = (int32_t *)(void *)take(&at, pairs * sizeof *m.place);
    m.next = (int64_t *)(void *)take(&at, (size_t)call->num_experts * sizeof *m.next);
    m.groups = (struct expert_group *)(void *)take(&at, pairs * sizeof *m.groups);
    m.ordered = (float *)(void *)take(&at, tokens * ordered);
    m.x = take(&at, pairs * m.x_row_bytes);
    m.gate = (float *)(void *)take(&at, pairs * width * sizeof *m.gate);
    m.up = (float *)(void *)take(&at, pairs * width * sizeof *m.up);
    m.ordered_h = (float *)(void *)take(&at, pairs * ordered_bytes(&call->down.matrix));
    m.down = (float *)(void *)take(&at, pairs * hidden * sizeof *m.down);
    if (memory != NULL)
        *memory = m;
    return (size_t)(at - start);
}

void expert_memory_group(const struct expert_call *call, struct expert_memory *memory)
{
    const int64_t k = call->ids.extent[1];
    int64_t *const next = memory->next, pairs = expert_pairs(call), place = 0;
    memset(next, 0, (size_t)call->num_experts * sizeof *next);
    for (int64_t p = 0; p < pairs; p++) {
        const int64_t e = expert_of(call, p / k, p % k);
        if (e >= 0)
            next[e]++;
    }
    memory->num_groups = 0;
    for (int64_t e = 0; e < call->num_experts; e++) {
        const int64_t count = next[e];
        next[e] = place;
        if (count > 0)
            memory->groups[memory->num_groups++] = (struct expert_group){e, place, count};
        place += count;
    }
    memory->num_places = place;
    for (int64_t p = 0; p < pairs; p++) {
        const int64_t e = expert_of(call, p / k, p % k);
        memory->place[p] = e >= 0 ? (int32_t)next[e] : -1;
        if (e >= 0)
            memory->pair[next[e]++] = (int32_t)p;
    }
}
