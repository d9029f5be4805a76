/* SPDX-License-Identifier: MIT
 *
 * Bad calls: each documented error of an op must be reported with its code and argument, leave the
 * outputs untouched, and leave the context usable.
 */
#ifndef PROPERTIES_BAD_CALLS_H
#define PROPERTIES_BAD_CALLS_H

#include <stddef.h>

#include <assay/context.h>
#include <assay/route.h>

struct bad_calls;

/* `good` must succeed (checked here and again at the end). output[output_bytes] is memory that
 * holds all outputs of the calls: it is filled with a pattern before each bad call. */
struct bad_calls *bad_calls_new(const struct assay_op *op, const void *good, void *output,
                                size_t output_bytes);
/* Makes the call and asserts (Criterion) its status, the argument's name in the error record, and
 * that output is unchanged. argument NULL: not checked. */
void bad_call(struct bad_calls *calls, const void *args, assay_status status, const char *argument,
              const char *what);
/* A bad_call with a changed copy of the args `good`, named `copy`, and among the calls `calls`. A
 * suite's own BAD(status, argument, change) names the type and the copy and spells the change:
 * #define BAD(status, argument, change) \
 *     BAD_CALL(struct assay_add_args, c, status, argument, change, #change) */
#define BAD_CALL(type, copy, status, argument, change, what) \
    do {                                                     \
        type copy = good;                                    \
        change;                                              \
        bad_call(calls, &copy, status, argument, what);      \
    } while (0)
/* Asserts that the good call still works, and frees. */
void bad_calls_finish(struct bad_calls *calls);

#endif
