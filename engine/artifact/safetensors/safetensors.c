/* SPDX-License-Identifier: MIT
 *
 * Safetensors files and sets of them: see safetensors.h.
 */
#include "artifact/safetensors/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/input_file.h"
#include "core/json_input.h"

enum { LENGTH_BYTES = 8 };

/* The header's length as the file states it, checked against the file before it is used. How long
 * a header may be at all is up to assay_input_parse. */
static assay_status header_length(const struct safetensors_file *file, size_t *length,
                                  struct assay_error *error)
{
    uint64_t stated = 0;

    if (file->map.bytes < LENGTH_BYTES)
        return assay_fail(error, ASSAY_E_CORRUPT, file->name, "header length",
                          "the file has %zu bytes, expected at least %d; is the download complete?",
                          file->map.bytes, LENGTH_BYTES);
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        stated = stated << 8 | file->map.data[i];
    if (stated > file->map.bytes - LENGTH_BYTES)
        return assay_fail(error, ASSAY_E_CORRUPT, file->name, "header length",
                          "is %" PRIu64
                          ", but only %zu bytes follow; is this a safetensors file, and "
                          "is the download complete?",
                          stated, file->map.bytes - LENGTH_BYTES);
    *length = (size_t)stated;
    return ASSAY_OK;
}

static assay_status check_metadata(const struct safetensors_file *file, json_t *metadata,
                                   struct assay_error *error)
{
    const char *key;
    json_t *value;

    if (!json_is_object(metadata))
        return assay_fail(error, ASSAY_E_CORRUPT, file->name, "__metadata__",
                          "is not an object of strings");
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return assay_fail(error, ASSAY_E_CORRUPT, file->name, "__metadata__",
                              "the value of \"%.64s\" is not a string", key);
    }
    return ASSAY_OK;
}

/* Reads the header's tensors to the end of the set's entries. The caller has made room. */
static assay_status read_entries(struct safetensors_file *file, int index, json_t *header,
                                 uint64_t data_bytes, struct safetensors_set *set,
                                 struct assay_error *error)
{
    char *next_name = file->names;
    const char *key;
    json_t *value;

    json_object_foreach(header, key, value)
    {
        if (strcmp(key, "__metadata__") == 0) {
            ASSAY_TRY(check_metadata(file, value, error));
            continue;
        }
        struct safetensors_entry *entry = &set->entries[set->num_entries];
        *entry = (struct safetensors_entry){.name = next_name, .file = index};
        size_t bytes = strlen(key) + 1;
        memcpy(next_name, key, bytes);
        next_name += bytes;
        ASSAY_TRY(assay_safetensors_read_entry(file->name, value, data_bytes, entry, error));
        set->num_entries++;
    }
    return ASSAY_OK;
}

static int compare_place(const void *left, const void *right)
{
    const struct safetensors_entry *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Sorts one file's entries by place; each must begin where the one before ends, and the last must
 * end the data. */
static assay_status check_cover(const struct safetensors_file *file,
                                struct safetensors_entry *entries, int64_t num_entries,
                                uint64_t data_bytes, struct assay_error *error)
{
    uint64_t end = 0;

    if (num_entries > 0)
        qsort(entries, (size_t)num_entries, sizeof *entries, compare_place);
    for (int64_t i = 0; i < num_entries; i++) {
        if (entries[i].begin < end)
            return assay_fail(error, ASSAY_E_CORRUPT, file->name, entries[i].name,
                              "data_offsets begin at %" PRIu64 ", inside tensor %.160s",
                              entries[i].begin, entries[i - 1].name);
        if (entries[i].begin > end)
            return assay_fail(error, ASSAY_E_CORRUPT, file->name, entries[i].name,
                              "data_offsets begin at %" PRIu64 ", but bytes from %" PRIu64
                              " on belong to no tensor",
                              entries[i].begin, end);
        end += entries[i].bytes;
    }
    if (end != data_bytes)
        return assay_fail(error, ASSAY_E_CORRUPT, file->name, "data",
                          "tensors cover %" PRIu64 " bytes, the file has %" PRIu64, end,
                          data_bytes);
    return ASSAY_OK;
}

/* Addresses. Files with a header that is not padded to the element size are legal but cannot be
 * used in place. */
static assay_status place_entries(const struct safetensors_file *file, size_t header_bytes,
                                  struct safetensors_entry *entries, int64_t num_entries,
                                  struct assay_error *error)
{
    size_t base = LENGTH_BYTES + header_bytes;

    for (int64_t i = 0; i < num_entries; i++) {
        struct safetensors_entry *entry = &entries[i];
        size_t element = assay_dtype_bytes(entry->format);
        if (entry->bytes == 0)
            continue;
        if (element > 1 && (base + entry->begin) % element != 0)
            return assay_fail(error, ASSAY_E_UNSUPPORTED, file->name, entry->name,
                              "data starts at byte %" PRIu64
                              " of the file, not a multiple of the %zu bytes of %s; save the file "
                              "with a current safetensors library",
                              base + entry->begin, element, entry->dtype);
        entry->data = file->map.data + base + entry->begin;
    }
    return ASSAY_OK;
}

static assay_status read_header(struct safetensors_file *file, int index, size_t header_bytes,
                                json_t *header, struct safetensors_set *set,
                                struct assay_error *error)
{
    uint64_t data_bytes = file->map.bytes - LENGTH_BYTES - header_bytes;
    int64_t first = set->num_entries;
    size_t room = (size_t)first + json_object_size(header);

    struct safetensors_entry *entries = assay_resize(set->entries, room, sizeof *entries);
    if (entries != NULL)
        set->entries = entries;
    /* Each name stands in the header between two quotes, so the names and their zeros fit. */
    file->names = assay_alloc(header_bytes);
    if (entries == NULL || file->names == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, file->name, "", "no memory for %zu tensors",
                          json_object_size(header));
    ASSAY_TRY(read_entries(file, index, header, data_bytes, set, error));
    int64_t count = set->num_entries - first;
    ASSAY_TRY(check_cover(file, set->entries + first, count, data_bytes, error));
    return place_entries(file, header_bytes, set->entries + first, count, error);
}

assay_status assay_safetensors_add_file(const char *dir, const char *name,
                                        struct safetensors_set *set, struct assay_error *error)
{
    size_t header_bytes = 0;
    json_t *header = NULL;

    struct safetensors_file *files =
        assay_resize(set->files, (size_t)set->num_files + 1, sizeof *files);
    if (files == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, name, "", "no memory for the list of files");
    set->files = files;
    struct safetensors_file *file = &files[set->num_files];
    *file = (struct safetensors_file){.name = assay_duplicate(name)};
    if (file->name == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, name, "", "no memory for the file's name");
    int index = set->num_files++;

    ASSAY_TRY(assay_input_open(dir, name, &file->map, error));
    ASSAY_TRY(header_length(file, &header_bytes, error));
    ASSAY_TRY(assay_input_parse(name, "header", file->map.data + LENGTH_BYTES, header_bytes,
                                ASSAY_E_CORRUPT, &header, error));
    assay_status status = read_header(file, index, header_bytes, header, set, error);
    json_decref(header);
    return status;
}

static int compare_name(const void *left, const void *right)
{
    const struct safetensors_entry *a = left, *b = right;

    return strcmp(a->name, b->name);
}

void assay_safetensors_sort(struct safetensors_set *set)
{
    if (set->num_entries > 0)
        qsort(set->entries, (size_t)set->num_entries, sizeof *set->entries, compare_name);
}

int64_t assay_safetensors_lower_bound(const struct safetensors_set *set, const char *name)
{
    int64_t low = 0, high = set->num_entries;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (strcmp(set->entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t assay_safetensors_find(const struct safetensors_set *set, const char *name)
{
    int64_t index = assay_safetensors_lower_bound(set, name);

    if (index < set->num_entries && strcmp(set->entries[index].name, name) == 0)
        return index;
    return -1;
}

static assay_status open_files(const char *dir, struct safetensors_set *set,
                               struct assay_error *error)
{
    struct assay_map map;
    bool present;

    ASSAY_TRY(assay_input_open_optional(dir, SAFETENSORS_SINGLE, &map, &present, error));
    if (present) {
        assay_map_close(&map);
        ASSAY_TRY(assay_safetensors_add_file(dir, SAFETENSORS_SINGLE, set, error));
        assay_safetensors_sort(set);
        return ASSAY_OK;
    }
    ASSAY_TRY(assay_input_open_optional(dir, SAFETENSORS_INDEX, &map, &present, error));
    if (!present)
        return assay_fail(error, ASSAY_E_NOT_FOUND, SAFETENSORS_SINGLE, "",
                          "the folder has neither this file nor %s; expected a model folder as "
                          "transformers saves it (%s)",
                          SAFETENSORS_INDEX, dir);
    assay_status status = assay_safetensors_add_index(dir, &map, set, error);
    assay_map_close(&map);
    return status;
}

assay_status assay_safetensors_open(const char *dir, struct safetensors_set *set,
                                    struct assay_error *error)
{
    *set = (struct safetensors_set){NULL, 0, NULL, 0};
    assay_status status = open_files(dir, set, error);
    if (status != ASSAY_OK)
        assay_safetensors_close(set);
    return status;
}

void assay_safetensors_close(struct safetensors_set *set)
{
    for (int i = 0; i < set->num_files; i++) {
        assay_map_close(&set->files[i].map);
        assay_free(set->files[i].names);
        assay_free(set->files[i].name);
    }
    assay_free(set->files);
    assay_free(set->entries);
    *set = (struct safetensors_set){NULL, 0, NULL, 0};
}
