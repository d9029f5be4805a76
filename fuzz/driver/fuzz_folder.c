/* SPDX-License-Identifier: MIT
 *
 * A fuzz target's folder: see fuzz_folder.h.
 */
#include "fuzz_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[4096];

void fuzz_fail(const char *reason)
{
    fprintf(stderr, "%s\n", reason);
    abort();
}

static void remove_folder(void)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries != NULL)
        closedir(entries);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    if (folder[0] != '\0')
        return folder;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/assay-fuzz-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(folder) == NULL)
        fuzz_fail("no temporary folder");
    atexit(remove_folder);
    return folder;
}

void fuzz_folder_write(const char *name, const void *bytes, size_t size)
{
    char path[sizeof folder + 256];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || (size > 0 && fwrite(bytes, 1, size, file) != size) || fclose(file) != 0)
        fuzz_fail("the input cannot be written to a temporary file");
}

void fuzz_folder_remove(const char *name)
{
    char path[sizeof folder + 256];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    unlink(path);
}

const char *fuzz_data(const char *name)
{
    static char path[4096];
    const char *given = getenv("ASSAY_FUZZ_DATA");
    snprintf(path, sizeof path, "%s/%s", given != NULL ? given : ASSAY_SOURCE_DIR, name);
    return path;
}

void fuzz_check_record(assay_status status, const struct assay_error *error)
{
    if (status == ASSAY_E_INTERNAL)
        fuzz_fail("an internal error");
    if (status != error->status)
        fuzz_fail("status and record contradict each other");
    if (status != ASSAY_OK && (error->where[0] == '\0' || error->message[0] == '\0'))
        fuzz_fail("refused without a reason");
}
