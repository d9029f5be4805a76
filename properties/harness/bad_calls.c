/* SPDX-License-Identifier: MIT
 *
 * Bad calls. Linked into law suites only: it reports through Criterion.
 */
#include "bad_calls.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

struct bad_calls {
    const struct assay_op *op;
    const void *good;
    unsigned char *output;
    size_t output_bytes;
    assay_context *context;
    int count;
};

enum { PATTERN = 0xa5 };

static void good_call(struct bad_calls *calls)
{
    assay_status status = assay_run_op(calls->context, calls->op, calls->good);
    cr_assert(status == ASSAY_OK, "%s: the good call fails: %s: %s", calls->op->name,
              assay_status_name(status), assay_context_error(calls->context)->message);
}

struct bad_calls *bad_calls_new(const struct assay_op *op, const void *good, void *output,
                                size_t output_bytes)
{
    struct bad_calls *calls = calloc(1, sizeof *calls);
    cr_assert_not_null(calls);
    *calls =
        (struct bad_calls){.op = op, .good = good, .output = output, .output_bytes = output_bytes};
    struct assay_context_options options = assay_context_defaults();
    cr_assert(assay_context_create(&options, &calls->context, NULL) == ASSAY_OK);
    memset(output, 0, output_bytes);
    good_call(calls);
    return calls;
}

void bad_call(struct bad_calls *calls, const void *args, assay_status status, const char *argument,
              const char *what)
{
    memset(calls->output, PATTERN, calls->output_bytes);
    assay_status got = assay_run_op(calls->context, calls->op, args);
    const struct assay_error *error = assay_context_error(calls->context);
    cr_assert(got == status, "%s: %s: expected %s, got %s (%s: %s)", calls->op->name, what,
              assay_status_name(status), assay_status_name(got), error->what, error->message);
    if (argument != NULL)
        cr_assert(strcmp(error->what, argument) == 0,
                  "%s: %s: the error must name argument '%s', names '%s'", calls->op->name, what,
                  argument, error->what);
    cr_assert(strcmp(error->where, calls->op->name) == 0, "%s: the error names op '%s'",
              calls->op->name, error->where);
    cr_assert(error->message[0] != '\0', "%s: %s: no message", calls->op->name, what);
    for (size_t i = 0; i < calls->output_bytes; i++)
        cr_assert(calls->output[i] == PATTERN, "%s: %s: output byte %zu was written",
                  calls->op->name, what, i);
    calls->count++;
}

void bad_calls_finish(struct bad_calls *calls)
{
    cr_assert(calls->count > 0);
    memset(calls->output, 0, calls->output_bytes);
    good_call(calls);
    assay_context_destroy(calls->context);
    free(calls);
}
