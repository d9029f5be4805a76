/* SPDX-License-Identifier: MIT
 *
 * Drawing tensor elements. Only additions, multiplications and powers of two are used, so that a
 * seed gives the same bits on every machine.
 */
#ifndef PROPERTIES_VALUES_H
#define PROPERTIES_VALUES_H

#include <stdint.h>

#include "case.h"

/* Element `index` of `count`, in a tensor whose innermost extent is `inner`, drawn for `dtype` (not
 * yet rounded to it). */
double values_draw(struct values values, enum assay_dtype dtype, uint64_t seed, const char *stream,
                   int64_t index, int64_t count, int64_t inner);
const char *case_dist_name(enum case_dist dist);
bool case_dist_independent(enum case_dist dist);

#endif
