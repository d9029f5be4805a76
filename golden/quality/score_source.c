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

static int64_t pass_width(const struct score_setting *setting, int64_t vocab, int64_t capacity)
{
    const int64_t rows = LOGIT_FLOATS / vocab < 1 ? 1 : LOGIT_FLOATS / vocab;
    int64_t width = setting->width;
    if (setting->path == SCORE_DECODE)
        return 1;
    if (setting->path == SCORE_PREFILL && width == 0)
        width = PREFILL_CHUNK;
    if (setting->path == SCORE_PREFILL && width > rows)
        width = rows;
    return width < capacity ? width : capacity;
}

assay_status score_source_open(assay_context *context, const assay_model *model,
                               const struct score_setting *setting, int64_t capacity,
                               struct score_source *source, struct assay_error *error)
{
    struct assay_session_options options = assay_session_defaults();
    const int64_t vocab = assay_model_config(model)->vocab_size;
    *source = (struct score_source){.context = context, .setting = *setting, .vocab = vocab};
    source->width = pass_width(setting, vocab, capacity);
    source->setting.width = source->width;
    options.capacity = capacity;
    options.prefill_chunk = source->width;
    options.trades = setting->trades;
    TRY(assay_session_create(context, model, &options, &source->session, error));
    source->rows = malloc((size_t)(source->width * vocab) * sizeof(float));
    if (!distribution_alloc(&source->distribution, vocab) || source->rows == NULL)
        return no_memory(error);
    return ASSAY_OK;
}

assay_status score_source_oracle(const struct oracle_model *model, int num_threads,
                                 struct score_source *source, struct assay_error *error)
{
    const int64_t vocab = oracle_model_extents(model).vocab_size;
    *source = (struct score_source){
        .oracle = model, .oracle_threads = num_threads, .vocab = vocab, .width = ORACLE_PASS};
    source->rows = malloc((size_t)(source->width * vocab) * sizeof(double));
    if (!distribution_alloc(&source->distribution, vocab) || source->rows == NULL)
        return no_memory(error);
    return ASSAY_OK;
}

void score_source_close(struct score_source *source)
{
    oracle_session_free(source->reference);
    assay_session_destroy(source->session);
    distribution_free(&source->distribution);
    free(source->rows);
    *source = (struct score_source){0};
}

/* ---- passes --------------------------------------------------------------------------------- */

assay_status score_source_reset(struct score_source *source, struct assay_error *error)
{
    source->begin = source->end = 0;
    if (source->oracle == NULL) {
        assay_session_reset(source->session);
        return ASSAY_OK;
    }
    const struct oracle_session_options options = {.num_threads = source->oracle_threads};
    oracle_session_free(source->reference);
    source->reference = oracle_session_new(source->oracle, &options);
    return source->reference != NULL ? ASSAY_OK : no_memory(error);
}

assay_status score_source_pass(struct score_source *source, const int32_t *ids, int64_t count,
                               bool wanted, struct assay_error *error)
{
    if (source->setting.path != SCORE_PREFILL)
        return assay_session_verify(source->session, ids, count, source->rows, error);
    const enum assay_logits which = wanted ? ASSAY_LOGITS_ALL : ASSAY_LOGITS_NONE;
    return assay_session_forward(source->session, ids, count, which, wanted ? source->rows : NULL,
                                 error);
}

static assay_status oracle_pass(struct score_source *source, const int32_t *ids, int64_t count,
                                bool wanted, struct assay_error *error)
{
    const struct oracle_outputs outputs = {.logits = source->rows};
    char message[256] = "";
    const assay_status status = oracle_model_forward(
        source->reference, ids, count, wanted ? &outputs : NULL, message, sizeof message);
    return status == ASSAY_OK ? ASSAY_OK
                              : assay_fail(error, status, "quality", "oracle", "%s", message);
}

assay_status score_source_row(struct score_source *source, const int32_t *ids, int64_t length,
                              int64_t first, int64_t at, struct assay_error *error)
{
    while (source->end <= at) {
        const int64_t left = length - source->end;
        const int64_t count = left < source->width ? left : source->width;
        const bool wanted = source->end + count > first;
        source->begin = source->end;
        TRY((source->oracle != NULL ? oracle_pass : score_source_pass)(source, ids + source->begin,
                                                                       count, wanted, error));
        source->end += count;
        source->passes++;
        source->full_passes += count == source->width;
    }
    const int64_t row = at - source->begin;
    if (source->oracle != NULL)
        distribution_of_f64(&source->distribution, (double *)source->rows + row * source->vocab);
    else
        distribution_of_f32(&source->distribution, (float *)source->rows + row * source->vocab);
    return ASSAY_OK;
}
