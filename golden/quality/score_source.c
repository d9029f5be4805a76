/* SPDX-License-Identifier: MIT
 *
 * Sources of logits: a session through a path, or the FP64 oracle.
 */
#include <stdlib.h>

#include "gate_try.h"
#include "score.h"

enum {
    ORACLE_PASS = 64,
    PREFILL_CHUNK = 512,
    LOGIT_FLOATS = 1 << 26 /* of one pass's rows, at most: 256 MB */
};

const char *score_path_name(enum score_path path)
{
    static const char *const names[] = {
#define SCORE_PATH_NAME(enumerator, name, what) name,
        SCORE_PATH_TABLE(SCORE_PATH_NAME)
#undef SCORE_PATH_NAME
    };
    return (unsigned)path < SCORE_NUM_PATHS ? names[path] : "?";
}

/* ---- opening -------------------------------------------------------------------------------- */

static assay_status no_memory(struct assay_error *error)
{
    return assay_fail(error, ASSAY_E_MEMORY, "quality", "score", "no memory");
}

/* Tokens of one window in a pass. */
static int64_t pass_columns(const struct score_setting *setting, int64_t vocab, int64_t capacity)
{
    const int64_t rows = LOGIT_FLOATS / vocab < 1 ? 1 : LOGIT_FLOATS / vocab;
    int64_t width = setting->width;
    if (setting->path == SCORE_DECODE)
        return 1;
    if (setting->path == SCORE_LANES)
        return width == 0 ? 1 : width;
    if (setting->path == SCORE_PREFILL && width == 0)
        width = PREFILL_CHUNK;
    if (setting->path == SCORE_PREFILL && width > rows)
        width = rows;
    return width < capacity ? width : capacity;
}

static bool share_passes(const struct score_source *source)
{
    return source->setting.path == SCORE_LANES;
}

/* Places of the lanes' rows. False: no memory. */
static bool allocate_rows(struct score_source *source, size_t element)
{
    const size_t lane_bytes = (size_t)(source->setting.width * source->vocab) * element;
    source->rows = calloc((size_t)source->setting.num_lanes, lane_bytes);
    for (int i = 0; i < source->setting.num_lanes && source->rows != NULL; i++)
        source->lane[i].rows = (char *)source->rows + (size_t)i * lane_bytes;
    return distribution_alloc(&source->distribution, source->vocab) && source->rows != NULL;
}

assay_status score_source_open(assay_context *context, const assay_model *model,
                               const struct score_setting *setting, int64_t capacity,
                               struct score_source *source, struct assay_error *error)
{
    struct assay_session_options options = assay_session_defaults();
    const int64_t vocab = assay_model_config(model)->vocab_size;
    const int num_lanes = setting->num_lanes < 1 ? 1 : setting->num_lanes;
    *source = (struct score_source){.context = context, .setting = *setting, .vocab = vocab};
    const int64_t columns = pass_columns(setting, vocab, capacity);
    source->setting.width = columns;
    source->setting.num_lanes = num_lanes;
    source->width = share_passes(source) ? columns * num_lanes : columns;
    options.capacity = capacity > source->width ? capacity : source->width;
    options.prefill_chunk = source->width;
    options.trades = setting->trades;
    for (int i = 0; i < num_lanes; i++)
        TRY(assay_session_create(context, model, &options, &source->lane[i].session, error));
    return allocate_rows(source, sizeof(float)) ? ASSAY_OK : no_memory(error);
}

assay_status score_source_oracle(const struct oracle_model *model, int num_threads, int num_lanes,
                                 struct score_source *source, struct assay_error *error)
{
    const int64_t vocab = oracle_model_extents(model).vocab_size;
    *source = (struct score_source){.oracle = model,
                                    .oracle_threads = num_threads,
                                    .setting = {.width = ORACLE_PASS, .num_lanes = num_lanes},
                                    .vocab = vocab,
                                    .width = ORACLE_PASS};
    return allocate_rows(source, sizeof(double)) ? ASSAY_OK : no_memory(error);
}

void score_source_close(struct score_source *source)
{
    for (int i = 0; i < SCORE_LARGEST_WIDTH; i++) {
        oracle_session_free(source->lane[i].reference);
        assay_session_destroy(source->lane[i].session);
    }
    distribution_free(&source->distribution);
    free(source->rows);
    *source = (struct score_source){0};
}

/* ---- passes --------------------------------------------------------------------------------- */

assay_status score_source_reset(struct score_source *source, struct assay_error *error)
{
    const struct oracle_session_options options = {.num_threads = source->oracle_threads};
    for (int i = 0; i < source->setting.num_lanes; i++) {
        struct score_lane *lane = &source->lane[i];
        lane->begin = lane->end = 0;
        if (source->oracle == NULL) {
            assay_session_reset(lane->session);
            continue;
        }
        oracle_session_free(lane->reference);
        lane->reference = oracle_session_new(source->oracle, &options);
        if (lane->reference == NULL)
            return no_memory(error);
    }
    return ASSAY_OK;
}

static assay_status session_pass(struct score_source *source, struct score_lane *lane,
                                 const int32_t *ids, int64_t count, bool wanted,
                                 struct assay_error *error)
{
    if (source->setting.path != SCORE_PREFILL)
        return assay_session_verify(lane->session, ids, count, lane->rows, error);
    const enum assay_logits which = wanted ? ASSAY_LOGITS_ALL : ASSAY_LOGITS_NONE;
    return assay_session_forward(lane->session, ids, count, which, wanted ? lane->rows : NULL,
                                 error);
}

assay_status score_source_pass(struct score_source *source, const int32_t *ids, int64_t count,
                               bool wanted, struct assay_error *error)
{
    return session_pass(source, &source->lane[0], ids, count, wanted, error);
}

static assay_status oracle_pass(struct score_lane *lane, const int32_t *ids, int64_t count,
                                bool wanted, struct assay_error *error)
{
    const struct oracle_outputs outputs = {.logits = lane->rows};
    char message[256] = "";
    const assay_status status = oracle_model_forward(
        lane->reference, ids, count, wanted ? &outputs : NULL, message, sizeof message);
    return status == ASSAY_OK ? ASSAY_OK
                              : assay_fail(error, status, "quality", "oracle", "%s", message);
}

static void count_pass(struct score_source *source, int64_t tokens)
{
    source->passes++;
    source->full_passes += tokens == source->width;
}

/* The next tokens of all windows in one pass. */
static assay_status pass_together(struct score_source *source, const struct score_batch *batch,
                                  struct assay_error *error)
{
    const int num_lanes = source->setting.num_lanes;
    const int64_t begin = source->lane[0].end, left = batch->longest - begin;
    const int64_t columns = left < source->setting.width ? left : source->setting.width;
    assay_session *sessions[SCORE_LARGEST_WIDTH];
    int32_t ids[SCORE_LARGEST_WIDTH];
    for (int i = 0; i < num_lanes; i++) {
        struct score_lane *lane = &source->lane[i];
        sessions[i] = lane->session;
        for (int64_t c = 0; c < columns; c++) {
            const int64_t at = begin + c, last = batch->inputs[i] - 1;
            ids[i * columns + c] = batch->ids[i][at < last ? at : last];
        }
        lane->rows = (float *)source->rows + i * columns * source->vocab;
        lane->begin = begin;
        lane->end = begin + columns;
    }
    count_pass(source, columns * num_lanes);
    return assay_session_verify_lanes(sessions, num_lanes, ids, columns, source->rows, error);
}

static assay_status pass_alone(struct score_source *source, const struct score_batch *batch,
                               int number, struct assay_error *error)
{
    struct score_lane *lane = &source->lane[number];
    const int64_t left = batch->inputs[number] - lane->end;
    const int64_t count = left < source->setting.width ? left : source->setting.width;
    const bool wanted = lane->end + count > batch->first[number];
    const int32_t *const ids = batch->ids[number] + lane->end;
    lane->begin = lane->end;
    lane->end += count;
    count_pass(source, count);
    return source->oracle != NULL ? oracle_pass(lane, ids, count, wanted, error)
                                  : session_pass(source, lane, ids, count, wanted, error);
}

assay_status score_source_row(struct score_source *source, const struct score_batch *batch,
                              int lane, int64_t at, struct assay_error *error)
{
    const struct score_lane *const from = &source->lane[lane];
    while (from->end <= at)
        TRY(share_passes(source) ? pass_together(source, batch, error)
                                 : pass_alone(source, batch, lane, error));
    const int64_t offset = (at - from->begin) * source->vocab;
    if (source->oracle != NULL)
        distribution_of_f64(&source->distribution, (const double *)from->rows + offset);
    else
        distribution_of_f32(&source->distribution, (const float *)from->rows + offset);
    return ASSAY_OK;
}
