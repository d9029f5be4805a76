/* SPDX-License-Identifier: MIT
 *
 * Argument checks that the ops' validate functions share.
 */
#include "core/context_state.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

assay_status assay_refuse(assay_context *context, assay_status status, const char *op,
                          const char *argument, const char *format, ...)
{
    char message[sizeof context->error.message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return assay_fail(&context->error, status, op, argument, "%s", message);
}

static assay_status check_strides(assay_context *context, const char *op, const char *argument,
                                  const struct assay_tensor *tensor, bool is_output)
{
    int inner = tensor->rank - 1;
    if (tensor->extent[inner] > 1 && tensor->stride[inner] != 1)
        return assay_refuse(context, ASSAY_E_LAYOUT, op, argument,
                            "the innermost dimension must be contiguous, its stride is %lld",
                            (long long)tensor->stride[inner]);
    const int64_t limit = INT64_C(1) << 58; /* elements: byte offsets stay below 2^62 */
    int64_t reach = 1;                      /* elements that the inner dimensions span */
    for (int i = inner; i >= 0; i--) {
        int64_t extent = tensor->extent[i], stride = tensor->stride[i];
        if (extent <= 1)
            continue;
        if (stride < 0)
            return assay_refuse(context, ASSAY_E_LAYOUT, op, argument,
                                "stride %d must not be negative, is %lld", i, (long long)stride);
        int64_t span;
        if (__builtin_mul_overflow(extent - 1, stride, &span) || span > limit - reach)
            return assay_refuse(context, ASSAY_E_LAYOUT, op, argument,
                                "stride %d (%lld) reaches beyond any memory", i, (long long)stride);
        if (is_output && stride < reach)
            return assay_refuse(context, ASSAY_E_LAYOUT, op, argument,
                                "stride %d is %lld, but one step must pass %lld elements: rows "
                                "of an output may not overlap",
                                i, (long long)stride, (long long)reach);
        reach += span;
    }
    return ASSAY_OK;
}

assay_status assay_check_tensor(assay_context *context, const char *op, const char *argument,
                                const struct assay_tensor *tensor, int min_rank, int max_rank,
                                unsigned formats, bool is_output)
{
    if (tensor->rank < min_rank || tensor->rank > max_rank)
        return assay_refuse(context, ASSAY_E_SHAPE, op, argument, "rank must be %d to %d, is %d",
                            min_rank, max_rank, tensor->rank);
    if ((unsigned)tensor->dtype >= ASSAY_NUM_DTYPES ||
        (formats & ASSAY_FORMAT(tensor->dtype)) == 0) {
        char expected[64] = "";
        for (int i = 0; i < ASSAY_NUM_DTYPES; i++) {
            if ((formats & ASSAY_FORMAT(i)) == 0)
                continue;
            size_t used = strlen(expected);
            snprintf(expected + used, sizeof expected - used, "%s%s", used > 0 ? ", " : "",
                     assay_dtype_name((enum assay_dtype)i));
        }
        return assay_refuse(context, ASSAY_E_FORMAT, op, argument, "format must be %s, is %s",
                            expected, assay_dtype_name(tensor->dtype));
    }
    int64_t count = 1;
    bool empty = false;
    for (int i = 0; i < tensor->rank; i++) {
        int64_t extent = tensor->extent[i];
        if (extent < 0)
            return assay_refuse(context, ASSAY_E_SHAPE, op, argument,
                                "extent %d must not be negative, is %lld", i, (long long)extent);
        if (extent == 0)
            empty = true;
        else if (__builtin_mul_overflow(count, extent, &count) || count > INT64_C(1) << 58)
            return assay_refuse(context, ASSAY_E_SHAPE, op, argument,
                                "the product of the extents is too large");
    }
    if (empty)
        return ASSAY_OK;
    if (tensor->data == NULL)
        return assay_refuse(context, ASSAY_E_ARG, op, argument, "data must not be null");
    if ((uintptr_t)tensor->data % assay_dtype_bytes(tensor->dtype) != 0)
        return assay_refuse(context, ASSAY_E_LAYOUT, op, argument,
                            "data must be aligned to its elements (%zu bytes)",
                            assay_dtype_bytes(tensor->dtype));
    return check_strides(context, op, argument, tensor, is_output);
}

assay_status assay_check_extent(assay_context *context, const char *op, const char *argument,
                                const struct assay_tensor *tensor, int dimension, int64_t expected)
{
    if (tensor->extent[dimension] == expected)
        return ASSAY_OK;
    return assay_refuse(context, ASSAY_E_SHAPE, op, argument, "extent %d must be %lld, is %lld",
                        dimension, (long long)expected, (long long)tensor->extent[dimension]);
}

assay_status assay_check_shape(assay_context *context, const char *op, const char *argument,
                               const struct assay_tensor *tensor, const char *other_argument,
                               const struct assay_tensor *other)
{
    if (tensor->rank != other->rank)
        return assay_refuse(context, ASSAY_E_SHAPE, op, argument,
                            "rank must be that of %s (%d), is %d", other_argument, other->rank,
                            tensor->rank);
    for (int i = 0; i < tensor->rank; i++)
        ASSAY_TRY(assay_check_extent(context, op, argument, tensor, i, other->extent[i]));
    return ASSAY_OK;
}

/* Two views of one packed buffer (heads of a fused projection) interleave without sharing an
 * element when they step by the same stride and each stays inside its own part of the step. */
static bool interleaved(const struct assay_tensor *a, const struct assay_tensor *b)
{
    if (a->rank < 2 || b->rank < 2 || assay_dtype_bytes(a->dtype) != assay_dtype_bytes(b->dtype))
        return false;
    int64_t bytes = (int64_t)assay_dtype_bytes(a->dtype);
    int64_t distance = (int64_t)((uintptr_t)b->data - (uintptr_t)a->data);
    if (distance % bytes != 0)
        return false;
    distance /= bytes;
    for (int outer = 0; outer < a->rank - 1 && outer < b->rank - 1; outer++) {
        int64_t step = a->stride[outer];
        if (step <= 0 || step != b->stride[outer])
            continue;
        int64_t a_reach = 1, b_reach = 1;
        for (int i = outer + 1; i < a->rank; i++)
            a_reach += (a->extent[i] - 1) * a->stride[i];
        for (int i = outer + 1; i < b->rank; i++)
            b_reach += (b->extent[i] - 1) * b->stride[i];
        int64_t place = ((distance % step) + step) % step; /* of b within a's step */
        if (place >= a_reach && place + b_reach <= step) {
            bool same_outside = true; /* the dimensions outside must step alike too */
            for (int i = 0; i < outer; i++)
                same_outside = same_outside && a->stride[i] == b->stride[i];
            if (same_outside)
                return true;
        }
    }
    return false;
}

assay_status assay_check_alias(assay_context *context, const char *op, const char *output_name,
                               const struct assay_tensor *output, const char *input_name,
                               const struct assay_tensor *input, bool may_equal)
{
    if (output->data == NULL || input->data == NULL || !assay_tensor_overlap(output, input))
        return ASSAY_OK;
    if (may_equal && assay_tensor_same(output, input))
        return ASSAY_OK;
    if (interleaved(output, input))
        return ASSAY_OK;
    return assay_refuse(
        context, ASSAY_E_ALIAS, op, output_name,
        may_equal ? "overlaps %s without being the same view" : "may not overlap %s", input_name);
}

assay_status assay_check_number(assay_context *context, const char *op, const char *argument,
                                double value, bool positive)
{
    if (isfinite(value) && (!positive || value > 0))
        return ASSAY_OK;
    return assay_refuse(context, ASSAY_E_ARG, op, argument, "must be finite%s, is %g",
                        positive ? " and > 0" : "", value);
}
