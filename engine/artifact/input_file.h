/* SPDX-License-Identifier: MIT
 *
 * A file of a model folder, mapped, and its JSON, private to the engine.
 */
#ifndef ASSAY_ARTIFACT_INPUT_FILE_H
#define ASSAY_ARTIFACT_INPUT_FILE_H

#include "core/core.h"
#include "core/json_input.h"

/* A model is a folder, or a .gguf file with its other files beside it: true for what is no folder,
 * and for a name of that kind that does not exist. */
bool assay_input_is_file(const char *path);
/* The folder of a model at `path`, in allocated memory; NULL: no memory. */
char *assay_input_folder(const char *path);

/* Maps DIR/NAME. The error record's `where` is NAME, so that it says which file of the model is at
 * fault however long the folder's path is; the message has the path and the system's reason. */
ASSAY_MUST_USE assay_status assay_input_open(const char *dir, const char *name,
                                             struct assay_map *map, struct assay_error *error);

/* As above; *map is empty and *present false when the file does not exist. */
ASSAY_MUST_USE assay_status assay_input_open_optional(const char *dir, const char *name,
                                                      struct assay_map *map, bool *present,
                                                      struct assay_error *error);

/* assay_json_parse_object (core/json_input.h) within the limits of configurations and of headers
 * and indices of weights. */
ASSAY_MUST_USE assay_status assay_input_parse(const char *name, const char *part, const void *text,
                                              size_t bytes, assay_status status, json_t **object,
                                              struct assay_error *error);

#endif
