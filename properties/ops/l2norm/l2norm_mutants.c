/* SPDX-License-Identifier: MIT
 *
 * l2norm with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "l2norm_mutants.h"

#include <math.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

static double sum_of_squares(const struct assay_l2norm_args *a, int64_t r, enum fault fault)
{
    int64_t width = a->x.extent[a->x.rank - 1];
    double sum = 0;
    for (int64_t i = 0; i < width; i++) {
        double x = oracle_get(&a->x, r * width + i);
        if (fault == LAST_COLUMN_SKIPPED && i > 0 && i == width - 1)
            continue;
        if (fault == TAIL_LANES_SKIPPED && width > 8 && i >= width / 8 * 8)
            continue;
        sum += fault == BINARY32_SQUARES ? (double)((float)x * (float)x) : x * x;
    }
    return fault == MEAN_NOT_SUM ? sum / (double)width : sum;
}

static void norm_row(const struct assay_l2norm_args *a, int64_t r, double sum, enum fault fault)
{
    int64_t width = a->x.extent[a->x.rank - 1];
    double root = sqrt(sum + a->eps);
    if (fault == EPS_OUTSIDE_ROOT)
        root = sqrt(sum) + a->eps;
    if (fault == MAX_NORM_EPS)
        root = fmax(sqrt(sum), a->eps);
    for (int64_t i = 0; i < width; i++) {
        double x = oracle_get(&a->x, r * width + i);
        if (fault == INPUT_BF16)
            x = oracle_round(x, ASSAY_BF16);
        double y = x / root;
        if (fault == ONE_WRONG_ELEMENT && r == 0 && i == width / 2)
            y *= 1 + 0x1p-7; /* one bf16 step: lost in any norm over a large output */
        oracle_put(&a->y, r * width + i, y);
    }
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_l2norm_args *a = args;
    int64_t rows = assay_tensor_rows(&a->x);
    double first = rows > 0 ? sum_of_squares(a, 0, fault) : 0;
    for (int64_t r = 0; r < rows; r++)
        norm_row(a, r, fault == FIRST_ROW_NORM ? first : sum_of_squares(a, r, fault), fault);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("l2norm", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant l2norm_mutants[L2NORM_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
