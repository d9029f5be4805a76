/* SPDX-License-Identifier: MIT
 *
 * Writing .assay folders: see assay_writer.h.
 */
#include "artifact/assay/assay_writer.h"

#include <string.h>

#include "artifact/input_file.h"

enum { DIGEST_BYTES = 32 };

static assay_status open_file(const struct assay_writer *writer, const char *name,
                              struct assay_new_file *file, struct assay_error *error)
{
    char *path = assay_path_join(writer->folder.temporary, name);

    if (path == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, name, "", "no memory for the file's path");
    const assay_status status = assay_new_file_open(path, file, error);
    assay_free(path);
    return status;
}

assay_status assay_writer_open(const char *path, uint64_t payload_bytes,
                               struct assay_writer *writer, struct assay_error *error)
{
    memset(writer, 0, sizeof *writer);
    if (sodium_init() < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, "assay_writer_open", "libsodium",
                          "cannot be initialised");
    ASSAY_TRY(assay_new_folder_open(path, &writer->folder, error));
    assay_status status = open_file(writer, ASSAY_FILE_PAYLOAD, &writer->payload, error);
    if (status == ASSAY_OK)
        status =
            assay_reserve(fileno(writer->payload.stream), ASSAY_FILE_PAYLOAD, payload_bytes, error);
    if (status != ASSAY_OK)
        assay_writer_abort(writer);
    return status;
}

void assay_writer_begin(struct assay_writer *writer, const struct assay_file_object *object)
{
    writer->object = object;
    writer->row = 0;
    for (int i = 0; i < ASSAY_FILE_PLANES; i++)
        crypto_generichash_init(&writer->digests[i], NULL, 0, DIGEST_BYTES);
}

assay_status assay_writer_rows(struct assay_writer *writer, int64_t count,
                               const void *const planes[ASSAY_FILE_PLANES],
                               struct assay_error *error)
{
    const struct assay_file_object *object = writer->object;

    for (int i = 0; i < ASSAY_FILE_PLANES; i++) {
        const uint64_t row_bytes = object->bytes[i] / (uint64_t)object->rows;
        const size_t bytes = (size_t)(row_bytes * (uint64_t)count);
        if (bytes == 0)
            continue;
        ASSAY_TRY(assay_write_at(fileno(writer->payload.stream), ASSAY_FILE_PAYLOAD, planes[i],
                                 bytes, object->offset[i] + row_bytes * (uint64_t)writer->row,
                                 error));
        crypto_generichash_update(&writer->digests[i], planes[i], bytes);
    }
    writer->row += count;
    return ASSAY_OK;
}

json_t *assay_writer_end(struct assay_writer *writer)
{
    json_t *planes = json_object();
    bool complete = planes != NULL;

    for (int i = 0; i < ASSAY_FILE_PLANES; i++) {
        unsigned char digest[DIGEST_BYTES];
        char text[2 * DIGEST_BYTES + 1];
        if (writer->object->bytes[i] == 0)
            continue;
        crypto_generichash_final(&writer->digests[i], digest, sizeof digest);
        sodium_bin2hex(text, sizeof text, digest, sizeof digest);
        json_t *plane =
            json_pack("{s:I, s:I, s:s}", "offset", (json_int_t)writer->object->offset[i], "bytes",
                      (json_int_t)writer->object->bytes[i], "blake2b", text);
        if (!complete || json_object_set(planes, assay_file_plane_names[i], plane) != 0)
            complete = false;
        json_decref(plane);
    }
    if (complete)
        return planes;
    json_decref(planes);
    return NULL;
}

static assay_status write_file(const struct assay_writer *writer, const char *name,
                               const void *bytes, size_t count, struct assay_error *error)
{
    struct assay_new_file file;

    ASSAY_TRY(open_file(writer, name, &file, error));
    /* A failed write leaves the stream's error flag, which commit reports. */
    (void)fwrite(bytes, 1, count, file.stream);
    return assay_new_file_commit(&file, error);
}

assay_status assay_writer_copy(struct assay_writer *writer, const char *dir, const char *name,
                               struct assay_error *error)
{
    struct assay_map map;
    bool present = false;

    ASSAY_TRY(assay_input_open_optional(dir, name, &map, &present, error));
    if (!present)
        return ASSAY_OK;
    const assay_status status = write_file(writer, name, map.data, map.bytes, error);
    assay_map_close(&map);
    return status;
}

/* The text is read back: jansson drops a number and goes on when it lacks memory in the middle of
 * it, and what is written must be what the reader's limits take. */
static assay_status check_text(const char *text, const json_t *directory, struct assay_error *error)
{
    json_t *again = NULL;

    ASSAY_TRY(assay_input_parse(ASSAY_FILE_DIRECTORY, "JSON", text, strlen(text), ASSAY_E_MEMORY,
                                &again, error));
    const bool same = json_equal(again, directory) != 0;
    json_decref(again);
    return same ? ASSAY_OK
                : assay_fail(error, ASSAY_E_MEMORY, ASSAY_FILE_DIRECTORY, "",
                             "no memory to write all of it");
}

static assay_status write_directory(const struct assay_writer *writer, const json_t *directory,
                                    struct assay_error *error)
{
    char *text = json_dumps(directory, JSON_INDENT(1));
    json_free_t free_text;

    if (text == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, ASSAY_FILE_DIRECTORY, "", "no memory for it");
    assay_status status = check_text(text, directory, error);
    if (status == ASSAY_OK)
        status = write_file(writer, ASSAY_FILE_DIRECTORY, text, strlen(text), error);
    json_get_alloc_funcs(NULL, &free_text);
    free_text(text);
    return status;
}

assay_status assay_writer_commit(struct assay_writer *writer, const json_t *directory,
                                 struct assay_error *error)
{
    assay_status status = write_directory(writer, directory, error);

    if (status == ASSAY_OK)
        status = assay_new_file_commit(&writer->payload, error);
    if (status == ASSAY_OK)
        status = assay_new_folder_commit(&writer->folder, error);
    if (status != ASSAY_OK)
        assay_writer_abort(writer);
    return status;
}

void assay_writer_abort(struct assay_writer *writer)
{
    if (writer->payload.path != NULL)
        assay_new_file_abort(&writer->payload);
    if (writer->folder.path != NULL)
        assay_new_folder_abort(&writer->folder);
}
