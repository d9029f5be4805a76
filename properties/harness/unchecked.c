/* SPDX-License-Identifier: MIT
 *
 * Routes called past their op's checks.
 */
#include "unchecked.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <assay/device.h>

static const size_t workspace_bytes = (size_t)8 << 20;

bool unchecked_open(struct unchecked *u, const char *backend, int *exit_status)
{
    struct assay_context_options options = assay_context_defaults();
    struct assay_error error = {.status = ASSAY_OK};
    *u = (struct unchecked){.num_checks = 0};
    options.backend = strcmp(backend, "cuda") == 0 ? ASSAY_CUDA : ASSAY_SIMT;
    options.workspace_bytes = workspace_bytes;
    if (options.backend == ASSAY_CUDA && assay_device_count() == 0) {
        puts("no CUDA device");
        *exit_status = UNCHECKED_NO_DEVICE;
        return false;
    }
    *exit_status = 1;
    if (assay_context_create(&options, &u->context, &error) != ASSAY_OK) {
        fprintf(stderr, "%s\n", error.message);
        return false;
    }
    if (assay_buffer_create(u->context, workspace_bytes, &u->workspace) != ASSAY_OK) {
        fprintf(stderr, "%s\n", assay_context_error(u->context)->message);
        assay_context_destroy(u->context);
        return false;
    }
    return true;
}

int unchecked_close(struct unchecked *u)
{
    unchecked_forget(u);
    assay_buffer_destroy(u->context, u->workspace);
    assay_context_destroy(u->context);
    printf("%d checks, %d failed\n", u->num_checks, u->num_failed);
    return u->num_checks > 0 && u->num_failed == 0 ? 0 : 1;
}

void *unchecked_put(struct unchecked *u, const void *host, size_t bytes)
{
    void *buffer = NULL;
    bool good = u->num_buffers < UNCHECKED_MAX_BUFFERS &&
                assay_buffer_create(u->context, bytes, &buffer) == ASSAY_OK;
    if (!good) {
        unchecked_check(u, false, "no buffer of %zu bytes", bytes);
        return NULL;
    }
    u->buffer[u->num_buffers++] = buffer;
    good = assay_buffer_write(u->context, buffer, host, bytes) == ASSAY_OK;
    unchecked_check(u, good, "%zu bytes to a buffer", bytes);
    return good ? buffer : NULL;
}

bool unchecked_get(struct unchecked *u, void *host, const void *buffer, size_t bytes)
{
    bool good = assay_buffer_read(u->context, host, buffer, bytes) == ASSAY_OK;
    unchecked_check(u, good, "%zu bytes from a buffer", bytes);
    return good;
}

void unchecked_forget(struct unchecked *u)
{
    while (u->num_buffers > 0)
        assay_buffer_destroy(u->context, u->buffer[--u->num_buffers]);
}

bool unchecked_takes(const struct unchecked *u, const struct assay_route *route, const void *args)
{
    return assay_route_takes(u->context, route, args) &&
           (route->workspace == NULL || route->workspace(u->context, args) <= workspace_bytes);
}

bool unchecked_run(struct unchecked *u, const struct assay_op *op, const struct assay_route *route,
                   const void *legal, const void *args)
{
    bool is_cuda = assay_context_backend(u->context) == ASSAY_CUDA;
    assay_context_clear_error(u->context);
    assay_status status = assay_context_force_route(u->context, route->name);
    if (status == ASSAY_OK)
        status = assay_run_op(u->context, op, is_cuda ? args : legal);
    if (status == ASSAY_OK && !is_cuda) /* whatever the workspace holds is of no use: all bits */
        status = assay_buffer_fill(u->context, u->workspace, 0xff, workspace_bytes);
    if (status == ASSAY_OK && !is_cuda)
        status = route->run(u->context, args, u->workspace);
    if (status == ASSAY_OK)
        status = assay_context_synchronize(u->context);
    unchecked_check(u, status == ASSAY_OK, "%s: %s", route->name,
                    assay_context_error(u->context)->message);
    return status == ASSAY_OK;
}

void unchecked_check(struct unchecked *u, bool good, const char *format, ...)
{
    u->num_checks++;
    if (good)
        return;
    u->num_failed++;
    va_list arguments;
    va_start(arguments, format);
    fputs("FAILED ", stdout);
    vprintf(format, arguments);
    puts("");
    va_end(arguments);
}
