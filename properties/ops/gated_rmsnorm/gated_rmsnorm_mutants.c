/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "gated_rmsnorm_mutants.h"

#include <math.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

static double silu(double z)
{
    return z / (1 + exp(-z));
}

/* What enters the norm. */
static double operand(const struct assay_gated_rmsnorm_args *a, int64_t at, enum fault fault)
{
    double x = oracle_get(&a->x, at);
    return fault == GATE_BEFORE_NORM ? x * silu(oracle_get(&a->z, at)) : x;
}

static double mean_square(const struct assay_gated_rmsnorm_args *a, int64_t r, enum fault fault)
{
    int64_t width = a->w.extent[0], heads = fault == WIDE_MEAN ? a->x.extent[1] : 1;
    int64_t first = r / heads * heads * width, count = heads * width;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double x = operand(a, first + i, fault);
        sum += fault == BINARY32_SQUARES ? (double)((float)x * (float)x) : x * x;
    }
    return fault == SUM_NOT_MEAN ? sum : sum / (double)count;
}

static double weight(const struct assay_gated_rmsnorm_args *a, int64_t r, int64_t i,
                     enum fault fault)
{
    int64_t width = a->w.extent[0];
    if (fault == NEIGHBOUR_WEIGHT)
        i = (i + 1) % width;
    if (fault == ROW_WEIGHT)
        i = r % width;
    double w = oracle_get(&a->w, i);
    return fault == UNIT_OFFSET ? 1 + w : w;
}

static double gate(double z, enum fault fault)
{
    if (fault == GATE_BEFORE_NORM)
        return 1;
    if (fault == SIGMOID_NOT_SILU)
        return 1 / (1 + exp(-z));
    if (fault == NEGATIVE_GATES_CUT && z < -20)
        return 0;
    return silu(z);
}

static void norm_row(const struct assay_gated_rmsnorm_args *a, int64_t r, enum fault fault)
{
    int64_t width = a->w.extent[0];
    double mean = mean_square(a, r, fault);
    double root = fault == EPS_OUTSIDE_ROOT ? sqrt(mean) + a->eps : sqrt(mean + a->eps);
    for (int64_t i = 0; i < width; i++) {
        int64_t at = r * width + i;
        double normed = operand(a, at, fault) / root;
        if (fault == ROUNDED_BEFORE_WEIGHT)
            normed = oracle_round(normed, ASSAY_BF16);
        double y = normed * weight(a, r, i, fault) * gate(oracle_get(&a->z, at), fault);
        if (fault == ONE_WRONG_ELEMENT && r == 0 && i == width / 2)
            y *= 1 + 0x1p-7; /* one bf16 step: lost in any norm over a large output */
        oracle_put(&a->y, at, y);
    }
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_gated_rmsnorm_args *a = args;
    for (int64_t r = 0; r < assay_tensor_rows(&a->x); r++)
        norm_row(a, r, fault);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("gated_rmsnorm", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant gated_rmsnorm_mutants[GATED_RMSNORM_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
