/* SPDX-License-Identifier: MIT
 *
 * rope's laws and its bad calls. Clauses tested here or by the sweep (rope.route.cpu): [ROPE-1]
 * laws and sweep; [ROPE-2] sweep; [ROPE-3] axes law and sweep; [ROPE-4] sweep (layouts, formats)
 * and errors; [ROPE-5] errors; [ROPE-6] errors and the positions `far` of the sweep; [ROPE-7]
 * position 0 and the distribution nonfinite of the sweep; [ROPE-8] sweep (in place, guards) and
 * errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/rope.h>

enum { HEADS = 2, PAIRS = 20, REST = 7, D = 2 * PAIRS + REST };

/* One token at position p. */
static void rotate(assay_context *context, const float *x, int32_t p, float *y)
{
    struct assay_rope_args args = {
        .x = assay_tensor_3d((void *)(uintptr_t)x, ASSAY_F32, 1, HEADS, D),
        .positions = assay_tensor_1d(&p, ASSAY_I32, 1),
        .y = assay_tensor_3d(y, ASSAY_F32, 1, HEADS, D),
        .rotary_dim = 2 * PAIRS,
        .theta = 1e7};
    cr_assert_eq(assay_rope(context, &args), ASSAY_OK);
}

static double dot(const float *a, const float *b, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* A rotation keeps the norm of every pair [ROPE-1], and position 0 copies, to the bit [ROPE-7]. */
Test(rope, norms_and_position_zero)
{
    assay_context *context = new_context(0);
    const int32_t positions[] = {1, 77, 65535, (1 << 24) - 1};
    float x[HEADS * D], y[HEADS * D];
    fill_floats(x, HEADS * D, 1);
    for (int route = 0; route < assay_op_num_routes(&assay_op_rope); route++) {
        if (!take_route(context, &assay_op_rope, route))
            continue;
        for (size_t k = 0; k < sizeof positions / sizeof positions[0]; k++) {
            rotate(context, x, positions[k], y);
            for (int h = 0; h < HEADS; h++) {
                for (int i = 0; i < PAIRS; i++) {
                    const float *u = x + h * D + i, *v = y + h * D + i;
                    double before = hypot((double)u[0], (double)u[PAIRS]);
                    double after = hypot((double)v[0], (double)v[PAIRS]);
                    /* at most four roundings on each element; the angle does not matter */
                    cr_assert(fabs(before - after) <= 8 * 0x1p-24 * before);
                }
                cr_assert(memcmp(x + h * D + 2 * PAIRS, y + h * D + 2 * PAIRS, REST * sizeof *x) ==
                          0);
            }
        }
        rotate(context, x, 0, y);
        cr_assert(memcmp(x, y, sizeof x) == 0);
    }
    assay_context_destroy(context);
}

/* q_p . k_s depends on p - s only: the property that attention is built on [ROPE-1]. */
Test(rope, relative_positions)
{
    assay_context *context = new_context(0);
    const int32_t shifts[] = {0, 1, 1000, 1 << 20};
    float q[HEADS * D], k[HEADS * D], q_turned[HEADS * D], k_turned[HEADS * D];
    fill_floats(q, HEADS * D, 2);
    fill_floats(k, HEADS * D, 3);
    for (int route = 0; route < assay_op_num_routes(&assay_op_rope); route++) {
        if (!take_route(context, &assay_op_rope, route))
            continue;
        double first = 0, magnitude = 0;
        for (int i = 0; i < D; i++)
            magnitude += fabs((double)q[i] * (double)k[i]);
        for (size_t s = 0; s < sizeof shifts / sizeof shifts[0]; s++) {
            rotate(context, q, 19 + shifts[s], q_turned);
            rotate(context, k, 4 + shifts[s], k_turned);
            double product = dot(q_turned, k_turned, D);
            if (s == 0)
                first = product;
            /* each angle within 1e-7 [ROPE-6], each element within 4 2^-24, pairs mixed: factor 2
             */
            cr_assert(fabs(product - first) <= 2 * magnitude * (4 * 1e-7 + 16 * 0x1p-24) + 1e-5);
            if (s > 0) /* and the law has teeth: one more step shows */
                rotate(context, k, 5 + shifts[s], k_turned);
            cr_assert(s == 0 || fabs(dot(q_turned, k_turned, D) - first) > 1e-2);
        }
    }
    assay_context_destroy(context);
}

/* Turning by p and then by s is turning by p + s [ROPE-1]. */
Test(rope, composition)
{
    assay_context *context = new_context(0);
    float x[HEADS * D], y[HEADS * D], z[HEADS * D], once[HEADS * D];
    fill_floats(x, HEADS * D, 4);
    for (int route = 0; route < assay_op_num_routes(&assay_op_rope); route++) {
        if (!take_route(context, &assay_op_rope, route))
            continue;
        for (int32_t p = 1; p < 1 << 22; p *= 5) {
            rotate(context, x, p, y);
            rotate(context, y, 3 * p + 2, z);
            rotate(context, x, 4 * p + 2, once);
            for (int i = 0; i < HEADS * D; i++) {
                /* three angles within 1e-7, |x| at most 2 a component */
                cr_assert(fabs((double)z[i] - (double)once[i]) <= 3e-7 * 4 + 12 * 0x1p-24 * 4);
            }
        }
    }
    assay_context_destroy(context);
}

/* Each axis moves its own pairs, i % 3 as far as its section reaches, and no others [ROPE-3]. */
Test(rope, axes)
{
    assay_context *context = new_context(0);
    const int64_t sections[] = {10, 6, 4}; /* of 20 pairs */
    float x[HEADS * D], y[HEADS * D];
    fill_floats(x, HEADS * D, 5);
    for (int route = 0; route < assay_op_num_routes(&assay_op_rope); route++) {
        if (!take_route(context, &assay_op_rope, route))
            continue;
        for (int axis = 0; axis < 3; axis++) {
            int32_t positions[3] = {0, 0, 0};
            positions[axis] = 1 << 20;
            struct assay_rope_args args = {.x = assay_tensor_3d(x, ASSAY_F32, 1, HEADS, D),
                                           .positions = assay_tensor_2d(positions, ASSAY_I32, 3, 1),
                                           .y = assay_tensor_3d(y, ASSAY_F32, 1, HEADS, D),
                                           .rotary_dim = 2 * PAIRS,
                                           .theta = 100};
            memcpy(args.sections, sections, sizeof sections);
            cr_assert_eq(assay_rope(context, &args), ASSAY_OK);
            for (int i = 0; i < PAIRS; i++) {
                int expected = i % 3;
                if (expected != 0 && i >= 3 * sections[expected])
                    expected = 0;
                bool moved = x[i] != y[i] || x[i + PAIRS] != y[i + PAIRS];
                cr_assert_eq(moved, expected == axis, "pair %d, axis %d", i, axis);
            }
        }
    }
    assay_context_destroy(context);
}

/* Every documented error [ROPE-4] [ROPE-5] [ROPE-6] [ROPE-8]. */
Test(rope, errors)
{
    enum { T = 2 };
    float x[T * HEADS * D] = {0}, y[T * HEADS * D + 8];
    int32_t positions[3 * T] = {0, 1, 2, 3, 4, 5}, far[3 * T] = {0, 1, 2, 3, 4, 1 << 24};
    int32_t negative[3 * T] = {0, -1, 2, 3, 4, 5};
    const struct assay_rope_args good = {.x = assay_tensor_3d(x, ASSAY_F32, T, HEADS, D),
                                         .positions = assay_tensor_2d(positions, ASSAY_I32, 3, T),
                                         .y = assay_tensor_3d(y, ASSAY_F32, T, HEADS, D),
                                         .rotary_dim = 2 * PAIRS,
                                         .theta = 1e7,
                                         .sections = {10, 6, 4}};
    struct bad_calls *calls = bad_calls_new(&assay_op_rope, &good, y, sizeof y);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_rope_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "x", a.x.data = NULL);
    BAD(ASSAY_E_ARG, "positions", a.positions.data = NULL);
    BAD(ASSAY_E_ARG, "y", a.y.data = NULL);
    BAD(ASSAY_E_ARG, "rotary_dim", a.rotary_dim = 0);
    BAD(ASSAY_E_ARG, "rotary_dim", a.rotary_dim = -2);
    BAD(ASSAY_E_ARG, "rotary_dim", a.rotary_dim = 2 * PAIRS - 1);
    BAD(ASSAY_E_ARG, "rotary_dim", a.rotary_dim = D + 1);
    BAD(ASSAY_E_ARG, "theta", a.theta = 1);
    BAD(ASSAY_E_ARG, "theta", a.theta = -1e7);
    BAD(ASSAY_E_ARG, "theta", a.theta = NAN);
    BAD(ASSAY_E_ARG, "theta", a.theta = INFINITY);
    BAD(ASSAY_E_ARG, "sections", a.sections[0] = 11);
    BAD(ASSAY_E_ARG, "sections", a.sections[2] = 3);
    BAD(ASSAY_E_ARG, "sections", a.sections[1] = -6);
    BAD(ASSAY_E_ARG, "sections", a.sections[0] = INT64_MAX);
    BAD(ASSAY_E_RANGE, "positions", a.positions.data = far);
    BAD(ASSAY_E_RANGE, "positions", a.positions.data = negative);
    BAD(ASSAY_E_SHAPE, "x", a.x.rank = 2);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "y", a.y.extent[2] = D - 1);
    BAD(ASSAY_E_SHAPE, "x", a.x.extent[1] = a.y.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "positions", a.positions.rank = 3);
    BAD(ASSAY_E_SHAPE, "positions", a.positions.extent[0] = 2);
    BAD(ASSAY_E_SHAPE, "positions", a.positions.extent[1] = 1);
    BAD(ASSAY_E_FORMAT, "x", a.x.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "positions", a.positions.dtype = ASSAY_F32);
    BAD(ASSAY_E_FORMAT, "y", a.y.dtype = ASSAY_I32);
    BAD(ASSAY_E_LAYOUT, "x", a.x.stride[2] = 2);
    BAD(ASSAY_E_LAYOUT, "y", a.y.stride[1] = D - 1);
    BAD(ASSAY_E_LAYOUT, "positions", a.positions.stride[1] = 2);
    BAD(ASSAY_E_ALIAS, "y", a.x.data = y + 1);
    BAD(ASSAY_E_ALIAS, "y", a.positions.data = y);
#undef BAD
    bad_calls_finish(calls);
}
