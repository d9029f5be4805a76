/* SPDX-License-Identifier: MIT
 *
 * The engine's codec of grouped weights, with the kernels of every instruction set that this
 * machine has: all checks of weight_checks.h, and the same bytes from all of them.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include <assay/context.h>
#include <assay/testing.h>

#include "oracle_formats.h"
#include "weight_checks.h"
#include "weight_planes_guarded.h"

#define ENGINE(isa, ISA)                                                                   \
    static assay_status encode_##isa(                                                      \
        const struct assay_weights *to, int64_t row, const float *values,                  \
        const struct assay_encode_options *options, struct assay_error *error)             \
    {                                                                                      \
        return assay_testing_encode_row(ISA, to, row, values, options, error);             \
    }                                                                                      \
    static void decode_##isa(const struct assay_weights *from, int64_t row, float *values) \
    {                                                                                      \
        assay_testing_decode_row(ISA, from, row, values);                                  \
    }
ENGINE(portable, ASSAY_ISA_PORTABLE)
ENGINE(avx2, ASSAY_ISA_AVX2)
ENGINE(avx512, ASSAY_ISA_AVX512)

/* By instruction set; the last is what a user calls. */
static const struct weight_codec engines[] = {
    {"portable", encode_portable, decode_portable},
    {"avx2", encode_avx2, decode_avx2},
    {"avx512", encode_avx512, decode_avx512},
    {"public", assay_weights_encode_row, assay_weights_decode_row},
};

static int num_engines(void)
{
    return (int)assay_isa_detect() + 1;
}

static void run_check(const char *name)
{
    for (int i = 0; i < num_weight_checks; i++) {
        if (strcmp(weight_checks[i].name, name) != 0)
            continue;
        /* All of it with the public functions, a sample with each instruction set: those are
         * compared with each other below. */
        const char *fault = weight_checks[i].run(&engines[3], false);
        cr_assert(fault == NULL, "%s: %s", name, fault);
        for (int e = 0; e < num_engines(); e++) {
            fault = weight_checks[i].run(&engines[e], true);
            cr_assert(fault == NULL, "%s, %s: %s", name, engines[e].name, fault);
        }
        return;
    }
    cr_assert_fail("no check is called %s", name);
}

Test(codec, stored)
{
    run_check("bytes");
    run_check("edges");
    run_check("guards");
}

Test(codec, decode)
{
    run_check("decode");
}

Test(codec, maxabs)
{
    run_check("maxabs");
    run_check("idempotence");
}

Test(codec, clip25)
{
    run_check("clip25");
}

Test(codec, grouped)
{
    run_check("grouped");
}

/* Same bytes and same decoded bits from every instruction set. */
Test(codec, instruction_sets)
{
    enum { K = 1000 };
    float values[K], importance[K], decoded[2][K];
    for (int k = 0; k < K; k++)
        importance[k] = (float)draw_uniform(4, "importance", (uint64_t)k);
    for (enum assay_weight_format format = 0; format < ASSAY_NUM_WEIGHT_FORMATS; format++)
        for (int e = 0; e < ASSAY_NUM_WEIGHT_ENCODERS; e++)
            for (int kind = 0; kind < NUM_ROW_KINDS; kind++)
                for (int isa = 1; isa < num_engines(); isa++) {
                    struct assay_encode_options options = {.encoder = (enum assay_weight_encoder)e,
                                                           .importance = importance,
                                                           .allow_negative_scales = true};
                    struct guarded a, b;
                    guarded_create(format, 1, K, 0, &a);
                    guarded_create(format, 1, K, 0, &b);
                    row_fill(kind, 77, format, values, K);
                    cr_assert_eq(engines[0].encode(&a.weights, 0, values, &options, NULL),
                                 ASSAY_OK);
                    cr_assert_eq(engines[isa].encode(&b.weights, 0, values, &options, NULL),
                                 ASSAY_OK);
                    cr_assert(guarded_equal(&a, &b), "%s %s, %s: %s and portable bytes differ",
                              assay_weight_format_name(format),
                              assay_weight_encoder_name(options.encoder), row_kind_name(kind),
                              engines[isa].name);
                    engines[0].decode(&a.weights, 0, decoded[0]);
                    engines[isa].decode(&b.weights, 0, decoded[1]);
                    cr_assert(memcmp(decoded[0], decoded[1], sizeof decoded[0]) == 0);
                    guarded_destroy(&a);
                    guarded_destroy(&b);
                }
}
