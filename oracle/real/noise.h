/* SPDX-License-Identifier: MIT
 *
 * Random rounding: the oracle's own arithmetic as a binary32 reference whose roundings are drawn.
 * While it is on, in one thread, each operation's value becomes one of its two neighbours in
 * binary32, each as likely as the value is near to it; sums are formed one term after the other.
 * Values of several draws scatter as the roundings of a route do: their spread is the noise that
 * binary32 arithmetic makes of these inputs, where a bound says the most that it can make.
 *
 * Error bounds of balls mean nothing while it is on.
 */
#ifndef ORACLE_NOISE_H
#define ORACLE_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/tensor.h>

/* The same seed gives the same roundings of the same calls. */
void oracle_noise_begin(uint64_t seed);
void oracle_noise_end(void);

extern _Thread_local bool oracle_noise_on;
/* One of the two neighbours with `digits` significant bits and binary32's exponents; finite values
 * beyond the largest stay. Only while it is on. */
double oracle_noise_draw(double value, int digits);
/* The neighbours in an output format: f32, bf16, f16; other formats and non-finite values stay. */
double oracle_noise_output(double value, enum assay_dtype dtype);

/* An operation's value: drawn while random rounding is on, else as it is. */
static inline double oracle_noisy(double value)
{
    return oracle_noise_on ? oracle_noise_draw(value, 24) : value;
}

#endif
