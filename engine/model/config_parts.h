/* SPDX-License-Identifier: MIT
 *
 * The parts of assay_config_read, private to engine/model: each applies the rules of one part of
 * qwen3_5.md section 2 and fills its fields of the config.
 */
#ifndef ASSAY_MODEL_CONFIG_PARTS_H
#define ASSAY_MODEL_CONFIG_PARTS_H

#include <assay/model.h>

#include "artifact/weight_store.h"
#include "model/config_fields.h"

#define GENERATION_FILE "generation_config.json"

/* The config of an open store, and the stops of generation_config.json when the folder has one.
 * *config is zero on failure. */
ASSAY_MUST_USE assay_status config_of_store(const struct weight_store *store,
                                            struct assay_model_config *config,
                                            struct assay_error *error);

/* Section 2.1: dense or MoE, from model_type and architectures. */
ASSAY_MUST_USE assay_status config_read_kind(const struct config_source *source,
                                             struct assay_model_config *config);
/* Section 2.2: sizes. */
ASSAY_MUST_USE assay_status config_read_sizes(const struct config_source *source,
                                              struct assay_model_config *config);
/* Section 2.2: options of which one value is supported. */
ASSAY_MUST_USE assay_status config_check_options(const struct config_source *source);
/* Section 2.4; needs head_dim. */
ASSAY_MUST_USE assay_status config_read_rope(const struct config_source *source,
                                             struct assay_model_config *config);
/* Section 2.5; needs num_layers. */
ASSAY_MUST_USE assay_status config_read_layers(const struct config_source *source,
                                               struct assay_model_config *config);
/* Section 9.3: eos_token_id, an integer or an array; no stops when it is absent. Needs
 * vocab_size. */
ASSAY_MUST_USE assay_status config_read_stops(const struct config_source *source,
                                              struct assay_model_config *config);

#endif
