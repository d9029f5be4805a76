/* SPDX-License-Identifier: MIT
 *
 * Bad calls: each documented error of an op must be reported with its code and argument, leave the
 * outputs untouched, and leave the context usable.
 */
#ifndef PROPERTIES_BAD_CALLS_H
#define PROPERTIES_BAD_CALLS_H

#include <stddef.h>

#include <assay/context.h>

struct bad_calls;

/* `good` must succeed (checked here and again at the end). output[output_bytes] is memory that
 * holds all outputs of the calls: it is filled with a pattern before each bad call. */
struct bad_calls *bad_calls_new(const char *op, assay_status (*call)(assay_context *, const void *),
                                const void *good, void *output, size_t output_bytes);
/* Makes the call and asserts (Criterion) its status, the argument's name in the error record, and
 * that output is unchanged. argument NULL: not checked. */
void bad_call(struct bad_calls *calls, const void *args, assay_status status, const char *argument,
              const char *what);
/* Asserts that the good call still works, and frees. */
void bad_calls_finish(struct bad_calls *calls);

#endif
