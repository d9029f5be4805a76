/* SPDX-License-Identifier: MIT
 *
 * silu_mul with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "silu_mul_mutants.h"

#include <math.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

static double silu(double x, enum fault fault)
{
    if (fault == EXP_OVERFLOW) {
        float e = expf((float)x);
        return x * (double)(e / (1.0f + e));
    }
    if (fault == NEGATIVE_GATES_CUT && x < -20)
        return 0;
    double y = (fault == SIGMOID_ONLY ? 1 : x) / (1 + exp(-x));
    if (fault == FP16_INTERMEDIATE)
        return oracle_round(y, ASSAY_F16);
    return fault == BF16_INTERMEDIATE ? oracle_round(y, ASSAY_BF16) : y;
}

static double element(const struct assay_silu_mul_args *a, int64_t i, enum fault fault)
{
    int64_t width = a->y.extent[1];
    double gate = oracle_get(&a->gate, i), up = oracle_get(&a->up, i);
    if (fault == UP_ROW_ABOVE && i >= width)
        up = oracle_get(&a->up, i - width);
    if (fault == SILU_ON_UP)
        return silu(up, fault) * gate;
    if (fault == SQUARED_GATE)
        return silu(gate, fault) * gate;
    if (fault == TAIL_UNGATED && width > 8 && i % width >= width / 8 * 8)
        return up;
    return silu(gate, fault) * up;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_silu_mul_args *a = args;
    int64_t count = assay_tensor_count(&a->y);
    for (int64_t i = 0; i < count; i++) {
        double y = element(a, i, fault);
        if (fault == ONE_WRONG_ELEMENT && i == count / 2)
            y *= 1 + 0x1p-7; /* one bf16 step: lost in any norm over a large output */
        oracle_put(&a->y, i, y);
    }
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("silu_mul", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant silu_mul_mutants[SILU_MUL_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
