/* SPDX-License-Identifier: MIT
 *
 * The executor against what a device gave for the same kernels and inputs: bit by bit but for
 * tensor core sums of real numbers and for expf, which are compared within their error bounds.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "cuda/executor/executor.h"
#include "cuda/executor/fragments.h"
#include "cuda/executor/selftest/fragment_fixture.h"
#include "numeric/float_words.h"

/* The sum of the magnitudes that a device adds up for element i of a lane's d. */
static double device_magnitude(const struct fragment_case *c, int lane, int i)
{
    double row[16] = {0}, column[16] = {0};
    struct element e = fragment_c(lane, i);
    for (int l = 0; l < FRAGMENT_LANES; l++) {
        const uint32_t *in = &c->in[l * c->op->in_words];
        for (int k = 0; k < 12; k++) {
            uint16_t word = (uint16_t)(in[k / 2] >> 16 * (k % 2));
            float v = c->op->operands == OPERANDS_MMA_BF16 ? bf16_to_f32(word) : f16_to_f32(word);
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

/* How far word i may be from the device's, both as binary32. mma of reals: ours is rounded once, a
 * device adds 17 terms, each cut below the last of 24 bits of the largest. silu_mul: both have an
 * expf of a few ulp. */
static double allowed(const struct fragment_case *c, int i)
{
    bool mma_of_reals = c->op->operands == OPERANDS_MMA_BF16 || c->op->operands == OPERANDS_MMA_F16;
    if (mma_of_reals && !c->exact)
        return 18 * 0x1p-23 * device_magnitude(c, i / 4, i % 4);
    if (strcmp(c->op->name, "silu_mul.f32") == 0)
        return 8 * 0x1p-24 * fabs((double)f32_from_bits(c->out[i]));
    return 0;
}

static void run_case(const struct fragment_case *c, int number)
{
    _Alignas(16) uint32_t in[FRAGMENT_LANES * FRAGMENT_MAX_WORDS];
    _Alignas(16) uint32_t out[FRAGMENT_LANES * FRAGMENT_MAX_WORDS];
    memcpy(in, c->in, sizeof in);
    memset(out, 0xa5, sizeof out); /* as on the device: some rows end early */
    size_t words = (size_t)FRAGMENT_LANES * (size_t)c->op->out_words;
    struct simt_region regions[] = {
        simt_region_bytes("in", in, 4 * (size_t)FRAGMENT_LANES * (size_t)c->op->in_words, false),
        simt_region_bytes("out", out, 4 * words, true)};
    struct assay_error error = {ASSAY_OK, "", "", ""};
    struct simt_launch launch = {.grid = {1, 1, 1},
                                 .block = {FRAGMENT_LANES, 1, 1},
                                 .regions = regions,
                                 .num_regions = 2,
                                 .seed = (uint64_t)number + 1,
                                 .error = &error};
    cr_assert_eq(c->op->run(&launch, in, out), ASSAY_OK, "%s: %s", c->op->name, error.message);
    for (int i = 0; i < (int)words; i++) {
        double difference = fabs((double)f32_from_bits(out[i]) - (double)f32_from_bits(c->out[i]));
        cr_assert(out[i] == c->out[i] || difference <= allowed(c, i),
                  "case %d, %s word %d: %08x, the device gave %08x", number, c->op->name, i, out[i],
                  c->out[i]);
    }
}

static void check_seen(const struct fragment_op *ops, int count, const int *seen)
{
    for (int i = 0; i < count; i++)
        cr_assert_geq(seen[i], 2, "%s has %d cases", ops[i].name, seen[i]);
}

Test(executor_device, fixtures)
{
    FILE *file = fopen(ASSAY_GOLDEN_DIR "/device/fragments.vec", "r");
    cr_assert_not_null(file);
    static struct fragment_case c;
    int number = 0, got = 0, seen[32] = {0}, seen_rows[32] = {0};
    for (; (got = fragment_read(file, &c)) > 0; number++) {
        run_case(&c, number);
        if (c.op >= row_ops && c.op < row_ops + num_row_ops)
            seen_rows[c.op - row_ops]++;
        else
            seen[c.op - fragment_ops]++;
    }
    fclose(file);
    cr_assert_eq(got, 0, "case %d cannot be read", number);
    check_seen(fragment_ops, num_fragment_ops, seen);
    check_seen(row_ops, num_row_ops, seen_rows);
}
