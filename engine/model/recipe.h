/* SPDX-License-Identifier: MIT
 *
 * Recipes of conversions, private to engine/model: see assay/convert.h.
 */
#ifndef ASSAY_MODEL_RECIPE_H
#define ASSAY_MODEL_RECIPE_H

#include <assay/weights.h>

#include "core/core.h"

struct recipe_rule {
    char *pattern;
    enum assay_weight_format format;
    enum assay_weight_encoder encoder; /* the number of them: the conversion's */
    int64_t num_fits, num_decided;     /* matrices */
};

struct recipe {
    char *name;
    bool built_in; /* its rules may decide nothing: models differ */
    struct recipe_rule *rules;
    int num_rules;
};

/* A built-in name, or the path of a file. *recipe is empty on failure. */
ASSAY_MUST_USE assay_status recipe_open(const char *text, struct recipe *recipe,
                                        struct assay_error *error);
void recipe_close(struct recipe *recipe);
/* The rule that decides about the matrix of this name; NULL: none does. Counts it. */
const struct recipe_rule *recipe_choose(struct recipe *recipe, const char *name);
/* After all matrices: every rule of a file has decided something. */
ASSAY_MUST_USE assay_status recipe_check_used(const struct recipe *recipe,
                                              struct assay_error *error);

#endif
