/* SPDX-License-Identifier: MIT
 *
 * What random rounding makes of a case: the spread of the oracle's own formulas in binary32, beside
 * the bound.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "noise.h"
#include "trial.h"
#include "verify.h"

/* What of the outputs is compared, and with what. */
struct band {
    struct trial trial;
    const struct oracle_op *oracle;
    struct oracle_output exact[ORACLE_MAX_OUTPUTS], drawn[ORACLE_MAX_OUTPUTS];
    struct verify_noise *noise;
    int output; /* -1: none is asked about */
    double squares;
};

static bool create(struct band *band)
{
    for (int k = 0; k < band->oracle->num_outputs; k++) {
        const char *name = band->oracle->outputs[k];
        const struct trial_buffer *b = trial_find(&band->trial, name);
        if (b == NULL)
            return false;
        const int64_t count = assay_tensor_count(&b->tensor);
        if (!oracle_output_create(&band->exact[k], name, b->tensor.dtype, count) ||
            !oracle_output_create(&band->drawn[k], name, b->tensor.dtype, count))
            return false;
    }
    return true;
}

static void destroy(struct band *band)
{
    for (int k = 0; k < ORACLE_MAX_OUTPUTS; k++) {
        oracle_output_destroy(&band->exact[k]);
        oracle_output_destroy(&band->drawn[k]);
    }
    trial_destroy(&band->trial);
}

static double bound_of(const struct oracle_output *o, int64_t i)
{
    double bound = o->own[i];
    for (int t = 0; t < ORACLE_NUM_TERMS; t++)
        bound += o->term[t][i];
    return bound;
}

static void compare(struct band *band, int k)
{
    const struct oracle_output *exact = &band->exact[k];
    struct verify_noise *noise = band->noise;
    if (exact->dtype != ASSAY_F32 && exact->dtype != ASSAY_BF16 && exact->dtype != ASSAY_F16)
        return; /* ids have no spread */
    for (int64_t i = 0; i < exact->count; i++) {
        const double value = band->drawn[k].value[i], bound = bound_of(exact, i);
        const double off = fabs(oracle_noise_output(value, exact->dtype) - exact->value[i]);
        if (!isfinite(exact->value[i]) || !isfinite(value) || !isfinite(bound))
            continue;
        const double share = bound > 0 ? off / bound : off > 0 ? INFINITY : 0;
        noise->elements++;
        noise->share[share > 1 ? VERIFY_NOISE_BINS
                               : (int)fmin(share * VERIFY_NOISE_BINS, VERIFY_NOISE_BINS - 1)]++;
        if (share > noise->worst_share) {
            noise->worst_share = share;
            noise->worst_at = i;
            snprintf(noise->worst_output, sizeof noise->worst_output, "%s", exact->name);
        }
        if (k != band->output || i != noise->index)
            continue;
        noise->bound = bound;
        noise->largest = fmax(noise->largest, off);
        band->squares += off * off;
    }
}

static bool draw(struct band *band, int sample)
{
    for (int k = 0; k < band->oracle->num_outputs; k++)
        memset(band->drawn[k].value, 0, (size_t)band->drawn[k].count * sizeof(double));
    oracle_noise_begin((uint64_t)sample + 1);
    const bool good = band->oracle->ref(band->trial.args, band->drawn) == ASSAY_OK;
    for (int k = 0; k < band->oracle->num_outputs && good; k++)
        compare(band, k);
    oracle_noise_end();
    return good;
}

static bool evaluate(struct band *band, const struct oracle_route *how)
{
    bool used_mpfr;
    oracle_set_inputs_independent(false);
    trial_restore(&band->trial, 0);
    return oracle_evaluate(band->oracle, band->trial.args, how, band->exact, &used_mpfr) ==
           ASSAY_OK;
}

bool verify_noise(const struct assay_case *c, const struct verdict *verdict, int samples,
                  struct verify_noise *noise)
{
    const struct assay_route *route = assay_route_find(c->route, NULL);
    struct oracle_route how = {.profile = ASSAY_PROFILE_F32};
    struct band band = {.oracle = oracle_find(c->spec->oracle_name), .noise = noise, .output = -1};
    *noise = (struct verify_noise){.samples = samples};
    /* Binary32 is no reference for the errors of binary64. */
    if (route != NULL && route->profile != ASSAY_PROFILE_F64)
        how = (struct oracle_route){.profile = route->profile, .depth = route->depth};
    if (band.oracle == NULL || !trial_create(&band.trial, c))
        return false;
    for (int k = 0; k < band.oracle->num_outputs && verdict != NULL; k++)
        if (strcmp(band.oracle->outputs[k], verdict->output) == 0) {
            band.output = k;
            noise->index = verdict->worst_index;
        }
    bool good = create(&band) && evaluate(&band, &how);
    for (int i = 0; i < samples && good; i++)
        good = draw(&band, i);
    noise->rms = sqrt(band.squares / samples);
    destroy(&band);
    return good;
}
