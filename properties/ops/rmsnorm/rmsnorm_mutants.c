/* SPDX-License-Identifier: MIT
 *
 * rmsnorm with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "rmsnorm_mutants.h"

#include <math.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

static void norm_row(const struct assay_rmsnorm_args *a, int64_t r, enum fault fault)
{
    int64_t width = a->w.extent[0];
    double sum = 0;
    for (int64_t i = 0; i < width; i++) {
        double x = oracle_get(&a->x, r * width + i);
        if (fault == LAST_COLUMN_SKIPPED && i > 0 && i == width - 1)
            continue;
        sum += fault == BINARY32_SQUARES ? (double)((float)x * (float)x) : x * x;
    }
    double mean = fault == SUM_NOT_MEAN ? sum : sum / (double)width;
    double root = fault == EPS_OUTSIDE_ROOT ? sqrt(mean) + a->eps : sqrt(mean + a->eps);
    for (int64_t i = 0; i < width; i++) {
        double w = oracle_get(&a->w, i);
        double gain = a->unit_offset && fault != OFFSET_IGNORED ? 1 + w : w;
        double y = oracle_get(&a->x, r * width + i) / root * gain;
        if (fault == ONE_WRONG_ELEMENT && r == 0 && i == width / 2)
            y *= 1 + 0x1p-7; /* one bf16 step: lost in any norm over a large output */
        oracle_put(&a->y, r * width + i, y);
    }
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_rmsnorm_args *a = args;
    for (int64_t r = 0; r < assay_tensor_rows(&a->x); r++)
        norm_row(a, r, fault);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("rmsnorm", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant rmsnorm_mutants[RMSNORM_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
