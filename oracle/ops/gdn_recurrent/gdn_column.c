/* SPDX-License-Identifier: MIT
 *
 * The recurrence of one column and its error recursion. Equation numbers are those of
 * gdn_recurrent_bound.md.
 */
#include "gdn_column.h"

#include <float.h>
#include <math.h>

#include "bounds.h"
#include "noise.h"
#include "words.h"

#define UP (1 + 0x1p-40) /* covers the binary64 roundings of a bound itself */

static double norm(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum) * UP + 0x1p-500; /* squares below 2^-1022 are lost */
}

/* (5) The operator is symmetric with eigenvalue alpha (1 - beta |k|^2) along k, alpha across. */
void gdn_token_norms(struct gdn_token *token, int64_t key_dim)
{
    token->q_norm = norm(token->q, key_dim);
    token->k_norm = norm(token->k, key_dim);
    double square = token->k_norm * token->k_norm, along = fabs(1 - token->beta * square);
    double slack = 0x1p-38 * (1 + fabs(token->beta) * square);
    token->growth = token->alpha * fmax(1, along + slack);
}

void gdn_column_start(struct gdn_column *column)
{
    for (int64_t i = 0; i < column->key_dim; i++)
        column->arithmetic[i] = column->storage[i] = 0;
    column->arithmetic_norm = column->storage_norm = 0;
    column->undecided = false;
}

/* As fmin, but NaN wins: a bound of something that is not a number is none. */
static double least(double a, double b)
{
    return a < b || isnan(a) ? a : b;
}

/* Binary32 sums whose terms pass its range may overflow on the way: no promise. */
static double in_range(double magnitude)
{
    return magnitude < (double)FLT_MAX / 2 ? 0 : INFINITY;
}

/* An infinite factor times one that is zero to within its error. */
static bool undecided(double factor, double value, double error)
{
    return isinf(factor) && value != 0 && !(fabs(value) > error);
}

/* (1) decay, (2) prediction. The three results: sum |k| times each error, rounding of the sum. */
struct prediction {
    double value, arithmetic, storage, rounding;
};

static struct prediction decay_and_predict(struct gdn_column *c, const struct gdn_token *token)
{
    const double gamma_decay = oracle_gamma(3, ORACLE_U32);
    double alpha = token->alpha, squares = 0, magnitude = 0;
    struct prediction p = {0, 0, 0, 0};
    for (int64_t i = 0; i < c->key_dim; i++) {
        double k = fabs(token->k[i]);
        double before = fabs(c->state[i]) + c->arithmetic[i] + c->storage[i];
        double local = gamma_decay * alpha * before + ORACLE_TINY32 * (1 + before);
        c->undecided |= undecided(c->state[i], alpha, 0x1p-126);
        c->state[i] *= alpha;
        c->arithmetic[i] = alpha * c->arithmetic[i] + local;
        c->storage[i] *= alpha;
        squares += local * local;
        c->undecided |= undecided(k, c->state[i], c->arithmetic[i] + c->storage[i]);
        p.value += token->k[i] * c->state[i];
        p.arithmetic += k * c->arithmetic[i];
        p.storage += k * c->storage[i];
        magnitude += k * (fabs(c->state[i]) + c->arithmetic[i] + c->storage[i]);
    }
    c->arithmetic_norm = (alpha * c->arithmetic_norm + sqrt(squares) + 0x1p-500) * UP;
    c->storage_norm *= alpha * UP;
    p.arithmetic = least(p.arithmetic, token->k_norm * c->arithmetic_norm);
    p.storage = least(p.storage, token->k_norm * c->storage_norm);
    p.rounding = oracle_gamma((double)c->key_dim + 1, ORACLE_U32) * magnitude +
                 (double)c->key_dim * ORACLE_TINY32 + in_range(magnitude);
    return p;
}

/* (3) delta and (4) update. */
static double update(struct gdn_column *c, const struct gdn_token *token, double v)
{
    const double gamma_2 = oracle_gamma(2, ORACLE_U32);
    struct prediction p = decay_and_predict(c, token);
    double difference = v - p.value, beta = fabs(token->beta);
    double size = fabs(difference) + p.arithmetic + p.storage + p.rounding;
    double rounding = beta * p.rounding + gamma_2 * beta * size + ORACLE_TINY32 * (2 + beta) +
                      in_range(size) + in_range(beta * size);
    double delta = token->beta * difference;
    double arithmetic = beta * p.arithmetic + rounding, storage = beta * p.storage;
    double delta_size = fabs(delta) + arithmetic + storage, squares = 0;
    for (int64_t i = 0; i < c->key_dim; i++) {
        double k = fabs(token->k[i]);
        c->undecided |= undecided(k, delta, arithmetic + storage);
        c->state[i] += token->k[i] * delta;
        double size_i = k * delta_size + fabs(c->state[i]) + c->arithmetic[i] + c->storage[i];
        double local = gamma_2 * size_i + 2 * ORACLE_TINY32 + in_range(size_i);
        c->arithmetic[i] += k * arithmetic + local;
        c->storage[i] += k * storage;
        squares += local * local;
    }
    /* alpha is in the norms already */
    double operator_norm = token->alpha > 0 ? token->growth / token->alpha : 1;
    c->arithmetic_norm =
        (operator_norm * c->arithmetic_norm + token->k_norm * rounding + sqrt(squares) + 0x1p-500) *
        UP;
    c->storage_norm *= operator_norm * UP;
    return delta;
}

/* Random rounding of (1) to (4) and (6), without bounds. */
static void step_noisily(struct gdn_column *c, const struct gdn_token *token, double v,
                         struct gdn_step *step)
{
    double prediction = 0, o = 0;
    for (int64_t i = 0; i < c->key_dim; i++) {
        c->state[i] = oracle_noisy(c->state[i] * token->alpha);
        prediction = oracle_noisy(prediction + oracle_noisy(token->k[i] * c->state[i]));
    }
    const double delta = oracle_noisy(token->beta * oracle_noisy(v - prediction));
    for (int64_t i = 0; i < c->key_dim; i++) {
        c->state[i] = oracle_noisy(c->state[i] + oracle_noisy(token->k[i] * delta));
        o = oracle_noisy(o + oracle_noisy(token->q[i] * c->state[i]));
    }
    *step = (struct gdn_step){.delta = delta, .o = o};
}

/* (6) output, and each bound cut by the other. */
void gdn_column_step(struct gdn_column *c, const struct gdn_token *token, double v,
                     struct gdn_step *step)
{
    if (oracle_noise_on) {
        step_noisily(c, token, v, step);
        return;
    }
    step->delta = update(c, token, v);
    double o = 0, magnitude = 0, reach = 0, arithmetic = 0, storage = 0;
    double arithmetic_squares = 0, storage_squares = 0;
    step->undecided = c->undecided;
    for (int64_t i = 0; i < c->key_dim; i++) {
        double q = fabs(token->q[i]);
        c->arithmetic[i] = least(c->arithmetic[i], c->arithmetic_norm);
        c->storage[i] = least(c->storage[i], c->storage_norm);
        double size = fabs(c->state[i]) + c->arithmetic[i] + c->storage[i];
        step->undecided |= undecided(q, c->state[i], c->arithmetic[i] + c->storage[i]);
        o += token->q[i] * c->state[i];
        magnitude += q * size;
        reach += size;
        arithmetic += q * c->arithmetic[i];
        storage += q * c->storage[i];
        arithmetic_squares += c->arithmetic[i] * c->arithmetic[i];
        storage_squares += c->storage[i] * c->storage[i];
    }
    c->arithmetic_norm = least(c->arithmetic_norm, sqrt(arithmetic_squares) * UP + 0x1p-500);
    c->storage_norm = least(c->storage_norm, sqrt(storage_squares) * UP + 0x1p-500);
    step->o = o;
    step->propagated = least(arithmetic, token->q_norm * c->arithmetic_norm) * UP;
    step->storage = storage > 0 ? least(storage, token->q_norm * c->storage_norm) * UP : storage;
    step->accumulation = oracle_gamma((double)c->key_dim + 2, ORACLE_U32) * magnitude * UP +
                         ORACLE_TINY32 * ((double)c->key_dim + 1 + reach) + in_range(magnitude);
}

void gdn_column_store(struct gdn_column *c, enum assay_dtype format)
{
    double squares = 0, largest = oracle_max_finite(format);
    for (int64_t i = 0; i < c->key_dim && oracle_noise_on; i++)
        c->state[i] = oracle_noise_output(c->state[i], format);
    for (int64_t i = 0; i < c->key_dim; i++) {
        double size = fabs(c->state[i]) + c->arithmetic[i] + c->storage[i];
        double half = size < largest ? oracle_half_ulp(size, format) : INFINITY;
        c->storage[i] += half;
        squares += half * half;
    }
    c->storage_norm = (c->storage_norm + sqrt(squares) + 0x1p-500) * UP;
}

double gdn_bound(double bound, double value)
{
    if (!isfinite(value))
        return 0;
    return isnan(bound) ? INFINITY : bound;
}
