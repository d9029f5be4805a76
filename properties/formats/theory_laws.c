/* SPDX-License-Identifier: MIT
 *
 * Errors of the encoders on independent normal values against theory (oracle/formats) and against
 * the published figures of docs/formats.md.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>

#include "oracle_formats.h"
#include "weight_planes_guarded.h"

enum { K = 4096, ROWS = 250, NUM_VARIANTS = 4 };

static const struct variant {
    const char *name;
    struct assay_encode_options options;
} variants[NUM_VARIANTS] = {
    {"maxabs", {.encoder = ASSAY_ENCODER_MAXABS}},
    {"clip25", {.encoder = ASSAY_ENCODER_CLIP25}},
    {"grouped", {.encoder = ASSAY_ENCODER_GROUPED}},
    {"grouped, signed", {.encoder = ASSAY_ENCODER_GROUPED, .allow_negative_scales = true}},
};

/* Mean squared error a value by Welford's recurrence over groups of 64 values; standard error. */
static double measure(enum assay_weight_format format, const struct assay_encode_options *options,
                      double *deviation)
{
    static float values[K], decoded[K];
    struct guarded planes;
    double mean = 0, squares = 0;
    int count = 0;
    guarded_create(format, 1, K, 0, &planes);
    for (int row = 0; row < ROWS; row++) {
        for (int k = 0; k < K; k++)
            values[k] = (float)draw_normal(1, "theory", (uint64_t)row * K + (uint64_t)k);
        cr_assert_eq(assay_weights_encode_row(&planes.weights, 0, values, options, NULL), ASSAY_OK);
        assay_weights_decode_row(&planes.weights, 0, decoded);
        for (int first = 0; first < K; first += 64) {
            double sum = 0;
            for (int k = first; k < first + 64; k++) {
                double difference = (double)values[k] - (double)decoded[k];
                sum += difference * difference;
            }
            count++;
            double change = sum / 64 - mean;
            mean += change / count;
            squares += change * (sum / 64 - mean);
        }
    }
    guarded_destroy(&planes);
    *deviation = sqrt(squares / ((double)count * (count - 1)));
    return mean;
}

static void expect_near(const char *what, double measured, double theory)
{
    cr_assert(fabs(measured / theory - 1) < 0.02, "%s: %.4e, theory %.4e", what, measured, theory);
}

/* Published experiments on the same distribution: maxabs, clip25, grouped with signed scales. */
static const struct {
    enum assay_weight_format format;
    double maxabs, clip25, signed_grouped;
} published[] = {
    {ASSAY_WEIGHT_Q4G64, 1.158e-2, 8.97e-3, 8.06e-3},
    {ASSAY_WEIGHT_Q5G64, 2.518e-3, 2.180e-3, 2.049e-3},
    {ASSAY_WEIGHT_Q6G64, 5.904e-4, 5.317e-4, 5.086e-4},
    {ASSAY_WEIGHT_Q8G32, 2.862e-5, 2.550e-5, 2.550e-5},
};

Test(theory, normal_values)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        enum assay_weight_format format = published[i].format;
        struct oracle_weight_format f = oracle_weight_format(format);
        double measured[NUM_VARIANTS], own[NUM_VARIANTS], deviation;
        for (int v = 0; v < NUM_VARIANTS; v++)
            measured[v] = measure(format, &variants[v].options, &own[v]);
        double maxabs = oracle_theory_maxabs(f);
        double clip25 = oracle_theory_clip25(f, 10000, &deviation);
        cr_assert(deviation < clip25 * 0.006);
        double least = oracle_theory_optimum(f, false, 1000, &deviation);
        double least_signed = oracle_theory_optimum(f, true, 1000, &deviation);
        printf("%s: maxabs %.4e (theory %.4e), clip25 %.4e (%.4e), grouped %.4e (least %.4e), "
               "signed %.4e (least %.4e)\n",
               assay_weight_format_name(format), measured[0], maxabs, measured[1], clip25,
               measured[2], least, measured[3], least_signed);
        expect_near("maxabs", measured[0], maxabs);
        expect_near("clip25", measured[1], clip25);
        expect_near("maxabs against the published figure", measured[0], published[i].maxabs);
        expect_near("clip25 against the published figure", measured[1], published[i].clip25);
        /* Between the least possible, up to its sampling error, and the published search. */
        cr_assert(measured[3] < published[i].signed_grouped * 1.02);
        cr_assert(measured[2] > least * 0.97 && measured[3] > least_signed * 0.97);
        cr_assert(measured[1] < measured[0] && measured[2] < measured[1] &&
                  measured[3] <= measured[2]);
        for (int v = 0; v < NUM_VARIANTS; v++)
            cr_assert(own[v] < measured[v] * 0.006, "%s: too few values", variants[v].name);
    }
}
