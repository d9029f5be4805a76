/* SPDX-License-Identifier: MIT
 *
 * The golden data that gates use: where it is, which models it has references for, its texts.
 */
#include "gate_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const gate_texts[GATE_MAX_TEXTS] = {"prose", "structured", "unicode"};

static bool has_data(const char *dir)
{
    char path[4352];
    snprintf(path, sizeof path, "%.4096s/corpora/heldout-prose.txt", dir);
    return access(path, R_OK) == 0;
}

assay_status gate_data_dir(const char *given, char *path, size_t size, struct assay_error *error)
{
    const char *environment = getenv("ASSAY_DATA_DIR");
    const char *const places[] = {GATE_SOURCE_DATA_DIR, GATE_INSTALLED_DATA_DIR};
    if (given == NULL)
        given = environment;
    if (given != NULL) {
        snprintf(path, size, "%s", given);
        if (has_data(given))
            return ASSAY_OK;
        return assay_fail(error, ASSAY_E_NOT_FOUND, "gate", "data",
                          "\"%.200s\" holds no corpora/heldout-prose.txt", given);
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, size, "%s", places[i]);
        if (has_data(places[i]))
            return ASSAY_OK;
    }
    return assay_fail(error, ASSAY_E_NOT_FOUND, "gate", "data",
                      "held-out texts are neither in %.180s nor in %.180s: name their folder with "
                      "--data or $ASSAY_DATA_DIR",
                      places[0], places[1]);
}

void gate_bench_data(const struct gate_bench *bench, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", bench->options->data_dir, name);
}

assay_status gate_read_file(const char *path, char **text, size_t *bytes, struct assay_error *error)
{
    FILE *file = fopen(path, "rb");
    *text = NULL;
    if (file == NULL)
        return assay_fail(error, ASSAY_E_NOT_FOUND, "gate", path, "%s", strerror(errno));
    long length = -1;
    if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0)
        *text = malloc((size_t)length + 1);
    const bool good = *text != NULL && fread(*text, 1, (size_t)length, file) == (size_t)length;
    fclose(file);
    if (!good) {
        free(*text);
        *text = NULL;
        return assay_fail(error, ASSAY_E_IO, "gate", path, "cannot be read");
    }
    *bytes = (size_t)length;
    return ASSAY_OK;
}

assay_status gate_bench_text(const struct gate_bench *bench, const char *file, int32_t **ids,
                             size_t *num_ids, struct assay_error *error)
{
    char name[128], path[4352], *text;
    size_t bytes = 0;
    snprintf(name, sizeof name, "corpora/heldout-%s.txt", file);
    gate_bench_data(bench, name, path, sizeof path);
    *ids = NULL;
    TRY(gate_read_file(path, &text, &bytes, error));
    const assay_status status = assay_encode(bench->tokenizer, text, bytes, ids, num_ids, error);
    free(text);
    return status;
}
