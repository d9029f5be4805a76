/* SPDX-License-Identifier: MIT
 *
 * embedding with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "embedding_mutants.h"

#include <math.h>

#include "words.h"

enum fault {
    NONE,
    POSITION_AS_ID,
    ID_OFF_BY_ONE,
    ID_CUT_TO_16_BITS,
    ROUNDED_TO_F16,
    SCALED,
    STRIDE_IGNORED,
};

static int64_t faulty_row(int64_t id, int64_t position, int64_t rows, enum fault fault)
{
    switch (fault) {
    case POSITION_AS_ID:
        return position % rows;
    case ID_OFF_BY_ONE:
        return id > 0 ? id - 1 : id;
    case ID_CUT_TO_16_BITS:
        return id & 0xffff;
    default:
        return id;
    }
}

static double faulty_value(double value, int64_t width, enum fault fault)
{
    if (fault == ROUNDED_TO_F16)
        return oracle_round(value, ASSAY_F16);
    return fault == SCALED ? value * sqrt((double)width) : value;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_embedding_args *a = args;
    int64_t width = a->table.extent[1];
    struct assay_tensor table = a->table;
    if (fault == STRIDE_IGNORED)
        table.stride[0] = width;
    for (int64_t t = 0; t < a->ids.extent[0]; t++) {
        int64_t row = faulty_row(oracle_get_int(&a->ids, t), t, table.extent[0], fault);
        for (int64_t i = 0; i < width; i++) {
            double value = oracle_get(&table, row * width + i);
            oracle_put(&a->y, t * width + i, faulty_value(value, width, fault));
        }
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
MUTANT_FUNCTION(POSITION_AS_ID)
MUTANT_FUNCTION(ID_OFF_BY_ONE)
MUTANT_FUNCTION(ID_CUT_TO_16_BITS)
MUTANT_FUNCTION(ROUNDED_TO_F16)
MUTANT_FUNCTION(SCALED)
MUTANT_FUNCTION(STRIDE_IGNORED)

#define MUTANT(short_name, text, ids, function)            \
    {                                                      \
        .fault = text, .catalogue = ids, .route = {        \
            .name = "embedding.mutant." short_name ".cpu", \
            .backend = ASSAY_CPU,                          \
            .profile = ASSAY_PROFILE_EXACT,                \
            .run = run_##function                          \
        }                                                  \
    }

const struct case_mutant embedding_mutants[EMBEDDING_NUM_MUTANTS] = {
    MUTANT("control", NULL, "", NONE),
    MUTANT("position_as_id", "row t of the table, not row ids[t]", "", POSITION_AS_ID),
    MUTANT("off_by_one", "the row before the one asked for", "", ID_OFF_BY_ONE),
    MUTANT("id_16_bits", "ids are cut to 16 bits", "", ID_CUT_TO_16_BITS),
    MUTANT("f16", "values pass through fp16", "", ROUNDED_TO_F16),
    MUTANT("scaled", "rows are scaled by sqrt(H)", "", SCALED),
    MUTANT("stride_ignored", "strided rows are read as if packed", "", STRIDE_IGNORED),
};
