/* SPDX-License-Identifier: MIT
 *
 * sample's laws and its bad calls. Clauses tested here or by the sweep (sample.route.cpu):
 * [SAMPLE-1] penalties; [SAMPLE-2] top_k; [SAMPLE-3] top_p; [SAMPLE-4] min_p; [SAMPLE-5]
 * uniform_bits, chi_square, counters and step_at; [SAMPLE-6] greedy, padding; [SAMPLE-7] sweep and
 * vocabulary; [SAMPLE-8] specials; [SAMPLE-9] errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include "case.h"
#include "philox.h"
#include "verify.h"
#include <assay/ops/argmax.h>
#include <assay/ops/sample.h>

enum { MOST = 64 };

/* Plain settings: temperature 1, no filter, no penalty. */
static struct assay_sample_args args_of(float *logits, int64_t rows, int64_t columns, int32_t *ids)
{
    return (struct assay_sample_args){.logits = assay_tensor_2d(logits, ASSAY_F32, rows, columns),
                                      .ids = assay_tensor_1d(ids, ASSAY_I32, rows),
                                      .limit = columns,
                                      .temperature = 1,
                                      .top_p = 1,
                                      .seed = 42};
}

static void sample(assay_context *context, const struct assay_sample_args *args)
{
    assay_status status = assay_sample(context, args);
    cr_assert(status == ASSAY_OK, "%s", assay_context_error(context)->message);
}

/* The same row many times: `draws` ids of one distribution. The row is shared by a stride of 0. */
static struct assay_sample_args draws_of(float *row, int64_t columns, int64_t draws, int32_t *ids)
{
    struct assay_sample_args args = args_of(row, draws, columns, ids);
    args.logits.stride[0] = 0;
    return args;
}

static void fill(float row[MOST])
{
    for (int i = 0; i < MOST; i++)
        row[i] = (float)((i * 37) % 61) * 0.0625f - 2;
}

/* With equal logits over 2^16 tokens the id is the leading 16 bits of u. Seed 0, counter 0 is the
 * first known answer of Random123 for philox4x32-10, 6627e8d5 e169c58d ...: u starts with e169. The
 * other draws are compared with the test generator's Philox [SAMPLE-5]. */
static void uniform_bits_body(assay_context *context, const char *route)
{
    enum { TOKENS = 65536, DRAWS = 4 };
    static float logits[TOKENS];
    int32_t ids[DRAWS];
    const uint64_t seeds[] = {0, 1, UINT64_C(0xffffffff00000000), UINT64_C(0x123456789abcdef0)};
    const uint64_t steps[] = {0, UINT64_C(0xfffffffe), UINT64_C(0xfffffffffffffffe)};
    struct assay_sample_args args = draws_of(logits, TOKENS, DRAWS, ids);
    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
        for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
            args.seed = seeds[s];
            args.step = steps[k];
            sample(context, &args);
            if (args.seed == 0 && args.step == 0)
                cr_assert_eq(ids[0], 0xe169, "%s: the known answer gives %x", route, ids[0]);
            for (uint64_t t = 0; t < DRAWS; t++) {
                uint64_t c = steps[k] + t;
                const uint32_t counter[4] = {(uint32_t)c, (uint32_t)(c >> 32), 0, 0};
                const uint32_t key[2] = {(uint32_t)seeds[s], (uint32_t)(seeds[s] >> 32)};
                uint32_t word[4];
                philox(counter, key, word);
                cr_assert_eq(ids[t], (int32_t)(word[1] >> 16), "%s: seed %zu, step %zu, row %d",
                             route, s, k, (int)t);
            }
        }
    }
}

Test(sample, uniform_bits)
{
    each_route(&assay_op_sample, uniform_bits_body);
}

/* Exact probabilities of the settings, from the contract, without counting the oracle's care for
 * edges: logits here are far from any. */
static void distribution(const struct assay_sample_args *args, const int32_t *counts,
                         double p[MOST])
{
    double l[MOST], best = -INFINITY, whole = 0, total = 0, sum = 0;
    int rank[MOST], columns = (int)args->limit;
    for (int i = 0; i < columns; i++) {
        double count = counts != NULL ? (double)counts[i] : 0;
        l[i] = (double)((const float *)args->logits.data)[i] - args->presence * (count > 0) -
               args->frequency * count;
        best = fmax(best, l[i]);
        int at = i;
        for (; at > 0 && l[i] > l[rank[at - 1]]; at--)
            rank[at] = rank[at - 1];
        rank[at] = i;
    }
    int kept = args->top_k > 0 && args->top_k < columns ? (int)args->top_k : columns;
    for (int k = 0; k < columns; k++) {
        p[rank[k]] = k < kept ? exp((l[rank[k]] - best) / args->temperature) : 0;
        whole += p[rank[k]];
    }
    for (int k = 0; k < columns; k++) {
        double weight = p[rank[k]];
        if ((args->top_p < 1 && sum >= args->top_p * whole) || weight < args->min_p)
            p[rank[k]] = 0;
        sum += weight;
        total += p[rank[k]];
    }
    for (int i = 0; i < columns; i++)
        p[i] /= total;
}

/* Draws follow the exact distribution [SAMPLE-5]. For n degrees of freedom the statistic of a right
 * sampler stays below n + 2 sqrt(n x) + 2 x but with probability exp(-x) (Laurent and Massart,
 * 2000); x = 18 is 1.5e-8 a test, for counts that are large enough (at least 5 expected) to be near
 * normal. The seed is fixed besides, so the outcome is the same in each run. A token of probability
 * 0 must never come. */
static void check_draws(const struct assay_sample_args *args, const int32_t *counts,
                        const char *route)
{
    double p[MOST], statistic = 0, pooled_p = 0, pooled = 0;
    int64_t seen[MOST] = {0}, draws = args->ids.extent[0];
    const int32_t *ids = args->ids.data;
    distribution(args, counts, p);
    for (int64_t t = 0; t < draws; t++) {
        cr_assert(ids[t] >= 0 && ids[t] < args->limit, "%s: id %d", route, ids[t]);
        seen[ids[t]]++;
    }
    int cells = 0;
    for (int i = 0; i < args->limit; i++) {
        double expected = p[i] * (double)draws, got = (double)seen[i];
        cr_assert(p[i] > 0 || seen[i] == 0, "%s: id %d has probability 0", route, i);
        if (expected < 5) {
            pooled_p += p[i];
            pooled += got;
            continue;
        }
        statistic += (got - expected) * (got - expected) / expected;
        cells++;
    }
    if (pooled_p * (double)draws >= 5) {
        double expected = pooled_p * (double)draws;
        statistic += (pooled - expected) * (pooled - expected) / expected;
        cells++;
    }
    const double x = 18;
    double n = cells - 1, limit = n + 2 * sqrt(n * x) + 2 * x;
    cr_assert(statistic <= limit, "%s: chi-square %g of %g degrees of freedom (limit %g)", route,
              statistic, n, limit);
}

static void chi_square_body(assay_context *context, const char *route)
{
    enum { DRAWS = 100000 };
    static int32_t ids[DRAWS];
    float row[MOST];
    int32_t counts[MOST];
    fill(row);
    for (int i = 0; i < MOST; i++)
        counts[i] = i % 5 > 1 ? 0 : i % 3;
    const struct {
        double temperature, top_p, min_p, presence, frequency;
        int64_t top_k;
    } settings[] = {
        {1, 1, 0, 0, 0, 0},      {0.7, 1, 0, 0, 0, 0},
        {1, 1, 0, 0, 0, 20},     {1, 0.83, 0, 0, 0, 0},
        {1, 0.83, 0, 0, 0, 9},   {1, 1, 0.31, 0, 0, 0},
        {1, 1, 0, 1.5, 0.25, 0}, {0.6, 0.93, 0.07, 0.5, 0.3, 40},
    };
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++) {
        struct assay_sample_args args = draws_of(row, MOST, DRAWS, ids);
        args.counts = assay_tensor_1d(counts, ASSAY_I32, MOST);
        args.temperature = settings[k].temperature;
        args.top_p = settings[k].top_p;
        args.min_p = settings[k].min_p;
        args.presence = settings[k].presence;
        args.frequency = settings[k].frequency;
        args.top_k = settings[k].top_k;
        args.step = (uint64_t)k * DRAWS;
        sample(context, &args);
        check_draws(&args, counts, route);
    }
}

Test(sample, chi_square)
{
    each_route(&assay_op_sample, chi_square_body);
}

enum { DRAWS = 2000 };

static int count_ids(const int32_t ids[DRAWS], int32_t id)
{
    int count = 0;
    for (int t = 0; t < DRAWS; t++)
        count += ids[t] == id;
    return count;
}

/* top_k of 0, of limit and beyond it are the same [SAMPLE-2]; of 1 it is the maximum, the first one
 * of equals; ties at the edge of k go to lower indices. */
static void top_k_body(assay_context *context, const char *route)
{
    int32_t all[DRAWS], ids[DRAWS];
    float row[MOST];
    fill(row);
    struct assay_sample_args args = draws_of(row, MOST, DRAWS, all);
    sample(context, &args);
    args.ids.data = ids;
    const int64_t same[] = {MOST, MOST + 1, INT64_MAX};
    for (size_t k = 0; k < sizeof same / sizeof same[0]; k++) {
        args.top_k = same[k];
        sample(context, &args);
        cr_assert(memcmp(all, ids, sizeof all) == 0, "%s: top_k %zu", route, k);
    }
    float ties[6] = {1, 3, 2, 2, 2, 3};
    args = draws_of(ties, 6, DRAWS, ids);
    args.temperature = 10;
    args.top_k = 1;
    sample(context, &args);
    cr_assert_eq(count_ids(ids, 1), DRAWS, "%s: the first maximum alone", route);
    args.top_k = 4;
    sample(context, &args);
    cr_assert(count_ids(ids, 0) + count_ids(ids, 4) == 0, "%s: ties at the edge", route);
    cr_assert(count_ids(ids, 2) > 0 && count_ids(ids, 3) > 0, "%s: ties at the edge", route);
}

Test(sample, top_k)
{
    each_route(&assay_op_sample, top_k_body);
}

/* A tiny top_p keeps exactly the most probable token, the first one of equals [SAMPLE-3]; top_p is
 * measured within what top_k kept: of 10 equal tokens, top_k 4 leaves 4 and top_p 0.5 of these two.
 */
static void top_p_body(assay_context *context, const char *route)
{
    int32_t ids[DRAWS];
    float row[MOST], equal[10] = {0};
    fill(row);
    row[30] = row[50] = 4;
    struct assay_sample_args args = draws_of(row, MOST, DRAWS, ids);
    args.top_p = 1e-300;
    sample(context, &args);
    cr_assert_eq(count_ids(ids, 30), DRAWS, "%s: tiny top_p", route);
    args = draws_of(equal, 10, DRAWS, ids);
    args.top_k = 4;
    args.top_p = 0.5;
    sample(context, &args);
    cr_assert_eq(count_ids(ids, 0) + count_ids(ids, 1), DRAWS, "%s: half of four", route);
    cr_assert(count_ids(ids, 0) > 0 && count_ids(ids, 1) > 0, "%s: half of four", route);
    args.top_p = 0.51;
    sample(context, &args);
    cr_assert(count_ids(ids, 2) > 0 && count_ids(ids, 3) == 0, "%s: a little more", route);
}

Test(sample, top_p)
{
    each_route(&assay_op_sample, top_p_body);
}

/* min_p of 1 keeps the maxima only, all of them [SAMPLE-4]; 0 keeps all. */
static void min_p_body(assay_context *context, const char *route)
{
    int32_t ids[DRAWS];
    float row[6] = {2, 1, 2, 1.5f, 2, -3};
    struct assay_sample_args args = draws_of(row, 6, DRAWS, ids);
    args.temperature = 5;
    args.min_p = 1;
    sample(context, &args);
    int maxima = count_ids(ids, 0) + count_ids(ids, 2) + count_ids(ids, 4);
    cr_assert_eq(maxima, DRAWS, "%s: only maxima", route);
    cr_assert(count_ids(ids, 0) > 0 && count_ids(ids, 2) > 0 && count_ids(ids, 4) > 0, "%s", route);
    args.min_p = 0;
    sample(context, &args);
    cr_assert(count_ids(ids, 5) > 0, "%s: min_p 0", route);
}

Test(sample, min_p)
{
    each_route(&assay_op_sample, min_p_body);
}

/* Temperature 0 has the ids of the op argmax [SAMPLE-6], filters and seed notwithstanding, and with
 * penalties those of argmax over penalised logits [SAMPLE-1]. */
static void greedy_body(assay_context *context, const char *route)
{
    enum { ROWS = 40 };
    static float logits[ROWS * MOST], lowered[ROWS * MOST];
    int32_t greedy[ROWS], best[ROWS], counts[MOST];
    for (int i = 0; i < MOST; i++)
        counts[i] = i % 4;
    for (int i = 0; i < ROWS * MOST; i++) {
        uint64_t draw = philox_u64(7, "logits", (uint64_t)i);
        logits[i] = (float)(int)(draw % 17) * 0.5f - 8;
        int count = counts[i % MOST];
        lowered[i] = logits[i] - (count > 0 ? 1.5f : 0) - 0.25f * (float)count;
    }
    for (int penalised = 0; penalised < 2; penalised++) {
        struct assay_sample_args args = args_of(logits, ROWS, MOST, greedy);
        args.temperature = 0;
        args.limit = MOST - 3;
        args.top_k = 5;
        args.top_p = 0.5;
        if (penalised) {
            args.counts = assay_tensor_1d(counts, ASSAY_I32, MOST);
            args.presence = 1.5;
            args.frequency = 0.25;
        }
        sample(context, &args);
        struct assay_argmax_args argmax = {
            .logits = assay_tensor_2d(penalised ? lowered : logits, ASSAY_F32, ROWS, MOST),
            .ids = assay_tensor_1d(best, ASSAY_I32, ROWS),
            .limit = MOST - 3};
        cr_assert_eq(assay_argmax(context, &argmax), ASSAY_OK);
        cr_assert(memcmp(greedy, best, sizeof best) == 0, "%s: penalised %d", route, penalised);
    }
}

Test(sample, greedy)
{
    each_route(&assay_op_sample, greedy_body);
}

/* Penalties shift logits [SAMPLE-1]: the ids are those of logits that were lowered beforehand (all
 * numbers here are exact), and of none where nothing has occurred. */
static void penalties_body(assay_context *context, const char *route)
{
    int32_t ids[DRAWS], shifted[DRAWS], counts[MOST], none[MOST] = {0};
    float row[MOST], lowered[MOST];
    fill(row);
    for (int i = 0; i < MOST; i++) {
        counts[i] = i % 3 == 0 ? i % 7 : 0;
        lowered[i] = row[i] - (counts[i] > 0 ? 0.75f : 0) - 0.5f * (float)counts[i];
    }
    struct assay_sample_args args = draws_of(row, MOST, DRAWS, ids);
    args.counts = assay_tensor_1d(counts, ASSAY_I32, MOST);
    args.presence = 0.75;
    args.frequency = 0.5;
    args.temperature = 0.7;
    args.top_k = 30;
    args.top_p = 0.9;
    struct assay_sample_args beforehand = args;
    beforehand.logits.data = lowered;
    beforehand.counts = (struct assay_tensor){.data = NULL};
    beforehand.ids.data = shifted;
    sample(context, &args);
    sample(context, &beforehand);
    cr_assert(memcmp(ids, shifted, sizeof ids) == 0, "%s: penalties", route);

    args.counts.data = none;
    beforehand.logits.data = row;
    sample(context, &args);
    sample(context, &beforehand);
    cr_assert(memcmp(ids, shifted, sizeof ids) == 0, "%s: nothing has occurred", route);
}

Test(sample, penalties)
{
    each_route(&assay_op_sample, penalties_body);
}

/* The id depends on seed, step + t and the row alone [SAMPLE-5]: again, row by row with the steps
 * shifted, and with the rows in reverse order and single calls; other seeds differ. */
static void counters_body(assay_context *context, const char *route)
{
    enum { ROWS = 50 };
    float logits[ROWS * MOST];
    int32_t ids[ROWS], again[ROWS], single;
    for (int i = 0; i < ROWS * MOST; i++)
        logits[i] = (float)(philox_u64(9, "logits", (uint64_t)i) % 1024) * 0x1p-8f;
    struct assay_sample_args args = args_of(logits, ROWS, MOST, ids);
    args.step = UINT64_C(0xfffffffffffffff0); /* wraps within the call */
    sample(context, &args);
    args.ids.data = again;
    sample(context, &args);
    cr_assert(memcmp(ids, again, sizeof ids) == 0, "%s: a second call differs", route);
    for (int t = ROWS - 1; t >= 0; t--) {
        struct assay_sample_args one = args_of(logits + t * MOST, 1, MOST, &single);
        one.step = args.step + (uint64_t)t;
        sample(context, &one);
        cr_assert_eq(single, ids[t], "%s: row %d alone gives %d, not %d", route, t, single, ids[t]);
    }
    args.seed++;
    sample(context, &args);
    cr_assert(memcmp(ids, again, sizeof ids) != 0, "%s: the seed is not used", route);
}

/* step_at is read when the call runs and added to step [SAMPLE-5]: one args struct, the element
 * counted up between calls; a negative number counts as 0; the sum wraps. */
static void step_at_body(assay_context *context, const char *route)
{
    enum { ROWS = 20 };
    float row[MOST];
    int32_t ids[ROWS], direct[ROWS], at;
    const int32_t numbers[] = {0, 1, 1000, INT32_MAX, -1, INT32_MIN};
    const uint64_t steps[] = {0, 77, UINT64_C(0xfffffffffffffff0)};
    fill(row);
    struct assay_sample_args args = draws_of(row, MOST, ROWS, ids);
    args.step_at = assay_tensor_1d(&at, ASSAY_I32, 1);
    struct assay_sample_args plain = draws_of(row, MOST, ROWS, direct);
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        args.step = steps[k];
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            at = numbers[i];
            sample(context, &args);
            plain.step = steps[k] + (at > 0 ? (uint64_t)at : 0);
            sample(context, &plain);
            cr_assert(memcmp(ids, direct, sizeof ids) == 0, "%s: step_at %d", route, (int)at);
        }
    }
}

Test(sample, step_at)
{
    each_route(&assay_op_sample, step_at_body);
}

Test(sample, counters)
{
    each_route(&assay_op_sample, counters_body);
}

/* Columns at or beyond limit are never drawn, whatever they hold [SAMPLE-6]. */
static void padding_body(assay_context *context, const char *route)
{
    int32_t ids[DRAWS], clean[DRAWS];
    const float poison[] = {NAN, INFINITY, 1e30f, 5};
    float row[MOST];
    fill(row);
    struct assay_sample_args args = draws_of(row, MOST, DRAWS, clean);
    args.limit = MOST - 9;
    args.top_p = 0.95;
    sample(context, &args);
    args.ids.data = ids;
    for (size_t k = 0; k < sizeof poison / sizeof poison[0]; k++) {
        for (int i = MOST - 9; i < MOST; i++)
            row[i] = poison[k];
        sample(context, &args);
        cr_assert(memcmp(ids, clean, sizeof ids) == 0, "%s: padding %zu", route, k);
    }
}

Test(sample, padding)
{
    each_route(&assay_op_sample, padding_body);
}

/* NaN rows and rows of -inf give -1 at every temperature and leave others alone; masked tokens are
 * never drawn; infinite logits share equally [SAMPLE-8]. */
static void specials_body(assay_context *context, const char *route)
{
    const double temperatures[] = {0, 1, 1e-3};
    int32_t ids[DRAWS];
    float row[8], rows[3 * 8];
    for (size_t k = 0; k < sizeof temperatures / sizeof temperatures[0]; k++) {
        for (int i = 0; i < 3 * 8; i++)
            rows[i] = i < 16 && i >= 8 ? -INFINITY : (float)(i % 8);
        rows[k] = NAN;
        struct assay_sample_args args = args_of(rows, 3, 8, ids);
        args.temperature = temperatures[k];
        sample(context, &args);
        cr_assert(ids[0] == -1 && ids[1] == -1 && ids[2] >= 0, "%s: %d %d %d", route, ids[0],
                  ids[1], ids[2]);
    }
    for (int i = 0; i < 8; i++)
        row[i] = i == 3 || i == 5 ? -2 : -INFINITY;
    struct assay_sample_args args = draws_of(row, 8, DRAWS, ids);
    sample(context, &args);
    cr_assert_eq(count_ids(ids, 3) + count_ids(ids, 5), DRAWS, "%s: masked tokens", route);
    for (int i = 0; i < 8; i++)
        row[i] = i == 2 || i == 7 ? INFINITY : (float)i;
    sample(context, &args);
    int first = count_ids(ids, 2);
    cr_assert_eq(first + count_ids(ids, 7), DRAWS, "%s: infinite logits", route);
    cr_assert(first > DRAWS / 2 - 150 && first < DRAWS / 2 + 150, "%s: %d of %d", route, first,
              (int)DRAWS); /* 6.7 standard deviations */
}

Test(sample, specials)
{
    each_route(&assay_op_sample, specials_body);
}

/* The real vocabulary against the oracle [SAMPLE-7]. */
Test(sample, vocabulary)
{
    struct assay_context_options options = assay_context_defaults();
    assay_context *context;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    static const char *const texts[] = {
        "sample T=2 limit=248077 padding=243 logits=bf16 temperature=0.7 top_k=20 top_p=0.95",
        "sample T=2 limit=248077 padding=243 spread=4 temperature=1 top_k=0 top_p=0.8 min_p=0",
        "sample T=2 limit=248077 padding=243 temperature=1 top_k=0 top_p=1 min_p=0"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        struct assay_case c;
        struct verify_outcome outcome;
        char message[256];
        cr_assert(case_parse(texts[k], &c, message, sizeof message), "%s", message);
        verify_case(context, &c, &outcome);
        cr_assert(outcome.verdict.finding == VERDICT_PASS, "%s: %s", texts[k],
                  outcome.verdict.message);
    }
    assay_context_destroy(context);
}

/* Every documented error [SAMPLE-9]. */
Test(sample, errors)
{
    enum { T = 2, V = 8 };
    float logits[T * V] = {0};
    int32_t ids[T * V], counts[V] = {0}, negative[V] = {0, 0, -1};
    struct assay_sample_args good = args_of(logits, T, V, ids);
    good.counts = assay_tensor_1d(counts, ASSAY_I32, V);
    int32_t step_at[2] = {1, 2};
    good.step_at = assay_tensor_1d(step_at, ASSAY_I32, 1);
    good.limit = V - 1;
    struct bad_calls *calls = bad_calls_new(&assay_op_sample, &good, ids, sizeof ids);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_sample_args, a, status, argument, change, #change)

    BAD(ASSAY_E_ARG, "logits", a.logits.data = NULL);
    BAD(ASSAY_E_ARG, "ids", a.ids.data = NULL);
    BAD(ASSAY_E_ARG, "limit", a.limit = 0);
    BAD(ASSAY_E_ARG, "limit", a.limit = V + 1);
    BAD(ASSAY_E_ARG, "limit", a.logits.extent[1] = 0);
    BAD(ASSAY_E_ARG, "temperature", a.temperature = -1);
    BAD(ASSAY_E_ARG, "temperature", a.temperature = NAN);
    BAD(ASSAY_E_ARG, "temperature", a.temperature = INFINITY);
    BAD(ASSAY_E_ARG, "top_k", a.top_k = -1);
    BAD(ASSAY_E_ARG, "top_p", a.top_p = 0);
    BAD(ASSAY_E_ARG, "top_p", a.top_p = 1.5);
    BAD(ASSAY_E_ARG, "top_p", a.top_p = NAN);
    BAD(ASSAY_E_ARG, "min_p", a.min_p = -0.5);
    BAD(ASSAY_E_ARG, "min_p", a.min_p = 1.5);
    BAD(ASSAY_E_ARG, "min_p", a.min_p = NAN);
    BAD(ASSAY_E_ARG, "presence", a.presence = INFINITY);
    BAD(ASSAY_E_ARG, "presence", a.presence = NAN);
    BAD(ASSAY_E_ARG, "frequency", a.frequency = -INFINITY);
    BAD(ASSAY_E_RANGE, "counts", a.counts.data = negative);
    BAD(ASSAY_E_SHAPE, "logits", a.logits.rank = 1);
    BAD(ASSAY_E_SHAPE, "logits", a.logits.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.rank = 2);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[0] = T + 1);
    BAD(ASSAY_E_SHAPE, "counts", a.counts.rank = 2);
    BAD(ASSAY_E_SHAPE, "counts", a.counts.extent[0] = V - 1);
    BAD(ASSAY_E_SHAPE, "step_at", a.step_at.rank = 0);
    BAD(ASSAY_E_SHAPE, "step_at", a.step_at.extent[0] = 2);
    BAD(ASSAY_E_FORMAT, "step_at", a.step_at.dtype = ASSAY_I64);
    BAD(ASSAY_E_FORMAT, "logits", a.logits.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_I64);
    BAD(ASSAY_E_FORMAT, "counts", a.counts.dtype = ASSAY_F32);
    BAD(ASSAY_E_LAYOUT, "logits", a.logits.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "logits", a.logits.stride[0] = -V);
    BAD(ASSAY_E_LAYOUT, "ids", a.ids.stride[0] = 0);
    BAD(ASSAY_E_LAYOUT, "counts", a.counts.stride[0] = 2);
    BAD(ASSAY_E_LAYOUT, "logits", a.logits.data = (char *)logits + 1);
    BAD(ASSAY_E_ALIAS, "ids", a.logits.data = ids);
    BAD(ASSAY_E_ALIAS, "ids", a.counts.data = ids);
    BAD(ASSAY_E_ALIAS, "ids", a.step_at.data = ids);
#undef BAD
    bad_calls_finish(calls);
}
