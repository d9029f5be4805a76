/* SPDX-License-Identifier: MIT
 *
 * One call on a trial's memory. Where ops read device memory, every buffer is mirrored there with
 * its guards, lanes and poison, and comes back whole: what a kernel writes beside its output shows
 * as it does on the host.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <assay/device.h>

#include "trial.h"

enum { MIRROR_ALIGNMENT = 256 };

/* A device has room for one mirror of this size at a time. */
static const size_t large_mirror = (size_t)2 << 30;
static pthread_mutex_t large_mirrors = PTHREAD_MUTEX_INITIALIZER;

static size_t rounded(size_t bytes)
{
    return (bytes + MIRROR_ALIGNMENT - 1) / MIRROR_ALIGNMENT * MIRROR_ALIGNMENT;
}

/* The device's address of a host address inside a buffer; NULL for others. */
static void *translate(const struct trial_state *s, unsigned char *mirror, const void *host)
{
    size_t offset = 0;
    for (int i = 0; i < s->num_buffers; i++) {
        const struct trial_buffer *b = &s->buffer[i];
        const unsigned char *p = host;
        if (p >= b->live && p < b->live + b->bytes)
            return mirror + offset + (p - b->live);
        offset += rounded(b->bytes);
    }
    return NULL;
}

/* All buffers to the mirror (to_device) or back. */
static assay_status transfer(const struct trial_state *s, assay_context *context,
                             unsigned char *mirror, bool to_device)
{
    for (int i = 0; i < s->num_buffers; i++) {
        const struct trial_buffer *b = &s->buffer[i];
        for (int64_t k = 0; k < b->num_segments; k++) {
            size_t at = (size_t)k * b->segment_pitch;
            assay_status status =
                to_device ? assay_buffer_write(context, mirror + at, b->live + at, b->segment_bytes)
                          : assay_buffer_read(context, b->live + at, mirror + at, b->segment_bytes);
            if (status != ASSAY_OK)
                return status;
        }
        mirror += rounded(b->bytes);
    }
    return ASSAY_OK;
}

static assay_status run_mirrored(struct trial *trial, assay_context *context, unsigned char *mirror,
                                 unsigned char *args)
{
    const struct assay_op *op = trial->c->spec->op;
    memcpy(args, trial->args, op->args_bytes);
    for (const struct assay_argument *a = op->arguments; a->name != NULL; a++) {
        struct assay_tensor *tensor = (struct assay_tensor *)(void *)(args + a->offset);
        if (tensor->data != NULL)
            tensor->data = translate(trial->state, mirror, tensor->data);
    }
    assay_status status = transfer(trial->state, context, mirror, true);
    if (status == ASSAY_OK)
        status = assay_run_op(context, op, args);
    if (status == ASSAY_OK)
        status = assay_context_synchronize(context);
    return status == ASSAY_OK ? transfer(trial->state, context, mirror, false) : status;
}

assay_status trial_run(struct trial *trial, assay_context *context)
{
    const struct assay_op *op = trial->c->spec->op;
    if (assay_context_backend(context) != ASSAY_CUDA)
        return assay_run_op(context, op, trial->args);
    size_t bytes = 0;
    for (int i = 0; i < trial->state->num_buffers; i++)
        bytes += rounded(trial->state->buffer[i].bytes);
    void *mirror = NULL;
    unsigned char *args = malloc(op->args_bytes);
    if (args == NULL)
        return ASSAY_E_MEMORY;
    bool is_large = bytes > large_mirror;
    if (is_large)
        pthread_mutex_lock(&large_mirrors);
    assay_status status = assay_buffer_create(context, bytes, &mirror);
    if (status == ASSAY_OK)
        status = run_mirrored(trial, context, mirror, args);
    assay_buffer_destroy(context, mirror);
    if (is_large)
        pthread_mutex_unlock(&large_mirrors);
    free(args);
    return status;
}
