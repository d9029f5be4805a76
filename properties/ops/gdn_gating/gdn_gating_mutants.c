/* SPDX-License-Identifier: MIT
 *
 * gdn_gating with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "gdn_gating_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault {
    NONE,
    PREMATURE_ZERO,
    NO_THRESHOLD,
    BIAS_AFTER,
    LOG_NOT_EXPONENTIATED,
    SIGN,
    GATES_OF_ROW_ZERO,
    BETA_NOT_SIGMOID,
    ONE_ELEMENT,
};

static double softplus(double x, enum fault fault)
{
    if (fault == PREMATURE_ZERO && x < -20)
        return 0;
    if (fault == NO_THRESHOLD)
        return (double)logf(1 + expf((float)x)); /* overflows above 88, loses digits below */
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double decay(double a, double bias, double a_log, enum fault fault)
{
    double x = fault == BIAS_AFTER ? a : a + bias;
    double rate = fault == LOG_NOT_EXPONENTIATED ? a_log : exp(a_log);
    double g = softplus(x, fault) + (fault == BIAS_AFTER ? bias : 0);
    double log_one = isinf(x) && x < 0 && !isinf(a_log) ? 0 : rate * g;
    if (x < -40 && fault == NONE) /* factors may leave the range though the product does not */
        log_one = exp(a_log + x);
    return fault == SIGN ? log_one : -log_one;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_gdn_gating_args *a = args;
    int64_t heads = a->a_log.extent[0], count = assay_tensor_count(&a->a);
    for (int64_t i = 0; i < count; i++) {
        int64_t h = i % heads, from = fault == GATES_OF_ROW_ZERO ? h : i;
        double g = decay(oracle_get(&a->a, from), oracle_get(&a->dt_bias, h),
                         oracle_get(&a->a_log, h), fault);
        double b = oracle_get(&a->b, from);
        oracle_put(&a->g, i, fault == ONE_ELEMENT && i == count / 2 ? g * (1 + 0x1p-18) : g);
        oracle_put(&a->beta, i, fault == BETA_NOT_SIGMOID ? b : 1 / (1 + exp(-b)));
    }
    return ASSAY_OK;
}

#define MUTANT_FUNCTION(fault)                                                                 \
    static assay_status run_##fault(assay_context *context, const void *args, void *workspace) \
    {                                                                                          \
        (void)context;                                                                         \
        (void)workspace;                                                                       \
        return run(args, fault);                                                               \
    }
MUTANT_FUNCTION(NONE)
MUTANT_FUNCTION(PREMATURE_ZERO)
MUTANT_FUNCTION(NO_THRESHOLD)
MUTANT_FUNCTION(BIAS_AFTER)
MUTANT_FUNCTION(LOG_NOT_EXPONENTIATED)
MUTANT_FUNCTION(SIGN)
MUTANT_FUNCTION(GATES_OF_ROW_ZERO)
MUTANT_FUNCTION(BETA_NOT_SIGMOID)
MUTANT_FUNCTION(ONE_ELEMENT)

#define MUTANT(short_name, text, ids, kind)                 \
    {                                                       \
        .fault = text, .catalogue = ids, .route = {         \
            .name = "gdn_gating.mutant." short_name ".cpu", \
            .backend = ASSAY_CPU,                           \
            .profile = ASSAY_PROFILE_F32,                   \
            .run = run_##kind                               \
        }                                                   \
    }

const struct case_mutant gdn_gating_mutants[GDN_GATING_NUM_MUTANTS] = {
    MUTANT("control", NULL, "", NONE),
    MUTANT("premature_zero", "softplus is 0 below -20", "", PREMATURE_ZERO),
    MUTANT("no_threshold", "log(1 + exp(x)) in binary32 without log1p", "", NO_THRESHOLD),
    MUTANT("bias_after", "dt_bias is added after softplus", "", BIAS_AFTER),
    MUTANT("log_not_exponentiated", "a_log is used without exp", "", LOG_NOT_EXPONENTIATED),
    MUTANT("sign", "g is positive", "", SIGN),
    MUTANT("row_zero", "the gates of row 0 are used for all rows", "B062", GATES_OF_ROW_ZERO),
    MUTANT("beta_raw", "beta is b without the sigmoid", "", BETA_NOT_SIGMOID),
    MUTANT("one_element", "one element is off by 2^-18", "", ONE_ELEMENT),
};
