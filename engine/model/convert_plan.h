/* SPDX-License-Identifier: MIT
 *
 * What a conversion writes, decided before anything is written; and its rows. Private to
 * engine/model.
 *
 * convert_plan.c   formats, places and sizes of all objects
 * convert_rows.c   one object's rows, encoded by all threads
 * convert.c        the folder
 */
#ifndef ASSAY_MODEL_CONVERT_PLAN_H
#define ASSAY_MODEL_CONVERT_PLAN_H

#include <assay/convert.h>

#include "artifact/assay/assay_writer.h"
#include "artifact/gguf/gguf_importance.h"
#include "model/model_state.h"
#include "model/recipe.h"

/* A tensor of the model and what becomes of it. */
struct convert_object {
    const struct stored_tensor *tensor;
    struct assay_file_object object;
    enum assay_weight_encoder encoder;
};

struct convert_plan {
    struct convert_object *objects; /* in name order */
    int64_t num_objects;
    uint64_t payload_bytes;
    int64_t source_bytes, num_elements;
};

ASSAY_MUST_USE assay_status convert_plan_make(const assay_model *model, struct recipe *recipe,
                                              enum assay_weight_encoder encoder,
                                              struct convert_plan *plan, struct assay_error *error);
void convert_plan_free(struct convert_plan *plan);

struct converter {
    const struct assay_convert_options *options;
    assay_model *model;
    assay_context *context; /* for its threads */
    struct convert_plan plan;
    struct recipe recipe;
    struct gguf_importance importance;
    struct assay_writer writer;
    int64_t elements_done;
    struct assay_error *error;
};

/* Writes one object's rows. *encoded: some row was encoded anew; false: codes were copied. */
ASSAY_MUST_USE assay_status convert_rows(struct converter *converter,
                                         const struct convert_object *object, bool *encoded);

#endif
