/* SPDX-License-Identifier: MIT
 *
 * Argument checks and traffic of the gated delta rule: the same for gdn_recurrent and gdn_chunked,
 * whose tensors have the same names, shapes and formats. `op` is the name for error records.
 */
#ifndef ASSAY_GDN_CHECKS_H
#define ASSAY_GDN_CHECKS_H

#include <assay/ops/gdn_recurrent.h>

/* Tensors one by one, against each other, and the scale. */
ASSAY_MUST_USE assay_status gdn_check_args(assay_context *context, const char *op,
                                           const struct assay_gdn_recurrent_args *a);
/* What may share memory: o with v where the formats agree, nothing else. */
ASSAY_MUST_USE assay_status gdn_check_aliases(assay_context *context, const char *op,
                                              const struct assay_gdn_recurrent_args *a);
/* The floor of valid args, for that many additions and multiplications. */
struct assay_floor gdn_floor(const struct assay_gdn_recurrent_args *a, double operations);

#endif
