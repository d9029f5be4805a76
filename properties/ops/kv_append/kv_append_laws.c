/* SPDX-License-Identifier: MIT
 *
 * kv_append's laws and its bad calls. Clauses tested here or by the sweep (kv_append.route.cpu):
 * [KVAPPEND-1] laws and sweep; [KVAPPEND-2] sweep (layouts, formats) and errors; [KVAPPEND-3] all
 * words of a format here, ties and large values in the sweep; [KVAPPEND-4] sweep; [KVAPPEND-5] and
 * [KVAPPEND-6] errors; [KVAPPEND-7] start_at law, sweep and errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "words.h"
#include <assay/ops/kv_append.h>

enum { G = 2, D = 5, DV = 3, S = 8 };

/* T rows at once leave the same cache as row after row [KVAPPEND-1]. */
Test(kv_append, one_by_one)
{
    assay_context *context = new_context(0);
    enum { T = 4 };
    float k[T * G * D], v[T * G * DV];
    uint16_t at_once[S * G * (D + DV)], singly[S * G * (D + DV)];
    for (int i = 0; i < T * G * D; i++)
        k[i] = (float)i * 1.001f - 7;
    for (int i = 0; i < T * G * DV; i++)
        v[i] = 3 - (float)i * 0.999f;
    for (int route = 0; route < assay_op_num_routes(&assay_op_kv_append); route++) {
        if (!take_route(context, &assay_op_kv_append, route))
            continue;
        memset(at_once, 0x5a, sizeof at_once);
        memset(singly, 0x5a, sizeof singly);
        struct assay_kv_append_args args = {
            .k = assay_tensor_3d(k, ASSAY_F32, T, G, D),
            .v = assay_tensor_3d(v, ASSAY_F32, T, G, DV),
            .k_cache = assay_tensor_3d(at_once, ASSAY_BF16, S, G, D),
            .v_cache = assay_tensor_3d(at_once + S * G * D, ASSAY_BF16, S, G, DV),
            .start = 2};
        cr_assert_eq(assay_kv_append(context, &args), ASSAY_OK);
        args.k_cache.data = singly;
        args.v_cache.data = singly + S * G * D;
        for (int t = 0; t < T; t++) {
            args.k = assay_tensor_3d(k + t * G * D, ASSAY_F32, 1, G, D);
            args.v = assay_tensor_3d(v + t * G * DV, ASSAY_F32, 1, G, DV);
            args.start = 2 + t;
            cr_assert_eq(assay_kv_append(context, &args), ASSAY_OK);
        }
        cr_assert(memcmp(at_once, singly, sizeof singly) == 0);
    }
    assay_context_destroy(context);
}

/* Every bf16 word survives a bf16 cache and a binary32 cache; and a binary32 number one step beside
 * the middle of two words goes to the nearer one, the middle itself to the even one [KVAPPEND-3].
 */
Test(kv_append, all_words)
{
    assay_context *context = new_context(0);
    enum { COUNT = 65536 };
    static uint16_t words[COUNT], kept[COUNT];
    static float middle[COUNT], wide[COUNT];
    static uint16_t narrow[COUNT], unused[2];
    for (int i = 0; i < COUNT; i++)
        words[i] = (uint16_t)i;
    for (int route = 0; route < assay_op_num_routes(&assay_op_kv_append); route++) {
        if (!take_route(context, &assay_op_kv_append, route))
            continue;
        struct assay_kv_append_args args = {
            .k = assay_tensor_3d(words, ASSAY_BF16, 1, 1, COUNT),
            .v = assay_tensor_3d(words, ASSAY_BF16, 1, 1, 1),
            .k_cache = assay_tensor_3d(kept, ASSAY_BF16, 1, 1, COUNT),
            .v_cache = assay_tensor_3d(unused, ASSAY_BF16, 1, 1, 1)};
        cr_assert_eq(assay_kv_append(context, &args), ASSAY_OK);
        args.k_cache = assay_tensor_3d(wide, ASSAY_F32, 1, 1, COUNT);
        args.v_cache.dtype = ASSAY_F32;
        args.v_cache.data = middle;
        cr_assert_eq(assay_kv_append(context, &args), ASSAY_OK);
        for (int i = 0; i < COUNT; i++) {
            double value = oracle_bf16_value((uint16_t)i);
            cr_assert(isnan(value) ? isnan(oracle_bf16_value(kept[i])) : kept[i] == words[i]);
            cr_assert(isnan(value) ? isnan(wide[i]) : (double)wide[i] == value);
        }
        for (int beside = -1; beside <= 1; beside++) {
            for (int i = 0; i < COUNT; i++) {
                uint32_t bits = ((uint32_t)i << 16 | 0x8000u) + (uint32_t)beside;
                memcpy(&middle[i], &bits, sizeof bits);
            }
            args.k = assay_tensor_3d(middle, ASSAY_F32, 1, 1, COUNT);
            args.k_cache = assay_tensor_3d(narrow, ASSAY_BF16, 1, 1, COUNT);
            args.v_cache = assay_tensor_3d(unused, ASSAY_BF16, 1, 1, 1);
            cr_assert_eq(assay_kv_append(context, &args), ASSAY_OK);
            for (int i = 0; i < COUNT; i++) {
                double value = oracle_bf16_value(narrow[i]);
                bool up = beside > 0 || (beside == 0 && i % 2 != 0);
                if (isnan(middle[i]))
                    cr_assert(isnan(value));
                else
                    cr_assert_eq(narrow[i], (uint16_t)(i + up), "%a", (double)middle[i]);
            }
        }
    }
    assay_context_destroy(context);
}

/* Rows land at start_at, held to the ends of [0, start] [KVAPPEND-7]. */
Test(kv_append, start_at)
{
    assay_context *context = new_context(0);
    enum { BOUND = 5 };
    const struct {
        int32_t at;
        int start;
    } starts[] = {{0, 0},  {3, 3},        {BOUND, BOUND}, {BOUND + 1, BOUND}, {INT32_MAX, BOUND},
                  {-1, 0}, {INT32_MIN, 0}};
    for (int route = 0; route < assay_op_num_routes(&assay_op_kv_append); route++) {
        if (!take_route(context, &assay_op_kv_append, route))
            continue;
        for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
            int32_t at = starts[i].at;
            float k[2] = {1, 2}, v[2] = {3, 4}, cache[2 * S] = {0};
            struct assay_kv_append_args args = {
                .k = assay_tensor_3d(k, ASSAY_F32, 2, 1, 1),
                .v = assay_tensor_3d(v, ASSAY_F32, 2, 1, 1),
                .k_cache = assay_tensor_3d(cache, ASSAY_F32, S, 1, 1),
                .v_cache = assay_tensor_3d(cache + S, ASSAY_F32, S, 1, 1),
                .start = BOUND,
                .start_at = assay_tensor_1d(&at, ASSAY_I32, 1)};
            cr_assert_eq(assay_kv_append(context, &args), ASSAY_OK);
            for (int slot = 0; slot < S; slot++) {
                int row = slot - starts[i].start;
                bool is_new = row == 0 || row == 1;
                cr_assert_eq(cache[slot], is_new ? k[row] : 0.0f);
                cr_assert_eq(cache[S + slot], is_new ? v[row] : 0.0f);
            }
        }
    }
    assay_context_destroy(context);
}

/* Every documented error [KVAPPEND-2] [KVAPPEND-5] [KVAPPEND-6] [KVAPPEND-7]. */
Test(kv_append, errors)
{
    enum { T = 2 };
    float k[T * G * D + 8] = {0}, v[T * G * DV] = {0}, cache[S * G * (D + DV)];
    float *v_cache = cache + S * G * D;
    const struct assay_kv_append_args good = {.k = assay_tensor_3d(k, ASSAY_F32, T, G, D),
                                              .v = assay_tensor_3d(v, ASSAY_F32, T, G, DV),
                                              .k_cache = assay_tensor_3d(cache, ASSAY_F32, S, G, D),
                                              .v_cache =
                                                  assay_tensor_3d(v_cache, ASSAY_F32, S, G, DV),
                                              .start = S - T};
    struct bad_calls *calls = bad_calls_new(&assay_op_kv_append, &good, cache, sizeof cache);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_kv_append_args, a, status, argument, change, #change)
    BAD(ASSAY_E_ARG, "k", a.k.data = NULL);
    BAD(ASSAY_E_ARG, "v", a.v.data = NULL);
    BAD(ASSAY_E_ARG, "k_cache", a.k_cache.data = NULL);
    BAD(ASSAY_E_ARG, "v_cache", a.v_cache.data = NULL);
    BAD(ASSAY_E_FULL, "start", a.start = -1);
    BAD(ASSAY_E_FULL, "start", a.start = S - T + 1);
    BAD(ASSAY_E_FULL, "start", a.start = INT64_MAX);
    BAD(ASSAY_E_FULL, "start", a.start = INT64_MIN);
    BAD(ASSAY_E_SHAPE, "k", a.k.rank = 2);
    BAD(ASSAY_E_SHAPE, "v", a.v.rank = 4);
    BAD(ASSAY_E_SHAPE, "k_cache", a.k_cache.rank = 2);
    BAD(ASSAY_E_SHAPE, "v", a.v.extent[0] = 1);
    BAD(ASSAY_E_SHAPE, "v", a.v.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "k", a.k.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "k", a.k.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "k_cache", a.k_cache.extent[0] = 0);
    BAD(ASSAY_E_SHAPE, "k_cache", a.k_cache.extent[1] = 1);
    BAD(ASSAY_E_SHAPE, "k_cache", a.k_cache.extent[2] = D - 1);
    BAD(ASSAY_E_SHAPE, "v_cache", a.v_cache.extent[0] = S - 1);
    BAD(ASSAY_E_SHAPE, "v_cache", a.v_cache.extent[2] = DV - 1);
    BAD(ASSAY_E_FORMAT, "k", a.k.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "v", a.v.dtype = ASSAY_I32);
    BAD(ASSAY_E_FORMAT, "k_cache", a.k_cache.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "v_cache", a.v_cache.dtype = ASSAY_BF16);
    BAD(ASSAY_E_LAYOUT, "k", a.k.stride[2] = 2);
    BAD(ASSAY_E_LAYOUT, "k_cache", a.k_cache.stride[1] = D - 1);
    BAD(ASSAY_E_LAYOUT, "v_cache", a.v_cache.stride[0] = 0);
    BAD(ASSAY_E_ALIAS, "k_cache", a.k.data = cache);
    BAD(ASSAY_E_ALIAS, "k_cache", a.start_at = assay_tensor_1d(cache, ASSAY_I32, 1));
    BAD(ASSAY_E_ALIAS, "v_cache", a.start_at = assay_tensor_1d(v_cache, ASSAY_I32, 1));
    BAD(ASSAY_E_FORMAT, "start_at", a.start_at = assay_tensor_1d(k, ASSAY_F32, 1));
    BAD(ASSAY_E_SHAPE, "start_at", a.start_at = assay_tensor_1d(k, ASSAY_I32, 2));
    BAD(ASSAY_E_SHAPE, "start_at", a.start_at = assay_tensor_2d(k, ASSAY_I32, 1, 1));
    BAD(ASSAY_E_ALIAS, "k_cache", a.v.data = cache);
    BAD(ASSAY_E_ALIAS, "v_cache", a.v.data = v_cache);
    BAD(ASSAY_E_ALIAS, "v_cache", a.k.data = v_cache);
    BAD(ASSAY_E_ALIAS, "v_cache", a.v_cache.data = cache);
#undef BAD
    bad_calls_finish(calls);
}
