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

/* "NAME DIGEST\n" of one file to the list; false when it cannot be read. */
static bool list_file(const char *path, const char *name, char *list, size_t size)
{
    char *text, digest[65];
    size_t bytes = 0;
    const size_t used = strlen(list);
    if (gate_read_file(path, &text, &bytes, NULL) != ASSAY_OK)
        return false;
    const bool good = assay_gate_digest(text, bytes, digest, NULL) == ASSAY_OK;
    free(text);
    snprintf(list + used, size - used, "%s %s\n", name, digest);
    return good;
}

const char *gate_bench_losses(const struct gate_bench *bench, char *path, size_t size)
{
    static const char *const names[] = {"nll-per-token-f64.safetensors",
                                        "nll-per-token-f64-slim.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, size, "%s/%s", bench->references, names[i]);
        if (access(path, F_OK) == 0)
            return names[i];
    }
    snprintf(path, size, "%s/%s", bench->references, names[0]);
    return names[0];
}

void gate_bench_corpus(const struct gate_bench *bench)
{
    struct gate_result *result = bench->result;
    char list[1024] = "", path[4352], name[128];
    bool good = true;
    for (int i = 0; i < GATE_MAX_TEXTS; i++) {
        snprintf(name, sizeof name, "corpora/heldout-%s.txt", gate_texts[i]);
        gate_bench_data(bench, name, path, sizeof path);
        good = good && list_file(path, name, list, sizeof list);
    }
    if (bench->references[0] != '\0') {
        snprintf(path, sizeof path, "%s/greedy.json", bench->references);
        good = good && list_file(path, "greedy.json", list, sizeof list);
        const char *const losses = gate_bench_losses(bench, path, sizeof path);
        good = good && list_file(path, losses, list, sizeof list);
    }
    if (!good || assay_gate_digest(list, strlen(list), result->corpus, NULL) != ASSAY_OK)
        result->corpus[0] = '\0';
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
