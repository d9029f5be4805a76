/* SPDX-License-Identifier: MIT
 *
 * embedding with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "embedding_mutants.h"

#include <math.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

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
        struct assay_tensor from = table;
        if (fault == OFFSET_32_BITS) { /* the row that 32 bits of its offset lead to */
            uint64_t offset = (uint32_t)(uint64_t)(row * table.stride[0]);
            from.data = (unsigned char *)table.data + offset * assay_dtype_bytes(table.dtype);
        }
        for (int64_t i = 0; i < width; i++) {
            double value = oracle_get(&from, (fault == OFFSET_32_BITS ? 0 : row * width) + i);
            oracle_put(&a->y, t * width + i, faulty_value(value, width, fault));
        }
    }
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("embedding", ASSAY_PROFILE_EXACT, __VA_ARGS__)

const struct case_mutant embedding_mutants[EMBEDDING_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
