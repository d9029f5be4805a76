/* SPDX-License-Identifier: MIT
 *
 * The engine's row kernels on the fixtures' memory: aligned rows with 16-byte accesses, a width
 * with a tail, and a row of two warps. Addresses may be a device's: nothing is read or written
 * here.
 */
#include <assay/ops/add.h>
#include <assay/ops/l2norm.h>
#include <assay/ops/rmsnorm.h>
#include <assay/ops/silu_mul.h>

#include "cuda/executor/selftest/fragment_kernels.h"
#include "ops/add/add_routes.h"
#include "ops/l2norm/l2norm_routes.h"
#include "ops/rmsnorm/rmsnorm_routes.h"
#include "ops/silu_mul/silu_mul_routes.h"

/* `rows` rows of `width` elements from word `at` on. */
static struct assay_tensor view(const uint32_t *words, int at, enum assay_dtype dtype, int64_t rows,
                                int64_t width)
{
    return assay_tensor_2d((void *)(uintptr_t)(words + at), dtype, rows, width);
}

static struct assay_tensor weights(const uint32_t *words, int at, int64_t width)
{
    return assay_tensor_1d((void *)(uintptr_t)(words + at), ASSAY_BF16, width);
}

static assay_status rmsnorm_bf16(struct simt_launch *launch, const uint32_t *in, uint32_t *out)
{
    struct assay_rmsnorm_args args = {.x = view(in, 0, ASSAY_BF16, 2, 136),
                                      .w = weights(in, 136, 136),
                                      .y = view(out, 0, ASSAY_BF16, 2, 136),
                                      .unit_offset = true,
                                      .eps = 1e-6};
    return DEVICE_LAUNCH(rmsnorm_route_row)(&args, launch);
}

static assay_status rmsnorm_tail(struct simt_launch *launch, const uint32_t *in, uint32_t *out)
{
    struct assay_rmsnorm_args args = {.x = view(in, 0, ASSAY_BF16, 2, 131),
                                      .w = weights(in, 136, 131),
                                      .y = view(out, 0, ASSAY_F32, 2, 131),
                                      .eps = 1e-5};
    return DEVICE_LAUNCH(rmsnorm_route_row)(&args, launch);
}

static assay_status l2norm_f32(struct simt_launch *launch, const uint32_t *in, uint32_t *out)
{
    struct assay_l2norm_args args = {
        .x = view(in, 0, ASSAY_F32, 1, 300), .y = view(out, 0, ASSAY_F32, 1, 300), .eps = 1e-6};
    return DEVICE_LAUNCH(l2norm_route_row)(&args, launch);
}

static assay_status add_bf16(struct simt_launch *launch, const uint32_t *in, uint32_t *out)
{
    struct assay_add_args args = {.a = view(in, 0, ASSAY_BF16, 2, 160),
                                  .b = view(in, 160, ASSAY_BF16, 2, 160),
                                  .y = view(out, 0, ASSAY_BF16, 2, 160)};
    return DEVICE_LAUNCH(add_route_row)(&args, launch);
}

static assay_status silu_mul_f32(struct simt_launch *launch, const uint32_t *in, uint32_t *out)
{
    struct assay_silu_mul_args args = {.gate = view(in, 0, ASSAY_F32, 2, 80),
                                       .up = view(in, 160, ASSAY_F32, 2, 80),
                                       .y = view(out, 0, ASSAY_F32, 2, 80)};
    return DEVICE_LAUNCH(silu_mul_route_row)(&args, launch);
}

const struct fragment_op row_ops[] = {
    {"rmsnorm.bf16", 7, 5, OPERANDS_BF16, rmsnorm_bf16},
    {"rmsnorm.tail", 7, 9, OPERANDS_BF16, rmsnorm_tail},
    {"l2norm.f32", 10, 10, OPERANDS_F32, l2norm_f32},
    {"add.bf16", 10, 5, OPERANDS_BF16, add_bf16},
    {"silu_mul.f32", 10, 5, OPERANDS_F32, silu_mul_f32},
};
const int num_row_ops = (int)(sizeof row_ops / sizeof row_ops[0]);
