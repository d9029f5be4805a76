/* SPDX-License-Identifier: MIT
 *
 * The parts of attention's oracle.
 */
#ifndef ORACLE_ATTENTION_H
#define ORACLE_ATTENTION_H

#include <assay/ops/attention.h>

#include "oracle.h"
#include "words.h"

/* The start that counts: start_at held within [0, start] [ATTENTION-9]. */
static inline int64_t effective_start(const struct assay_attention_args *a)
{
    if (a->start_at.data == NULL)
        return a->start;
    int64_t wanted = oracle_get_int(&a->start_at, 0);
    if (wanted < 0)
        return 0;
    return wanted > a->start ? a->start : wanted;
}

assay_status oracle_attention_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_attention_bound(const void *args, const struct oracle_route *route,
                            struct oracle_output *outputs);

#endif
