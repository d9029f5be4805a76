/* SPDX-License-Identifier: MIT
 *
 * silu_mul with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "silu_mul_mutants.h"

#include <math.h>

#include "words.h"

enum fault {
    NONE,
    SILU_ON_UP,
    SIGMOID_ONLY,
    EXP_OVERFLOW,
    NEGATIVE_GATES_CUT,
    SQUARED_GATE,
    UP_ROW_ABOVE,
    FP16_INTERMEDIATE,
    BF16_INTERMEDIATE,
    TAIL_UNGATED,
    ONE_WRONG_ELEMENT,
};

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

#define MUTANT_FUNCTION(fault)                                                                 \
    static assay_status run_##fault(assay_context *context, const void *args, void *workspace) \
    {                                                                                          \
        (void)context;                                                                         \
        (void)workspace;                                                                       \
        return run(args, fault);                                                               \
    }
MUTANT_FUNCTION(NONE)
MUTANT_FUNCTION(SILU_ON_UP)
MUTANT_FUNCTION(SIGMOID_ONLY)
MUTANT_FUNCTION(EXP_OVERFLOW)
MUTANT_FUNCTION(NEGATIVE_GATES_CUT)
MUTANT_FUNCTION(SQUARED_GATE)
MUTANT_FUNCTION(UP_ROW_ABOVE)
MUTANT_FUNCTION(FP16_INTERMEDIATE)
MUTANT_FUNCTION(BF16_INTERMEDIATE)
MUTANT_FUNCTION(TAIL_UNGATED)
MUTANT_FUNCTION(ONE_WRONG_ELEMENT)

#define MUTANT(short_name, text, ids, which)              \
    {                                                     \
        .fault = text, .catalogue = ids, .route = {       \
            .name = "silu_mul.mutant." short_name ".cpu", \
            .backend = ASSAY_CPU,                         \
            .profile = ASSAY_PROFILE_F32,                 \
            .run = run_##which                            \
        }                                                 \
    }

const struct case_mutant silu_mul_mutants[SILU_MUL_NUM_MUTANTS] = {
    MUTANT("control", NULL, "", NONE),
    MUTANT("silu_on_up", "silu is taken of up and multiplied by gate (halves swapped)", "",
           SILU_ON_UP),
    MUTANT("sigmoid", "sigmoid(gate) instead of silu(gate)", "", SIGMOID_ONLY),
    MUTANT("exp_overflow", "exp(gate) / (1 + exp(gate)) in binary32: NaN for large gates", "",
           EXP_OVERFLOW),
    MUTANT("cut", "gates below -20 give 0", "", NEGATIVE_GATES_CUT),
    MUTANT("squared", "silu(gate) times gate: up is ignored", "", SQUARED_GATE),
    MUTANT("up_row", "up is read one row above", "", UP_ROW_ABOVE),
    MUTANT("fp16", "silu is rounded to fp16 on the way", "", FP16_INTERMEDIATE),
    MUTANT("bf16", "silu is rounded to bf16 before the product", "", BF16_INTERMEDIATE),
    MUTANT("tail", "the tail of a row is not gated", "B007", TAIL_UNGATED),
    MUTANT("one_element", "one element is off by 2^-7", "", ONE_WRONG_ELEMENT),
};
