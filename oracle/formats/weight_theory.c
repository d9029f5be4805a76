/* SPDX-License-Identifier: MIT
 *
 * Expected errors of grouped weights on independent N(0, 1) values.
 */
#include "oracle_formats.h"

#include <math.h>
#include <stdlib.h>

static double density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * M_PI);
}

/* Probability of (a, b), 0 <= a <= b, without cancellation in the tail. */
static double probability(double a, double b)
{
    return (erfc(a / M_SQRT2) - erfc(b / M_SQRT2)) / 2;
}

/* Integral over (a, b) of (x - c)^2 times the density, from the moments
 * int x^2 = P(a, b) + a density(a) - b density(b) and int x = density(a) - density(b). */
static double cell_error(double a, double b, double c)
{
    double from = density(a), to = density(b);
    return (1 + c * c) * probability(a, b) + a * from - b * to - 2 * c * (from - to);
}

/* Mean squared error of the values below the largest, m, in steps of m / L. */
static double error_below(double m, int largest)
{
    double step = m / largest, sum = 0;
    for (int code = 0; code <= largest; code++) {
        double a = code > 0 ? (code - 0.5) * step : 0;
        double b = code < largest ? (code + 0.5) * step : m;
        sum += cell_error(a, b, code * step);
    }
    return sum / probability(0, m);
}

/* Simpson's rule over the largest of n half-normals, whose density is
 * n (2 P(0, m))^(n - 1) 2 density(m). The largest value itself has no error. */
double oracle_theory_maxabs(struct oracle_weight_format format)
{
    enum { STEPS = 2000 };
    const double first = 0.02, last = 9, width = (last - first) / STEPS;
    const int n = format.group;
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        double m = first + i * width;
        double weight = i == 0 || i == STEPS ? 1 : i % 2 == 1 ? 4 : 2;
        double of_largest = n * pow(2 * probability(0, m), n - 1) * 2 * density(m);
        if (of_largest > 0)
            sum += weight * of_largest * error_below(m, format.largest);
    }
    return sum * width / 3 * (n - 1) / n;
}

/* SplitMix64 (Steele, Lea, Flood, 2014): nothing of the suite's generator. */
static uint64_t next_word(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double next_uniform(uint64_t *state)
{
    return ((double)(next_word(state) >> 11) + 0.5) * 0x1p-53;
}

static void normal_group(uint64_t *state, double *x, int count)
{
    for (int k = 0; k < count; k += 2) {
        double radius = sqrt(-2 * log(next_uniform(state)));
        double angle = 2 * M_PI * next_uniform(state);
        x[k] = radius * cos(angle);
        x[k + 1] = radius * sin(angle);
    }
}

static double error_at(const double *x, int count, struct oracle_weight_format format, double scale)
{
    const double lowest = format.lowest, largest = format.largest, shift = 0x1.8p52;
    double sum = 0;
    for (int k = 0; k < count; k++) {
        double code = x[k] / scale;
        code = code < lowest ? lowest : code;
        code = code > largest ? largest : code;
        code = (code + shift) - shift;
        sum += (x[k] - scale * code) * (x[k] - scale * code);
    }
    return sum;
}

/* Ratios first, first + step, ... of the maxabs scale, `count` of them; with `negative` of both
 * signs. */
struct ratios {
    double first, step;
    int count;
    bool negative;
};

static double best_of(const double *x, struct oracle_weight_format format, struct ratios ratios)
{
    double largest = 0, best = HUGE_VAL;
    for (int k = 0; k < format.group; k++)
        largest = fmax(largest, fabs(x[k]));
    for (int i = 0; i < ratios.count; i++) {
        double scale = (ratios.first + ratios.step * i) * largest / format.largest;
        best = fmin(best, error_at(x, format.group, format, scale));
        if (ratios.negative)
            best = fmin(best, error_at(x, format.group, format, -scale));
    }
    return best;
}

/* Mean over groups of error per value; the expected square is 1. */
static double simulate(struct oracle_weight_format format, struct ratios ratios, int groups,
                       double *deviation)
{
    uint64_t state = 20260101;
    double mean = 0, squares = 0;
    for (int g = 1; g <= groups; g++) {
        double x[ORACLE_GROUP_MAX];
        normal_group(&state, x, format.group);
        double error = best_of(x, format, ratios) / format.group, change = error - mean;
        mean += change / g;
        squares += change * (error - mean);
    }
    *deviation = sqrt(squares / ((double)groups * (groups - 1)));
    return mean;
}

double oracle_theory_clip25(struct oracle_weight_format format, int groups, double *deviation)
{
    return simulate(format, (struct ratios){0.70, 0.02, 25, false}, groups, deviation);
}

double oracle_theory_optimum(struct oracle_weight_format format, bool negative, int groups,
                             double *deviation)
{
    return simulate(format, (struct ratios){0.5, 0.0025, 301, negative}, groups, deviation);
}
