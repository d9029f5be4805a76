/* SPDX-License-Identifier: MIT
 *
 * What the cases of gdn_recurrent and gdn_chunked share: the parameters but T and chunk, legal
 * combinations of them, and how the tensors are drawn. q, v and the state follow the case's
 * distribution; k is normalised as in the models (a long k makes the recurrence itself diverge),
 * and the gates have choices of their own.
 */
#ifndef PROPERTIES_GDN_CASE_H
#define PROPERTIES_GDN_CASE_H

#include <assay/ops/gdn_recurrent.h>

#include "case.h"

extern const int64_t gdn_key_heads[], gdn_ratios[], gdn_key_dims[], gdn_value_dims[];
extern const char *const gdn_gate_names[], *const gdn_beta_names[], *const gdn_scale_names[];

#define GDN_FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)
#define GDN_STATES (1u << ASSAY_F32 | 1u << ASSAY_F16)

/* Rows of a case_param array: extents but the number of tokens, ... */
#define GDN_EXTENT_PARAMS                                                                          \
    {.name = "Hk", .kind = CASE_COUNT, .lo = 1, .hi = 16, .fallback = 2, .values = gdn_key_heads}, \
        {.name = "r", .kind = CASE_COUNT, .lo = 1, .hi = 8, .fallback = 3, .values = gdn_ratios},  \
        {.name = "dk",                                                                             \
         .kind = CASE_COUNT,                                                                       \
         .lo = 1,                                                                                  \
         .hi = 256,                                                                                \
         .fallback = 24,                                                                           \
         .values = gdn_key_dims},                                                                  \
    {                                                                                              \
        .name = "dv", .kind = CASE_COUNT, .lo = 1, .hi = 256, .fallback = 20,                      \
        .values = gdn_value_dims                                                                   \
    }
/* ... formats, and choices. */
#define GDN_FORMAT_PARAMS                                                                     \
    {.name = "q", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = GDN_FLOATS},         \
        {.name = "k", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = GDN_FLOATS},     \
        {.name = "v", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = GDN_FLOATS},    \
        {.name = "state", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = GDN_STATES}, \
        {.name = "o", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = GDN_FLOATS},     \
        {.name = "gates", .kind = CASE_CHOICE, .hi = 2, .names = gdn_gate_names},             \
        {.name = "beta", .kind = CASE_CHOICE, .hi = 3, .names = gdn_beta_names},              \
    {                                                                                         \
        .name = "scale", .kind = CASE_CHOICE, .hi = 2, .names = gdn_scale_names               \
    }

/* What a route, a layout or dist=exact asks of the parameters. */
void gdn_adjust(struct assay_case *c);
/* What the total work and undecayed numbers allow. */
void gdn_limit(struct assay_case *c);
/* T <= 1 and sums of few products. */
bool gdn_exact(const struct assay_case *c);

/* The case's distribution without what is not finite. */
struct values gdn_finite_values(const struct assay_case *c);
/* Makes all tensors; v and the state are drawn from `values`. The caller sets what else its op
 * takes. */
void gdn_build(struct trial *trial, struct assay_gdn_recurrent_args *a, struct values values);
/* Claims that strong gates wiped the state. */
void gdn_claims(struct trial *trial, const struct assay_tensor *g);

#endif
