/* SPDX-License-Identifier: MIT
 *
 * linear_add, the plain route: with bf16 weights products and sums in binary64, k in rising order,
 * r last, one rounding into y. With grouped formats linear_grouped's plain route, which does the
 * same, and the vector routes' calls of linear_grouped's.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/linear_add/linear_add_routes.h"
#include "ops/linear_grouped/linear_grouped_routes.h"

struct assay_linear_grouped_args linear_add_grouped(const struct assay_linear_add_args *args)
{
    return (struct assay_linear_grouped_args){
        .x = args->x, .w = args->w, .residual = args->r, .y = args->y};
}

/* Outputs first .. last - 1 of every row: w is the larger operand, so its rows are shared out. */
static void columns(void *argument, int64_t first, int64_t last)
{
    const struct assay_linear_add_args *a = argument;
    for (int64_t n = first; n < last; n++) {
        const void *w = assay_tensor_row(&a->w.base, n);
        for (int64_t t = 0; t < a->x.extent[0]; t++) {
            const void *x = assay_tensor_row(&a->x, t);
            double sum = 0;
            for (int64_t k = 0; k < a->x.extent[1]; k++)
                sum += word_to_f64(x, a->x.dtype, k) * word_to_f64(w, ASSAY_BF16, k);
            sum += word_to_f64(assay_tensor_row(&a->r, t), ASSAY_F32, n);
            word_from_f64(sum, assay_tensor_row(&a->y, t), a->y.dtype, n);
        }
    }
}

assay_status linear_add_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_linear_add_args *a = args;
    if (any_weights_grouped(&a->w)) {
        struct assay_linear_grouped_args grouped = linear_add_grouped(a);
        return linear_grouped_route_plain(context, &grouped, workspace);
    }
    assay_parallel(context, a->w.rows, 16, columns, (void *)(uintptr_t)args);
    return ASSAY_OK;
}

#if defined(ASSAY_SIMD)
assay_status linear_add_route_grouped_avx2(assay_context *context, const void *args,
                                           void *workspace)
{
    struct assay_linear_grouped_args grouped = linear_add_grouped(args);
    return linear_grouped_route_avx2(context, &grouped, workspace);
}

assay_status linear_add_route_grouped_avx512(assay_context *context, const void *args,
                                             void *workspace)
{
    struct assay_linear_grouped_args grouped = linear_add_grouped(args);
    return linear_grouped_route_avx512(context, &grouped, workspace);
}
#endif
