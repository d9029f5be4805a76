/* SPDX-License-Identifier: MIT
 *
 * Shared memory of the running block: what each byte's past is, and whether the next access may
 * follow it.
 *
 * Bytes of one past share one entry (struct shadow_chunk), so that an access of 16 bytes to what 16
 * bytes at a time have touched costs as much as one of a byte.
 *
 * Two accesses are ordered when one thread makes both, when a block barrier lies between, or when
 * both threads are lanes of one warp and warp synchronisations lead from the first to the second
 * (vector clocks of 32 entries). Per byte the last plain write is kept, and of the reads and
 * atomics since then as many as can decide about a later write: a later record of a thread
 * replaces one that is ordered before it, and with records of two other warps none is added: what
 * conflicts with the new access is unordered with at least one of the two.
 */
#include "cuda/executor/executor_state.h"

#include <string.h>

#include "core/core.h"

static const struct simt_site nowhere = {NULL, 0};

/* Whether what another thread did at (epoch, clock) is past for this thread. */
static bool is_past(const struct simt_thread *t, int other, uint32_t epoch, uint32_t clock)
{
    if (other == t->rank || epoch < t->launch->epoch)
        return true;
    const struct simt_thread *o = &t->launch->threads[other];
    return o->warp == t->warp && t->clock[o->lane] >= clock;
}

void shared_begin_block(struct launch_state *l)
{
    l->epoch++;
    l->first_epoch = l->epoch;
    l->num_records = 0;
    l->num_copies = 0;
    l->has_suspect = false;
    memset(l->shared, 0xff, l->shared_used); /* NaN in every float format */
}

bool shared_next_epoch(struct launch_state *l)
{
    if (l->has_suspect) {
        fault_record(l, SIMT_FAULT_UNINITIALISED, l->suspect_thread, l->suspect_site, nowhere,
                     "reads '%s' at byte %lld, which no thread of the block wrote",
                     l->suspect_array, (long long)l->suspect_at);
        return false;
    }
    l->epoch++;
    l->num_records = 0;
    return true;
}

/* ---- arrays --------------------------------------------------------------------------------- */

struct simt_array simt_array_static(const char *name, size_t bytes, const char *file, int line)
{
    struct launch_state *l = simt_current->launch;
    struct simt_site site = simt_site(file, line);
    for (int i = 0; i < l->num_arrays; i++)
        if (simt_same_site(l->arrays[i].site, site) && strcmp(l->arrays[i].array.name, name) == 0)
            return l->arrays[i].array;
    uint32_t offset = (l->shared_used + 15u) / 16 * 16;
    if (l->num_arrays == MAX_STATIC_ARRAYS || offset > l->shared_capacity ||
        bytes > l->shared_capacity - offset)
        fault_raise(SIMT_FAULT_LAUNCH, site, nowhere,
                    "declares '%s' of %zu bytes at %u: beyond %u bytes or %d arrays", name, bytes,
                    offset, l->shared_capacity, MAX_STATIC_ARRAYS);
    struct simt_array array = {name, offset, (uint32_t)bytes};
    l->arrays[l->num_arrays++] = (struct static_array){array, site};
    l->shared_used = offset + (uint32_t)bytes;
    memset(l->shared + offset, 0xff, bytes);
    return array;
}

struct simt_array simt_array_dynamic(const char *name, size_t offset, size_t bytes,
                                     const char *file, int line)
{
    size_t size = simt_current->launch->launch->shared_bytes;
    if (offset > size || bytes > size - offset)
        fault_raise(SIMT_FAULT_BOUNDS, simt_site(file, line), nowhere,
                    "declares '%s' of %zu bytes at %zu, the launch has %zu dynamic bytes", name,
                    bytes, offset, size);
    return (struct simt_array){name, (uint32_t)offset, (uint32_t)bytes};
}

static void check_bounds(struct simt_array array, int64_t at, int64_t bytes, struct simt_site site)
{
    if (at < 0 || bytes < 0 || at > (int64_t)array.bytes || bytes > (int64_t)array.bytes - at)
        fault_raise(SIMT_FAULT_BOUNDS, site, nowhere,
                    "touches bytes %lld to %lld of '%s', which has %u", (long long)at,
                    (long long)(at + bytes - 1), array.name, array.bytes);
}

struct simt_array simt_array_slice(struct simt_array array, int64_t first, int64_t bytes,
                                   const char *file, int line)
{
    check_bounds(array, first, bytes, simt_site(file, line));
    return (struct simt_array){array.name, array.offset + (uint32_t)first, (uint32_t)bytes};
}

unsigned char *shared_address(struct simt_array array, int64_t at, size_t bytes,
                              struct simt_site site)
{
    check_bounds(array, at, (int64_t)bytes, site);
    if ((array.offset + (uint64_t)at) % bytes != 0)
        fault_raise(SIMT_FAULT_ALIGNMENT, site, nowhere,
                    "touches %zu bytes at byte %lld of '%s', which is no multiple of %zu", bytes,
                    (long long)at, array.name, bytes);
    return simt_current->launch->shared + array.offset + at;
}

/* ---- the past of a byte --------------------------------------------------------------------- */

struct access {
    struct simt_array array;
    int64_t at; /* of the byte at hand */
    enum simt_access kind;
    struct simt_site site;
};

static const char *verb(enum simt_access kind)
{
    return kind == SIMT_WRITE ? "writes" : kind == SIMT_ATOMIC ? "updates" : "reads";
}

static void raise_race(const struct access *a, int other, struct simt_site site, const char *did)
{
    fault_raise(SIMT_FAULT_RACE, a->site, site,
                "%s byte %lld of '%s', which thread %d %s unordered", verb(a->kind),
                (long long)a->at, a->array.name, other, did);
}

static void check_copy(const struct access *a, const struct shadow_byte *s)
{
    if (s->copy < 0)
        return;
    const struct simt_thread *t = simt_current;
    const struct copy_record *c = &t->launch->copies[s->copy];
    if (!is_past(t, c->thread, c->epoch, c->clock))
        raise_race(a, c->thread, c->site, "copies to");
    bool committed = c->group < t->launch->threads[c->thread].copy_group;
    fault_raise(SIMT_FAULT_ASYNC, a->site, c->site,
                "%s byte %lld of '%s', to which thread %d copies without having %s", verb(a->kind),
                (long long)a->at, a->array.name, c->thread,
                committed ? "waited for it" : "committed and waited for it");
}

static void check_written(const struct access *a, const struct shadow_byte *s)
{
    struct simt_thread *t = simt_current;
    struct launch_state *l = t->launch;
    bool written = s->write_epoch >= l->first_epoch && s->is_written;
    if (written && !is_past(t, s->writer, s->write_epoch, s->write_clock))
        raise_race(a, s->writer, s->write_site, "wrote");
    if (written || a->kind == SIMT_WRITE || l->has_suspect)
        return;
    l->has_suspect = true;
    l->suspect_site = a->site;
    l->suspect_thread = t->rank;
    l->suspect_array = a->array.name;
    l->suspect_at = a->at;
}

static void check_records(const struct access *a, const struct shadow_byte *s)
{
    const struct simt_thread *t = simt_current;
    const struct launch_state *l = t->launch;
    for (int i = s->records; i >= 0; i = l->records[i].next) {
        const struct access_record *r = &l->records[i];
        bool conflict = a->kind == SIMT_WRITE || r->is_atomic != (a->kind == SIMT_ATOMIC);
        if (conflict && !is_past(t, r->thread, l->epoch, r->clock))
            raise_race(a, r->thread, r->site, r->is_atomic ? "updated" : "read");
    }
}

/* Places a record before list `next`. */
static int new_record(struct launch_state *l, struct access_record record)
{
    if (l->num_records == l->record_capacity) {
        int capacity = l->record_capacity > 0 ? 2 * l->record_capacity : 1024;
        struct access_record *grown = assay_resize(l->records, (size_t)capacity, sizeof *grown);
        if (grown == NULL)
            fault_out_of_memory();
        l->records = grown;
        l->record_capacity = capacity;
    }
    l->records[l->num_records] = record;
    return l->num_records++;
}

/* Adds a record of this access unless the byte's list says as much already. */
static void remember(const struct access *a, struct shadow_byte *s)
{
    struct simt_thread *t = simt_current;
    struct launch_state *l = t->launch;
    bool is_atomic = a->kind == SIMT_ATOMIC;
    int foreign_warp = -1;
    for (int i = s->records; i >= 0; i = l->records[i].next) {
        struct access_record *r = &l->records[i];
        if (r->is_atomic != is_atomic)
            continue;
        if (is_past(t, r->thread, l->epoch, r->clock)) {
            r->thread = t->rank;
            r->clock = t->clock[t->lane];
            r->site = a->site;
            return;
        }
        int warp = l->threads[r->thread].warp;
        if (warp == t->warp)
            continue;
        if (foreign_warp >= 0 && warp != foreign_warp)
            return; /* whoever conflicts with this access conflicts with one of those two warps' */
        foreign_warp = warp;
    }
    s->records = new_record(
        l, (struct access_record){s->records, t->rank, t->clock[t->lane], is_atomic, a->site});
}

static void touch_grain(const struct access *a, struct shadow_byte *s)
{
    struct simt_thread *t = simt_current;
    struct launch_state *l = t->launch;
    if (s->access_epoch != l->epoch) {
        s->access_epoch = l->epoch;
        s->records = -1;
    }
    check_copy(a, s);
    check_written(a, s);
    check_records(a, s);
    if (a->kind != SIMT_WRITE) {
        remember(a, s);
        return;
    }
    s->records = -1;
    s->is_written = true;
    s->writer = t->rank;
    s->write_epoch = l->epoch;
    s->write_clock = t->clock[t->lane];
    s->write_site = a->site;
}

/* ---- bytes of one past ---------------------------------------------------------------------- */

/* to becomes a byte of from's past, with records of its own: they are changed in place. */
static void copy_past(struct launch_state *l, const struct shadow_byte *from,
                      struct shadow_byte *to)
{
    *to = *from;
    to->records = -1;
    if (from->access_epoch != l->epoch)
        return;
    for (int i = from->records; i >= 0; i = l->records[i].next) {
        struct access_record record = l->records[i];
        record.next = to->records;
        to->records = new_record(l, record);
    }
}

/* The chunk in grains of at most that many bytes. */
static void refine(struct launch_state *l, uint32_t chunk, uint32_t grain)
{
    struct shadow_chunk *c = &l->chunks[chunk];
    struct shadow_byte *bytes = &l->shadow[chunk * SHADOW_CHUNK];
    if (c->first_epoch != l->first_epoch) { /* its first access in this block */
        *c = (struct shadow_chunk){.first_epoch = l->first_epoch, .grain = SHADOW_CHUNK};
        *bytes = (struct shadow_byte){.write_epoch = l->first_epoch, .records = -1, .copy = -1};
    }
    while (c->grain > grain) {
        uint32_t half = c->grain / 2;
        for (uint32_t i = 0; i < SHADOW_CHUNK; i += c->grain)
            copy_past(l, &bytes[i], &bytes[i + half]);
        c->grain = half;
    }
}

void shared_access(struct simt_array array, int64_t at, size_t bytes, enum simt_access access,
                   struct simt_site site)
{
    struct launch_state *l = simt_current->launch;
    struct access a = {array, at, access, site};
    uint32_t offset = array.offset + (uint32_t)at, end = offset + (uint32_t)bytes;
    uint32_t grain = offset | (uint32_t)bytes | SHADOW_CHUNK;
    grain &= ~grain + 1; /* the largest power of two that divides all three */
    while (offset < end) {
        struct shadow_chunk *c = &l->chunks[offset / SHADOW_CHUNK];
        if (c->first_epoch != l->first_epoch || c->grain > grain)
            refine(l, offset / SHADOW_CHUNK, grain);
        uint32_t size = c->grain;
        touch_grain(&a, &l->shadow[offset]);
        offset += size;
        a.at += size;
        if (access == SIMT_WRITE && grain == SHADOW_CHUNK && offset % SHADOW_CHUNK == 0)
            c->grain = SHADOW_CHUNK; /* all of it is written, by this access */
    }
}

void *simt_shared_touch(struct simt_array array, int64_t at, size_t bytes, enum simt_access access,
                        const char *file, int line)
{
    struct simt_site site = simt_site(file, line);
    unsigned char *address = shared_address(array, at, bytes, site);
    shared_access(array, at, bytes, access, site);
    return address;
}
