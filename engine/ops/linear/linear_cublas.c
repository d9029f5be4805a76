/* SPDX-License-Identifier: MIT
 *
 * linear by cuBLAS. bf16 x: one product. binary32 x: the product of its low parts
 * (linear_split.cuh), to which that of its high parts is added in binary32; where y is bf16 they
 * meet in the workspace.
 *
 * A product of low parts may be infinite or NaN where that of the high parts is so, too, and then
 * means nothing: 0 times infinity, or an infinity of the other sign. It is made zero before the
 * second product, whose result is then the one that counts.
 */
#include "core/core.h"
#include "cuda/cublas.h"
#include "ops/linear/linear_routes.h"

#if defined(ASSAY_HAVE_CUDA)
enum { ALIGNMENT = 256 };

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Both planes. */
static size_t plane_bytes(const struct assay_linear_args *a)
{
    return aligned(4 * (size_t)a->x.extent[0] * (size_t)linear_split_pitch(a->x.extent[1]));
}

/* cuBLAS's own, the planes, the sums. */
size_t linear_cublas_workspace(const assay_context *context, const void *arguments)
{
    const struct assay_linear_args *a = arguments;
    (void)context;
    if (a->x.dtype == ASSAY_BF16)
        return CUBLAS_WORKSPACE;
    size_t sums = a->y.dtype == ASSAY_F32 ? 0 : 4 * (size_t)a->y.extent[0] * (size_t)a->y.extent[1];
    return CUBLAS_WORKSPACE + plane_bytes(a) + sums;
}

static bool fits(const struct assay_tensor *tensor)
{
    return tensor->extent[0] <= INT32_MAX && tensor->extent[1] <= INT32_MAX &&
           tensor->stride[0] <= INT32_MAX && tensor->stride[0] >= tensor->extent[1];
}

bool linear_cublas_takes(const void *arguments)
{
    const struct assay_linear_args *a = arguments;
    return a->x.extent[0] > LINEAR_SMALL_ROWS && fits(&a->x) && fits(&a->w) && fits(&a->y) &&
           linear_split_pitch(a->x.extent[1]) <= INT32_MAX && cublas_is_there();
}

assay_status linear_route_cublas(assay_context *context, const void *arguments, void *workspace)
{
    const struct assay_linear_args *a = arguments;
    if (a->x.dtype == ASSAY_BF16)
        return cublas_linear(context, &a->x, &a->w, &a->y, false, workspace);
    int64_t rows = a->x.extent[0], pitch = linear_split_pitch(a->x.extent[1]);
    char *planes = (char *)workspace + CUBLAS_WORKSPACE, *sums = planes + plane_bytes(a);
    struct assay_linear_args low = *a; /* into the sums */
    low.x.data = planes;
    low.x.dtype = ASSAY_BF16;
    low.x.stride[0] = pitch;
    if (a->y.dtype != ASSAY_F32)
        low.y = assay_tensor_2d(sums, ASSAY_F32, rows, a->y.extent[1]);
    struct assay_linear_args high = low;
    high.x.data = planes + 2 * rows * pitch;
    ASSAY_TRY(linear_split_planes_cuda(context, a, planes));
    ASSAY_TRY(cublas_linear(context, &low.x, &low.w, &low.y, false, workspace));
    ASSAY_TRY(linear_drop_nonfinite_cuda(context, &low, NULL));
    ASSAY_TRY(cublas_linear(context, &high.x, &high.w, &high.y, true, workspace));
    return a->y.dtype == ASSAY_F32 ? ASSAY_OK : linear_round_sums_cuda(context, a, sums);
}
#endif
