/* SPDX-License-Identifier: MIT
 *
 * CUPTI through dlopen: buffers of activity records come back on a thread of its own; kernels,
 * copies and fills are kept, and tied to labels by its external correlation.
 */
#include "cuda/kernel_trace.h"

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/core.h"

/* X(member, symbol, parameters) */
#define CUPTI_TABLE(X)                                                                           \
    X(enable, "cuptiActivityEnable", (CUpti_ActivityKind))                                       \
    X(disable, "cuptiActivityDisable", (CUpti_ActivityKind))                                     \
    X(flush_all, "cuptiActivityFlushAll", (uint32_t))                                            \
    X(next_record, "cuptiActivityGetNextRecord", (uint8_t *, size_t, CUpti_Activity **))         \
    X(register_callbacks, "cuptiActivityRegisterCallbacks",                                      \
      (CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc))                     \
    X(push, "cuptiActivityPushExternalCorrelationId", (CUpti_ExternalCorrelationKind, uint64_t)) \
    X(pop, "cuptiActivityPopExternalCorrelationId", (CUpti_ExternalCorrelationKind, uint64_t *)) \
    X(name, "cuptiGetResultString", (CUptiResult, const char **))

static struct {
    void *library;
#define CUPTI_MEMBER(member, symbol, parameters) CUptiResult(*member) parameters;
    CUPTI_TABLE(CUPTI_MEMBER)
#undef CUPTI_MEMBER
} cupti;

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_RUNTIME, /* the calls that external correlations hang on */
    CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
};
enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };
static const size_t buffer_bytes = (size_t)1 << 20;
static const double nanosecond = 1e-9;

/* A span and the call that gave it out; a call and the id that was on top then. */
struct activity {
    uint64_t start, end;
    uint32_t call;
};
struct tie {
    uint64_t id;
    uint32_t call;
};
struct records {
    struct activity *activities;
    struct tie *ties;
    size_t num_activities, num_ties, activity_capacity, tie_capacity;
    bool lost; /* no memory for a record or a buffer */
};

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct records records;
static bool is_running;

static void load(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                        "/usr/local/cuda/lib64/libcupti.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    bool complete = library != NULL;
    /* POSIX: a function's address through an object pointer. */
#define CUPTI_LOAD(member, symbol, parameters)                    \
    if (complete) {                                               \
        *(void **)(void *)&cupti.member = dlsym(library, symbol); \
        complete = cupti.member != NULL;                          \
    }
    CUPTI_TABLE(CUPTI_LOAD)
#undef CUPTI_LOAD
    if (complete)
        cupti.library = library;
    else if (library != NULL)
        dlclose(library);
}

static assay_status check(CUptiResult result, const char *call, struct assay_error *error)
{
    if (result == CUPTI_SUCCESS)
        return ASSAY_OK;
    const char *name = "?";
    (void)cupti.name(result, &name);
    return assay_fail(error, ASSAY_E_CUDA, "trace", call, "%s", name);
}

/* Room for one more of `size` bytes; false without memory. */
static bool grow(void **list, size_t number, size_t *capacity, size_t size)
{
    if (number < *capacity)
        return true;
    size_t wanted = *capacity == 0 ? 1024 : 2 * *capacity;
    void *grown = assay_resize(*list, wanted, size);
    if (grown == NULL)
        return false;
    *list = grown;
    *capacity = wanted;
    return true;
}

static void keep_activity(uint64_t start, uint64_t end, uint32_t call)
{
    void *list = records.activities;
    if (grow(&list, records.num_activities, &records.activity_capacity, sizeof(struct activity))) {
        records.activities = list;
        records.activities[records.num_activities++] = (struct activity){start, end, call};
    } else {
        records.lost = true;
    }
}

static void keep_tie(uint32_t call, uint64_t id)
{
    void *list = records.ties;
    if (grow(&list, records.num_ties, &records.tie_capacity, sizeof(struct tie))) {
        records.ties = list;
        records.ties[records.num_ties++] = (struct tie){id, call};
    } else {
        records.lost = true;
    }
}

static void keep(const CUpti_Activity *record)
{
    const void *any = record;
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *kernel = any;
        keep_activity(kernel->start, kernel->end, kernel->correlationId);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy6 *copied = any;
        keep_activity(copied->start, copied->end, copied->correlationId);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *filled = any;
        keep_activity(filled->start, filled->end, filled->correlationId);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
        const CUpti_ActivityExternalCorrelation *external = any;
        keep_tie(external->correlationId, external->externalId);
    }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = assay_alloc_aligned(buffer_bytes);
    *size = *buffer == NULL ? 0 : buffer_bytes;
    *most_records = 0; /* as many as fit */
    if (*buffer == NULL)
        records.lost = true;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    CUpti_Activity *record = NULL;
    pthread_mutex_lock(&mutex);
    while (valid > 0 && cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS)
        keep(record);
    pthread_mutex_unlock(&mutex);
    assay_free(buffer);
}

static void forget(void)
{
    assay_free(records.activities);
    assay_free(records.ties);
    records = (struct records){0};
}

assay_status kernel_trace_start(struct assay_error *error)
{
    if (pthread_once(&loaded, load) != 0 || cupti.library == NULL)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, "trace", "libcupti",
                          "is not found; it comes with the CUDA toolkit: add its folder to "
                          "LD_LIBRARY_PATH");
    if (is_running)
        return assay_fail(error, ASSAY_E_ARG, "trace", "", "another trace is running");
    ASSAY_TRY(check(cupti.register_callbacks(give_buffer, take_buffer),
                    "cuptiActivityRegisterCallbacks", error));
    forget();
    for (int i = 0; i < NUM_KINDS; i++)
        ASSAY_TRY(check(cupti.enable(kinds[i]), "cuptiActivityEnable", error));
    is_running = true;
    return ASSAY_OK;
}

void kernel_trace_push(uint64_t id)
{
    (void)cupti.push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id);
}

void kernel_trace_pop(void)
{
    uint64_t id;
    (void)cupti.pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id);
}

static int by_call(const void *a, const void *b)
{
    const uint32_t x = ((const struct tie *)a)->call, y = ((const struct tie *)b)->call;
    return (x > y) - (x < y);
}

static int by_start(const void *a, const void *b)
{
    const struct assay_trace_span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Times count from the first span, so that binary64 keeps the nanoseconds. */
static void make_spans(struct assay_trace_span *spans)
{
    uint64_t origin = UINT64_MAX;
    for (size_t i = 0; i < records.num_activities; i++)
        if (records.activities[i].start < origin)
            origin = records.activities[i].start;
    qsort(records.ties, records.num_ties, sizeof records.ties[0], by_call);
    for (size_t i = 0; i < records.num_activities; i++) {
        const struct activity *a = &records.activities[i];
        const struct tie key = {.call = a->call}, *tie = NULL;
        if (records.num_ties > 0)
            tie = bsearch(&key, records.ties, records.num_ties, sizeof key, by_call);
        spans[i] = (struct assay_trace_span){
            .label = tie == NULL ? ASSAY_TRACE_NO_LABEL : (int32_t)tie->id - 1,
            .start = nanosecond * (double)(a->start - origin),
            .end = nanosecond * (double)(a->end - origin),
        };
    }
    qsort(spans, records.num_activities, sizeof spans[0], by_start);
}

assay_status kernel_trace_stop(struct assay_trace_span **spans, size_t *count,
                               struct assay_error *error)
{
    *spans = NULL;
    *count = 0;
    if (!is_running)
        return ASSAY_OK;
    is_running = false;
    assay_status status =
        check(cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll", error);
    for (int i = 0; i < NUM_KINDS; i++) {
        const CUptiResult result = cupti.disable(kinds[i]);
        if (status == ASSAY_OK)
            status = check(result, "cuptiActivityDisable", error);
    }
    pthread_mutex_lock(&mutex);
    const bool lost = records.lost;
    const size_t number = records.num_activities;
    if (status == ASSAY_OK && number > 0 && !lost) {
        *spans = assay_resize(NULL, number, sizeof **spans);
        if (*spans != NULL) {
            make_spans(*spans);
            *count = number;
        }
    }
    forget();
    pthread_mutex_unlock(&mutex);
    if (status == ASSAY_OK && (lost || (number > 0 && *spans == NULL)))
        status = assay_fail(error, ASSAY_E_MEMORY, "trace", "", "no memory for its records");
    return status;
}
