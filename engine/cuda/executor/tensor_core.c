/* SPDX-License-Identifier: MIT
 *
 * What the tensor core operations compute.
 *
 * Floating point: c plus the exact products, summed in binary64 and rounded once to binary32. The
 * order and the width in which hardware sums are not documented, and differ between generations;
 * this is the value that all of them approximate. So a route that only just meets its bound here
 * can miss it on a device: bounds of the a16 profile must allow for the device's sum.
 */
#include "cuda/executor/executor_state.h"

#include <string.h>

#include "cuda/executor/fragments.h"
#include "numeric/float_words.h"

enum { ROWS = 16, COLUMNS = 8, MAX_INNER = 32 };

struct operands {
    double a[ROWS][MAX_INNER], b[MAX_INNER][COLUMNS], d[ROWS][COLUMNS];
};

static double decode(enum simt_mma kind, const void *registers, int i)
{
    uint16_t word;
    int8_t byte;
    if (kind == SIMT_MMA_S8) {
        memcpy(&byte, (const char *)registers + i, sizeof byte);
        return byte;
    }
    memcpy(&word, (const char *)registers + 2 * i, sizeof word);
    return (double)(kind == SIMT_MMA_BF16 ? bf16_to_f32(word) : f16_to_f32(word));
}

static void gather(const struct simt_thread *lanes, enum simt_mma kind, int per_register,
                   struct operands *m)
{
    for (int lane = 0; lane < SIMT_WARP_LANES; lane++) {
        for (int i = 0; i < 4 * per_register; i++) {
            struct element e = fragment_a(lane, i, per_register);
            m->a[e.row][e.column] = decode(kind, lanes[lane].request.a, i);
        }
        for (int i = 0; i < 2 * per_register; i++) {
            struct element e = fragment_b(lane, i, per_register);
            m->b[e.row][e.column] = decode(kind, lanes[lane].request.b, i);
        }
    }
}

/* Each sum in the order of k; a row's columns side by side, for the compiler to vectorise. */
static void multiply(struct operands *m, int inner)
{
    for (int row = 0; row < ROWS; row++) {
        double sum[COLUMNS] = {0};
        for (int k = 0; k < inner; k++)
            for (int column = 0; column < COLUMNS; column++)
                sum[column] += m->a[row][k] * m->b[k][column];
        memcpy(m->d[row], sum, sizeof sum);
    }
}

/* d may be c, also of another lane's frame: each lane's c is read before its d is written. */
void tensor_core_mma(struct simt_thread *lanes)
{
    enum simt_mma kind = (enum simt_mma)lanes[0].request.variant;
    int per_register = kind == SIMT_MMA_S8 ? 4 : 2, inner = 8 * per_register;
    struct operands m;
    gather(lanes, kind, per_register, &m);
    multiply(&m, inner);
    for (int lane = 0; lane < SIMT_WARP_LANES; lane++) {
        const char *c = lanes[lane].request.c;
        char *d = lanes[lane].request.d;
        for (int i = 0; i < 4; i++, c += 4, d += 4) {
            struct element e = fragment_c(lane, i);
            double sum = m.d[e.row][e.column];
            float real;
            uint32_t word;
            if (kind == SIMT_MMA_S8) {
                memcpy(&word, c, sizeof word);
                word += (uint32_t)(int32_t)sum; /* wraps, as without .satfinite */
            } else {
                memcpy(&real, c, sizeof real);
                real = (float)((double)real + sum);
                memcpy(&word, &real, sizeof word);
            }
            memcpy(d, &word, sizeof word);
        }
    }
}

void tensor_core_ldmatrix(struct simt_thread *lanes)
{
    int variant = lanes[0].request.variant, transposed = variant < 0;
    int count = transposed ? -variant : variant;
    for (int lane = 0; lane < SIMT_WARP_LANES; lane++) {
        char *registers = lanes[lane].request.d;
        for (int r = 0; r < count; r++) {
            for (int i = 0; i < 2; i++) {
                struct element e = fragment_ldmatrix(lane, i, transposed);
                const char *row = lanes[8 * r + e.row].request.a;
                memcpy(registers + 4 * r + 2 * i, row + 2 * e.column, 2);
            }
        }
    }
}
