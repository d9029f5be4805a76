/* SPDX-License-Identifier: MIT
 *
 * rope with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "rope_mutants.h"

#include <math.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

static int64_t axis_of(const struct assay_rope_args *a, int64_t pair, enum fault fault)
{
    if (a->positions.rank == 1 || fault == ONE_AXIS)
        return 0;
    if (fault == SECTION_BLOCKS)
        return pair < a->sections[0] ? 0 : pair < a->sections[0] + a->sections[1] ? 1 : 2;
    if (fault == SECTIONS_IGNORED)
        return pair % 3;
    for (int64_t axis = 1; axis < 3; axis++)
        if (pair % 3 == axis && pair < 3 * a->sections[axis])
            return axis;
    return 0;
}

static double angle_of(const struct assay_rope_args *a, int64_t t, int64_t pair, enum fault fault)
{
    int64_t p = oracle_get_int(&a->positions, axis_of(a, pair, fault) * a->x.extent[0] + t);
    double theta = fault == THETA ? 1e4 : a->theta;
    double width = (double)(fault == WIDTH_OF_HEAD ? a->x.extent[2] : a->rotary_dim);
    if (fault == CLAMPED && p > 4095)
        p = 4095;
    if (fault == SHIFTED)
        p++;
    double frequency = pow(theta, -2.0 * (double)pair / width);
    double angle = (double)p * frequency;
    if (fault == BINARY32_ANGLE)
        angle = (double)((float)p * (float)frequency);
    return fault == SIGN ? -angle : angle;
}

/* Element of x; PACKED_ROWS steps by D instead of the row's stride. */
static double get_x(const struct assay_rope_args *a, int64_t row, int64_t i, enum fault fault)
{
    struct assay_tensor x = a->x;
    if (fault == PACKED_ROWS) {
        x.stride[1] = x.extent[2];
        x.stride[0] = x.extent[1] * x.extent[2];
    }
    return oracle_get(&x, row * x.extent[2] + i);
}

static void rotate_row(const struct assay_rope_args *a, int64_t row, enum fault fault)
{
    int64_t t = row / a->x.extent[1], width = a->x.extent[2], base = row * width;
    int64_t rotated = fault == ALL_DIMENSIONS ? width / 2 * 2 : a->rotary_dim;
    int64_t half = rotated / 2;
    /* Everything else is stored first: HALF_OF_HEAD writes there too. */
    for (int64_t i = rotated; i < width && fault != REST_UNWRITTEN; i++)
        oracle_put(&a->y, base + i, get_x(a, row, i, fault));
    for (int64_t pair = 0; pair < half; pair++) {
        int64_t low = fault == INTERLEAVED ? 2 * pair : pair;
        int64_t high = fault == INTERLEAVED ? 2 * pair + 1 : pair + half;
        if (fault == HALF_OF_HEAD)
            high = pair + width / 2 >= half ? pair + width / 2 : pair + half;
        double c = cos(angle_of(a, t, pair, fault)), s = sin(angle_of(a, t, pair, fault));
        double u = get_x(a, row, low, fault), v = get_x(a, row, high, fault);
        oracle_put(&a->y, base + low, u * c - v * s);
        oracle_put(&a->y, base + high, v * c + u * s);
    }
    if (fault == ONE_ELEMENT && row == 0)
        oracle_put(&a->y, width / 2, oracle_get(&a->y, width / 2) * (1 + 0x1p-7));
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_rope_args *a = args;
    for (int64_t row = 0; row < assay_tensor_rows(&a->x); row++)
        rotate_row(a, row, fault);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("rope", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant rope_mutants[ROPE_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
