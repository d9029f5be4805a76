/* SPDX-License-Identifier: MIT
 *
 * The part of assay inspect that is about tensors: formats, bytes, and errors against a source.
 */
#ifndef ASSAY_TOOLS_INSPECT_TENSORS_H
#define ASSAY_TOOLS_INSPECT_TENSORS_H

#include <jansson.h>

#include <assay/model.h>

struct inspected {
    struct assay_stored stored;
    double error; /* relative L2 error against the source; below 0: not compared */
};

struct format_total {
    const char *format;
    int64_t tensors, elements, bytes;
};

enum { INSPECT_MAX_FORMATS = 16 };

struct inspection {
    struct inspected *tensors;
    int64_t num_tensors;
    struct format_total formats[INSPECT_MAX_FORMATS]; /* in the order in which they appear */
    int num_formats;
    int64_t elements, bytes;
};

/* `against` may be NULL. ASSAY_E_NOT_FOUND, ASSAY_E_SHAPE: it does not have the same tensors. */
ASSAY_MUST_USE assay_status inspect_tensors(const assay_model *model, const assay_model *against,
                                            struct inspection *inspection,
                                            struct assay_error *error);
void inspect_free(struct inspection *inspection);
void inspect_print(const struct inspection *inspection);
json_t *inspect_json_tensors(const struct inspection *inspection);
json_t *inspect_json_formats(const struct inspection *inspection);

#endif
