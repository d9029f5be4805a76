/* SPDX-License-Identifier: MIT
 *
 * The tokens of a call in order of experts: see expert_banks.h.
 */
#include "ops/moe_experts/expert_banks.h"

#include <string.h>

enum { ALIGNMENT = 64 };

static char *take(char **at, size_t bytes)
{
    char *part = *at;
    *at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return part;
}

size_t expert_memory_layout(const struct assay_moe_experts_args *args, void *workspace,
                            struct expert_memory *memory)
{
    const size_t pairs = (size_t)expert_pairs(args), width = (size_t)expert_width(args);
    const size_t hidden = (size_t)args->x.extent[1];
    struct expert_memory m = {.pair = NULL};
    char *const start = workspace != NULL ? workspace : (char *)(uintptr_t)ALIGNMENT, *at = start;
    m.pair = (int32_t *)(void *)take(&at, pairs * sizeof *m.pair);
    m.place = (int32_t *)(void *)take(&at, pairs * sizeof *m.place);
    m.next = (int64_t *)(void *)take(&at, (size_t)args->gate_up.extent[0] * sizeof *m.next);
    m.groups = (struct expert_group *)(void *)take(&at, pairs * sizeof *m.groups);
    m.x = take(&at, pairs * hidden * assay_dtype_bytes(args->x.dtype));
    m.gate = (float *)(void *)take(&at, pairs * width * sizeof *m.gate);
    m.up = (float *)(void *)take(&at, pairs * width * sizeof *m.up);
    m.down = (float *)(void *)take(&at, pairs * hidden * sizeof *m.down);
    if (memory != NULL)
        *memory = m;
    return (size_t)(at - start);
}

void expert_memory_group(const struct assay_moe_experts_args *args, struct expert_memory *memory)
{
    const int64_t num_experts = args->gate_up.extent[0], k = args->ids.extent[1];
    int64_t *const next = memory->next, pairs = expert_pairs(args), place = 0;
    memset(next, 0, (size_t)num_experts * sizeof *next);
    for (int64_t p = 0; p < pairs; p++) {
        const int64_t e = expert_of(args, p / k, p % k);
        if (e >= 0)
            next[e]++;
    }
    memory->num_groups = 0;
    for (int64_t e = 0; e < num_experts; e++) {
        const int64_t count = next[e];
        next[e] = place;
        if (count > 0)
            memory->groups[memory->num_groups++] = (struct expert_group){e, place, count};
        place += count;
    }
    for (int64_t p = 0; p < pairs; p++) {
        const int64_t e = expert_of(args, p / k, p % k);
        memory->place[p] = e >= 0 ? (int32_t)next[e] : -1;
        if (e >= 0)
            memory->pair[next[e]++] = (int32_t)p;
    }
}
