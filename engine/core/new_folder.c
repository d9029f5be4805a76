/* SPDX-License-Identifier: MIT
 *
 * New folders, complete or not at all: see new_folder.h.
 */
#include "core/new_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What was opened as NAME/ is meant as NAME. */
static void cut_slashes(char *path)
{
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--)
        path[length - 1] = '\0';
}

static assay_status create(struct assay_new_folder *folder, struct assay_error *error)
{
    const size_t bytes = strlen(folder->path) + sizeof ".XXXXXX";
    char *name = assay_alloc(bytes);

    if (name == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, folder->path, "", "no memory for its name");
    snprintf(name, bytes, "%s.XXXXXX", folder->path);
    errno = EIO;
    if (assay_fault_now() || mkdtemp(name) == NULL) {
        const int cause = errno;
        assay_free(name);
        return assay_fail(error, ASSAY_E_IO, folder->path, "", "cannot be created: %s",
                          strerror(cause));
    }
    const mode_t mask = umask(0);
    umask(mask);
    (void)chmod(name, 0777 & ~mask);
    folder->temporary = name;
    return ASSAY_OK;
}

assay_status assay_new_folder_open(const char *path, struct assay_new_folder *folder,
                                   struct assay_error *error)
{
    struct stat info;

    *folder = (struct assay_new_folder){.path = assay_duplicate(path)};
    if (folder->path == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, path, "", "no memory for the folder's name");
    cut_slashes(folder->path);
    assay_status status = ASSAY_OK;
    if (lstat(folder->path, &info) == 0)
        status = assay_fail(error, ASSAY_E_IO, path, "",
                            "is there already; remove it or choose another name");
    if (status == ASSAY_OK)
        status = create(folder, error);
    if (status != ASSAY_OK)
        assay_new_folder_abort(folder);
    return status;
}

/* The entries of a folder are on disk after this. */
static bool sync_folder(const char *path)
{
    const int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    const bool synced = fsync(descriptor) == 0;
    close(descriptor);
    return synced;
}

/* The folder is complete; a power cut before this can only make it vanish as a whole. `path` is
 * cut. */
static void sync_parent(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash != NULL)
        slash[slash == path] = '\0'; /* the parent of /NAME is / */
    (void)sync_folder(slash == NULL ? "." : path);
}

assay_status assay_new_folder_commit(struct assay_new_folder *folder, struct assay_error *error)
{
    assay_status status = ASSAY_OK;

    errno = EIO;
    /* rename refuses a target that is a file or has files in it. */
    if (assay_fault_now() || !sync_folder(folder->temporary) ||
        rename(folder->temporary, folder->path) != 0) {
        status = assay_fail(error, ASSAY_E_IO, folder->path, "", "cannot be written: %s",
                            strerror(errno));
    } else {
        assay_free(folder->temporary);
        folder->temporary = NULL;
        sync_parent(folder->path);
    }
    assay_new_folder_abort(folder);
    return status;
}

static void remove_files(const char *path)
{
    DIR *stream = opendir(path);

    if (stream == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        (void)unlinkat(dirfd(stream), entry->d_name, 0); /* fails for . and .. */
    closedir(stream);
}

void assay_new_folder_abort(struct assay_new_folder *folder)
{
    if (folder->temporary != NULL) {
        remove_files(folder->temporary);
        (void)rmdir(folder->temporary);
    }
    assay_free(folder->temporary);
    assay_free(folder->path);
    *folder = (struct assay_new_folder){NULL, NULL};
}

assay_status assay_write_at(int descriptor, const char *name, const void *bytes, size_t count,
                            uint64_t offset, struct assay_error *error)
{
    const uint8_t *from = bytes;

    while (count > 0) {
        errno = EIO;
        const ssize_t written =
            assay_fault_now() ? -1 : pwrite(descriptor, from, count, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return assay_fail(error, ASSAY_E_IO, name, "", "cannot be written at byte %llu: %s",
                              (unsigned long long)offset,
                              written < 0 ? strerror(errno) : "no progress");
        from += written;
        count -= (size_t)written;
        offset += (uint64_t)written;
    }
    return ASSAY_OK;
}

assay_status assay_reserve(int descriptor, const char *name, uint64_t bytes,
                           struct assay_error *error)
{
    int failed;

    if (bytes == 0)
        return ASSAY_OK;
    do {
        errno = EIO;
        failed = assay_fault_now() ? -1 : fallocate(descriptor, 0, 0, (off_t)bytes);
    } while (failed != 0 && errno == EINTR);
    if (failed == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
        return ASSAY_OK;
    return assay_fail(error, ASSAY_E_IO, name, "", "there is no room for its %llu bytes: %s",
                      (unsigned long long)bytes, strerror(errno));
}
