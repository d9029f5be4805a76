/* SPDX-License-Identifier: MIT
 *
 * Formats, bytes and errors of a model's tensors: see inspect_tensors.h.
 */
#include "tools/inspect_tensors.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Releases differ in what stands before a tensor's name. */
static const char *const prefixes[] = {"model.language_model.", "language_model.model.",
                                       "language_model.", "model.", ""};

enum { NUM_PREFIXES = sizeof prefixes / sizeof *prefixes };

static const char *without_prefix(const char *name)
{
    for (int i = 0; i < NUM_PREFIXES; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return name + strlen(prefixes[i]);
    return name;
}

static int64_t find_same(const assay_model *against, const char *name)
{
    int64_t index = assay_model_find(against, name);
    char other[256];

    for (int i = 0; i < NUM_PREFIXES && index < 0; i++) {
        snprintf(other, sizeof other, "%s%s", prefixes[i], without_prefix(name));
        index = assay_model_find(against, other);
    }
    return index;
}

/* (F1): its weights are stored as offsets from 1, or with 1 added. */
static bool is_offset_norm(const struct assay_stored *stored)
{
    return stored->rank == 1 && strstr(stored->name, "norm") != NULL &&
           strstr(stored->name, "linear_attn.norm") == NULL;
}

static double relative_error(double difference, double size)
{
    const double error = sqrt(difference / size);

    if (difference == 0)
        return 0;
    return isfinite(error) ? error : INFINITY; /* a source of zeros, or a NaN in one of them */
}

/* row: room for two rows. */
static assay_status compare_rows(const assay_model *model, int64_t index,
                                 const assay_model *against, int64_t other, float *row,
                                 struct inspected *inspected, struct assay_error *error)
{
    const int64_t columns = inspected->stored.columns;
    const bool norm = is_offset_norm(&inspected->stored);
    const double mine = norm && !assay_model_final_norms(model) ? 1 : 0;
    const double its = norm && !assay_model_final_norms(against) ? 1 : 0;
    double difference = 0, size = 0;

    for (int64_t r = 0; r < inspected->stored.rows; r++) {
        assay_status status = assay_model_read_row(model, index, r, row, error);
        if (status == ASSAY_OK)
            status = assay_model_read_row(against, other, r, row + columns, error);
        if (status != ASSAY_OK)
            return status;
        for (int64_t k = 0; k < columns; k++) {
            const double expected = row[columns + k] + its, found = row[k] + mine;
            difference += (found - expected) * (found - expected);
            size += expected * expected;
        }
    }
    inspected->error = relative_error(difference, size);
    return ASSAY_OK;
}

static assay_status compare(const assay_model *model, int64_t index, const assay_model *against,
                            struct inspected *inspected, struct assay_error *error)
{
    const struct assay_stored *stored = &inspected->stored;
    const int64_t other = find_same(against, stored->name);
    struct assay_stored source;

    if (!assay_model_stored_at(against, other, &source))
        return assay_fail(error, ASSAY_E_NOT_FOUND, assay_model_dir(against), stored->name,
                          "the model to compare with does not have this tensor");
    if (source.rows != stored->rows || source.columns != stored->columns)
        return assay_fail(error, ASSAY_E_SHAPE, assay_model_dir(against), stored->name,
                          "has another shape in the model to compare with");
    float *row = malloc(2 * (size_t)stored->columns * sizeof *row);
    if (row == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "inspect", stored->name, "no memory for two rows");
    const assay_status status = compare_rows(model, index, against, other, row, inspected, error);
    free(row);
    return status;
}

/* As the engine spells formats: "bf16", "q8_0". */
static const char *lower(const char *format, char text[16])
{
    int i = 0;

    for (; format[i] != '\0' && i < 15; i++)
        text[i] = (char)tolower((unsigned char)format[i]);
    text[i] = '\0';
    return text;
}

static void add_to_format(struct inspection *inspection, const struct assay_stored *stored)
{
    int i = 0;

    while (i < inspection->num_formats &&
           strcmp(inspection->formats[i].format, stored->format) != 0)
        i++;
    if (i == INSPECT_MAX_FORMATS)
        return; /* there are fewer formats */
    struct format_total *total = &inspection->formats[i];
    if (i == inspection->num_formats)
        inspection->formats[inspection->num_formats++] =
            (struct format_total){stored->format, 0, 0, 0};
    total->tensors++;
    total->elements += stored->rows * stored->columns;
    total->bytes += stored->bytes;
}

assay_status inspect_tensors(const assay_model *model, const assay_model *against,
                             struct inspection *inspection, struct assay_error *error)
{
    const int64_t count = assay_model_num_tensors(model);

    *inspection = (struct inspection){.num_tensors = count};
    inspection->tensors = calloc((size_t)count, sizeof *inspection->tensors);
    if (inspection->tensors == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "inspect", "", "no memory for %lld tensors",
                          (long long)count);
    for (int64_t i = 0; i < count; i++) {
        struct inspected *inspected = &inspection->tensors[i];
        assay_model_stored_at(model, i, &inspected->stored);
        inspected->error = -1;
        inspection->elements += inspected->stored.rows * inspected->stored.columns;
        inspection->bytes += inspected->stored.bytes;
        add_to_format(inspection, &inspected->stored);
        const assay_status status =
            against == NULL ? ASSAY_OK : compare(model, i, against, inspected, error);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

void inspect_free(struct inspection *inspection)
{
    free(inspection->tensors);
    inspection->tensors = NULL;
}

void inspect_print(const struct inspection *inspection)
{
    printf("\n");
    for (int64_t i = 0; i < inspection->num_tensors; i++) {
        const struct assay_stored *stored = &inspection->tensors[i].stored;
        char shape[160] = "", format[16];
        size_t used = 0;
        for (int d = 0; d < stored->rank && used < sizeof shape; d++)
            used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld",
                                     d == 0 ? "" : ", ", (long long)stored->extent[d]);
        printf("%-60s %-5s [%s] %lld bytes", stored->name, lower(stored->format, format), shape,
               (long long)stored->bytes);
        if (inspection->tensors[i].error >= 0)
            printf(", relative L2 error %.3g", inspection->tensors[i].error);
        printf("\n");
    }
    for (int i = 0; i < inspection->num_formats; i++) {
        const struct format_total *total = &inspection->formats[i];
        char format[16];
        printf("%-5s %lld tensors, %lld elements, %lld bytes, %.3g bits an element\n",
               lower(total->format, format), (long long)total->tensors, (long long)total->elements,
               (long long)total->bytes, 8.0 * (double)total->bytes / (double)total->elements);
    }
    printf("%lld tensors, %lld elements, %lld bytes\n", (long long)inspection->num_tensors,
           (long long)inspection->elements, (long long)inspection->bytes);
}

json_t *inspect_json_tensors(const struct inspection *inspection)
{
    json_t *array = json_array();

    for (int64_t i = 0; i < inspection->num_tensors; i++) {
        const struct inspected *inspected = &inspection->tensors[i];
        const struct assay_stored *stored = &inspected->stored;
        json_t *object = json_object(), *shape = json_array();
        char format[16];
        for (int d = 0; d < stored->rank; d++)
            json_array_append_new(shape, json_integer(stored->extent[d]));
        json_object_set_new(object, "name", json_string(stored->name));
        json_object_set_new(object, "dtype", json_string(lower(stored->format, format)));
        json_object_set_new(object, "shape", shape);
        json_object_set_new(object, "bytes", json_integer(stored->bytes));
        if (stored->encoder != NULL)
            json_object_set_new(object, "encoder", json_string(stored->encoder));
        if (inspected->error >= 0) /* JSON has no infinity */
            json_object_set_new(object, "relative_error",
                                isfinite(inspected->error) ? json_real(inspected->error)
                                                           : json_null());
        json_array_append_new(array, object);
    }
    return array;
}

json_t *inspect_json_formats(const struct inspection *inspection)
{
    json_t *object = json_object();

    for (int i = 0; i < inspection->num_formats; i++) {
        const struct format_total *total = &inspection->formats[i];
        char format[16];
        json_object_set_new(object, lower(total->format, format),
                            json_pack("{s:I, s:I, s:I}", "tensors", (json_int_t)total->tensors,
                                      "elements", (json_int_t)total->elements, "bytes",
                                      (json_int_t)total->bytes));
    }
    return object;
}
