/* SPDX-License-Identifier: MIT
 *
 * Tensors that a model needs as one and that safetensors have otherwise, between the files that
 * join them. A joined tensor is a copy in memory when the model is opened to run; opened for its
 * rows, they are read where they lie.
 *
 * joined_tensors.c   the list, the copies
 * joined_experts.c   experts that are stored one by one
 * joined_heads.c     projections that are stored in blocks of a key head
 */
#ifndef ASSAY_ARTIFACT_JOINED_H
#define ASSAY_ARTIFACT_JOINED_H

#include <assay/context.h>

#include "artifact/weight_store.h"

enum { JOIN_NAME_SIZE = 256 };

struct joined_tensor {
    struct joined_tensor *next;
    struct stored_tensor tensor;
    char *name;
    struct stored_parts *parts;
    void *memory; /* NULL: open for its rows */
};

struct join {
    struct weight_store *store;
    const struct assay_model_config *config;
    bool rows_only;
    bool *used;             /* [num_tensors]: what is in joined tensors */
    assay_context *context; /* for its threads; NULL: rows_only */
    struct assay_error *error;
};

/* The file of a stored tensor, for errors. */
const char *join_file(const struct join *join, const struct stored_tensor *tensor);
/* Checks a matrix that is to be joined: its shape; bf16, or where rows are read any float format,
 * which must be `first` unless that is ASSAY_NUM_DTYPES. */
ASSAY_MUST_USE assay_status join_check(const struct join *join, const struct stored_tensor *tensor,
                                       int64_t rows, int64_t columns, enum assay_dtype first);
/* A tensor of `count` parts of `rows` rows in the format and file of `like`; the caller sets its
 * shape and where the parts are. */
ASSAY_MUST_USE assay_status join_new(const struct join *join, const char *name,
                                     const struct stored_tensor *like, int64_t count, int64_t rows,
                                     struct joined_tensor **joined);
/* Once shape and parts are set. */
ASSAY_MUST_USE assay_status join_finish(const struct join *join, struct joined_tensor *joined);

/* Length of the name up to an expert's number; 0: it is no tensor of one expert. */
size_t join_expert_stem(const char *name);
/* The same up to in_proj_qkvz or in_proj_ba. */
size_t join_heads_stem(const char *name);
ASSAY_MUST_USE assay_status join_experts(const struct join *join);
ASSAY_MUST_USE assay_status join_heads(const struct join *join);

#endif
