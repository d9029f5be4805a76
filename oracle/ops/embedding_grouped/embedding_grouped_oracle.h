/* SPDX-License-Identifier: MIT
 *
 * The parts of embedding_grouped's oracle.
 */
#ifndef ORACLE_EMBEDDING_GROUPED_H
#define ORACLE_EMBEDDING_GROUPED_H

#include <assay/ops/embedding_grouped.h>

#include "oracle.h"

assay_status oracle_embedding_grouped_mpfr(const void *args, long precision,
                                           struct oracle_output *outputs);
void oracle_embedding_grouped_bound(const void *args, const struct oracle_route *route,
                                    struct oracle_output *outputs);

#endif
