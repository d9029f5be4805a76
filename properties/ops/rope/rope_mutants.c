/* SPDX-License-Identifier: MIT
 *
 * rope with one planted fault each, and the control: the same code with none, which must pass.
 * Written against the contract only; shares nothing with the engine's routes.
 */
#include "rope_mutants.h"

#include <math.h>

#include "words.h"

/* X(enumerator, short name, what is wrong, ids of bug-catalogue.md); the control is apart. */
#define FAULT_TABLE(X)                                                                      \
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

enum fault {
    NONE,
#define FAULT_ENUM(enumerator, name, text, ids) enumerator,
    FAULT_TABLE(FAULT_ENUM)
#undef FAULT_ENUM
};

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

#define RUN_FUNCTION(fault)                                                                    \
    static assay_status run_##fault(assay_context *context, const void *args, void *workspace) \
    {                                                                                          \
        (void)context;                                                                         \
        (void)workspace;                                                                       \
        return run(args, fault);                                                               \
    }
#define FAULT_FUNCTION(enumerator, name, text, ids) RUN_FUNCTION(enumerator)
RUN_FUNCTION(NONE)
FAULT_TABLE(FAULT_FUNCTION)

#define MUTANT(enumerator, short_name, text, ids)        \
    {.fault = text,                                      \
     .catalogue = ids,                                   \
     .route = {.name = "rope.mutant." short_name ".cpu", \
               .backend = ASSAY_CPU,                     \
               .profile = ASSAY_PROFILE_F32,             \
               .run = run_##enumerator}},

const struct case_mutant rope_mutants[ROPE_NUM_MUTANTS] = {MUTANT(NONE, "control", NULL, "")
                                                               FAULT_TABLE(MUTANT)};
