/* SPDX-License-Identifier: MIT
 *
 * Where the planes of an .assay folder lie: the same arithmetic for reader and writer.
 */
#include "artifact/assay/assay_file.h"

const char *const assay_file_plane_names[ASSAY_FILE_PLANES] = {"base", "high", "scales"};

assay_status assay_file_measure(struct assay_file_object *object, struct assay_error *error)
{
    struct assay_weight_layout layout;
    int64_t bytes = (int64_t)assay_dtype_bytes(object->dtype);

    object->bytes[0] = object->bytes[1] = object->bytes[2] = 0;
    if (object->grouped) {
        ASSAY_TRY(
            assay_weight_layout_of(object->format, object->rows, object->columns, &layout, error));
        object->bytes[0] = layout.base_bytes;
        object->bytes[1] = layout.high_bytes;
        object->bytes[2] = layout.scales_bytes;
        return ASSAY_OK;
    }
    if (__builtin_mul_overflow(bytes, object->rows, &bytes) ||
        __builtin_mul_overflow(bytes, object->columns, &bytes))
        return assay_fail(error, ASSAY_E_SHAPE, ASSAY_FILE_DIRECTORY, "shape",
                          "the extents need more than 2^63 bytes");
    object->bytes[0] = (uint64_t)bytes;
    return ASSAY_OK;
}

assay_status assay_file_place(struct assay_file_object *object, uint64_t *end,
                              struct assay_error *error)
{
    static const uint64_t limit = UINT64_C(1) << 62;

    for (int i = 0; i < ASSAY_FILE_PLANES; i++) {
        object->offset[i] = 0;
        if (object->bytes[i] == 0)
            continue;
        object->offset[i] =
            (*end + ASSAY_FILE_ALIGNMENT - 1) / ASSAY_FILE_ALIGNMENT * ASSAY_FILE_ALIGNMENT;
        if (object->bytes[i] > limit || object->offset[i] > limit - object->bytes[i])
            return assay_fail(error, ASSAY_E_SHAPE, ASSAY_FILE_DIRECTORY, "planes",
                              "the payload exceeds 2^62 bytes");
        *end = object->offset[i] + object->bytes[i];
    }
    return ASSAY_OK;
}

const char *assay_file_format_name(const struct assay_file_object *object)
{
    return object->grouped ? assay_weight_format_name(object->format)
                           : assay_dtype_name(object->dtype);
}
