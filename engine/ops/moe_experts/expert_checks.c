/* SPDX-License-Identifier: MIT
 *
 * Argument checks and the floor that moe_experts and moe_experts_grouped share: see expert_banks.h.
 */
#include <assay/ops/moe_router.h>

#include "core/core.h"
#include "ops/moe_experts/expert_banks.h"

assay_status expert_check_inputs(assay_context *context, const char *op,
                                 const struct expert_call *call)
{
    ASSAY_TRY(assay_check_tensor(context, op, "x", &call->x, 2, 2, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(
        assay_check_tensor(context, op, "ids", &call->ids, 2, 2, ASSAY_FORMAT(ASSAY_I32), false));
    return assay_check_tensor(context, op, "weights", &call->weights, 2, 2, ASSAY_FORMAT(ASSAY_F32),
                              false);
}

assay_status expert_check_tokens(assay_context *context, const char *op,
                                 const struct expert_call *call)
{
    const struct assay_tensor *x = &call->x, *ids = &call->ids, *y = &call->y;
    ASSAY_TRY(assay_check_tensor(context, op, "y", y, 2, 2, ASSAY_FORMATS_FLOAT, true));
    if (x->extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "x", "rows must have an element");
    ASSAY_TRY(assay_check_extent(context, op, "ids", ids, 0, x->extent[0]));
    const int64_t slots = ids->extent[1];
    if (slots < 1 || slots > ASSAY_MOE_MOST || x->extent[0] > INT32_MAX / slots)
        return assay_refuse(
            context, ASSAY_E_SHAPE, op, "ids",
            "must have 1 to %d columns and fewer than 2^31 elements, is %lld x %lld",
            ASSAY_MOE_MOST, (long long)ids->extent[0], (long long)slots);
    ASSAY_TRY(assay_check_shape(context, op, "weights", &call->weights, "ids", ids));
    ASSAY_TRY(assay_check_shape(context, op, "y", y, "x", x));
    ASSAY_TRY(assay_check_alias(context, op, "y", y, "x", x, false));
    ASSAY_TRY(assay_check_alias(context, op, "y", y, "ids", ids, false));
    return assay_check_alias(context, op, "y", y, "weights", &call->weights, false);
}

struct assay_floor expert_floor(const struct expert_call *call, double bank_bytes)
{
    const double pairs = (double)expert_pairs(call), width = (double)expert_width(call);
    const double hidden = (double)call->x.extent[1], tokens = (double)call->x.extent[0];
    const double experts = (double)call->num_experts;
    return (struct assay_floor){
        .bytes_read = tokens * hidden * (double)assay_dtype_bytes(call->x.dtype) + 8 * pairs +
                      bank_bytes * (pairs < experts ? pairs : experts),
        .bytes_written = tokens * hidden * (double)assay_dtype_bytes(call->y.dtype),
        .operations = pairs * (6 * hidden * width + 5 * width + 2 * hidden),
    };
}
