/* SPDX-License-Identifier: MIT
 *
 * What the cases of moe_experts and moe_experts_grouped share: parameters "T", "E", "k", "H", "F",
 * "routing" and "weights", ids and weights of slots, one output.
 */
#ifndef PROPERTIES_GEN_EXPERT_ROUTING_H
#define PROPERTIES_GEN_EXPERT_ROUTING_H

#include "case.h"

/* Distinct experts at random; the same for all tokens, the last ones; one expert for all; any, also
 * twice in a row; some ids that are none. */
enum { EXPERT_SPREAD, EXPERT_LAST, EXPERT_ONE, EXPERT_REPEATED, EXPERT_INVALID };
extern const char *const expert_routing_names[EXPERT_INVALID + 1];
/* As the distribution has them, as a router makes them, or zeros among them. */
enum { EXPERT_WEIGHTS_ANY, EXPERT_WEIGHTS_ROUTER, EXPERT_WEIGHTS_ZEROS };
extern const char *const expert_weight_names[EXPERT_WEIGHTS_ZEROS + 1];

/* For an op's adjust: at most so many multiply-adds in routes of the host and of the executor;
 * tokens rather than extents "H", "F" and "k"; and no combination that shows nothing. */
void expert_fit_extents(struct assay_case *c, int64_t host_work, int64_t executor_work,
                        int64_t most_weights);
void expert_ids(struct trial *trial, const struct assay_tensor *ids);
void expert_weights(struct trial *trial, const struct assay_tensor *weights);
bool expert_is_used(const struct assay_tensor *ids, int64_t e);
/* A repeated row or column of y [T, H], or a wrong expert, shows only where neighbours differ. */
void expert_claims(struct trial *trial, const struct oracle_output *outputs);

#endif
