/* SPDX-License-Identifier: MIT
 *
 * Mapping a file of a model folder: see input_file.h.
 */
#include "artifact/input_file.h"

#include <string.h>
#include <sys/stat.h>

bool assay_input_is_file(const char *path)
{
    static const char suffix[] = ".gguf";
    const size_t length = strlen(path);
    struct stat info;

    if (stat(path, &info) == 0)
        return !S_ISDIR(info.st_mode);
    return length > strlen(suffix) && strcmp(path + length - strlen(suffix), suffix) == 0;
}

char *assay_input_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!assay_input_is_file(path))
        return assay_duplicate(path);
    char *folder = assay_duplicate(slash == NULL ? "." : path);
    /* "/model.gguf" lies in "/". */
    if (folder != NULL && slash != NULL)
        folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

static assay_status map_file(const char *dir, const char *name, struct assay_map *map,
                             struct assay_error *detail)
{
    assay_error_clear(detail);
    char *path = assay_path_join(dir, name);
    if (path == NULL)
        return assay_fail(detail, ASSAY_E_MEMORY, name, "", "no memory for the file's path");
    assay_status status = assay_map_open(path, map, detail);
    assay_free(path);
    return status;
}

static assay_status report(const char *dir, const char *name, const struct assay_error *detail,
                           struct assay_error *error)
{
    return assay_fail(error, detail->status, name, "", "%s (in %s)", detail->message, dir);
}

assay_status assay_input_open(const char *dir, const char *name, struct assay_map *map,
                              struct assay_error *error)
{
    struct assay_error detail;

    *map = (struct assay_map){NULL, 0};
    if (map_file(dir, name, map, &detail) != ASSAY_OK)
        return report(dir, name, &detail, error);
    return ASSAY_OK;
}

assay_status assay_input_open_optional(const char *dir, const char *name, struct assay_map *map,
                                       bool *present, struct assay_error *error)
{
    struct assay_error detail;

    *map = (struct assay_map){NULL, 0};
    assay_status status = map_file(dir, name, map, &detail);
    *present = status == ASSAY_OK;
    if (status != ASSAY_OK && status != ASSAY_E_NOT_FOUND)
        return report(dir, name, &detail, error);
    return ASSAY_OK;
}

assay_status assay_input_parse(const char *name, const char *part, const void *text, size_t bytes,
                               assay_status status, json_t **object, struct assay_error *error)
{
    /* The largest real header known (a shard with 30,000 expert tensors) has 4 MiB and 400,000
     * values; a tree stays below 128 MiB. */
    static const struct json_limits limits = {
        .bytes = (size_t)16 << 20, .values = (size_t)1 << 20, .depth = 32};
    return assay_json_parse_object(name, part, text, bytes, &limits, status, object, error);
}
