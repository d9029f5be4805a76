/* SPDX-License-Identifier: MIT
 *
 * Fragment layouts. Lanes form 8 groups of 4: the group is the row (of A, C) or column (of B), the
 * place in the group says which run of per_register neighbours along K a register holds.
 */
#include "cuda/executor/fragments.h"

struct element fragment_a(int lane, int i, int per_register)
{
    int group = lane / 4, place = lane % 4;
    int register_index = i / per_register; /* rows g, g + 8, then the same in the upper half of K */
    return (struct element){.row = group + 8 * (register_index % 2),
                            .column = place * per_register + i % per_register +
                                      register_index / 2 * 4 * per_register};
}

struct element fragment_b(int lane, int i, int per_register)
{
    int group = lane / 4, place = lane % 4;
    return (struct element){.row = place * per_register + i % per_register +
                                   i / per_register * 4 * per_register,
                            .column = group};
}

struct element fragment_c(int lane, int i)
{
    return (struct element){.row = lane / 4 + 8 * (i / 2), .column = lane % 4 * 2 + i % 2};
}

struct element fragment_ldmatrix(int lane, int i, int transposed)
{
    struct element e = {.row = lane / 4, .column = lane % 4 * 2 + i};
    return transposed ? (struct element){.row = e.column, .column = e.row} : e;
}
