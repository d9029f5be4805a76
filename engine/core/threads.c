/* SPDX-License-Identifier: MIT
 *
 * The thread pool behind assay_parallel: workers sleep between calls; ranges are handed out by an
 * atomic counter, so an uneven machine does not wait for its slowest thread's share.
 */
#include "core/context_state.h"

#include <pthread.h>
#include <stdatomic.h>

struct thread_pool {
    pthread_mutex_t mutex;
    pthread_cond_t work_ready, work_done;
    pthread_t *threads;
    int num_threads;
    bool stopping;
    uint64_t generation; /* of the current piece of work */
    int num_running;     /* workers that have not finished it */

    void (*body)(void *argument, int64_t first, int64_t last);
    void *argument;
    int64_t count, grain;
    _Atomic int64_t next;
};

static void take_ranges(struct thread_pool *pool)
{
    for (;;) {
        int64_t first = atomic_fetch_add(&pool->next, pool->grain);
        if (first >= pool->count)
            return;
        int64_t last = first + pool->grain;
        pool->body(pool->argument, first, last < pool->count ? last : pool->count);
    }
}

static void *worker(void *argument)
{
    struct thread_pool *pool = argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->stopping && pool->generation == seen)
            pthread_cond_wait(&pool->work_ready, &pool->mutex);
        if (pool->stopping)
            break;
        seen = pool->generation;
        pthread_mutex_unlock(&pool->mutex);
        take_ranges(pool);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->num_running == 0)
            pthread_cond_signal(&pool->work_done);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

assay_status thread_pool_create(int num_threads, struct thread_pool **result)
{
    *result = NULL;
    struct thread_pool *pool = assay_alloc_zero(1, sizeof *pool);
    if (pool == NULL)
        return ASSAY_E_MEMORY;
    pool->threads = assay_alloc_zero((size_t)num_threads, sizeof *pool->threads);
    if (pool->threads == NULL) {
        assay_free(pool);
        return ASSAY_E_MEMORY;
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work_ready, NULL);
    pthread_cond_init(&pool->work_done, NULL);
    for (int i = 0; i < num_threads; i++) {
        if (assay_fault_now() || pthread_create(&pool->threads[i], NULL, worker, pool) != 0) {
            thread_pool_destroy(pool);
            return ASSAY_E_MEMORY;
        }
        pool->num_threads++;
    }
    *result = pool;
    return ASSAY_OK;
}

void thread_pool_destroy(struct thread_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work_ready);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->num_threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->work_done);
    pthread_cond_destroy(&pool->work_ready);
    pthread_mutex_destroy(&pool->mutex);
    assay_free(pool->threads);
    assay_free(pool);
}

void thread_pool_run(struct thread_pool *pool, int64_t count, int64_t grain,
                     void (*body)(void *argument, int64_t first, int64_t last), void *argument)
{
    pthread_mutex_lock(&pool->mutex);
    pool->body = body;
    pool->argument = argument;
    pool->count = count;
    pool->grain = grain;
    atomic_store(&pool->next, 0);
    pool->num_running = pool->num_threads;
    pool->generation++;
    pthread_cond_broadcast(&pool->work_ready);
    pthread_mutex_unlock(&pool->mutex);
    take_ranges(pool);
    pthread_mutex_lock(&pool->mutex);
    while (pool->num_running > 0)
        pthread_cond_wait(&pool->work_done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void assay_parallel(assay_context *context, int64_t count, int64_t grain,
                    void (*body)(void *argument, int64_t first, int64_t last), void *argument)
{
    if (count <= 0)
        return;
    if (grain < 1)
        grain = 1;
    if (context->pool == NULL || count <= grain)
        body(argument, 0, count);
    else
        thread_pool_run(context->pool, count, grain, body, argument);
}
