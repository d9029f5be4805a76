/* SPDX-License-Identifier: MIT
 *
 * File access: read-only mappings, and new files that appear complete or not at all.
 */
#include "core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char *assay_path_join(const char *dir, const char *name)
{
    size_t bytes = strlen(dir) + strlen(name) + 2;
    char *path = assay_alloc(bytes);
    if (path != NULL)
        snprintf(path, bytes, "%s/%s", dir, name);
    return path;
}

static assay_status map_descriptor(int descriptor, const char *path, struct assay_map *map,
                                   struct assay_error *error)
{
    struct stat info;
    if (assay_fault_now() || fstat(descriptor, &info) != 0)
        return assay_fail(error, ASSAY_E_IO, path, "", "cannot be examined: %s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return assay_fail(error, ASSAY_E_IO, path, "", "is not a regular file");
    map->bytes = (size_t)info.st_size;
    if (map->bytes == 0)
        return ASSAY_OK;
    void *data = MAP_FAILED;
    if (!assay_fault_now())
        data = mmap(NULL, map->bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
        map->bytes = 0;
        return assay_fail(error, ASSAY_E_MEMORY, path, "", "cannot be mapped (%lld bytes)",
                          (long long)info.st_size);
    }
    map->data = data;
    return ASSAY_OK;
}

assay_status assay_map_open(const char *path, struct assay_map *map, struct assay_error *error)
{
    *map = (struct assay_map){NULL, 0};
    int descriptor = -1;
    errno = EIO;
    if (!assay_fault_now())
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (descriptor < 0) {
        bool missing = errno == ENOENT || errno == ENOTDIR;
        return assay_fail(error, missing ? ASSAY_E_NOT_FOUND : ASSAY_E_IO, path, "",
                          "cannot be opened: %s", strerror(errno));
    }
    assay_status status = map_descriptor(descriptor, path, map, error);
    close(descriptor);
    return status;
}

void assay_map_close(struct assay_map *map)
{
    if (map->data != NULL)
        munmap((void *)(uintptr_t)map->data, map->bytes);
    *map = (struct assay_map){NULL, 0};
}

void assay_map_drop(const void *data, size_t bytes)
{
#if defined(MADV_PAGEOUT)
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)data + page - 1) / page * page;
    const uintptr_t last = ((uintptr_t)data + bytes) / page * page;
    if (last > first)
        (void)madvise((void *)first, last - first, MADV_PAGEOUT);
#else
    (void)data;
    (void)bytes;
#endif
}

/* A device, pipe or terminal must not be replaced by a regular file: it is written in place. */
static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

static assay_status open_special(const char *path, struct assay_new_file *file,
                                 struct assay_error *error)
{
    file->path = assay_duplicate(path);
    if (file->path == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, path, "", "no memory for the file's name");
    errno = EIO;
    if (!assay_fault_now())
        file->stream = fopen(path, "we");
    if (file->stream != NULL)
        return ASSAY_OK;
    int cause = errno;
    assay_new_file_abort(file);
    return assay_fail(error, ASSAY_E_IO, path, "", "cannot be opened: %s", strerror(cause));
}

assay_status assay_new_file_open(const char *path, struct assay_new_file *file,
                                 struct assay_error *error)
{
    *file = (struct assay_new_file){NULL, NULL, NULL};
    if (is_special(path))
        return open_special(path, file, error);
    size_t bytes = strlen(path) + sizeof ".XXXXXX";
    file->path = assay_duplicate(path);
    file->temporary = assay_alloc(bytes);
    if (file->path == NULL || file->temporary == NULL) {
        assay_new_file_abort(file);
        return assay_fail(error, ASSAY_E_MEMORY, path, "", "no memory for the file's name");
    }
    snprintf(file->temporary, bytes, "%s.XXXXXX", path);
    int descriptor = -1;
    errno = EIO;
    if (!assay_fault_now())
        descriptor = mkostemp(file->temporary, O_CLOEXEC);
    if (descriptor >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        (void)fchmod(descriptor, 0666 & ~mask);
        file->stream = fdopen(descriptor, "w");
    }
    if (file->stream == NULL) {
        int cause = errno;
        if (descriptor >= 0) {
            close(descriptor);
            unlink(file->temporary);
        }
        assay_new_file_abort(file);
        return assay_fail(error, ASSAY_E_IO, path, "", "cannot be created: %s", strerror(cause));
    }
    return ASSAY_OK;
}

assay_status assay_new_file_commit(struct assay_new_file *file, struct assay_error *error)
{
    errno = EIO;
    bool written = !assay_fault_now() && fflush(file->stream) == 0 && ferror(file->stream) == 0 &&
                   (file->temporary == NULL || fsync(fileno(file->stream)) == 0);
    int cause = errno;
    if (fclose(file->stream) != 0) {
        if (written)
            cause = errno;
        written = false;
    }
    file->stream = NULL;
    if (written && file->temporary != NULL && rename(file->temporary, file->path) != 0) {
        cause = errno;
        written = false;
    }
    assay_status status = ASSAY_OK;
    if (!written) {
        if (file->temporary != NULL)
            unlink(file->temporary);
        status =
            assay_fail(error, ASSAY_E_IO, file->path, "", "cannot be written: %s", strerror(cause));
    }
    assay_free(file->temporary);
    file->temporary = NULL;
    assay_new_file_abort(file);
    return status;
}

void assay_new_file_abort(struct assay_new_file *file)
{
    if (file->stream != NULL) {
        fclose(file->stream);
        if (file->temporary != NULL)
            unlink(file->temporary);
    }
    assay_free(file->path);
    assay_free(file->temporary);
    *file = (struct assay_new_file){NULL, NULL, NULL};
}
