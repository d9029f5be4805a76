/* SPDX-License-Identifier: MIT
 *
 * Which element of a matrix which lane holds where: the fragment layouts of mma.sync and ldmatrix
 * (PTX ISA, "Matrix fragments for mma" and "ldmatrix"). The only place that knows them; checked
 * against results of a device (golden/device).
 */
#ifndef ASSAY_CUDA_EXECUTOR_FRAGMENTS_H
#define ASSAY_CUDA_EXECUTOR_FRAGMENTS_H

#ifdef __cplusplus
extern "C" {
#endif

struct element {
    int row, column;
};

/* mma.m16n8kK, element i of lane `lane`, counted from the low end of register 0 on. per_register:
 * operand elements in 32 bits, 2 (K = 16) or 4 (K = 32). A is 16 x K, B is K x 8, C and D 16 x 8.
 */
struct element fragment_a(int lane, int i, int per_register);
struct element fragment_b(int lane, int i, int per_register);
struct element fragment_c(int lane, int i);

/* ldmatrix: 16-bit element i (0, 1) of register r, from the 8 x 8 matrix r as it lies in memory. */
struct element fragment_ldmatrix(int lane, int i, int transposed);

#ifdef __cplusplus
}
#endif
#endif
