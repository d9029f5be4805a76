/* SPDX-License-Identifier: MIT
 *
 * The geometric mean of the channels' maxima as [LINEARW8ROW-2] states it, for the host and for
 * kernels alike: W8ROW_FUNCTION is what stands before a function. Only additions, products, square
 * roots and comparisons of binary64, so that a library's log2 has no say in the weights' bits.
 */
#ifndef ASSAY_W8ROW_GEOMEAN_H
#define ASSAY_W8ROW_GEOMEAN_H

#include <math.h>
#include <stdint.h>

enum { W8ROW_LANES = 256, W8ROW_DIGITS = 32 };

/* p 2^e, p in [1, 2). */
struct w8row_product {
    double p;
    int64_t e;
};

/* Of the word of a positive normal binary32 number. */
W8ROW_FUNCTION struct w8row_product w8row_factor(uint32_t word)
{
    struct w8row_product f;
    f.p = 1 + (double)(word & 0x7fffffu) * 0x1p-23;
    f.e = (int64_t)(word >> 23) - 127;
    return f;
}

W8ROW_FUNCTION struct w8row_product w8row_multiply(struct w8row_product a, struct w8row_product b)
{
    a.p *= b.p;
    a.e += b.e;
    if (a.p >= 2) {
        a.p *= 0.5;
        a.e++;
    }
    return a;
}

/* The count-th root of the product. */
W8ROW_FUNCTION double w8row_root(struct w8row_product of, int64_t count)
{
    double logarithm = (double)of.e, digit = 0.5, p = of.p;
    for (int i = 0; i < W8ROW_DIGITS; i++, digit *= 0.5) {
        p *= p;
        if (p >= 2) {
            p *= 0.5;
            logarithm += digit;
        }
    }
    double mean = logarithm / (double)count, whole = floor(mean), rest = mean - whole;
    double power = 1, root = 2;
    digit = 0.5;
    for (int i = 0; i < W8ROW_DIGITS; i++, digit *= 0.5) {
        root = sqrt(root);
        if (rest >= digit) {
            rest -= digit;
            power *= root;
        }
    }
    return ldexp(power, (int)whole);
}

W8ROW_FUNCTION float w8row_channel_factor(float largest, double geomean)
{
    return (float)sqrt((double)largest / geomean);
}

#endif
