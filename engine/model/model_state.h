/* SPDX-License-Identifier: MIT
 *
 * What an open model holds, private to the files that open, bind and digest it.
 */
#ifndef ASSAY_MODEL_STATE_H
#define ASSAY_MODEL_STATE_H

#include "artifact/safetensors/safetensors.h"
#include "core/core.h"
#include "model/bind.h"

struct model_tensor {
    const char *name; /* owned by the weight files */
    struct assay_tensor view;
};

struct assay_model {
    char *dir;
    struct assay_model_config config;
    struct assay_map config_file; /* for the digest: the same file even if the name changes hands */
    struct safetensors_set files;
    struct model_tensor *tensors; /* bound ones in name order: no vision, no rotary tables */
    int64_t num_tensors;
    struct model_weights weights;
    char digest[65]; /* empty until computed */
};

/* Finds, checks and binds every tensor of model->files by model->config; fills tensors and
 * weights. What it allocates belongs to the model also when it fails. */
ASSAY_MUST_USE assay_status model_bind(assay_model *model, struct assay_error *error);

#endif
