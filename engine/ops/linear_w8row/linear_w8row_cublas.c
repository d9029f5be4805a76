/* SPDX-License-Identifier: MIT
 *
 * linear_w8row by cuBLAS: kernels make both operands, cuBLAS the sums of as many rows of x as
 * W8ROW_SUM_BYTES hold, a kernel the rows of y from them.
 */
#include "core/core.h"
#include "cuda/cublas.h"
#include "ops/linear_w8row/linear_w8row_routes.h"

#if defined(ASSAY_HAVE_CUDA)
size_t linear_w8row_cublas_workspace(const assay_context *context, const void *args)
{
    struct w8row_image image;
    (void)context;
    return w8row_image_at(args, NULL, CUBLAS_WORKSPACE, &image);
}

bool linear_w8row_cublas_takes(const void *args)
{
    const struct assay_linear_w8row_args *a = args;
    const int64_t most = INT32_MAX - W8ROW_ROWS;
    return a->x.extent[0] > 0 && a->x.extent[0] <= most && a->w.rows <= most && cublas_is_there();
}

assay_status linear_w8row_route_cublas(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_w8row_args *a = args;
    struct w8row_image image;
    (void)w8row_image_at(a, workspace, CUBLAS_WORKSPACE, &image);
    ASSAY_TRY(w8row_quantise_cuda(context, a, workspace));
    for (int64_t t = 0; t < a->x.extent[0]; t += image.in_tile) {
        int64_t rows = image.x_rows - t < image.in_tile ? image.x_rows - t : image.in_tile;
        struct cublas_s8 product = {.rows = rows,
                                    .columns = image.w_rows,
                                    .inner = image.pitch,
                                    .x = image.x + t * image.pitch,
                                    .w = image.w,
                                    .sums = image.sums};
        ASSAY_TRY(cublas_linear_s8(context, &product, image.library));
        ASSAY_TRY(w8row_scale_cuda(context, &(struct w8row_tile){*a, t, rows}, workspace));
    }
    return ASSAY_OK;
}
#endif
