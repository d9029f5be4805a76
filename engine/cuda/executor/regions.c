/* SPDX-License-Identifier: MIT
 *
 * Global memory: which addresses a launch may touch.
 */
#include "cuda/executor/executor_state.h"

static const struct simt_site nowhere = {NULL, 0};

struct simt_region simt_region_bytes(const char *name, const void *base, size_t bytes,
                                     bool writable)
{
    return (struct simt_region){
        .name = name, .base = base, .row_bytes = bytes, .writable = writable};
}

struct simt_region simt_region_tensor(const char *name, const struct assay_tensor *tensor,
                                      bool writable)
{
    struct simt_region span =
        simt_region_bytes(name, tensor->data, assay_tensor_span(tensor), writable);
    size_t size = assay_dtype_bytes(tensor->dtype);
    struct simt_region region = span;
    if (assay_tensor_count(tensor) == 0)
        return span;
    region.row_bytes = (size_t)tensor->extent[tensor->rank - 1] * size;
    size_t inner = region.row_bytes; /* span of everything inside the level at hand */
    region.num_levels = tensor->rank - 1;
    for (int i = region.num_levels - 1; i >= 0; i--) {
        region.count[i] = tensor->extent[i];
        region.pitch[i] = (size_t)tensor->stride[i] * size;
        if (region.count[i] > 1 && region.pitch[i] < inner)
            return span; /* not nested */
        inner += (size_t)(region.count[i] - 1) * region.pitch[i];
    }
    return region;
}

static bool lies_in(const struct simt_region *region, const unsigned char *address, size_t bytes)
{
    if (region->base == NULL || address < region->base)
        return false;
    size_t offset = (size_t)(address - region->base);
    for (int i = 0; i < region->num_levels; i++) {
        if (region->count[i] < 2)
            continue;
        size_t index = offset / region->pitch[i];
        if (index > (size_t)(region->count[i] - 1))
            index = (size_t)(region->count[i] - 1);
        offset -= index * region->pitch[i];
    }
    return offset <= region->row_bytes && bytes <= region->row_bytes - offset;
}

/* The region whose start is closest below the address, for messages. */
static const struct simt_region *nearest(const struct simt_launch *launch,
                                         const unsigned char *address)
{
    const struct simt_region *best = NULL;
    for (int i = 0; i < launch->num_regions; i++) {
        const struct simt_region *r = &launch->regions[i];
        if (r->base <= address && (best == NULL || r->base > best->base))
            best = r;
    }
    return best;
}

/* Whether the bytes lie in a region, and whether one of theirs may be written. The region that was
 * touched last is asked first: where it shares no byte with another it answers for all. */
static bool find(struct launch_state *l, const void *address, size_t bytes, bool *writable)
{
    const struct simt_launch *launch = l->launch;
    const int last = l->last_region;
    if (last >= 0 && l->is_alone[last] && lies_in(&launch->regions[last], address, bytes)) {
        *writable = launch->regions[last].writable;
        return true;
    }
    bool found = false;
    *writable = false;
    for (int i = 0; i < launch->num_regions; i++) {
        if (!lies_in(&launch->regions[i], address, bytes))
            continue;
        found = true;
        *writable = *writable || launch->regions[i].writable;
        l->last_region = i;
    }
    return found;
}

void simt_global_touch(const void *address, size_t bytes, enum simt_access access, const char *file,
                       int line)
{
    struct launch_state *l = simt_current->launch;
    const struct simt_launch *launch = l->launch;
    bool writable, found = find(l, address, bytes, &writable);
    bool reads = access == SIMT_READ || access == SIMT_READ_ONLY;
    if (!found || (!reads && !writable)) {
        const struct simt_region *r = nearest(launch, address);
        fault_raise(SIMT_FAULT_BOUNDS, simt_site(file, line), nowhere,
                    "%s %zu bytes of global memory that the launch may not %s, %lld bytes after "
                    "the start of '%s'",
                    reads ? "reads" : "writes", bytes, found ? "write" : "touch",
                    r != NULL ? (long long)((const unsigned char *)address - r->base) : 0,
                    r != NULL ? r->name : "nothing");
    }
    if ((uintptr_t)address % bytes != 0)
        fault_raise(SIMT_FAULT_ALIGNMENT, simt_site(file, line), nowhere,
                    "touches %zu bytes of global memory at an address that is no multiple of it",
                    bytes);
    if (access == SIMT_READ_ONLY && writable)
        fault_raise(SIMT_FAULT_READ_ONLY, simt_site(file, line), nowhere,
                    "reads %zu bytes through the read-only path, and the launch may write them",
                    bytes);
    global_note(address, bytes, access, simt_site(file, line));
}
