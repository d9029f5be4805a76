/* SPDX-License-Identifier: MIT
 *
 * gdn_gating with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "gdn_gating_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

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

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("gdn_gating", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant gdn_gating_mutants[GDN_GATING_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
