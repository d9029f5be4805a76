/* SPDX-License-Identifier: MIT
 *
 * The held-out texts: the bundled ones, or files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/tokenizer.h>

#include "gate.h"
#include "gate_bench.h"
#include "gate_try.h"
#include "quality.h"

static assay_status read_text(const assay_tokenizer *tokenizer, const char *path,
                              struct score_text *text, struct assay_error *error)
{
    char *bytes;
    size_t num_bytes = 0, num_ids = 0;
    TRY(gate_read_file(path, &bytes, &num_bytes, error));
    const assay_status status =
        assay_encode(tokenizer, bytes, num_bytes, &text->ids, &num_ids, error);
    free(bytes);
    text->num_ids = (int64_t)num_ids;
    return status;
}

static assay_status read_bundled(const struct quality_options *options,
                                 const assay_tokenizer *tokenizer, struct score_text *texts,
                                 struct assay_error *error)
{
    char data[4096], path[4352];
    TRY(gate_data_dir(options->data_dir, data, sizeof data, error));
    for (int i = 0; i < GATE_MAX_TEXTS; i++) {
        snprintf(texts[i].name, sizeof texts[i].name, "heldout-%s.txt", gate_texts[i]);
        snprintf(texts[i].domain, sizeof texts[i].domain, "%s", gate_texts[i]);
        snprintf(path, sizeof path, "%s/corpora/%s", data, texts[i].name);
        TRY(read_text(tokenizer, path, &texts[i], error));
    }
    return ASSAY_OK;
}

/* "DOMAIN=FILE", or "FILE", whose domain is its name without ending. */
static assay_status read_given(const assay_tokenizer *tokenizer, const char *given,
                               struct score_text *text, struct assay_error *error)
{
    const size_t domain = strcspn(given, "=/");
    const bool named = given[domain] == '=' && domain > 0;
    const char *path = named ? given + domain + 1 : given;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const size_t stem = strcspn(name, ".");
    snprintf(text->name, sizeof text->name, "%s", name);
    if (named)
        snprintf(text->domain, sizeof text->domain, "%.*s", (int)domain, given);
    else
        snprintf(text->domain, sizeof text->domain, "%.*s", (int)(stem > 0 ? stem : strlen(name)),
                 name);
    return read_text(tokenizer, path, text, error);
}

assay_status quality_read_texts(const struct quality_options *options,
                                struct quality_result *result, struct assay_error *error)
{
    assay_tokenizer *tokenizer;
    const int count = options->num_texts > 0 ? options->num_texts : GATE_MAX_TEXTS;
    TRY(assay_tokenizer_open(options->model_dir, &tokenizer, error));
    result->texts = calloc((size_t)count, sizeof *result->texts);
    if (result->texts == NULL) {
        assay_tokenizer_close(tokenizer);
        return assay_fail(error, ASSAY_E_MEMORY, "quality", "texts", "no memory");
    }
    result->num_texts = count;
    assay_status status = ASSAY_OK;
    if (options->num_texts == 0)
        status = read_bundled(options, tokenizer, result->texts, error);
    for (int i = 0; i < options->num_texts && status == ASSAY_OK; i++)
        status = read_given(tokenizer, options->texts[i], &result->texts[i], error);
    assay_tokenizer_close(tokenizer);
    return status;
}
