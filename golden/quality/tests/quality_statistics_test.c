/* SPDX-License-Identifier: MIT
 *
 * quality.statistics: simulations with known effects. An interval must hold the true effect in 95 %
 * of runs, a test must see an effect as often as its power says, and both must fail visibly where
 * their premise does: where the units of resampling are not independent.
 */
#include <math.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "gate_random.h"
#include "paired.h"

enum {
    WINDOWS = 60,
    TOKENS = 256, /* of a window */
    COUNT = WINDOWS * TOKENS,
    RUNS = 1000, /* coverage of 95 % has a standard error of 0.7 % */
    RESAMPLES = 400
};

/* ---- draws ---------------------------------------------------------------------------------- */

static double uniform(struct gate_random *random)
{
    return ((double)(gate_random_next(random) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct gate_random *random)
{
    return sqrt(-2.0 * log(uniform(random))) * cos(2.0 * M_PI * uniform(random));
}

/* What a token's difference of losses is made of: effect + AR(1) noise + outliers + a window's own
 * offset. */
struct world {
    double effect, correlation, outliers, window_offset;
};

static void draw(const struct world *world, struct gate_random *random, int64_t count,
                 double *values)
{
    const double fresh = sqrt(1.0 - world->correlation * world->correlation);
    double noise = 0.0, offset = 0.0;
    for (int64_t i = 0; i < count; i++) {
        if (i % TOKENS == 0) {
            noise = normal(random);
            offset = world->window_offset * normal(random);
        }
        noise = world->correlation * noise + fresh * normal(random);
        const double factor = uniform(random) < world->outliers ? 8.0 : 1.0;
        values[i] = world->effect + factor * noise + offset;
    }
}

static struct paired_interval interval(const double *values, int64_t count, int64_t unit,
                                       uint64_t seed)
{
    struct paired_unit *units = calloc((size_t)count, sizeof *units);
    struct paired_interval result;
    int64_t num = 0;
    cr_assert_not_null(units);
    for (int64_t i = 0; i < count; i++) {
        num += i % unit == 0;
        units[num - 1].sum += values[i];
        units[num - 1].tokens += 1.0;
    }
    cr_assert_eq(paired_bootstrap(units, num, RESAMPLES, seed, &result, NULL), ASSAY_OK);
    free(units);
    return result;
}

/* Share of runs whose interval holds the effect. */
static double coverage(const struct world *world, int64_t unit, int runs)
{
    static double values[COUNT];
    struct gate_random random = {.state = 7};
    int held = 0;
    for (int r = 0; r < runs; r++) {
        draw(world, &random, COUNT, values);
        const struct paired_interval i = interval(values, COUNT, unit, (uint64_t)r);
        held += i.low <= world->effect && world->effect <= i.high;
    }
    return (double)held / runs;
}

/* ---- coverage ------------------------------------------------------------------------------- */

Test(quality_statistics, coverage)
{
    static const struct {
        const char *name;
        struct world world;
        int64_t unit;
    } sound[] = {
        {"independent tokens, blocks", {1.0, 0.0, 0.0, 0.0}, 128},
        {"correlated tokens, blocks", {0.5, 0.9, 0.0, 0.0}, 128},
        {"correlated tokens with outliers, blocks", {0.0, 0.9, 0.02, 0.0}, 128},
        {"correlated tokens, windows", {-0.2, 0.9, 0.02, 0.0}, TOKENS},
        {"windows that differ, windows", {0.1, 0.9, 0.0, 1.0}, TOKENS},
    };
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        const double share = coverage(&sound[i].world, sound[i].unit, RUNS);
        cr_log_info("%s: %.1f %%", sound[i].name, 100.0 * share);
        cr_assert(share >= 0.93 && share <= 0.97, "%s: the interval holds the effect in %.1f %%",
                  sound[i].name, 100.0 * share);
    }
    /* The check sees units that are not independent: tokens of correlated text, and blocks of
     * windows that differ. */
    const struct world correlated = {0.5, 0.9, 0.0, 0.0}, differing = {0.1, 0.9, 0.0, 1.0};
    const double tokens = coverage(&correlated, 1, 40), blocks = coverage(&differing, 32, 200);
    cr_log_info("units that are not independent: %.1f %% and %.1f %%", 100 * tokens, 100 * blocks);
    cr_assert_lt(tokens, 0.8, "tokens as units: %g", tokens);
    cr_assert_lt(blocks, 0.8, "blocks of differing windows as units: %g", blocks);
}

/* ---- power ---------------------------------------------------------------------------------- */

/* Share of runs of `windows` windows whose interval leaves out 0. */
static double rejections(const struct world *world, int64_t windows, int runs)
{
    struct gate_random random = {.state = 11};
    double *values = malloc((size_t)(windows * TOKENS) * sizeof *values);
    int rejected = 0;
    cr_assert_not_null(values);
    for (int r = 0; r < runs; r++) {
        draw(world, &random, windows * TOKENS, values);
        const struct paired_interval i = interval(values, windows * TOKENS, TOKENS, (uint64_t)r);
        rejected += i.low > 0.0 || i.high < 0.0;
    }
    free(values);
    return (double)rejected / runs;
}

Test(quality_statistics, power)
{
    enum { PILOT = 4000, POWER_RUNS = 1000 };
    struct world world = {0.0, 0.9, 0.02, 0.1};
    struct gate_random random = {.state = 3};
    double *values = malloc(PILOT * TOKENS * sizeof *values);
    cr_assert_not_null(values);
    draw(&world, &random, PILOT * TOKENS, values);
    const struct paired_interval pilot = interval(values, PILOT * TOKENS, TOKENS, 1);
    free(values);
    /* An effect for which the pilot says that about 70 windows are needed. */
    world.effect = paired_detectable(&pilot, 0.8) * sqrt(PILOT / 70.0);
    const double needed = paired_tokens_needed(&pilot, world.effect, 0.8);
    const int64_t windows = (int64_t)ceil(needed / TOKENS);
    cr_assert(windows >= 69 && windows <= 71, "%lld windows", (long long)windows);
    const double seen = rejections(&world, windows, POWER_RUNS);
    cr_log_info("power: %.1f %% of runs see the effect", 100.0 * seen);
    cr_assert(seen >= 0.75 && seen <= 0.85, "an effect with 80 %% power is seen in %.1f %%",
              100.0 * seen);
    world.effect = 0.0;
    const double false_alarms = rejections(&world, windows, POWER_RUNS);
    cr_log_info("no effect: %.1f %% of runs see one", 100.0 * false_alarms);
    cr_assert(false_alarms >= 0.03 && false_alarms <= 0.07, "no effect is seen in %.1f %%",
              100.0 * false_alarms);
    /* A quarter of the tokens must show as a lack of power. */
    world.effect = paired_detectable(&pilot, 0.8) * sqrt(PILOT / 70.0);
    cr_assert_lt(rejections(&world, windows / 4, 300), 0.5);
}

/* ---- the rest ------------------------------------------------------------------------------- */

Test(quality_statistics, exact_cases)
{
    /* Unequal units: a ratio of sums. */
    struct paired_unit units[32];
    for (int i = 0; i < 32; i++)
        units[i] = (struct paired_unit){.sum = 3.0 * (1 + i % 5), .tokens = 1 + i % 5};
    struct paired_interval a, b, c;
    cr_assert_eq(paired_bootstrap(units, 32, 200, 1, &a, NULL), ASSAY_OK);
    cr_assert(a.mean == 3.0 && a.standard_error == 0.0 && a.low == 3.0 && a.high == 3.0);
    cr_assert_eq(paired_judge(&a, 3.0), PAIRED_WITHIN);
    cr_assert_eq(paired_judge(&a, 2.9), PAIRED_BEYOND);
    /* Equal seeds give equal bits, others do not. */
    for (int i = 0; i < 32; i++)
        units[i].sum += sin(7.0 * i);
    cr_assert_eq(paired_bootstrap(units, 32, 200, 1, &a, NULL), ASSAY_OK);
    cr_assert_eq(paired_bootstrap(units, 32, 200, 1, &b, NULL), ASSAY_OK);
    cr_assert_eq(paired_bootstrap(units, 32, 200, 2, &c, NULL), ASSAY_OK);
    cr_assert(a.low == b.low && a.high == b.high && a.low < a.mean && a.mean < a.high);
    cr_assert(a.low != c.low || a.high != c.high);
    /* All change in one unit: most draws miss it, and nothing bounds the mean from above. */
    struct paired_unit rare[32];
    for (int i = 0; i < 32; i++)
        rare[i] = (struct paired_unit){.sum = i == 9 ? 1.0 : 0.0, .tokens = 1.0};
    cr_assert_eq(paired_bootstrap(rare, 32, 200, 1, &c, NULL), ASSAY_OK);
    cr_assert(isfinite(c.low) && isinf(c.high));
    cr_assert_eq(paired_judge(&c, 0.05), PAIRED_UNKNOWN);
    /* Few units: a mean, no interval, no answer. */
    cr_assert_eq(paired_bootstrap(units, 7, 200, 1, &a, NULL), ASSAY_OK);
    cr_assert(isfinite(a.mean) && isnan(a.low) && isnan(a.high));
    cr_assert_eq(paired_judge(&a, 100.0), PAIRED_UNKNOWN);
    cr_assert_eq(paired_bootstrap(units, 19, 200, 1, &a, NULL), ASSAY_OK);
    cr_assert(isfinite(a.low));
    cr_assert_eq(paired_judge(&a, 100.0), PAIRED_UNKNOWN);
    /* A NaN must not hide behind an order. */
    units[5].sum = NAN;
    cr_assert_eq(paired_bootstrap(units, 32, 200, 1, &a, NULL), ASSAY_OK);
    cr_assert(isnan(a.mean) && isnan(a.low));
    cr_assert_eq(paired_judge(&a, 100.0), PAIRED_BEYOND);
    double some[] = {3.0, NAN, 1.0}, ordered[] = {4.0, 1.0, 3.0, 2.0};
    cr_assert_not(paired_sort(some, 3));
    cr_assert(paired_sort(ordered, 4));
    cr_assert(paired_quantile(ordered, 4, 0.0) == 1.0 && paired_quantile(ordered, 4, 1.0) == 4.0);
    cr_assert_float_eq(paired_quantile(ordered, 4, 0.5), 2.5, 1e-15);
    cr_assert_float_eq(paired_quantile(ordered, 4, 0.25), 1.75, 1e-15);
    cr_assert(isnan(paired_quantile(ordered, 0, 0.5)));
    const double ends[] = {-INFINITY, -INFINITY, 1.0, INFINITY};
    cr_assert(paired_quantile(ends, 4, 0.2) == -INFINITY &&
              paired_quantile(ends, 4, 2.0 / 3) == 1.0);
    /* Table values of the normal distribution. */
    static const double table[][2] = {{0.5, 0.0},
                                      {0.8, 0.8416212335729143},
                                      {0.975, 1.959963984540054},
                                      {0.999, 3.090232306167813},
                                      {1e-9, -5.997807015007686}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_assert_float_eq(paired_normal_quantile(table[i][0]), table[i][1], 1e-12);
    /* (1.959964 + 0.841621) squared is 7.848879. */
    const struct paired_interval known = {.standard_error = 1e-3, .tokens = 1000.0};
    cr_assert_float_eq(paired_tokens_needed(&known, 1e-3, 0.8), 7848.879734349088, 1e-6);
    cr_assert_float_eq(paired_detectable(&known, 0.8), 2.801585218112969e-3, 1e-12);
}
