/* SPDX-License-Identifier: MIT
 *
 * Functions of one element or one row: gates (F13) and norms (F1), (F2), (F16), each with the
 * binary32 casts of the "library" arithmetic in the places that golden/references/FULL.md lists.
 */
#include <math.h>

#include "oracle_model_private.h"

double oracle_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

double oracle_silu(double x)
{
    return x / (1 + exp(-x));
}

/* log(1 + exp x) without overflow, and exp(x) rather than 0 far on the left. */
double oracle_softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* 1 / sqrt(mean(x^2) + eps) of one row, x already cast. */
static double inverse_rms(const struct oracle_pass *pass, const double *x, int64_t cols)
{
    double sum = 0;
    for (int64_t i = 0; i < cols; i++) {
        double value = oracle_cast(pass, x[i]);
        sum += oracle_cast(pass, value * value);
    }
    double mean = oracle_cast(pass, sum / (double)cols);
    double eps = oracle_cast(pass, pass->config->eps);
    if (oracle_faulty(pass, ORACLE_FAULT_EPS_OUTSIDE_ROOT))
        return 1 / (sqrt(mean) + eps);
    return oracle_cast(pass, 1 / sqrt(oracle_cast(pass, mean + eps)));
}

void oracle_offset_norm(const struct oracle_pass *pass, const double *x, const double *w, double *y,
                        int64_t rows, int64_t cols)
{
    double offset = oracle_faulty(pass, ORACLE_FAULT_NORM_WITHOUT_ONE) ? 0 : 1;
    for (int64_t r = 0; r < rows; r++, x += cols, y += cols) {
        double inverse = inverse_rms(pass, x, cols);
        for (int64_t i = 0; i < cols; i++) {
            double normal = oracle_cast(pass, oracle_cast(pass, x[i]) * inverse);
            y[i] = oracle_cast(pass, normal * oracle_cast(pass, offset + w[i]));
        }
    }
}

void oracle_gated_norm(const struct oracle_pass *pass, const double *x, const double *z,
                       const double *w, double *y, int64_t rows, int64_t cols)
{
    bool gate_first = oracle_faulty(pass, ORACLE_FAULT_GATE_BEFORE_NORM);
    for (int64_t r = 0; r < rows; r++, x += cols, z += cols, y += cols) {
        for (int64_t i = 0; i < cols; i++)
            y[i] = gate_first ? x[i] * oracle_silu(z[i]) : x[i];
        double inverse = inverse_rms(pass, y, cols);
        for (int64_t i = 0; i < cols; i++) {
            /* The library returns to its wide type before the weight: these products are not cast.
             */
            double normal = oracle_cast(pass, oracle_cast(pass, y[i]) * inverse) * w[i];
            double gate = oracle_cast(pass, oracle_silu(oracle_cast(pass, z[i])));
            y[i] = gate_first ? normal : normal * gate;
        }
    }
}
