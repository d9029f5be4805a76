/* SPDX-License-Identifier: MIT
 *
 * sample with weights from MPFR, rounded to 106 bits.
 */
#include "sample_oracle.h"

#include <math.h>

#include "real.h"

struct registers {
    mpfr_t weight, maximum;
};

static struct two weight(const struct assay_sample_args *args, struct two logit, struct two maximum,
                         void *arithmetic, double *error)
{
    struct registers *r = arithmetic;
    if (isinf(maximum.high))
        return (struct two){logit.high == maximum.high ? 1 : 0, 0};
    mpfr_set_d(r->weight, logit.high, MPFR_RNDN);
    mpfr_add_d(r->weight, r->weight, logit.low, MPFR_RNDN);
    mpfr_set_d(r->maximum, maximum.high, MPFR_RNDN);
    mpfr_add_d(r->maximum, r->maximum, maximum.low, MPFR_RNDN);
    mpfr_sub(r->weight, r->weight, r->maximum, MPFR_RNDN);
    mpfr_div_d(r->weight, r->weight, args->temperature, MPFR_RNDN);
    mpfr_exp(r->weight, r->weight, MPFR_RNDN);
    struct two w = {mpfr_get_d(r->weight, MPFR_RNDN), 0};
    mpfr_sub_d(r->weight, r->weight, w.high, MPFR_RNDN);
    w.low = mpfr_get_d(r->weight, MPFR_RNDN);
    *error += 0x1p-100 * w.high; /* the pair keeps 106 bits */
    return w;
}

assay_status oracle_sample_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    struct registers r;
    mpfr_inits2(precision, r.weight, r.maximum, (mpfr_ptr)NULL);
    assay_status status = oracle_sample_rows(args, weight, &r, &outputs[0]);
    mpfr_clears(r.weight, r.maximum, (mpfr_ptr)NULL);
    return status;
}
