/* SPDX-License-Identifier: MIT
 *
 * add with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "add_mutants.h"

#include <math.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

static double faulty_sum(double a, double b, enum fault fault)
{
    if (fault == OPERANDS_ROUNDED)
        return oracle_round(a, ASSAY_BF16) + oracle_round(b, ASSAY_BF16);
    double sum = a + b;
    if (fault == SUBNORMALS_FLUSHED && fabs(sum) < 0x1p-126)
        return 0;
    return sum;
}

/* Cut to bf16 instead of rounded. */
static double truncated(double value)
{
    uint16_t nearest = oracle_bf16_word(value);
    bool rounded_up = fabs(oracle_bf16_value(nearest)) > fabs(value);
    return oracle_bf16_value(rounded_up ? (uint16_t)(nearest - 1) : nearest);
}

static assay_status run(const void *arguments, enum fault fault)
{
    const struct assay_add_args *args = arguments;
    int64_t width = args->y.extent[1], count = assay_tensor_count(&args->y);
    for (int64_t i = 0; i < count; i++) {
        double a = oracle_get(&args->a, i), b = oracle_get(&args->b, i);
        double sum = faulty_sum(a, b, fault);
        if (fault == TAIL_COPIED && i % width >= width / 16 * 16 && width > 16)
            sum = a;
        if (fault == ONE_WRONG_ELEMENT && i == count / 2)
            sum *= 1 + 0x1p-7;
        if (fault == OUTPUT_TRUNCATED && args->y.dtype == ASSAY_BF16 && isfinite(sum))
            sum = truncated(sum);
        oracle_put(&args->y, i, sum);
    }
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("add", ASSAY_PROFILE_F64, __VA_ARGS__)

const struct case_mutant add_mutants[ADD_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
