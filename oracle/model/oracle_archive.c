/* SPDX-License-Identifier: MIT
 *
 * safetensors: u64 little-endian length of a JSON header, the header, the data. The header maps a
 * name to {"dtype", "shape", "data_offsets": [begin, end)} with offsets from the end of the header.
 */
#include "oracle_archive.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "decode/words.h"
#include "oracle_model_private.h"

#define MAX_FILES           256
#define HEADER_LENGTH_BYTES 8
#define MAX_HEADER_BYTES    (100u << 20)

struct mapped_file {
    unsigned char *bytes;
    size_t size;
    size_t data_start; /* offset of the tensor data in bytes */
    json_t *header;
    char *path;
};

struct oracle_archive {
    int num_files;
    struct mapped_file file[MAX_FILES];
};

assay_status oracle_model_fail(assay_status status, char *message, size_t size, const char *format,
                               ...)
{
    if (message != NULL && size > 0) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(message, size, format, arguments);
        va_end(arguments);
    }
    return status;
}

static assay_status map_file(struct mapped_file *file, const char *path, char *message, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return oracle_model_fail(ASSAY_E_NOT_FOUND, message, size, "%s: cannot open", path);
    struct stat status;
    void *bytes = MAP_FAILED;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (bytes == MAP_FAILED)
        return oracle_model_fail(ASSAY_E_IO, message, size, "%s: cannot map (empty or no file?)",
                                 path);
    file->bytes = bytes;
    file->size = (size_t)status.st_size;
    file->path = strdup(path);
    return file->path != NULL ? ASSAY_OK
                              : oracle_model_fail(ASSAY_E_MEMORY, message, size, "out of memory");
}

static assay_status read_header(struct mapped_file *file, char *message, size_t size)
{
    if (file->size < HEADER_LENGTH_BYTES)
        return oracle_model_fail(ASSAY_E_CORRUPT, message, size,
                                 "%s: %zu bytes, too short for a header length", file->path,
                                 file->size);
    uint64_t length = 0;
    for (int i = HEADER_LENGTH_BYTES - 1; i >= 0; i--)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): map_file succeeded before */
        length = length << 8 | file->bytes[i];
    if (length > MAX_HEADER_BYTES || length > file->size - HEADER_LENGTH_BYTES)
        return oracle_model_fail(ASSAY_E_CORRUPT, message, size,
                                 "%s: header of %llu bytes in a file of %zu", file->path,
                                 (unsigned long long)length, file->size);
    json_error_t error;
    file->header = json_loadb((const char *)file->bytes + HEADER_LENGTH_BYTES, (size_t)length,
                              JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(file->header))
        return oracle_model_fail(ASSAY_E_PARSE, message, size, "%s: header: %s", file->path,
                                 file->header == NULL ? error.text : "not an object");
    file->data_start = HEADER_LENGTH_BYTES + (size_t)length;
    return ASSAY_OK;
}

static assay_status add_file(struct oracle_archive *archive, const char *path, char *message,
                             size_t size)
{
    if (archive->num_files == MAX_FILES)
        return oracle_model_fail(ASSAY_E_FULL, message, size, "%s: more than %d files", path,
                                 MAX_FILES);
    struct mapped_file *file = &archive->file[archive->num_files];
    assay_status status = map_file(file, path, message, size);
    if (file->bytes != NULL)
        archive->num_files++; /* from here on close() releases it */
    return status != ASSAY_OK ? status : read_header(file, message, size);
}

static assay_status finish_open(struct oracle_archive *opened, assay_status status,
                                struct oracle_archive **archive)
{
    if (status != ASSAY_OK) {
        oracle_archive_close(opened);
        opened = NULL;
    }
    *archive = opened;
    return status;
}

assay_status oracle_archive_open(const char *path, struct oracle_archive **archive, char *message,
                                 size_t size)
{
    *archive = NULL;
    struct oracle_archive *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return oracle_model_fail(ASSAY_E_MEMORY, message, size, "out of memory");
    return finish_open(opened, add_file(opened, path, message, size), archive);
}

static bool holds_path(const struct oracle_archive *archive, const char *path)
{
    for (int i = 0; i < archive->num_files; i++)
        if (strcmp(archive->file[i].path, path) == 0)
            return true;
    return false;
}

static assay_status add_indexed(struct oracle_archive *archive, const char *dir, const json_t *map,
                                char *message, size_t size)
{
    if (!json_is_object(map))
        return oracle_model_fail(ASSAY_E_PARSE, message, size,
                                 "%s/model.safetensors.index.json: no object weight_map", dir);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)map, name, value)
    {
        const char *file = json_string_value(value);
        if (file == NULL || strchr(file, '/') != NULL)
            return oracle_model_fail(ASSAY_E_CORRUPT, message, size,
                                     "%s/model.safetensors.index.json: %s: not a file name", dir,
                                     name);
        char path[ORACLE_PATH_SIZE];
        if (!oracle_model_path(path, dir, file))
            return oracle_model_fail(ASSAY_E_ARG, message, size, "%s: path too long", dir);
        if (holds_path(archive, path))
            continue;
        assay_status status = add_file(archive, path, message, size);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

bool oracle_model_path(char path[ORACLE_PATH_SIZE], const char *dir, const char *file)
{
    int length = snprintf(path, ORACLE_PATH_SIZE, "%s/%s", dir, file);
    return length > 0 && length < ORACLE_PATH_SIZE;
}

assay_status oracle_archive_open_model(const char *dir, struct oracle_archive **archive,
                                       char *message, size_t size)
{
    *archive = NULL;
    char path[ORACLE_PATH_SIZE];
    if (!oracle_model_path(path, dir, "model.safetensors"))
        return oracle_model_fail(ASSAY_E_ARG, message, size, "%s: path too long", dir);
    if (access(path, F_OK) == 0)
        return oracle_archive_open(path, archive, message, size);

    (void)oracle_model_path(path, dir, "model.safetensors.index.json");
    json_error_t error;
    json_t *index = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (index == NULL)
        return oracle_model_fail(ASSAY_E_NOT_FOUND, message, size,
                                 "%s: no model.safetensors, and its index: %s", dir, error.text);
    struct oracle_archive *opened = calloc(1, sizeof *opened);
    assay_status status =
        opened == NULL
            ? oracle_model_fail(ASSAY_E_MEMORY, message, size, "out of memory")
            : add_indexed(opened, dir, json_object_get(index, "weight_map"), message, size);
    json_decref(index);
    return finish_open(opened, status, archive);
}

void oracle_archive_close(struct oracle_archive *archive)
{
    if (archive == NULL)
        return;
    for (int i = 0; i < archive->num_files; i++) {
        struct mapped_file *file = &archive->file[i];
        json_decref(file->header);
        (void)munmap(file->bytes, file->size);
        free(file->path);
    }
    free(archive);
}

static int dtype_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        int bytes;
    } table[] = {{"BF16", 2}, {"F16", 2}, {"F32", 4}, {"F64", 8}, {"I32", 4}, {"I64", 8}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(dtype, table[i].name) == 0)
            return table[i].bytes;
    return 0;
}

/* False when the shape is not a list of at most 4 extents whose product fits the file. */
static bool read_shape(const json_t *shape, struct oracle_stored *stored, size_t file_size)
{
    if (!json_is_array(shape) || json_array_size(shape) > ORACLE_ARCHIVE_MAX_RANK)
        return false;
    stored->rank = (int)json_array_size(shape);
    stored->count = 1;
    for (int i = 0; i < ORACLE_ARCHIVE_MAX_RANK; i++)
        stored->extent[i] = 1;
    for (int i = 0; i < stored->rank; i++) {
        const json_t *extent = json_array_get(shape, (size_t)i);
        stored->extent[i] = json_integer_value(extent);
        if (!json_is_integer(extent) || stored->extent[i] <= 0 ||
            stored->extent[i] > (int64_t)file_size / stored->count)
            return false;
        stored->count *= stored->extent[i];
    }
    return true;
}

static assay_status read_entry(const struct mapped_file *file, const char *name,
                               const json_t *entry, struct oracle_stored *stored, char *message,
                               size_t size)
{
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    int width = dtype != NULL ? dtype_bytes(dtype) : 0;
    if (width == 0)
        return oracle_model_fail(ASSAY_E_UNSUPPORTED, message, size, "%s: %s: dtype %s", file->path,
                                 name, dtype != NULL ? dtype : "missing");
    (void)snprintf(stored->dtype, sizeof stored->dtype, "%s", dtype);
    if (!read_shape(json_object_get(entry, "shape"), stored, file->size))
        return oracle_model_fail(ASSAY_E_CORRUPT, message, size, "%s: %s: shape", file->path, name);

    const json_t *offsets = json_object_get(entry, "data_offsets");
    json_int_t begin = json_integer_value(json_array_get(offsets, 0));
    json_int_t end = json_integer_value(json_array_get(offsets, 1));
    json_int_t data_size = (json_int_t)(file->size - file->data_start);
    if (json_array_size(offsets) != 2 || begin < 0 || end < begin || end > data_size ||
        end - begin != stored->count * width)
        return oracle_model_fail(ASSAY_E_CORRUPT, message, size,
                                 "%s: %s: data_offsets [%lld, %lld), expected %lld bytes within "
                                 "%lld",
                                 file->path, name, (long long)begin, (long long)end,
                                 (long long)(stored->count * width), (long long)data_size);
    stored->bytes = file->bytes + file->data_start + begin;
    return ASSAY_OK;
}

assay_status oracle_archive_find(const struct oracle_archive *archive, const char *name,
                                 struct oracle_stored *stored, char *message, size_t size)
{
    for (int i = 0; i < archive->num_files; i++) {
        const json_t *entry = json_object_get(archive->file[i].header, name);
        if (entry != NULL)
            return read_entry(&archive->file[i], name, entry, stored, message, size);
    }
    return oracle_model_fail(ASSAY_E_NOT_FOUND, message, size, "%s: no tensor %s",
                             archive->num_files > 0 ? archive->file[0].path : "archive", name);
}

static uint64_t little_endian(const unsigned char *bytes, int width)
{
    uint64_t word = 0;
    for (int i = width - 1; i >= 0; i--)
        word = word << 8 | bytes[i];
    return word;
}

static double widen(const char *dtype, const unsigned char *bytes)
{
    if (strcmp(dtype, "BF16") == 0)
        return oracle_bf16_value((uint16_t)little_endian(bytes, 2));
    if (strcmp(dtype, "F16") == 0)
        return oracle_f16_value((uint16_t)little_endian(bytes, 2));
    if (strcmp(dtype, "I64") == 0)
        return (double)(int64_t)little_endian(bytes, 8);
    if (strcmp(dtype, "F64") == 0) {
        uint64_t word = little_endian(bytes, 8);
        double value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    uint32_t word = (uint32_t)little_endian(bytes, 4);
    if (strcmp(dtype, "I32") == 0)
        return (double)(int32_t)word;
    float value;
    memcpy(&value, &word, sizeof value);
    return (double)value;
}

assay_status oracle_archive_read(const struct oracle_archive *archive, const char *name,
                                 double **values, int64_t *count, char *message, size_t size)
{
    struct oracle_stored stored = {0};
    *values = NULL;
    *count = 0;
    assay_status status = oracle_archive_find(archive, name, &stored, message, size);
    if (status != ASSAY_OK)
        return status;
    double *wide = oracle_model_alloc(stored.count);
    if (wide == NULL)
        return oracle_model_fail(ASSAY_E_MEMORY, message, size, "%s: out of memory", name);
    int width = dtype_bytes(stored.dtype);
    for (int64_t i = 0; i < stored.count; i++)
        wide[i] = widen(stored.dtype, stored.bytes + i * width);
    *values = wide;
    *count = stored.count;
    return ASSAY_OK;
}
