/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append's forward-error bound. Derivation: qk_norm_rope_append_bound.md.
 */
#include "qk_norm_rope_append_oracle.h"

#include <math.h>

#include "bounds.h"

/* [ROPE-6]: error of the angle that the contract allows. */
#define ANGLE_ERROR 1e-7
/* Products of the terms' relative errors, all below 2^-19, with one another. */
#define SECOND_ORDER (1 + 0x1p-18)

/* `stored`: y's rotated elements are rounded into binary32 before the output's format. */
static void bound_element(const struct oracle_route *route, int64_t width, bool stored, int64_t i,
                          struct oracle_output *y)
{
    bool binary64 = route->profile == ASSAY_PROFILE_F64;
    double u = binary64 ? ORACLE_U64 : ORACLE_U32, tiny = binary64 ? 0 : ORACLE_TINY32;
    double norm = y->aux[QKNRA_NORM][i], turned = y->aux[QKNRA_TURNED][i];
    double slope = y->aux[QKNRA_SLOPE][i], between = y->aux[QKNRA_BETWEEN][i];
    bool turns = turned != 0 || slope != 0;
    if (!isfinite(y->value[i]) || (norm == 0 && slope == 0))
        return; /* compared by its pattern; zeros */
    y->term[ORACLE_TERM_INPUT][i] =
        SECOND_ORDER * (between + ANGLE_ERROR * (slope + ANGLE_ERROR * turned));
    y->term[ORACLE_TERM_ACCUMULATION][i] =
        SECOND_ORDER * 0.5 * oracle_gamma((double)width + 2, ORACLE_U64) * norm;
    y->term[ORACLE_TERM_PRODUCTS][i] =
        SECOND_ORDER * (oracle_gamma(3, u) * norm + oracle_gamma(2, u) * turned) +
        (turns ? 4 : 1) * tiny;
    y->term[ORACLE_TERM_FUNCTIONS][i] =
        SECOND_ORDER * (oracle_gamma(2, u) * norm + oracle_gamma(2, u) * turned) +
        2 * tiny * (turned + slope);
    if (!binary64 || !turns || !stored)
        return; /* in binary32 the rotation's last rounding is that one */
    double reach = fabs(y->value[i]) + y->own[i];
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        reach += y->term[t][i];
    y->term[ORACLE_TERM_PRODUCTS][i] += SECOND_ORDER * oracle_half_ulp(reach, ASSAY_F32);
}

/* Elements [first, first + count); the others keep their bits and have no terms. */
static void bound_heads(const struct oracle_route *route, int64_t width, bool stored, int64_t first,
                        int64_t count, struct oracle_output *y)
{
    for (int64_t i = first; i < first + count; i++)
        bound_element(route, width, stored, i, y);
    oracle_bound_output_rounding(y);
    for (int64_t i = 0; i < y->count; i++)
        if (i < first || i >= first + count)
            y->term[ORACLE_TERM_OUTPUT][i] = 0;
    oracle_bound_rms(y, oracle_inputs_independent(), 1);
}

void oracle_qknra_bound(const void *args, const struct oracle_route *route,
                        struct oracle_output *outputs)
{
    const struct assay_qk_norm_rope_append_args *a = args;
    int64_t width = a->q.extent[2];
    int64_t first = oracle_qknra_start(a) * a->k.extent[1] * width;
    bound_heads(route, width, false, 0, outputs[QKNRA_Q_OUT].count, &outputs[QKNRA_Q_OUT]);
    bound_heads(route, width, a->k_cache.dtype != ASSAY_F32, first, assay_tensor_count(&a->k),
                &outputs[QKNRA_K_CACHE]);
    /* v_cache: one number an element */
}
