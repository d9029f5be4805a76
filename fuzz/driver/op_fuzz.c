/* SPDX-License-Identifier: MIT
 *
 * The verdict of the case that bytes stand for.
 */
#include "op_fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "case.h"
#include "verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_context *context;
    if (context == NULL) {
        struct assay_context_options options = assay_context_defaults();
        if (assay_context_create(&options, &context, NULL) != ASSAY_OK)
            abort();
    }
    const struct case_spec *spec = case_spec_find(fuzz_op_name);
    if (spec == NULL)
        abort();
    struct assay_case c = case_from_bytes(spec, NULL, data, size);
    struct verify_outcome outcome;
    verify_case(context, &c, &outcome);
    enum verdict_finding finding = outcome.verdict.finding;
    /* MISTRUSTED says that a case is weak, which random cases may be. */
    if (outcome.refused || !verdict_is_failure(finding))
        return 0;
    char text[CASE_TEXT_BYTES];
    case_print(&c, text);
    fprintf(stderr, "%s: %s\n  repeat: assay verify '%s'\n", verdict_finding_name(finding),
            outcome.verdict.message, text);
    abort();
}
