/* SPDX-License-Identifier: MIT
 *
 * A file of a model folder, mapped, private to the engine.
 */
#ifndef ASSAY_ARTIFACT_INPUT_FILE_H
#define ASSAY_ARTIFACT_INPUT_FILE_H

#include "core/core.h"

/* Maps DIR/NAME. The error record's `where` is NAME, so that it says which file of the model is at
 * fault however long the folder's path is; the message has the path and the system's reason. */
ASSAY_MUST_USE assay_status assay_input_open(const char *dir, const char *name,
                                             struct assay_map *map, struct assay_error *error);

/* As above; *map is empty and *present false when the file does not exist. */
ASSAY_MUST_USE assay_status assay_input_open_optional(const char *dir, const char *name,
                                                      struct assay_map *map, bool *present,
                                                      struct assay_error *error);

#endif
