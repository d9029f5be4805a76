/* SPDX-License-Identifier: MIT
 *
 * Converting a model of any container to an .assay folder (docs/containers.md), tensor by tensor
 * and some rows at a time: memory is bounded by the widest rows, not by the model.
 *
 * A recipe says which matrix gets which format. It is the name of a built-in one, or a JSON file:
 *   {"name": "mine", "rules": [{"pattern": "*.mlp.down_proj.weight", "format": "q5g64",
 *                               "encoder": "grouped"}, ...]}
 * Patterns are globs over whole names; the first rule that fits a matrix decides. A matrix that
 * none fits is bf16. Vectors and convolutions keep their values: bf16 or binary32. A rule of a
 * file that decides nothing is an error.
 */
#ifndef ASSAY_CONVERT_H
#define ASSAY_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/status.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How far a conversion is: elements of all tensors, and the tensor at work. */
struct assay_convert_progress {
    int64_t done, total;
    const char *tensor;
};

struct assay_convert_options {
    const char *model;                 /* a folder or a .gguf file */
    const char *output;                /* must not exist */
    const char *recipe;                /* a built-in name, or the path of a JSON file */
    enum assay_weight_encoder encoder; /* of rules that name none */
    const char *importance;            /* NULL: none; a GGUF file of an importance matrix */
    int num_threads;                   /* 0: all processors */
    /* Called from the calling thread; false stops the conversion with ASSAY_E_CANCELLED. May be
     * NULL. */
    bool (*progress)(void *argument, const struct assay_convert_progress *progress);
    void *argument;
};

/* maxabs, all processors. */
struct assay_convert_options assay_convert_defaults(void);

/* What came of it. */
struct assay_convert_result {
    int64_t num_tensors;
    int64_t source_bytes, payload_bytes;
};

/* Writes the folder, or nothing: it appears under its name when it is complete and on disk. result
 * may be NULL. Errors: those of opening a model; ASSAY_E_PARSE and ASSAY_E_NOT_FOUND for recipes;
 * ASSAY_E_IO: the folder is there, or cannot be written; ASSAY_E_ARG: a group's scale exceeds
 * binary16; ASSAY_E_CANCELLED. */
ASSAY_MUST_USE assay_status assay_convert(const struct assay_convert_options *options,
                                          struct assay_convert_result *result,
                                          struct assay_error *error);

/* Built-in recipes; NULL beyond the last. */
const char *assay_recipe_name(int index);
const char *assay_recipe_meaning(int index);

#ifdef __cplusplus
}
#endif
#endif
