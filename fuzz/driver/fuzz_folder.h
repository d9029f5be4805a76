/* SPDX-License-Identifier: MIT
 *
 * What fuzz targets share that read files: a folder of their own, made once and emptied at exit,
 * and how they say what they found.
 */
#ifndef FUZZ_FOLDER_H
#define FUZZ_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

/* Prints the reason and aborts: what a fuzzer takes for a crash. */
_Noreturn void fuzz_fail(const char *reason);
/* A folder for this process. */
const char *fuzz_folder(void);
/* Writes the file `name` in it, over what was there. */
void fuzz_folder_write(const char *name, const void *bytes, size_t size);
/* Removes it, if it is there. */
void fuzz_folder_remove(const char *name);
/* The path of a file of the source tree, or of the folder that ASSAY_FUZZ_DATA names: what a target
 * needs beside its input. In a buffer that the next call overwrites. */
const char *fuzz_data(const char *name);
/* A refusal must say why, a success nothing; neither is an internal error. */
void fuzz_check_record(assay_status status, const struct assay_error *error);

#endif
