/* SPDX-License-Identifier: MIT
 *
 * Values that an op refuses on a host and cannot see in a device's memory: what its kernels do with
 * them. Plain programs, so that they can say that there is no device (77) and run where nothing but
 * the shared libraries is. On backend simt a route is called past its op's checks, with a workspace
 * of its own; on cuda the op itself is called, which must not refuse.
 */
#ifndef PROPERTIES_UNCHECKED_H
#define PROPERTIES_UNCHECKED_H

#include <stdbool.h>
#include <stddef.h>

#include <assay/context.h>
#include <assay/route.h>

enum { UNCHECKED_MAX_BUFFERS = 8, UNCHECKED_NO_DEVICE = 77 };

struct unchecked {
    assay_context *context;
    void *workspace;
    void *buffer[UNCHECKED_MAX_BUFFERS];
    int num_buffers, num_checks, num_failed;
};

/* "simt" or "cuda". False: *exit_status says what the program returns. */
bool unchecked_open(struct unchecked *u, const char *backend, int *exit_status);
/* The number of checks that failed, printed; nothing checked is a failure. */
int unchecked_close(struct unchecked *u);

/* A copy where kernels read it, until the next unchecked_forget; NULL on failure. */
void *unchecked_put(struct unchecked *u, const void *host, size_t bytes);
bool unchecked_get(struct unchecked *u, void *host, const void *buffer, size_t bytes);
void unchecked_forget(struct unchecked *u);

/* Of the context's backend and able to take the call. */
bool unchecked_takes(const struct unchecked *u, const struct assay_route *route, const void *args);
/* Runs and waits. legal: a call of the same shapes that no check refuses; it runs first on simt,
 * where the size of a kernel's workspace is that of the last call. */
bool unchecked_run(struct unchecked *u, const struct assay_op *op, const struct assay_route *route,
                   const void *legal, const void *args);
void unchecked_check(struct unchecked *u, bool good, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
