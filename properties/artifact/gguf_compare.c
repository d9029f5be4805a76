/* SPDX-License-Identifier: MIT
 *
 * Models from GGUF files and their sources: see gguf_compare.h.
 */
#include "gguf_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "small_model.h"

struct assay_error gguf_error;

assay_model *gguf_source(const char *dir)
{
    assay_model *model = NULL;

    assay_error_clear(&gguf_error);
    cr_assert(assay_model_open(dir, &model, &gguf_error) == ASSAY_OK, "%s: %s", gguf_error.what,
              gguf_error.message);
    return model;
}

assay_model *gguf_opened(const char *dir, const struct gguf_image *image, bool rows_only)
{
    assay_model *model = NULL;
    char path[1024];

    snprintf(path, sizeof path, "%s/%s", dir, GGUF_FILE);
    small_write(dir, GGUF_FILE, image->bytes, image->size);
    assay_error_clear(&gguf_error);
    const assay_status status = rows_only ? assay_model_open_rows(path, &model, &gguf_error)
                                          : assay_model_open(path, &model, &gguf_error);
    cr_assert((status == ASSAY_OK) == (model != NULL));
    return model;
}

static bool is_offset_norm(const char *name)
{
    const size_t length = strlen(name);
    return strstr(name, "norm") != NULL && strstr(name, "linear_attn.norm") == NULL && length > 7 &&
           strcmp(name + length - 7, ".weight") == 0;
}

float *gguf_row_of(const assay_model *model, int64_t index, int64_t row, int64_t columns)
{
    float *values = malloc((size_t)columns * sizeof *values);
    cr_assert(values != NULL);
    cr_assert(assay_model_read_row(model, index, row, values, NULL) == ASSAY_OK);
    return values;
}

int gguf_differences(const assay_model *source, const assay_model *read)
{
    const bool has_mtp = assay_model_config(read)->num_mtp_layers > 0;
    int64_t left_out = 0;
    int differences = 0;

    for (int64_t i = 0; i < assay_model_num_tensors(source); i++) {
        struct assay_stored a, b;
        bool same;
        assay_model_stored_at(source, i, &a);
        if (!has_mtp && strncmp(a.name, "mtp.", 4) == 0) {
            left_out++;
            continue;
        }
        same = assay_model_stored_at(read, assay_model_find(read, a.name), &b) &&
               a.rank == b.rank && memcmp(a.extent, b.extent, sizeof a.extent) == 0;
        for (int64_t row = 0; row < a.rows && same; row++) {
            float *x = gguf_row_of(source, i, row, a.columns);
            float *y = gguf_row_of(read, assay_model_find(read, a.name), row, a.columns);
            for (int64_t k = 0; k < a.columns && is_offset_norm(a.name); k++)
                x[k] = 1.0f + x[k];
            same = memcmp(x, y, (size_t)a.columns * sizeof *x) == 0;
            free(x);
            free(y);
        }
        differences += !same;
    }
    cr_assert(assay_model_num_tensors(source) - left_out == assay_model_num_tensors(read));
    return differences;
}
