/* SPDX-License-Identifier: MIT
 *
 * Registry of the oracles, their outputs, and the choice between FP64 and MPFR.
 */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gmp.h>
#include <mpfr.h>

#include "words.h"

#define X(op) extern const struct oracle_op oracle_op_##op;
#include "oracle_list.inc"
#undef X

static const struct oracle_op *const ops[] = {
#define X(op) &oracle_op_##op,
#include "oracle_list.inc"
#undef X
};

const struct oracle_op *const *oracle_ops(int *num_ops)
{
    *num_ops = (int)(sizeof ops / sizeof ops[0]);
    return ops;
}

const struct oracle_op *oracle_find(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(ops[i]->name, name) == 0)
            return ops[i];
    return NULL;
}

const char *oracle_term_name(enum oracle_term term)
{
    static const char *const names[ORACLE_NUM_TERMS] = {
#define TERM_NAME(enumerator, name) [ORACLE_TERM_##enumerator] = name,
        ORACLE_TERM_TABLE(TERM_NAME)
#undef TERM_NAME
    };
    return (unsigned)term < ORACLE_NUM_TERMS ? names[term] : "?";
}

void oracle_thread_end(void)
{
    mpfr_free_cache();
}

/* One block for all arrays of an output: value, own, alternative, terms, aux. */
enum { ARRAYS = 3 + ORACLE_NUM_TERMS + ORACLE_MAX_AUX };

bool oracle_output_create(struct oracle_output *output, const char *name, enum assay_dtype dtype,
                          int64_t count)
{
    size_t stride = count > 0 ? (size_t)count : 1;
    double *block = calloc(stride * ARRAYS, sizeof *block);
    *output = (struct oracle_output){.name = name, .dtype = dtype, .count = count};
    if (block == NULL)
        return false;
    output->value = block;
    output->own = block + stride;
    output->alternative = block + 2 * stride;
    for (int i = 0; i < ORACLE_NUM_TERMS; i++) {
        output->term[i] = block + (size_t)(3 + i) * stride;
        output->rms_share[i] = 1;
    }
    for (int i = 0; i < ORACLE_MAX_AUX; i++)
        output->aux[i] = block + (size_t)(3 + ORACLE_NUM_TERMS + i) * stride;
    for (int64_t i = 0; i < count; i++)
        output->alternative[i] = NAN;
    return true;
}

void oracle_output_destroy(struct oracle_output *output)
{
    free(output->value);
    *output = (struct oracle_output){.name = output->name};
}

/* True when every element's own error is small against the bound that a route must respect. An
 * output rounding that may overflow counts as the verdict counts it, not as infinite. */
static bool sure(const struct oracle_op *op, const struct oracle_output *outputs)
{
    for (int k = 0; k < op->num_outputs; k++) {
        const struct oracle_output *o = &outputs[k];
        double top = oracle_max_finite(o->dtype) * oracle_unit_roundoff(o->dtype);
        for (int64_t i = 0; i < o->count; i++) {
            double bound = 0;
            for (int t = 0; t < ORACLE_NUM_TERMS; t++)
                bound += t == ORACLE_TERM_OUTPUT ? fmin(o->term[t][i], top) : o->term[t][i];
            if (o->own[i] * 16 > bound)
                return false;
        }
    }
    return true;
}

assay_status oracle_evaluate(const struct oracle_op *op, const void *args,
                             const struct oracle_route *route, struct oracle_output *outputs,
                             bool *used_mpfr)
{
    *used_mpfr = false;
    assay_status status = op->ref(args, outputs);
    if (status != ASSAY_OK)
        return status;
    op->bound(args, route, outputs);
    if (op->mpfr == NULL || sure(op, outputs))
        return ASSAY_OK;
    status = op->mpfr(args, ORACLE_DEFAULT_PRECISION, outputs);
    if (status != ASSAY_OK)
        return status;
    *used_mpfr = true;
    op->bound(args, route, outputs);
    return ASSAY_OK;
}
