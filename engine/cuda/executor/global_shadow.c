/* SPDX-License-Identifier: MIT
 *
 * Global memory between blocks: they run in any order, or at once, and nothing but atomics may pass
 * from one to the other within a launch.
 */
#include "cuda/executor/executor_state.h"

#include "core/core.h"

#define SHARED_BY_BLOCKS UINT32_MAX

static size_t span(const struct simt_region *r)
{
    size_t bytes = r->row_bytes;
    for (int i = 0; i < r->num_levels; i++)
        bytes += (size_t)(r->count[i] - 1) * r->pitch[i];
    return bytes;
}

static bool is_alone(const struct simt_launch *launch, int region)
{
    const struct simt_region *r = &launch->regions[region];
    for (int i = 0; i < launch->num_regions; i++) {
        const struct simt_region *other = &launch->regions[i];
        if (i != region && other->base < r->base + span(r) && r->base < other->base + span(other))
            return false;
    }
    return true;
}

/* Only what some thread may write can be shared wrongly. */
bool global_begin(struct launch_state *l)
{
    const struct simt_launch *launch = l->launch;
    const size_t room = (size_t)launch->num_regions + 1;
    l->global = assay_alloc_zero(room, sizeof(struct global_byte *));
    l->is_alone = assay_alloc_zero(room, sizeof *l->is_alone);
    l->last_region = -1;
    if (l->global == NULL || l->is_alone == NULL)
        return false;
    for (int i = 0; i < launch->num_regions; i++) {
        const struct simt_region *r = &launch->regions[i];
        size_t bytes = span(r);
        l->is_alone[i] = is_alone(launch, i);
        if (!r->writable || bytes == 0 || bytes > SIMT_MAX_TRACKED)
            continue;
        l->global[i] = assay_alloc_zero(bytes, sizeof *l->global[i]);
        if (l->global[i] == NULL)
            return false;
    }
    return true;
}

void global_end(struct launch_state *l)
{
    for (int i = 0; l->global != NULL && i < l->launch->num_regions; i++)
        assay_free(l->global[i]);
    assay_free(l->global);
    assay_free(l->is_alone);
}

/* A short name of a place. A kernel has few; beyond the table they share the last. */
static uint16_t site_index(struct launch_state *l, struct simt_site site)
{
    if (l->num_sites > 0 && simt_same_site(l->sites[l->last_site], site))
        return (uint16_t)l->last_site;
    int i = 0;
    while (i < l->num_sites && !simt_same_site(l->sites[i], site))
        i++;
    if (i == MAX_SITES)
        i = MAX_SITES - 1;
    else if (i == l->num_sites)
        l->sites[l->num_sites++] = site;
    l->last_site = i;
    return (uint16_t)i;
}

static void raise_sharing(const struct simt_region *r, size_t at, struct simt_site site,
                          struct simt_site other, uint32_t block, const char *does, const char *did)
{
    if (block == SHARED_BY_BLOCKS)
        fault_raise(SIMT_FAULT_SHARING, site, other, "%s byte %zu of '%s', which other blocks %s",
                    does, at, r->name, did);
    fault_raise(SIMT_FAULT_SHARING, site, other, "%s byte %zu of '%s', which block %u %s", does, at,
                r->name, block - 1, did);
}

static void note_byte(struct launch_state *l, int region, size_t at, enum simt_access access,
                      uint16_t place)
{
    const struct simt_region *r = &l->launch->regions[region];
    struct global_byte *g = &l->global[region][at];
    uint32_t block = (uint32_t)l->block + 1;
    bool reads = access == SIMT_READ || access == SIMT_READ_ONLY;
    bool both_atomic = access == SIMT_ATOMIC && g->by_atomic;
    if (g->writer != 0 && g->writer != block && !both_atomic)
        raise_sharing(r, at, l->sites[place], l->sites[g->write_site], g->writer,
                      reads ? "reads" : "writes", "wrote");
    if (reads) {
        g->reader = g->reader == 0 || g->reader == block ? block : SHARED_BY_BLOCKS;
        g->read_site = place;
        return;
    }
    if (g->reader != 0 && g->reader != block)
        raise_sharing(r, at, l->sites[place], l->sites[g->read_site], g->reader, "writes", "read");
    g->by_atomic = access == SIMT_ATOMIC && (g->writer == 0 || g->by_atomic);
    g->writer = g->writer == 0 || g->writer == block ? block : SHARED_BY_BLOCKS;
    g->write_site = place;
}

void global_note(const void *address, size_t bytes, enum simt_access access, struct simt_site site)
{
    struct launch_state *l = simt_current->launch;
    const bool only_last = l->last_region >= 0 && l->is_alone[l->last_region];
    const int first = only_last ? l->last_region : 0;
    const int end_region = only_last ? first + 1 : l->launch->num_regions;
    for (int i = first; i < end_region; i++) {
        const struct simt_region *r = &l->launch->regions[i];
        if (l->global[i] == NULL || (const unsigned char *)address < r->base)
            continue;
        size_t at = (size_t)((const unsigned char *)address - r->base), end = span(r);
        uint16_t place = at < end ? site_index(l, site) : 0;
        for (size_t k = 0; k < bytes && at + k < end; k++)
            note_byte(l, i, at + k, access, place);
    }
}
