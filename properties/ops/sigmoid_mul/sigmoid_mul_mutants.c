/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "sigmoid_mul_mutants.h"

#include <math.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

static double sigmoid(double g, enum fault fault)
{
    if (fault == EXP_OVERFLOW) {
        float e = expf((float)g);
        return (double)(e / (1.0f + e));
    }
    if (fault == UNDERFLOW_LOST)
        return (double)(1.0f - 1.0f / (1.0f + expf((float)g)));
    double s = (fault == SILU_NOT_SIGMOID ? g : 1) / (1 + exp(fault == SIGN_FLIPPED ? g : -g));
    return fault == BF16_SIGMOID ? oracle_round(s, ASSAY_BF16) : s;
}

static double element(const struct assay_sigmoid_mul_args *a, int64_t i, enum fault fault)
{
    int64_t width = a->y.extent[1], row = i / width;
    bool one_gate = a->gate.extent[1] == 1;
    int64_t at = one_gate ? row : i, above = one_gate ? at - 1 : at - width;
    if (fault == GATE_ROW_ABOVE && row > 0)
        at = above;
    if (fault == ONE_GATE_FOR_ALL && one_gate)
        at = 0;
    double x = oracle_get(&a->x, i), gate = oracle_get(&a->gate, at);
    if (fault == X_AND_GATE_SWAPPED)
        return gate * sigmoid(x, fault);
    if (fault == TAIL_UNGATED && width > 8 && i % width >= width / 8 * 8)
        return x;
    return x * sigmoid(gate, fault);
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_sigmoid_mul_args *a = args;
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

#define ROW(...) MUTANT("sigmoid_mul", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant sigmoid_mul_mutants[SIGMOID_MUL_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
