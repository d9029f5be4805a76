/* SPDX-License-Identifier: MIT
 *
 * gdn_gating, vectorised over heads. Vectors whose arguments are all moderate are done in
 * binary32; a vector with any other lane (huge, tiny, infinite, NaN) is done element by element
 * with the plain formulas, which hold everywhere.
 *
 * Profile f32. Bound: gdn_gating_bound.md.
 */
#include "core/core.h"
#include "numeric/simd.h"
#include "ops/gdn_gating/gdn_gating_routes.h"

#include <math.h>

/* log(1 + t) for t in [0, 1] as 2 atanh(s), s = t / (2 + t) <= 1/3: the odd series to s^17 has a
 * remainder below 2^-31 of the value, and keeps relative accuracy as t goes to 0. */
static vf log1p_unit(vf t)
{
    vf s = t / (t + vf_set(2.0f));
    vf z = s * s;
    vf p = vf_set(1.0f / 17);
    p = vf_fma(p, z, vf_set(1.0f / 15));
    p = vf_fma(p, z, vf_set(1.0f / 13));
    p = vf_fma(p, z, vf_set(1.0f / 11));
    p = vf_fma(p, z, vf_set(1.0f / 9));
    p = vf_fma(p, z, vf_set(1.0f / 7));
    p = vf_fma(p, z, vf_set(1.0f / 5));
    p = vf_fma(p, z, vf_set(1.0f / 3));
    vf twice = s + s;
    return vf_fma(twice * z, p, twice);
}

/* |a_log| <= 60 and -60 <= x <= 2^13: every factor and, but for the last rounding, every product
 * is a normal number. False for NaN. */
static bool moderate(vf x, vf a_log)
{
    vi fits = (vi)(x >= vf_set(-60.0f)) & (vi)(x <= vf_set(8192.0f)) &
              (vi)(vf_abs(a_log) <= vf_set(60.0f));
    int32_t lane[SIMD_WIDTH], all = -1;
    memcpy(lane, &fits, sizeof lane);
    for (int i = 0; i < SIMD_WIDTH; i++)
        all &= lane[i];
    return all != 0;
}

static vf decay_lanes(vf a, vf dt_bias, vf a_log)
{
    float x[SIMD_WIDTH], bias[SIMD_WIDTH], rate[SIMD_WIDTH];
    vf_store(x, a);
    vf_store(bias, dt_bias);
    vf_store(rate, a_log);
    for (int i = 0; i < SIMD_WIDTH; i++)
        x[i] = (float)gdn_gating_decay((double)x[i], (double)bias[i], (double)rate[i]);
    return vf_load(x);
}

static vf decay(vf a, vf dt_bias, vf a_log)
{
    vf x = a + dt_bias;
    if (!moderate(x, a_log))
        return decay_lanes(a, dt_bias, a_log);
    vf positive = vf_select((vi)(x > vf_set(0.0f)), x, vf_set(0.0f));
    vf softplus = positive + log1p_unit(vf_exp(-vf_abs(x)));
    return -(vf_exp(a_log) * softplus);
}

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct assay_gdn_gating_args *a = argument;
    int64_t heads = a->a_log.extent[0];
    for (int64_t t = first; t < last; t++) {
        const void *pa = assay_tensor_row(&a->a, t), *pb = assay_tensor_row(&a->b, t);
        float *g = assay_tensor_row(&a->g, t), *beta = assay_tensor_row(&a->beta, t);
        int64_t h = 0;
        for (; h + SIMD_LANES <= heads; h += SIMD_LANES) { /* g may be a, beta may be b */
            vf bias = vf_load_any(a->dt_bias.data, a->dt_bias.dtype, h);
            vf rate = vf_load_any(a->a_log.data, a->a_log.dtype, h);
            vf_store(g + h, decay(vf_load_any(pa, a->a.dtype, h), bias, rate));
            vf_store(beta + h, vf_sigmoid(vf_load_any(pb, a->b.dtype, h)));
        }
        if (h < heads) {
            int64_t rest = heads - h;
            vf bias = vf_load_tail(a->dt_bias.data, a->dt_bias.dtype, h, rest);
            vf rate = vf_load_tail(a->a_log.data, a->a_log.dtype, h, rest);
            vf value = decay(vf_load_tail(pa, a->a.dtype, h, rest), bias, rate);
            vf_store_tail(g, ASSAY_F32, h, rest, value);
            value = vf_sigmoid(vf_load_tail(pb, a->b.dtype, h, rest));
            vf_store_tail(beta, ASSAY_F32, h, rest, value);
        }
    }
}

assay_status SIMD_NAME(gdn_gating_route)(assay_context *context, const void *args, void *workspace)
{
    const struct assay_gdn_gating_args *a = args;
    (void)workspace;
    assay_parallel(context, a->a.extent[0], 1, rows, (void *)(uintptr_t)args);
    return ASSAY_OK;
}
