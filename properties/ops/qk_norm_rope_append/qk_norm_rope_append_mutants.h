/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append's planted faults, and the control.
 */
#ifndef PROPERTIES_QK_NORM_ROPE_APPEND_MUTANTS_H
#define PROPERTIES_QK_NORM_ROPE_APPEND_MUTANTS_H

#include <assay/ops/qk_norm_rope_append.h>

#include "mutants.h"

/* X(enumerator, short name, what is wrong (NULL: the control), ids of bug-catalogue.md). */
#define FAULT_TABLE(X)                                                                         \
    X(NONE, "control", NULL, "")                                                               \
    X(EPS_OUTSIDE_ROOT, "eps_outside_root", "eps is added outside the root", "")               \
    X(OFFSET_IGNORED, "offset_ignored", "weights are not offset by one", "")                   \
    X(Q_WEIGHT_FOR_K, "q_weight_for_k", "k is scaled by q's weights", "")                      \
    X(NORM_OVER_ROTATED, "norm_over_rotated", "only R elements are normalised", "")            \
    X(NORM_OVER_HEADS, "norm_over_heads", "all heads of a token share one norm", "")           \
    X(ROTATED_FIRST, "rotated_first", "heads are rotated, then normalised", "")                \
    X(BINARY32_SQUARES, "binary32_squares", "squares overflow and underflow in binary32", "")  \
    X(K_APPENDED_RAW, "k_appended_raw", "k is appended before the norm", "")                   \
    X(K_NOT_ROTATED, "k_not_rotated", "k is appended before the rotation", "")                 \
    X(V_NORMALISED, "v_normalised", "v is normalised, too", "")                                \
    X(INTERLEAVED, "interleaved", "pairs are neighbours (GPT-J) instead of halves", "")        \
    X(ALL_DIMENSIONS, "all_dimensions", "all D elements are rotated", "B016")                  \
    X(SIGN, "sign", "rotated the other way round", "")                                         \
    X(BINARY32_ANGLE, "binary32_angle", "the angle is formed in binary32", "")                 \
    X(ONE_AXIS, "one_axis", "only the first row of positions is read", "B009")                 \
    X(SHIFTED, "shifted", "positions are one too large", "B018")                               \
    X(POSITION_FROM_SLOT, "position_from_slot", "positions are the slots", "")                 \
    X(START_PLUS_ONE, "start_plus_one", "rows land one slot late", "")                         \
    X(START_AT_IGNORED, "start_at_ignored", "rows land at the bound of start_at", "")          \
    X(VALUE_FROM_KEY, "value_from_key", "values are copied from k", "")                        \
    X(HEADS_SWAPPED, "heads_swapped", "heads of k are stored in reverse order", "")            \
    X(Q_STRIDE, "q_stride", "heads of q are taken as contiguous", "B010")                      \
    X(N_IN_BF16, "n_in_bf16", "the normalised head is rounded to bf16", "")                    \
    X(CACHE_TRUNCATED, "cache_truncated", "k is cut into the cache, not rounded", "")          \
    X(V_TABLE_SHIFTED, "v_table_shifted", "v is stored as the format's next larger value", "") \
    X(ONE_ELEMENT, "one_element", "one element of q_out is off by 2^-7", "")

enum { QK_NORM_ROPE_APPEND_NUM_MUTANTS = 0 FAULT_TABLE(MUTANT_COUNT) };
extern const struct case_mutant qk_norm_rope_append_mutants[QK_NORM_ROPE_APPEND_NUM_MUTANTS];

#endif
