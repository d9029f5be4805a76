/* SPDX-License-Identifier: MIT
 *
 * What an open model holds, private to the files that open, bind and digest it.
 */
#ifndef ASSAY_MODEL_STATE_H
#define ASSAY_MODEL_STATE_H

#include "artifact/weight_store.h"
#include "core/core.h"
#include "model/bind.h"

struct assay_model {
    struct assay_model_config config;
    struct weight_store store;
    bool rows_only;   /* opened to read rows: tensors need not be in a format that ops take */
    int64_t *tensors; /* indices in the store, in name order: no vision, no rotary tables */
    int64_t num_tensors;
    struct model_weights weights;
    char digest[65]; /* empty until computed */
};

/* Finds, checks and binds every tensor of model->store by model->config; fills tensors and
 * weights. What it allocates belongs to the model also when it fails. */
ASSAY_MUST_USE assay_status model_bind(assay_model *model, struct assay_error *error);

/* A tensor as ops take it; of a grouped one data is NULL. */
struct assay_tensor model_plain_view(const struct stored_tensor *entry);
/* A matrix. */
struct assay_weights model_weights_view(const struct stored_tensor *entry);

#endif
