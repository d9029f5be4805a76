/* SPDX-License-Identifier: MIT
 *
 * A folder that appears under its name only when complete, private to the engine: its files are
 * written to a temporary folder beside it, which commit flushes to disk and renames.
 */
#ifndef ASSAY_CORE_NEW_FOLDER_H
#define ASSAY_CORE_NEW_FOLDER_H

#include "core/core.h"

struct assay_new_folder {
    char *path;
    char *temporary; /* write files here */
};

/* ASSAY_E_IO: something of this name is there already, or the folder cannot be created. */
ASSAY_MUST_USE assay_status assay_new_folder_open(const char *path, struct assay_new_folder *folder,
                                                  struct assay_error *error);
/* Its files must be closed, and on disk. On failure nothing is left behind. */
ASSAY_MUST_USE assay_status assay_new_folder_commit(struct assay_new_folder *folder,
                                                    struct assay_error *error);
/* Removes the temporary folder and its files. Does nothing after a commit. */
void assay_new_folder_abort(struct assay_new_folder *folder);

/* Writes all bytes at an offset of a file descriptor; `name` is for the error. */
ASSAY_MUST_USE assay_status assay_write_at(int descriptor, const char *name, const void *bytes,
                                           size_t count, uint64_t offset,
                                           struct assay_error *error);
/* Reserves room for a file, so that a full disk is found before the work and not after it. Fine
 * where the file system cannot tell. */
ASSAY_MUST_USE assay_status assay_reserve(int descriptor, const char *name, uint64_t bytes,
                                          struct assay_error *error);

#endif
