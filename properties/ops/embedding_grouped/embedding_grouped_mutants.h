/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped's planted faults, and the control.
 */
#ifndef PROPERTIES_EMBEDDING_GROUPED_MUTANTS_H
#define PROPERTIES_EMBEDDING_GROUPED_MUTANTS_H

#include <assay/ops/embedding_grouped.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                               \
    X(NONE, "control", NULL, "")                                                     \
    X(POSITION_AS_ID, "position_as_id", "row t of the table, not row ids[t]", "")    \
    X(ID_OFF_BY_ONE, "off_by_one", "the row before the one asked for", "")           \
    X(ID_CUT_TO_16_BITS, "id_16_bits", "ids are cut to 16 bits", "")                 \
    X(NIBBLES_SWAPPED, "nibbles", "even columns come from odd ones", "")             \
    X(HIGH_OF_ROW_0, "high_row", "high bits are those of row 0", "")                 \
    X(SCALES_OF_ROW_0, "scales_row", "scales are those of row 0", "")                \
    X(SCALE_OF_NEXT_GROUP, "scale_next", "a group takes the next group's scale", "") \
    X(ROUNDED_TO_BF16, "bf16", "weights are rounded to bf16 on their way", "")       \
    X(SCALED, "scaled", "rows are scaled by sqrt(H)", "")                            \
    X(NAN_HIDDEN, "nan_hidden", "a NaN scale counts as zero", "")                    \
    X(OFFSET_32_BITS, "offset_32_bits", "offsets are computed in 32 bits", "B190")   \
    X(STRIDE_IGNORED, "stride_ignored", "strided planes are read as if packed", "")

enum { EMBEDDING_GROUPED_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant embedding_grouped_mutants[EMBEDDING_GROUPED_NUM_MUTANTS];

#endif
