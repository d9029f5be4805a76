/* SPDX-License-Identifier: MIT
 *
 * What the engine's layers share, private to the engine: allocation and file access that tests
 * can make fail, the workspace arena, the thread pool, and argument checks.
 */
#ifndef ASSAY_CORE_CORE_H
#define ASSAY_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <assay/context.h>
#include <assay/route.h>
#include <assay/status.h>
#include <assay/tensor.h>

/* ---- memory (memory.c): every allocation of the engine goes through these ------------------ */
void *assay_alloc(size_t bytes);                             /* uninitialised; NULL on failure */
void *assay_alloc_zero(size_t count, size_t size);           /* zeroed, overflow checked */
void *assay_alloc_aligned(size_t bytes);                     /* 64-byte aligned, uninitialised */
void *assay_resize(void *memory, size_t count, size_t size); /* as realloc, overflow checked */
char *assay_duplicate(const char *text);
void assay_free(void *memory); /* of any of the above; NULL is fine */
/* True when a test asked for a failure here: file, mapping and thread wrappers call it. */
bool assay_fault_now(void);

/* ---- files (file.c) ------------------------------------------------------------------------ */
struct assay_map {
    const uint8_t *data; /* read-only; NULL for an empty file */
    size_t bytes;
};
/* Maps a regular file read-only. Errors: ASSAY_E_NOT_FOUND, ASSAY_E_IO, with the path. */
ASSAY_MUST_USE assay_status assay_map_open(const char *path, struct assay_map *map,
                                           struct assay_error *error);
void assay_map_close(struct assay_map *map);
/* The range will not be read soon: its whole pages may leave memory. Their content stays, whatever
 * memory it is. A hint, which cannot fail. */
void assay_map_drop(const void *data, size_t bytes);

/* A file that appears under its name only when complete: written to a temporary name in the same
 * folder, flushed to disk and renamed by commit. A path that is there and is no regular file
 * (/dev/stdout, a pipe) is written in place. */
struct assay_new_file {
    FILE *stream;
    char *path;
    char *temporary; /* NULL: written in place */
};
ASSAY_MUST_USE assay_status assay_new_file_open(const char *path, struct assay_new_file *file,
                                                struct assay_error *error);
/* Fails when any write failed, and then leaves nothing behind. */
ASSAY_MUST_USE assay_status assay_new_file_commit(struct assay_new_file *file,
                                                  struct assay_error *error);
void assay_new_file_abort(struct assay_new_file *file);
/* DIR/NAME in allocated memory, NULL when out of memory. */
char *assay_path_join(const char *dir, const char *name);

/* ---- threads (threads.c) ------------------------------------------------------------------- */
/* Runs body(argument, first, last) over disjoint ranges that cover [0, count), on the context's
 * threads; ranges are multiples of `grain` long but the last. Which thread does which range is
 * not defined, so a body's results must not depend on it. Returns when all are done. */
void assay_parallel(assay_context *context, int64_t count, int64_t grain,
                    void (*body)(void *argument, int64_t first, int64_t last), void *argument);

/* Workspace of the route that would take the call; args must be valid, only shapes matter. */
assay_status assay_op_workspace(assay_context *context, const struct assay_op *op, const void *args,
                                size_t *bytes);
/* The arena has at least `bytes` from here on. ASSAY_E_WORKSPACE: it is fixed and smaller. */
assay_status assay_workspace_reserve(assay_context *context, size_t bytes);
/* Bytes of the workspace that the running route was given. */
size_t assay_workspace_bytes(const assay_context *context);
/* The whole arena becomes NaN in every float format: no call may rely on what it holds. */
assay_status assay_workspace_poison(assay_context *context);
/* The context's ops read and write memory that the host cannot: no check may look at elements. */
bool assay_on_device(const assay_context *context);

/* ---- argument checks for validate functions (check.c); op = the op's name ------------------ */
assay_status assay_refuse(assay_context *context, assay_status status, const char *op,
                          const char *argument, const char *format, ...) ASSAY_PRINTF(5, 6);
#define ASSAY_FORMAT(dtype) (1u << (unsigned)(dtype))
#define ASSAY_FORMATS_FLOAT (ASSAY_FORMAT(ASSAY_F32) | ASSAY_FORMAT(ASSAY_BF16))
/* Data present, known format among the mask, extents >= 0 and bytes below 2^62, innermost stride 1
 * (or extent <= 1), outer strides >= 0; outputs: rows must not overlap each other. */
assay_status assay_check_tensor(assay_context *context, const char *op, const char *argument,
                                const struct assay_tensor *tensor, int min_rank, int max_rank,
                                unsigned formats, bool is_output);
/* Extent `dimension` of the tensor equals `expected`. */
assay_status assay_check_extent(assay_context *context, const char *op, const char *argument,
                                const struct assay_tensor *tensor, int dimension, int64_t expected);
/* Same rank and extents. */
assay_status assay_check_shape(assay_context *context, const char *op, const char *argument,
                               const struct assay_tensor *tensor, const char *other_argument,
                               const struct assay_tensor *other);
/* No common byte; with may_equal, identical views (and formats) are fine. Strided views whose
 * spans interleave without a common element are fine too (heads of one packed row). */
assay_status assay_check_alias(assay_context *context, const char *op, const char *output_name,
                               const struct assay_tensor *output, const char *input_name,
                               const struct assay_tensor *input, bool may_equal);
/* Finite, and > 0 when positive is set. */
assay_status assay_check_number(assay_context *context, const char *op, const char *argument,
                                double value, bool positive);
#if defined(__clang_analyzer__)
/* The analyzer reads one file at a time: this tells it that the status comes back as it went in. */
void assay_analyzer_reads(const char *where, ...);
#define assay_fail(error, status, ...) ((void)(error), assay_analyzer_reads(__VA_ARGS__), (status))
#endif
/* `return` on failure. */
#define ASSAY_TRY(call)                          \
    do {                                         \
        assay_status assay_try_status_ = (call); \
        if (assay_try_status_ != ASSAY_OK)       \
            return assay_try_status_;            \
    } while (0)

/* ---- logging to stderr (log.c): levels error 0, warning 1, info 2, debug 3 ------------------ */
void assay_log(int level, const char *format, ...) ASSAY_PRINTF(2, 3);
/* Lines above the level are dropped; starts at 1, or at $ASSAY_LOG (0..3). */
void assay_log_level(int level);

#endif
