/* SPDX-License-Identifier: MIT
 *
 * Transcoding: rows are independent, so each is decoded and encoded on its own.
 */
#include "formats/transcode.h"

#include <pthread.h>
#include <string.h>

#include "core/core.h"

/* Rows that a thread takes at a time: long against the cost of handing them out. */
enum { GRAIN = 64 };

struct transcoding {
    const struct assay_weights *from, *to;
    pthread_mutex_t mutex; /* of what follows */
    int64_t failed_row;    /* the first that failed; the number of rows: none */
    struct assay_error error;
};

static const struct assay_encode_options options = {.encoder = ASSAY_ENCODER_CLIP25};

/* Keeps the error of the smallest row, so that the message does not depend on the threads. */
static void note(struct transcoding *t, int64_t row, const struct assay_error *error)
{
    pthread_mutex_lock(&t->mutex);
    if (row < t->failed_row) {
        t->failed_row = row;
        t->error = *error;
    }
    pthread_mutex_unlock(&t->mutex);
}

static void rows(void *argument, int64_t first, int64_t last)
{
    struct transcoding *t = argument;
    struct assay_error error = {.status = ASSAY_OK};
    float *values = assay_alloc_aligned((size_t)t->from->columns * sizeof *values);
    if (values == NULL) {
        assay_status status =
            assay_fail(&error, ASSAY_E_MEMORY, "transcode", "row", "cannot allocate %lld values",
                       (long long)t->from->columns);
        (void)status;
        note(t, first, &error);
        return;
    }
    for (int64_t row = first; row < last; row++) {
        assay_weights_decode_row(t->from, row, values);
        if (assay_weights_encode_row(t->to, row, values, &options, &error) == ASSAY_OK)
            continue;
        note(t, row, &error);
        break;
    }
    assay_free(values);
}

assay_status transcode_weights(assay_context *context, const struct assay_weights *from,
                               enum assay_weight_format to, void *memory,
                               struct assay_weights *view, struct assay_error *error)
{
    struct assay_weight_layout layout;
    ASSAY_TRY(assay_weights_check(from, error));
    ASSAY_TRY(assay_weight_layout_of(to, from->rows, from->columns, &layout, error));
    ASSAY_TRY(assay_weights_at(memory, to, from->rows, from->columns, view, error));
    memset(memory, 0, layout.total); /* the gaps between planes, too */
    struct transcoding t = {
        .from = from, .to = view, .mutex = PTHREAD_MUTEX_INITIALIZER, .failed_row = from->rows};
    if (from->columns > 0)
        assay_parallel(context, from->rows, GRAIN, rows, &t);
    if (t.failed_row == from->rows)
        return ASSAY_OK;
    return assay_fail(error, t.error.status, "transcode", t.error.what, "row %lld: %s",
                      (long long)t.failed_row, t.error.message);
}
