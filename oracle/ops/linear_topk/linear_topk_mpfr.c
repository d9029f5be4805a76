/* SPDX-License-Identifier: MIT
 *
 * linear_topk with logits from MPFR, in which values that FP64 cannot tell apart have their order.
 */
#include "linear_topk_oracle.h"

assay_status oracle_linear_topk_mpfr(const void *args, long precision,
                                     struct oracle_output *outputs)
{
    return oracle_topk_sorted(args, precision, outputs);
}
