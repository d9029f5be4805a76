/* SPDX-License-Identifier: MIT
 *
 * embedding's planted faults, and the control.
 */
#ifndef PROPERTIES_EMBEDDING_MUTANTS_H
#define PROPERTIES_EMBEDDING_MUTANTS_H

#include <assay/ops/embedding.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                             \
    X(NONE, "control", NULL, "")                                                   \
    X(POSITION_AS_ID, "position_as_id", "row t of the table, not row ids[t]", "")  \
    X(ID_OFF_BY_ONE, "off_by_one", "the row before the one asked for", "")         \
    X(ID_CUT_TO_16_BITS, "id_16_bits", "ids are cut to 16 bits", "")               \
    X(ROUNDED_TO_F16, "f16", "values pass through fp16", "")                       \
    X(SCALED, "scaled", "rows are scaled by sqrt(H)", "")                          \
    X(OFFSET_32_BITS, "offset_32_bits", "offsets are computed in 32 bits", "B190") \
    X(STRIDE_IGNORED, "stride_ignored", "strided rows are read as if packed", "")

enum { EMBEDDING_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant embedding_mutants[EMBEDDING_NUM_MUTANTS];

#endif
