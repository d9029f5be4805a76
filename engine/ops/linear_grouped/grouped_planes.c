/* SPDX-License-Identifier: MIT
 *
 * Argument checks of grouped matrices: see grouped_planes.h.
 */
#include "ops/linear_grouped/grouped_planes.h"

#include "core/core.h"

/* Names of planes in error records. */
struct plane_names {
    char base[32], high[32], scales[32];
};

static struct plane_names names_of(const char *name)
{
    struct plane_names names;
    snprintf(names.base, sizeof names.base, "%s.base", name);
    snprintf(names.high, sizeof names.high, "%s.high", name);
    snprintf(names.scales, sizeof names.scales, "%s.scales", name);
    return names;
}

static assay_status check_plane(assay_context *context, const char *op, const char *name,
                                const struct assay_tensor *plane, enum assay_dtype dtype,
                                int64_t rows, int64_t row_extent)
{
    ASSAY_TRY(assay_check_tensor(context, op, name, plane, 2, 2, ASSAY_FORMAT(dtype), false));
    ASSAY_TRY(assay_check_extent(context, op, name, plane, 0, rows));
    return assay_check_extent(context, op, name, plane, 1, row_extent);
}

assay_status grouped_check(assay_context *context, const char *op, const char *name,
                           const struct assay_weights *weights)
{
    enum assay_weight_format format = weights->format;
    if ((unsigned)format >= ASSAY_NUM_WEIGHT_FORMATS || format == ASSAY_WEIGHT_BF16)
        return assay_refuse(context, ASSAY_E_FORMAT, op, name,
                            "format must be a grouped one, is %s",
                            assay_weight_format_name(format));
    if (weights->rows < 1 || weights->columns < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, name, "must have at least one element");
    struct assay_error error = {.status = ASSAY_OK};
    struct assay_weight_layout row;
    if (assay_weight_layout_of(format, weights->rows, weights->columns, &row, &error) != ASSAY_OK ||
        assay_weight_layout_of(format, 1, weights->columns, &row, &error) != ASSAY_OK)
        return assay_refuse(context, error.status, op, name, "%s", error.message);
    struct plane_names names = names_of(name);
    ASSAY_TRY(check_plane(context, op, names.base, &weights->base, ASSAY_U8, weights->rows,
                          (int64_t)row.base_bytes));
    if (row.high_bytes > 0)
        ASSAY_TRY(check_plane(context, op, names.high, &weights->high, ASSAY_U8, weights->rows,
                              (int64_t)row.high_bytes));
    else if (weights->high.data != NULL)
        return assay_refuse(context, ASSAY_E_ARG, op, names.high, "%s has no high plane",
                            assay_weight_format_name(format));
    return check_plane(context, op, names.scales, &weights->scales, ASSAY_F16, weights->rows,
                       (int64_t)row.scales_bytes / 2);
}

assay_status grouped_check_alias(assay_context *context, const char *op, const char *output_name,
                                 const struct assay_tensor *output, const char *name,
                                 const struct assay_weights *weights)
{
    struct plane_names names = names_of(name);
    ASSAY_TRY(
        assay_check_alias(context, op, output_name, output, names.base, &weights->base, false));
    if (weights->high.data != NULL)
        ASSAY_TRY(
            assay_check_alias(context, op, output_name, output, names.high, &weights->high, false));
    return assay_check_alias(context, op, output_name, output, names.scales, &weights->scales,
                             false);
}

double grouped_row_bytes(const struct assay_weights *weights)
{
    int64_t bytes = weights->base.extent[1] + 2 * weights->scales.extent[1];
    if (weights->high.data != NULL)
        bytes += weights->high.extent[1];
    return (double)bytes;
}
