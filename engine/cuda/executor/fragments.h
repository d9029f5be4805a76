/* SPDX-License-Identifier: MIT
 *
 * Which element of a matrix which lane holds where: the fragment layouts of mma.sync and ldmatrix
 * (PTX ISA, "Matrix fragments for mma" and "ldmatrix"). The only place that knows them; checked
 * against results of a device (golden/device).
 */
#ifndef ASSAY_CUDA_EXECUTOR_FRAGMENTS_H
#define ASSAY_CUDA_EXECUTOR_FRAGMENTS_H

struct element {
    int row, column;
};

/* mma.m16n8kK, element i of lane `lane`, counted from the low end of register 0 on. per_register:
 * operand elements in 32 bits, 2 (K = 16) or 4 (K = 32). A is 16 x K, B is K x 8, C and D 16 x 8.
 *
 * Lanes form 8 groups of 4: the group is the row (of A, C) or column (of B), the place in the group
 * says which run of per_register neighbours along K a register holds. */
static inline struct element fragment_a(int lane, int i, int per_register)
{
    int group = lane / 4, place = lane % 4;
    int register_index = i / per_register; /* rows g, g + 8, then the same in the upper half of K */
    return (struct element){.row = group + 8 * (register_index % 2),
                            .column = place * per_register + i % per_register +
                                      register_index / 2 * 4 * per_register};
}

static inline struct element fragment_b(int lane, int i, int per_register)
{
    int group = lane / 4, place = lane % 4;
    return (struct element){.row = place * per_register + i % per_register +
                                   i / per_register * 4 * per_register,
                            .column = group};
}

static inline struct element fragment_c(int lane, int i)
{
    return (struct element){.row = lane / 4 + 8 * (i / 2), .column = lane % 4 * 2 + i % 2};
}

/* ldmatrix: 16-bit element i (0, 1) of register r, from the 8 x 8 matrix r as it lies in memory. */
static inline struct element fragment_ldmatrix(int lane, int i, int transposed)
{
    struct element e = {.row = lane / 4, .column = lane % 4 * 2 + i};
    return transposed ? (struct element){.row = e.column, .column = e.row} : e;
}

#endif
