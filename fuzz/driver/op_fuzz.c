/* SPDX-License-Identifier: MIT
 *
 * The verdicts of the case that bytes stand for.
 */
#include "op_fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "case.h"
#include "fuzz_folder.h"
#include "verify.h"

/* NULL where the build has no such backend. */
static assay_context *context_of(enum assay_backend backend)
{
    static assay_context *contexts[ASSAY_NUM_BACKENDS];
    static bool tried[ASSAY_NUM_BACKENDS];
    if (!tried[backend]) {
        struct assay_context_options options = assay_context_defaults();
        options.backend = backend;
        tried[backend] = true;
        if (assay_context_create(&options, &contexts[backend], NULL) != ASSAY_OK &&
            backend == ASSAY_CPU)
            fuzz_fail("no context");
    }
    return contexts[backend];
}

static const struct case_spec *choose_op(const uint8_t **data, size_t *size)
{
    const char *name = fuzz_op_name != NULL ? fuzz_op_name : getenv("ASSAY_FUZZ_OP");
    int count;
    const struct case_spec *const *specs = case_specs(&count);
    const struct case_spec *spec = name != NULL ? case_spec_find(name) : NULL;
    if (name != NULL && spec == NULL)
        fuzz_fail("there is no such op");
    if (spec == NULL)
        spec = specs[*size > 0 ? **data % (unsigned)count : 0];
    if (fuzz_op_name == NULL && *size > 0) {
        ++*data;
        --*size;
    }
    return spec;
}

/* Whether the backend has a verdict in a few seconds at most, also with sanitizers. The product of
 * the case's counts bounds an op's work; kernels compute whole tiles, however small the other
 * counts are, and the executor is some hundred times slower. */
static bool is_quick(enum assay_backend backend, const struct assay_case *c)
{
    const bool host = backend == ASSAY_CPU;
    const int64_t longest = host ? INT64_MAX : 512;
    double work = 1;
    for (int i = 0; i < c->spec->num_params; i++) {
        if (c->spec->params[i].kind != CASE_COUNT)
            continue;
        if (c->value[i] > longest)
            return false;
        work *= c->value[i] > 1 ? (double)c->value[i] : 1;
    }
    return work <= (host ? 0x1p19 : 0x1p13);
}

static void judge(enum assay_backend backend, const struct assay_case *c)
{
    assay_context *context = context_of(backend);
    struct verify_outcome outcome;
    if (context == NULL || !is_quick(backend, c))
        return;
    verify_case(context, c, &outcome);
    const enum verdict_finding finding = outcome.verdict.finding;
    /* MISTRUSTED says that a case is weak, which random cases may be. */
    if (outcome.refused || !verdict_is_failure(finding))
        return;
    char text[CASE_TEXT_BYTES];
    case_print(c, text);
    fprintf(stderr, "%s on %s: %s\n  repeat: assay verify '%s'\n", verdict_finding_name(finding),
            assay_backend_name(backend), outcome.verdict.message, text);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct case_spec *spec = choose_op(&data, &size);
    struct assay_case c = case_from_bytes(spec, NULL, data, size);
    judge(ASSAY_CPU, &c);
    const struct assay_route *kernel = case_route_from_bytes(spec, ASSAY_SIMT, data, size);
    if (kernel == NULL)
        return 0;
    c = case_from_bytes(spec, kernel, data, size);
    judge(ASSAY_SIMT, &c);
    return 0;
}
