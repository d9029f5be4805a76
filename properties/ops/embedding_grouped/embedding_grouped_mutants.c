/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped with one planted fault each, and the control: the same code with none, which
 * must pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "embedding_grouped_mutants.h"

#include <math.h>

#include "oracle_formats.h"
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

/* The view of one row: a matrix of one. */
static struct assay_tensor row_of(struct assay_tensor plane, int64_t row, enum fault fault)
{
    if (plane.rank == 0)
        return plane;
    if (fault == STRIDE_IGNORED)
        plane.stride[0] = plane.extent[1];
    uint64_t offset = (uint64_t)(row * plane.stride[0]);
    if (fault == OFFSET_32_BITS)
        offset = (uint32_t)offset;
    plane.data = (unsigned char *)plane.data + offset * assay_dtype_bytes(plane.dtype);
    plane.extent[0] = 1;
    return plane;
}

static double faulty_value(const struct assay_weights *row, int64_t i, enum fault fault)
{
    int group = oracle_weight_format(row->format).group;
    int64_t g = i / group, column = i;
    if (fault == SCALE_OF_NEXT_GROUP && g + 1 < row->scales.extent[1])
        g++;
    if (fault == NIBBLES_SWAPPED)
        column ^= 1;
    double scale = oracle_weight_scale(row, 0, g);
    if (fault == NAN_HIDDEN && isnan(scale))
        scale = 0;
    double value = oracle_weight_code(row, 0, column) * scale;
    if (fault == ROUNDED_TO_BF16)
        return oracle_round(value, ASSAY_BF16);
    return fault == SCALED ? value * sqrt((double)row->columns) : value;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_embedding_grouped_args *a = args;
    int64_t width = a->table.columns;
    for (int64_t t = 0; t < a->ids.extent[0]; t++) {
        int64_t id = faulty_row(oracle_get_int(&a->ids, t), t, a->table.rows, fault);
        struct assay_weights row = a->table;
        row.rows = 1;
        row.base = row_of(a->table.base, id, fault);
        row.high = row_of(a->table.high, fault == HIGH_OF_ROW_0 ? 0 : id, fault);
        row.scales = row_of(a->table.scales, fault == SCALES_OF_ROW_0 ? 0 : id, fault);
        for (int64_t i = 0; i < width; i++)
            oracle_put(&a->y, t * width + i, faulty_value(&row, i, fault));
    }
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("embedding_grouped", ASSAY_PROFILE_EXACT, __VA_ARGS__)

const struct case_mutant embedding_grouped_mutants[EMBEDDING_GROUPED_NUM_MUTANTS] = {
    FAULT_TABLE(ROW)};
