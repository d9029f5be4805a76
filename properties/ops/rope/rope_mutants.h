/* SPDX-License-Identifier: MIT
 *
 * rope's planted faults, and the control.
 */
#ifndef PROPERTIES_ROPE_MUTANTS_H
#define PROPERTIES_ROPE_MUTANTS_H

#include <assay/ops/rope.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                      \
    X(NONE, "control", NULL, "")                                                            \
    X(INTERLEAVED, "interleaved", "pairs are neighbours (GPT-J) instead of halves", "")     \
    X(ALL_DIMENSIONS, "all_dimensions", "all D elements are rotated", "B016")               \
    X(WIDTH_OF_HEAD, "width_of_head", "frequencies use D instead of R", "B016")             \
    X(HALF_OF_HEAD, "half_of_head", "the partner is i + D/2 instead of i + R/2", "")        \
    X(BINARY32_ANGLE, "binary32_angle", "the angle is formed in binary32", "")              \
    X(SECTION_BLOCKS, "section_blocks", "axes by blocks of pairs instead of i % 3", "B015") \
    X(ONE_AXIS, "one_axis", "only the first row of positions is read", "B009")              \
    X(SECTIONS_IGNORED, "sections_ignored", "the axis is i % 3 whatever the sections", "")  \
    X(CLAMPED, "clamped", "positions are clamped to a table of 4096", "B013")               \
    X(SHIFTED, "shifted", "positions are one too large", "B018")                            \
    X(SIGN, "sign", "rotated the other way round", "")                                      \
    X(THETA, "theta", "theta is 10000 whatever is asked for", "")                           \
    X(REST_UNWRITTEN, "rest_unwritten", "elements from R on are not stored", "B012")        \
    X(PACKED_ROWS, "packed_rows", "rows are taken as contiguous", "B010")                   \
    X(ONE_ELEMENT, "one_element", "one element is off by 2^-7", "")

enum { ROPE_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant rope_mutants[ROPE_NUM_MUTANTS];

#endif
