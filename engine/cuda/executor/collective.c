/* SPDX-License-Identifier: MIT
 *
 * Operations of a warp: synchronisation, shuffles, votes, and the meeting of lanes for the tensor
 * core operations.
 */
#include "cuda/executor/executor_state.h"

static const struct simt_site nowhere = {NULL, 0};

static const char *operation_name(enum warp_operation operation)
{
    static const char *const names[] = {"warp synchronisation", "shuffle", "vote", "ldmatrix",
                                        "mma"};
    return names[operation];
}

/* The lanes of the thread's warp, as an array; *count of them exist. */
static struct simt_thread *warp_of(struct simt_thread *t, int *count)
{
    int first = t->warp * SIMT_WARP_LANES, rest = t->launch->num_threads - first;
    *count = rest < SIMT_WARP_LANES ? rest : SIMT_WARP_LANES;
    return &t->launch->threads[first];
}

static bool agree(const struct simt_thread *a, const struct simt_thread *b)
{
    const struct warp_request *p = &a->request, *q = &b->request;
    return p->operation == q->operation && p->variant == q->variant && p->mask == q->mask &&
           (p->operation == WARP_SYNC || simt_same_site(a->site, b->site));
}

/* Whether all lanes of the request have come, with the same request. */
static bool is_complete(struct simt_thread *t)
{
    uint32_t mask = t->request.mask;
    if ((t->launch->at_warp[t->warp] & mask) != mask)
        return false;
    int count;
    struct simt_thread *lanes = warp_of(t, &count);
    for (int i = 0; i < count; i++)
        if ((mask >> i & 1) != 0 && !agree(t, &lanes[i]))
            return false;
    return true;
}

/* All participants know what any of them knew; each starts a new moment. */
static void merge_clocks(struct simt_thread *lanes, uint32_t mask)
{
    uint32_t merged[SIMT_WARP_LANES] = {0};
    for (int i = 0; i < SIMT_WARP_LANES; i++)
        for (int j = 0; (mask >> i & 1) != 0 && j < SIMT_WARP_LANES; j++)
            if (lanes[i].clock[j] > merged[j])
                merged[j] = lanes[i].clock[j];
    for (int i = 0; i < SIMT_WARP_LANES; i++) {
        for (int j = 0; (mask >> i & 1) != 0 && j < SIMT_WARP_LANES; j++)
            lanes[i].clock[j] = merged[j];
        if ((mask >> i & 1) != 0)
            lanes[i].clock[i]++;
    }
}

static void exchange(struct simt_thread *lanes, uint32_t mask)
{
    uint64_t brought[SIMT_WARP_LANES] = {0};
    for (int i = 0; i < SIMT_WARP_LANES; i++)
        if ((mask >> i & 1) != 0)
            brought[i] = lanes[i].request.value;
    for (int i = 0; i < SIMT_WARP_LANES; i++)
        if ((mask >> i & 1) != 0 && lanes[i].request.source >= 0)
            lanes[i].request.value = brought[lanes[i].request.source];
}

static void vote(struct simt_thread *lanes, uint32_t mask)
{
    uint64_t ballot = 0;
    for (int i = 0; i < SIMT_WARP_LANES; i++)
        if ((mask >> i & 1) != 0 && lanes[i].request.value != 0)
            ballot |= UINT64_C(1) << i;
    for (int i = 0; i < SIMT_WARP_LANES; i++)
        if ((mask >> i & 1) != 0)
            lanes[i].request.value = ballot;
}

static void carry_out(struct simt_thread *t)
{
    int count;
    struct simt_thread *lanes = warp_of(t, &count);
    uint32_t mask = t->request.mask;
    switch (t->request.operation) {
    case WARP_SYNC:
        merge_clocks(lanes, mask);
        break;
    case WARP_SHUFFLE:
        exchange(lanes, mask);
        break;
    case WARP_BALLOT:
        vote(lanes, mask);
        break;
    case WARP_LDMATRIX:
        tensor_core_ldmatrix(lanes);
        break;
    case WARP_MMA:
        tensor_core_mma(lanes);
        break;
    }
    t->launch->at_warp[t->warp] &= ~mask;
    for (int i = 0; i < count; i++)
        if ((mask >> i & 1) != 0)
            thread_make_ready(&lanes[i]);
}

/* The running lane brings its request; returns when the operation is done. */
static uint64_t meet(struct warp_request request, struct simt_site site)
{
    struct simt_thread *t = simt_current;
    if ((request.mask >> t->lane & 1) == 0)
        fault_raise(SIMT_FAULT_LANES, site, nowhere,
                    "(lane %d) calls a %s whose mask %08x does not name it", t->lane,
                    operation_name(request.operation), request.mask);
    t->request = request;
    t->site = site;
    t->state = THREAD_AT_WARP;
    t->launch->at_warp[t->warp] |= UINT32_C(1) << t->lane;
    if (is_complete(t))
        carry_out(t);
    thread_wait(t);
    return t->request.value;
}

void simt_host_sync_warp(uint32_t mask, const char *file, int line)
{
    meet((struct warp_request){.operation = WARP_SYNC, .mask = mask}, simt_site(file, line));
}

uint64_t simt_host_shuffle(uint32_t mask, uint64_t value, int source, const char *file, int line)
{
    struct simt_site site = simt_site(file, line);
    if (source >= SIMT_WARP_LANES || (source >= 0 && (mask >> source & 1) == 0))
        fault_raise(SIMT_FAULT_LANES, site, nowhere,
                    "(lane %d) takes the value of lane %d, which the mask %08x does not name",
                    simt_current->lane, source, mask);
    return meet(
        (struct warp_request){
            .operation = WARP_SHUFFLE, .mask = mask, .value = value, .source = source},
        site);
}

uint32_t simt_host_ballot(uint32_t mask, bool predicate, const char *file, int line)
{
    return (uint32_t)meet(
        (struct warp_request){.operation = WARP_BALLOT, .mask = mask, .value = predicate},
        simt_site(file, line));
}

void simt_host_mma(enum simt_mma kind, void *d, const uint32_t *a, const uint32_t *b, const void *c,
                   const char *file, int line)
{
    meet((struct warp_request){.operation = WARP_MMA,
                               .variant = (int)kind,
                               .mask = UINT32_MAX,
                               .d = d,
                               .a = a,
                               .b = b,
                               .c = c},
         simt_site(file, line));
}

/* Each lane answers for the row whose address it brings: it checks it and counts as its reader.
 * The lanes whose addresses the instruction ignores bring none. */
void simt_host_ldmatrix(uint32_t *registers, int count, bool transposed, struct simt_array array,
                        int64_t at, const char *file, int line)
{
    struct simt_site site = simt_site(file, line);
    const void *row = NULL;
    if (simt_current->lane < 8 * count) {
        row = shared_address(array, at, 16, site);
        shared_access(array, at, 16, SIMT_READ, site);
    }
    meet((struct warp_request){.operation = WARP_LDMATRIX,
                               .variant = transposed ? -count : count,
                               .mask = UINT32_MAX,
                               .d = registers,
                               .a = row},
         site);
}

/* ---- why nothing goes on -------------------------------------------------------------------- */

static bool diagnose_lane(struct simt_thread *t, const struct simt_thread *lane, int index)
{
    struct launch_state *l = t->launch;
    const char *name = operation_name(t->request.operation);
    if (lane == NULL || lane->state == THREAD_EXITED) {
        fault_record(l, SIMT_FAULT_LANES, t->rank, t->site, nowhere,
                     "(lane %d) waits in a %s whose mask %08x names lane %d, which %s", t->lane,
                     name, t->request.mask, index, lane == NULL ? "does not exist" : "has exited");
        return true;
    }
    if (lane->state == THREAD_AT_BARRIER) {
        fault_record(l, SIMT_FAULT_LANES, t->rank, t->site, lane->site,
                     "(lane %d) waits in a %s for lane %d, which waits at a block barrier", t->lane,
                     name, index);
        return true;
    }
    if (!agree(t, lane)) {
        fault_record(l, SIMT_FAULT_LANES, t->rank, t->site, lane->site,
                     "(lane %d) waits in a %s of mask %08x for lane %d, which waits in a %s of "
                     "mask %08x",
                     t->lane, name, t->request.mask, index, operation_name(lane->request.operation),
                     lane->request.mask);
        return true;
    }
    return false;
}

bool collective_diagnose(struct launch_state *l)
{
    for (int r = 0; r < l->num_threads; r++) {
        struct simt_thread *t = &l->threads[r];
        if (t->state != THREAD_AT_WARP)
            continue;
        int count;
        struct simt_thread *lanes = warp_of(t, &count);
        for (int i = 0; i < SIMT_WARP_LANES; i++)
            if ((t->request.mask >> i & 1) != 0 &&
                diagnose_lane(t, i < count ? &lanes[i] : NULL, i))
                return true;
    }
    return false;
}
