/* SPDX-License-Identifier: MIT
 *
 * cp.async: the destination belongs to the copy from its issue until the issuing thread waits for
 * its group, and holds NaN in between. Nothing happens earlier than a kernel may rely on.
 */
#include "cuda/executor/executor_state.h"

#include <string.h>

#include "core/core.h"

static const struct simt_site nowhere = {NULL, 0};

/* The bytes for which the entry of this one stands. */
static uint32_t grain_at(const struct launch_state *l, uint32_t offset)
{
    return l->chunks[offset / SHADOW_CHUNK].grain;
}

static int new_copy(struct launch_state *l)
{
    if (l->num_copies == l->copy_capacity) {
        int capacity = l->copy_capacity > 0 ? 2 * l->copy_capacity : 256;
        struct copy_record *grown = assay_resize(l->copies, (size_t)capacity, sizeof *grown);
        if (grown == NULL)
            fault_out_of_memory();
        l->copies = grown;
        l->copy_capacity = capacity;
    }
    return l->num_copies++;
}

void simt_host_copy(struct simt_array array, int64_t at, const void *source, int bytes, int valid,
                    const char *file, int line)
{
    struct simt_thread *t = simt_current;
    struct launch_state *l = t->launch;
    struct simt_site site = simt_site(file, line);
    unsigned char *destination = shared_address(array, at, (size_t)bytes, site);
    if (valid < 0 || valid > bytes)
        fault_raise(SIMT_FAULT_BOUNDS, site, nowhere, "copies %d valid bytes of %d", valid, bytes);
    if (valid > 0 && (uintptr_t)source % (size_t)bytes != 0)
        fault_raise(SIMT_FAULT_ALIGNMENT, site, nowhere,
                    "copies %d bytes from an address that is no multiple of it", bytes);
    if (valid == bytes)
        simt_global_touch(source, (size_t)bytes, SIMT_READ, file, line);
    for (int i = 0; valid < bytes && i < valid; i++) /* a partial copy may end anywhere */
        simt_global_touch((const char *)source + i, 1, SIMT_READ, file, line);
    shared_access(array, at, (size_t)bytes, SIMT_WRITE, site);
    int index = new_copy(l);
    l->copies[index] = (struct copy_record){.next = t->copies,
                                            .array = array,
                                            .at = at,
                                            .source = source,
                                            .bytes = bytes,
                                            .valid = valid,
                                            .thread = t->rank,
                                            .group = t->copy_group,
                                            .epoch = l->epoch,
                                            .clock = t->clock[t->lane],
                                            .site = site};
    t->copies = index;
    memset(destination, 0xff, (size_t)bytes);
    uint32_t first = array.offset + (uint32_t)at;
    for (uint32_t i = 0; i < (uint32_t)bytes; i += grain_at(l, first + i))
        l->shadow[first + i].copy = index;
}

void simt_host_copy_commit(void)
{
    simt_current->copy_group++;
}

/* The copy is done, for the issuing thread: to all others it is a write at this moment. */
static void land(struct simt_thread *t, const struct copy_record *c)
{
    struct launch_state *l = t->launch;
    unsigned char *destination = l->shared + c->array.offset + c->at;
    memset(destination, 0, (size_t)c->bytes);
    if (c->valid > 0)
        memcpy(destination, c->source, (size_t)c->valid);
    uint32_t first = c->array.offset + (uint32_t)c->at;
    for (uint32_t i = 0; i < (uint32_t)c->bytes; i += grain_at(l, first + i)) {
        struct shadow_byte *s = &l->shadow[first + i];
        s->copy = -1;
        s->writer = t->rank;
        s->write_epoch = l->epoch;
        s->write_clock = t->clock[t->lane];
        s->write_site = c->site;
    }
}

void simt_host_copy_wait(int pending_groups)
{
    struct simt_thread *t = simt_current;
    int *link = &t->copies;
    while (*link >= 0) {
        struct copy_record *c = &t->launch->copies[*link];
        if (c->group >= t->copy_group - pending_groups) {
            link = &c->next;
            continue;
        }
        land(t, c);
        *link = c->next;
    }
}
