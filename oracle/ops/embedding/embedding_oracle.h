/* SPDX-License-Identifier: MIT
 *
 * The parts of embedding's oracle.
 */
#ifndef ORACLE_EMBEDDING_H
#define ORACLE_EMBEDDING_H

#include <assay/ops/embedding.h>

#include "oracle.h"

assay_status oracle_embedding_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_embedding_bound(const void *args, const struct oracle_route *route,
                            struct oracle_output *outputs);

#endif
