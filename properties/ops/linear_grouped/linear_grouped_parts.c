/* SPDX-License-Identifier: MIT
 *
 * linear_grouped.gemv multiplies a binary32 x in three bf16 parts whose sum is x
 * (linear_grouped_bound.md): one element of x times a weight whose product binary32 holds comes out
 * exactly. The bound of profile a16x2 does not ask for the lowest part; this law fails without it.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_formats.h"
#include "product_laws.h"
#include "words.h"
#include <assay/ops/linear_grouped.h>

/* A power of two, which leaves 24 bits what they are; or zero. */
static bool is_exact(double code)
{
    int exponent;
    return code == 0 || fabs(frexp(code, &exponent)) == 0.5;
}

/* Values with all 24 bits, or small ones. */
static const float values[] = {0x1.fffffep0f,   -0x1.555556p-3f, 0x1.aaaaaap20f, 0x1.00ffp0f,
                               -0x1.fefefep-7f, 0x1.fffffep110f, 0x1.8p-130f,    0x1.010102p-108f};

static void compare_row(const struct assay_linear_grouped_args *a, int64_t k, float value,
                        int *num_compared)
{
    for (int64_t n = 0; n < a->w.rows; n++) {
        double code = oracle_weight_code(&a->w, n, k);
        if (!is_exact(code))
            continue;
        cr_assert_eq(oracle_get(&a->y, n), (double)value * code,
                     "%s: %a at column %lld times %g gives %a",
                     assay_weight_format_name(a->w.format), (double)value, (long long)k, code,
                     oracle_get(&a->y, n));
        ++*num_compared;
    }
}

Test(linear_grouped, three_parts)
{
    enum { N = 19, K = 700, NUM_VALUES = sizeof values / sizeof values[0] };
    assay_context *context = new_simt_context();
    if (context == NULL)
        return;
    cr_assert_eq(assay_context_force_route(context, "linear_grouped.gemv.simt"), ASSAY_OK);
    for (enum assay_weight_format format = ASSAY_WEIGHT_Q4G64; format < ASSAY_NUM_WEIGHT_FORMATS;
         format = (enum assay_weight_format)(format + 1)) {
        struct assay_linear_grouped_args a = {.x = noise_tensor(1, K, 0),
                                              .w = noise_matrix(format, N, K, 1),
                                              .y = noise_tensor(1, N, 2)};
        int num_compared = 0;
        for (int64_t i = 0; i < assay_tensor_count(&a.w.scales); i++)
            oracle_put(&a.w.scales, i, 1);
        for (int64_t k = 0; k < K; k += 53) {
            float value = values[k / 53 % NUM_VALUES];
            memset(a.x.data, 0, sizeof(float) * K);
            oracle_put(&a.x, k, value);
            cr_assert_eq(assay_linear_grouped(context, &a), ASSAY_OK, "%s",
                         assay_context_error(context)->message);
            compare_row(&a, k, value, &num_compared);
        }
        cr_assert_gt(num_compared, 10);
        free(a.x.data);
        free(a.w.base.data);
        free(a.y.data);
    }
    assay_context_destroy(context);
}
