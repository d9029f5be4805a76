/* SPDX-License-Identifier: MIT
 *
 * l2norm with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "l2norm_mutants.h"

#include <math.h>

#include "words.h"

enum fault {
    NONE,
    MEAN_NOT_SUM,
    EPS_OUTSIDE_ROOT,
    MAX_NORM_EPS,
    BINARY32_SQUARES,
    LAST_COLUMN_SKIPPED,
    TAIL_LANES_SKIPPED,
    FIRST_ROW_NORM,
    INPUT_BF16,
    ONE_WRONG_ELEMENT,
};

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

#define MUTANT_FUNCTION(fault)                                                                 \
    static assay_status run_##fault(assay_context *context, const void *args, void *workspace) \
    {                                                                                          \
        (void)context;                                                                         \
        (void)workspace;                                                                       \
        return run(args, fault);                                                               \
    }
MUTANT_FUNCTION(NONE)
MUTANT_FUNCTION(MEAN_NOT_SUM)
MUTANT_FUNCTION(EPS_OUTSIDE_ROOT)
MUTANT_FUNCTION(MAX_NORM_EPS)
MUTANT_FUNCTION(BINARY32_SQUARES)
MUTANT_FUNCTION(LAST_COLUMN_SKIPPED)
MUTANT_FUNCTION(TAIL_LANES_SKIPPED)
MUTANT_FUNCTION(FIRST_ROW_NORM)
MUTANT_FUNCTION(INPUT_BF16)
MUTANT_FUNCTION(ONE_WRONG_ELEMENT)

#define MUTANT(short_name, text, ids, which)            \
    {                                                   \
        .fault = text, .catalogue = ids, .route = {     \
            .name = "l2norm.mutant." short_name ".cpu", \
            .backend = ASSAY_CPU,                       \
            .profile = ASSAY_PROFILE_F32,               \
            .run = run_##which                          \
        }                                               \
    }

const struct case_mutant l2norm_mutants[L2NORM_NUM_MUTANTS] = {
    MUTANT("control", NULL, "", NONE),
    MUTANT("mean", "the sum of squares is divided by D", "", MEAN_NOT_SUM),
    MUTANT("eps_outside_root", "eps is added outside the root", "", EPS_OUTSIDE_ROOT),
    MUTANT("max_norm_eps", "max(norm, eps) instead of eps under the root (D2)", "", MAX_NORM_EPS),
    MUTANT("binary32_squares", "squares overflow and underflow in binary32", "", BINARY32_SQUARES),
    MUTANT("last_column", "the last column is left out of the sum", "", LAST_COLUMN_SKIPPED),
    MUTANT("tail", "columns after the last multiple of 8 are left out of the sum", "B006",
           TAIL_LANES_SKIPPED),
    MUTANT("first_row", "every row is divided by the norm of row 0", "", FIRST_ROW_NORM),
    MUTANT("input_bf16", "binary32 rows are rounded to bf16 before scaling", "", INPUT_BF16),
    MUTANT("one_element", "one element is off by 2^-7", "", ONE_WRONG_ELEMENT),
};
