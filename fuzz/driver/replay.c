/* SPDX-License-Identifier: MIT
 *
 * Runs a fuzz target on stored inputs, without a fuzzer: files, or all files of folders. With no
 * file at all it fails, since it would have checked nothing. Weak symbols let libFuzzer's own main
 * replace this one.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0, got = 1;
    while (got > 0) {
        if (size == capacity) {
            capacity = capacity > 0 ? 2 * capacity : 4096;
            uint8_t *grown = realloc(data, capacity);
            if (grown == NULL)
                break;
            data = grown;
        }
        got = fread(data + size, 1, capacity - size, file);
        size += got;
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int run_path(const char *path, int *count)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(info.st_mode)) {
        ++*count;
        return run_file(path);
    }
    struct dirent **entries;
    int entries_found = scandir(path, &entries, NULL, alphasort), status = 0;
    for (int i = 0; i < entries_found; i++) {
        char name[4096];
        int length = snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length < (int)sizeof name)
            status |= run_path(name, count);
        free(entries[i]);
    }
    if (entries_found >= 0)
        free(entries);
    return status;
}

__attribute__((weak)) int main(int argc, char **argv)
{
    int count = 0, status = 0;
    for (int i = 1; i < argc; i++)
        status |= run_path(argv[i], &count);
    printf("%d inputs\n", count);
    return status != 0 || count == 0;
}
