/* SPDX-License-Identifier: MIT
 *
 * What must hold of every attempt to open a model, however its bytes came about.
 */
#ifndef FUZZ_OPEN_FUZZ_H
#define FUZZ_OPEN_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <assay/model.h>
#include <assay/testing.h>

/* Prints the reason and aborts. */
static inline void open_fuzz_fail(const char *reason)
{
    fprintf(stderr, "%s\n", reason);
    abort();
}

static inline void open_fuzz_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        open_fuzz_fail("the input cannot be written to a temporary file");
}

/* Every row of every tensor. */
static inline void open_fuzz_read(const assay_model *model)
{
    for (int64_t i = 0; i < assay_model_num_tensors(model); i++) {
        struct assay_stored stored;
        if (!assay_model_stored_at(model, i, &stored) || stored.name == NULL)
            open_fuzz_fail("a tensor without a name");
        float *values = malloc((size_t)stored.columns * sizeof *values);
        for (int64_t row = 0; row < stored.rows && values != NULL; row++)
            if (assay_model_read_row(model, i, row, values, NULL) != ASSAY_OK)
                open_fuzz_fail("a row that cannot be read");
        free(values);
    }
}

/* Of a container with digests, every byte. */
static inline void open_fuzz_verify(const assay_model *model)
{
    struct assay_error error = {.status = ASSAY_OK};
    const assay_status status = assay_model_verify(model, &error);
    if (status == ASSAY_E_INTERNAL || status != error.status)
        open_fuzz_fail("status and record of the digests contradict each other");
}

static inline void open_fuzz_try(const char *path, bool rows_only)
{
    struct assay_error error = {.status = ASSAY_OK};
    assay_model *model = NULL;
    const assay_status status = rows_only ? assay_model_open_rows(path, &model, &error)
                                          : assay_model_open(path, &model, &error);
    if ((status == ASSAY_OK) != (model != NULL) || status != error.status)
        open_fuzz_fail("status, model and record contradict each other");
    if (status == ASSAY_E_INTERNAL || (status != ASSAY_OK && error.message[0] == '\0'))
        open_fuzz_fail("refused without a reason");
    if (model != NULL) {
        open_fuzz_read(model);
        open_fuzz_verify(model);
    }
    assay_model_close(model);
    if (assay_live_allocations() != 0)
        open_fuzz_fail("a leak");
}

#endif
