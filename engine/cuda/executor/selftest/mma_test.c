/* SPDX-License-Identifier: MIT
 *
 * The tensor core operations of the executor against a plain matrix product.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "cuda/executor/executor.h"
#include "cuda/executor/fragments.h"
#include "cuda/executor/selftest/mma_kernels.h"
#include "numeric/float_words.h"

enum {
    A_COUNT = TILE_ROWS * TILE_INNER,
    B_COUNT = TILE_INNER * TILE_COLUMNS,
    C_COUNT = TILE_ROWS * TILE_COLUMNS,
    SEEDS = 50
};

static struct simt_launch one_warp(uint64_t seed, struct assay_error *error,
                                   const struct simt_region *regions, int num_regions)
{
    *error = (struct assay_error){ASSAY_OK, "", "", ""};
    return (struct simt_launch){.grid = {1, 1, 1},
                                .block = {32, 1, 1},
                                .regions = regions,
                                .num_regions = num_regions,
                                .seed = seed,
                                .error = error};
}

struct product {
    double a[A_COUNT], b[B_COUNT], c[C_COUNT]; /* values; b as [k][n] */
};

/* exact: integers in [-limit, limit); else either sign, exponents -6 to 6. */
static double draw(uint64_t seed, uint64_t counter, bool exact, int limit)
{
    uint64_t bits = random_u64(seed, counter);
    if (exact)
        return (double)(int)(bits % (unsigned)(2 * limit)) - limit;
    double v = ldexp(1 + (double)(bits >> 12) * 0x1p-52, (int)(bits % 13) - 6);
    return (bits >> 8 & 1) != 0 ? -v : v;
}

static void draw_product(struct product *p, uint64_t seed, bool exact, int limit)
{
    double *parts[] = {p->a, p->b, p->c};
    int counts[] = {A_COUNT, B_COUNT, C_COUNT};
    uint64_t counter = 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < counts[k]; i++)
            parts[k][i] = draw(seed, counter++, exact, limit);
}

static double plain(const struct product *p, int m, int n, double *magnitude)
{
    double sum = p->c[m * TILE_COLUMNS + n];
    *magnitude = fabs(sum);
    for (int k = 0; k < TILE_INNER; k++) {
        double term = p->a[m * TILE_INNER + k] * p->b[k * TILE_COLUMNS + n];
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

/* Rounds the drawn values to the operand format, so that the reference sees what the kernel does.
 */
static void to_words(double *values, int count, bool is_bf16, uint16_t *words)
{
    for (int i = 0; i < count; i++) {
        float v = (float)values[i];
        words[i] = is_bf16 ? bf16_from_f32(v) : f16_from_f32(v);
        values[i] = (double)(is_bf16 ? bf16_to_f32(words[i]) : f16_to_f32(words[i]));
    }
}

static void check_16(uint64_t seed, bool is_bf16, bool columns, bool exact)
{
    struct product p;
    uint16_t a[A_COUNT], b[B_COUNT], columns_of_b[B_COUNT];
    float c[C_COUNT];
    draw_product(&p, seed, exact, 8);
    to_words(p.a, A_COUNT, is_bf16, a);
    to_words(p.b, B_COUNT, is_bf16, b);
    for (int i = 0; i < B_COUNT; i++)
        columns_of_b[i % TILE_COLUMNS * TILE_INNER + i / TILE_COLUMNS] = b[i];
    for (int i = 0; i < C_COUNT; i++)
        p.c[i] = (double)(c[i] = (float)p.c[i]);
    const uint16_t *operand_b = columns ? columns_of_b : b;
    struct simt_region regions[] = {simt_region_bytes("a", a, sizeof a, false),
                                    simt_region_bytes("b", operand_b, sizeof b, false),
                                    simt_region_bytes("c", c, sizeof c, true)};
    struct assay_error error;
    struct simt_launch launch = one_warp(seed, &error, regions, 3);
    assay_status status = is_bf16 ? tile_bf16(&launch, a, operand_b, columns, c)
                                  : tile_f16(&launch, a, operand_b, columns, c);
    cr_assert_eq(status, ASSAY_OK, "%s", error.message);
    for (int i = 0; i < C_COUNT; i++) {
        double magnitude, want = plain(&p, i / TILE_COLUMNS, i % TILE_COLUMNS, &magnitude);
        /* four roundings to binary32, one an instruction */
        double bound = exact ? 0 : 4 * 0x1p-24 * magnitude;
        cr_assert(fabs((double)c[i] - want) <= bound, "seed %llu [%d]: %a, want %a",
                  (unsigned long long)seed, i, (double)c[i], want);
    }
}

static void check_s8(uint64_t seed)
{
    struct product p;
    int8_t a[A_COUNT], b[B_COUNT];
    int32_t c[C_COUNT];
    draw_product(&p, seed, true, 128);
    for (int i = 0; i < A_COUNT; i++)
        a[i] = (int8_t)p.a[i];
    for (int i = 0; i < B_COUNT; i++)
        b[i % TILE_COLUMNS * TILE_INNER + i / TILE_COLUMNS] = (int8_t)p.b[i];
    for (int i = 0; i < C_COUNT; i++)
        c[i] = (int32_t)p.c[i];
    struct simt_region regions[] = {simt_region_bytes("a", a, sizeof a, false),
                                    simt_region_bytes("b", b, sizeof b, false),
                                    simt_region_bytes("c", c, sizeof c, true)};
    struct assay_error error;
    struct simt_launch launch = one_warp(seed, &error, regions, 3);
    cr_assert_eq(tile_s8(&launch, a, b, c), ASSAY_OK, "%s", error.message);
    for (int i = 0; i < C_COUNT; i++) {
        double magnitude, want = plain(&p, i / TILE_COLUMNS, i % TILE_COLUMNS, &magnitude);
        cr_assert_eq((double)c[i], want, "seed %llu [%d]", (unsigned long long)seed, i);
    }
}

Test(executor_mma, product)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (int variant = 0; variant < 8; variant++)
            check_16(seed, variant & 1, variant & 2, variant & 4);
        check_s8(seed);
    }
}

/* Every element of each operand has one holder. */
Test(executor_mma, layouts_are_bijections)
{
    for (int per = 2; per <= 4; per += 2) {
        int a[16][32] = {{0}}, b[32][8] = {{0}}, c[16][8] = {{0}}, inner = 8 * per;
        for (int lane = 0; lane < 32; lane++) {
            for (int i = 0; i < 4 * per; i++)
                a[fragment_a(lane, i, per).row][fragment_a(lane, i, per).column]++;
            for (int i = 0; i < 2 * per; i++)
                b[fragment_b(lane, i, per).row][fragment_b(lane, i, per).column]++;
            for (int i = 0; i < 4; i++)
                c[fragment_c(lane, i).row][fragment_c(lane, i).column]++;
        }
        for (int i = 0; i < 16 * inner; i++)
            cr_assert_eq(a[i / inner][i % inner], 1);
        for (int i = 0; i < 8 * inner; i++)
            cr_assert_eq(b[i / 8][i % 8], 1);
        for (int i = 0; i < 128; i++)
            cr_assert_eq(c[i / 8][i % 8], 1);
    }
}
