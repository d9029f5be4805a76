/* SPDX-License-Identifier: MIT
 *
 * The parts of qk_norm_rope_append's oracle.
 */
#ifndef ORACLE_QK_NORM_ROPE_APPEND_H
#define ORACLE_QK_NORM_ROPE_APPEND_H

#include <assay/ops/qk_norm_rope_append.h>

#include "oracle.h"
#include "words.h"

enum { QKNRA_Q_OUT, QKNRA_K_CACHE, QKNRA_V_CACHE }; /* outputs */

/* What ref leaves of an element of q_out, or of a new one of k_cache, in aux. For y = u cos + v sin
 * of normalised elements u, v, or y = u where nothing turns: */
enum {
    QKNRA_NORM,   /* |u cos| + |v sin| */
    QKNRA_TURNED, /* the same where the position is not 0, else 0 */
    QKNRA_SLOPE,  /* |u sin| + |v cos| where the position is not 0, else 0 */
    QKNRA_BETWEEN /* half ulps of binary32 at u and v, times |cos| and |sin| */
};

/* The start that counts: start_at held within [0, start] [KVAPPEND-7]. */
static inline int64_t oracle_qknra_start(const struct assay_qk_norm_rope_append_args *a)
{
    if (a->start_at.data == NULL)
        return a->start;
    int64_t wanted = oracle_get_int(&a->start_at, 0);
    if (wanted < 0)
        return 0;
    return wanted > a->start ? a->start : wanted;
}

assay_status oracle_qknra_mpfr(const void *args, long precision, struct oracle_output *outputs);
void oracle_qknra_bound(const void *args, const struct oracle_route *route,
                        struct oracle_output *outputs);

#endif
