/* SPDX-License-Identifier: MIT
 *
 * moe_router in MPFR: exponentials of exact differences, their sum, and quotients.
 */
#include "moe_router_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "real.h"
#include "words.h"

struct numbers {
    mpfr_t part, sum, largest;
};

/* exp(l - largest). The difference of two binary32 numbers is exact in 300 bits; in fewer it is off
 * by an ulp, which its exponential has |l - largest| times. */
static void exponential(struct numbers *m, double logit)
{
    mpfr_d_sub(m->part, logit, m->largest, MPFR_RNDN);
    mpfr_exp(m->part, m->part, MPFR_RNDN);
}

static void row(struct numbers *m, const double *logits, const int64_t *ids, int64_t k, int64_t at,
                struct oracle_output *weights)
{
    mpfr_set_d(m->largest, logits[ids[0]], MPFR_RNDN);
    mpfr_set_zero(m->sum, 1);
    for (int64_t i = 0; i < k; i++) {
        exponential(m, logits[ids[i]]);
        mpfr_add(m->sum, m->sum, m->part, MPFR_RNDN);
    }
    for (int64_t i = 0; i < k; i++) {
        double distance = logits[ids[0]] - logits[ids[i]];
        exponential(m, logits[ids[i]]);
        mpfr_div(m->part, m->part, m->sum, MPFR_RNDN);
        /* The sum's relative error is that of parts weighted by themselves: exp(-d) d < 1. */
        double ulps = 16 + 4 * (double)k + 2 * fmin(distance, 0x1p200);
        oracle_mpfr_result(m->part, mpfr_zero_p(m->part) ? 0 : ulps, &weights->value[at + i],
                           &weights->own[at + i]);
    }
}

assay_status oracle_moe_router_mpfr(const void *args, long precision, struct oracle_output *outputs)
{
    const struct assay_moe_router_args *a = args;
    int64_t count = a->logits.extent[1], k = a->ids.extent[1], ids[ASSAY_MOE_MOST];
    double *logits = malloc((size_t)count * sizeof *logits);
    struct numbers m;
    if (logits == NULL)
        return ASSAY_E_MEMORY;
    mpfr_inits2(precision, m.part, m.sum, m.largest, (mpfr_ptr)NULL);
    for (int64_t t = 0; t < a->ids.extent[0]; t++) {
        oracle_get_row(&a->logits, t, logits);
        bool has_weights = oracle_moe_router_select(logits, count, k, ids);
        for (int64_t i = 0; i < k; i++) {
            outputs[ROUTER_IDS].value[t * k + i] = (double)ids[i];
            outputs[ROUTER_WEIGHTS].value[t * k + i] = NAN;
            outputs[ROUTER_WEIGHTS].own[t * k + i] = 0;
        }
        if (has_weights)
            row(&m, logits, ids, k, t * k, &outputs[ROUTER_WEIGHTS]);
    }
    mpfr_clears(m.part, m.sum, m.largest, (mpfr_ptr)NULL);
    free(logits);
    return ASSAY_OK;
}
