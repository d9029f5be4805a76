/* SPDX-License-Identifier: MIT
 *
 * The tensor core operations of the executor against a plain matrix product, and its warp
 * operations against what a device gave.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "cuda/executor/executor.h"
#include "cuda/executor/fragments.h"
#include "cuda/executor/selftest/fragment_fixture.h"
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

/* ---- against a device ----------------------------------------------------------------------- */

static bool is_mma_of_reals(const struct fragment_op *op)
{
    return op->operands == OPERANDS_BF16 || op->operands == OPERANDS_F16;
}

/* The sum of the magnitudes that a device adds up for element i of a lane's d. */
static double device_magnitude(const struct fragment_case *c, int lane, int i)
{
    double row[16] = {0}, column[16] = {0};
    struct element e = fragment_c(lane, i);
    for (int l = 0; l < FRAGMENT_LANES; l++) {
        const uint32_t *in = &c->in[l * c->op->in_words];
        for (int k = 0; k < 12; k++) {
            uint16_t word = (uint16_t)(in[k / 2] >> 16 * (k % 2));
            float v = c->op->operands == OPERANDS_BF16 ? bf16_to_f32(word) : f16_to_f32(word);
            struct element at = k < 8 ? fragment_a(l, k, 2) : fragment_b(l, k - 8, 2);
            if (k < 8 && at.row == e.row)
                row[at.column] = fabs((double)v);
            if (k >= 8 && at.column == e.column)
                column[at.row] = fabs((double)v);
        }
    }
    double sum = fabs((double)f32_from_bits(c->in[lane * c->op->in_words + 6 + i]));
    for (int k = 0; k < 16; k++)
        sum += row[k] * column[k];
    return sum;
}

/* Both are near the exact value: ours by one rounding; a device adds 17 terms, each cut below the
 * last of 24 bits of the largest. */
static void check_real(const struct fragment_case *c, const uint32_t *got, int number)
{
    for (int i = 0; i < FRAGMENT_LANES * c->op->out_words; i++) {
        double bound = 18 * 0x1p-23 * device_magnitude(c, i / 4, i % 4);
        double difference = fabs((double)f32_from_bits(got[i]) - (double)f32_from_bits(c->out[i]));
        cr_assert(difference <= bound, "case %d, %s word %d: %08x, the device gave %08x", number,
                  c->op->name, i, got[i], c->out[i]);
    }
}

Test(executor_mma, device)
{
    FILE *file = fopen(ASSAY_GOLDEN_DIR "/device/fragments.vec", "r");
    cr_assert(file != NULL);
    struct fragment_case c;
    int number = 0, got = 0, seen[64] = {0};
    for (; (got = fragment_read(file, &c)) > 0; number++) {
        size_t in_bytes = 4u * FRAGMENT_LANES * (unsigned)c.op->in_words;
        size_t out_bytes = 4u * FRAGMENT_LANES * (unsigned)c.op->out_words;
        _Alignas(16) uint32_t in[FRAGMENT_LANES * FRAGMENT_MAX_WORDS];
        uint32_t out[FRAGMENT_LANES * FRAGMENT_MAX_WORDS];
        memcpy(in, c.in, in_bytes);
        struct simt_region regions[] = {simt_region_bytes("in", in, in_bytes, false),
                                        simt_region_bytes("out", out, out_bytes, true)};
        struct assay_error error;
        struct simt_launch launch = one_warp((uint64_t)number + 1, &error, regions, 2);
        cr_assert_eq(c.op->run(&launch, in, out), ASSAY_OK, "%s: %s", c.op->name, error.message);
        seen[c.op - fragment_ops]++;
        if (is_mma_of_reals(c.op) && !c.exact) {
            check_real(&c, out, number);
            continue;
        }
        for (size_t i = 0; i < out_bytes / 4; i++)
            cr_assert_eq(out[i], c.out[i], "case %d, %s word %zu: %08x, the device gave %08x",
                         number, c.op->name, i, out[i], c.out[i]);
    }
    cr_assert_eq(got, 0, "case %d cannot be read", number);
    for (int i = 0; i < num_fragment_ops; i++)
        cr_assert_geq(seen[i], 2, "%s has %d cases", fragment_ops[i].name, seen[i]);
    fclose(file);
}
