/* SPDX-License-Identifier: MIT
 *
 * Argument checks and traffic of the gated delta rule.
 */
#include "ops/gdn_recurrent/gdn_checks.h"
#include "core/core.h"

/* q, k, v, g, beta, state, o agree with each other. */
static assay_status check_extents(assay_context *context, const char *op,
                                  const struct assay_gdn_recurrent_args *a)
{
    int64_t tokens = a->q.extent[0], key_heads = a->q.extent[1], key_dim = a->q.extent[2];
    int64_t heads = a->v.extent[1], value_dim = a->v.extent[2];
    if (key_heads < 1 || key_dim < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "q",
                            "must have at least one head of at least one element");
    ASSAY_TRY(assay_check_shape(context, op, "k", &a->k, "q", &a->q));
    ASSAY_TRY(assay_check_extent(context, op, "v", &a->v, 0, tokens));
    if (heads < 1 || heads % key_heads != 0 || value_dim < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "v",
                            "must have at least one element a head, and a positive multiple of "
                            "q's %lld heads, has %lld",
                            (long long)key_heads, (long long)heads);
    ASSAY_TRY(assay_check_extent(context, op, "g", &a->g, 0, tokens));
    ASSAY_TRY(assay_check_extent(context, op, "g", &a->g, 1, heads));
    ASSAY_TRY(assay_check_shape(context, op, "beta", &a->beta, "g", &a->g));
    ASSAY_TRY(assay_check_extent(context, op, "state", &a->state, 0, heads));
    ASSAY_TRY(assay_check_extent(context, op, "state", &a->state, 1, key_dim));
    ASSAY_TRY(assay_check_extent(context, op, "state", &a->state, 2, value_dim));
    return assay_check_shape(context, op, "o", &a->o, "v", &a->v);
}

assay_status gdn_check_args(assay_context *context, const char *op,
                            const struct assay_gdn_recurrent_args *a)
{
    const unsigned f32 = ASSAY_FORMAT(ASSAY_F32), states = f32 | ASSAY_FORMAT(ASSAY_F16);
    ASSAY_TRY(assay_check_tensor(context, op, "q", &a->q, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "k", &a->k, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "v", &a->v, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "g", &a->g, 2, 2, f32, false));
    ASSAY_TRY(assay_check_tensor(context, op, "beta", &a->beta, 2, 2, f32, false));
    ASSAY_TRY(assay_check_tensor(context, op, "state", &a->state, 3, 3, states, true));
    ASSAY_TRY(assay_check_tensor(context, op, "o", &a->o, 3, 3, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(check_extents(context, op, a));
    return assay_check_number(context, op, "scale", a->scale, false);
}

assay_status gdn_check_aliases(assay_context *context, const char *op,
                               const struct assay_gdn_recurrent_args *a)
{
    const struct {
        const char *name;
        const struct assay_tensor *tensor;
    } inputs[] = {{"q", &a->q}, {"k", &a->k}, {"v", &a->v}, {"g", &a->g}, {"beta", &a->beta}};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        bool may_equal = inputs[i].tensor == &a->v;
        ASSAY_TRY(assay_check_alias(context, op, "o", &a->o, inputs[i].name, inputs[i].tensor,
                                    may_equal));
        ASSAY_TRY(assay_check_alias(context, op, "state", &a->state, inputs[i].name,
                                    inputs[i].tensor, false));
    }
    return assay_check_alias(context, op, "o", &a->o, "state", &a->state, false);
}

struct assay_floor gdn_floor(const struct assay_gdn_recurrent_args *a, double operations)
{
    double tokens = (double)a->q.extent[0], heads = (double)a->v.extent[1];
    double state_bytes = tokens > 0 ? (double)assay_tensor_count(&a->state) *
                                          (double)assay_dtype_bytes(a->state.dtype)
                                    : 0;
    return (struct assay_floor){
        .bytes_read = (double)assay_tensor_count(&a->q) *
                          (double)(assay_dtype_bytes(a->q.dtype) + assay_dtype_bytes(a->k.dtype)) +
                      (double)assay_tensor_count(&a->v) * (double)assay_dtype_bytes(a->v.dtype) +
                      8 * tokens * heads + state_bytes,
        .bytes_written =
            (double)assay_tensor_count(&a->o) * (double)assay_dtype_bytes(a->o.dtype) + state_bytes,
        .operations = operations,
    };
}
