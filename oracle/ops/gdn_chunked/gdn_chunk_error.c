/* SPDX-License-Identifier: MIT
 *
 * What binary32 arithmetic, or tensor cores with operands in two parts, do to the chunk form.
 * Equation numbers are those of gdn_chunked_bound.md.
 */
#include "gdn_chunked_oracle.h"

#include <float.h>
#include <math.h>

#include "bounds.h"
#include "words.h"

#define U    ORACLE_U32
#define TINY ORACLE_TINY32
#define UP   (1 + 0x1p-40)

static double in_range(double magnitude)
{
    return magnitude < (double)FLT_MAX / 2 ? 0 : INFINITY;
}

/* (1) exp of an exponent that is rounded to binary32 first. */
static double decay_error(double exponent, double decay)
{
    if (!(decay > 0)) /* exp(-inf) is 0 and stays it; NaN passes */
        return isinf(exponent) ? 0 : decay + TINY;
    return decay * expm1(U * (4 + 1.01 * fabs(exponent))) + TINY;
}

/* (9) Roundings of a sum of `terms` products on tensor cores: 36 for each of three mma for every
 * 16, and 16 for a substitution inside a tile. */
static double mma_roundings(int64_t terms)
{
    return 108 * (double)((terms + 15) / 16) + 16;
}

/* A sum of `terms` products, with `more` roundings beside: the share of the sum of magnitudes that
 * it may be off by. */
static double sum_share(const struct gdn_chunk *c, int64_t terms, int more)
{
    if (!c->on_tensor_cores)
        return oracle_gamma((double)(terms + more), U);
    double inputs = 0x1p-15 * (1 + 0x1p-6);
    return inputs + (1 + 0x1p-5) * oracle_gamma(mma_roundings(terms) + more, U);
}

/* What operands in two parts and products lose below the range of normal numbers; operands: the sum
 * of their magnitudes. */
static double sum_tiny(const struct gdn_chunk *c, int64_t terms, double operands)
{
    return c->on_tensor_cores ? 0x1p-133 * operands + 2 * TINY * mma_roundings(terms) : 0;
}

/* magnitude, operands: of the products, and of their factors. */
static double dot(const double *a, const double *b, int64_t n, double *magnitude, double *operands)
{
    double sum = 0, total = 0, factors = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
        total += fabs(a[i] * b[i]);
        factors += fabs(a[i]) + fabs(b[i]);
    }
    *magnitude = total * UP;
    *operands = factors * UP;
    return sum;
}

/* (2) One coefficient factor * (a . b) * decay with its error. */
static double coefficient(const struct gdn_chunk *c, const double *a, const double *b,
                          double factor, double exponent, double *error)
{
    double magnitude, operands, decay = exp(exponent), off = decay_error(exponent, decay);
    double value = factor * dot(a, b, c->key_dim, &magnitude, &operands) * decay;
    double share = sum_share(c, c->key_dim, 3), tiny = sum_tiny(c, c->key_dim, operands);
    *error = fabs(factor) * (magnitude * (share * (decay + off) + off) + tiny * (decay + off)) +
             TINY * ((double)c->key_dim + 3) * (1 + fabs(factor)) * (1 + decay) +
             in_range(magnitude * (1 + decay) * (1 + fabs(factor)));
    return value;
}

/* |(I + A)^-1|, unit lower triangular, column by column by forward substitution: signs first. */
static void invert(const struct gdn_chunk *c)
{
    int64_t n = c->rows;
    for (int64_t j = 0; j < n; j++) {
        c->inverse[j * n + j] = 1;
        for (int64_t i = j + 1; i < n; i++) {
            double sum = 0;
            for (int64_t m = j; m < i; m++)
                sum -= c->solve[i * n + m] * c->inverse[m * n + j];
            c->inverse[i * n + j] = sum;
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            c->inverse[i * n + j] = fabs(c->inverse[i * n + j]) * (1 + 0x1p-30);
}

void gdn_chunk_prepare(struct gdn_chunk *c, const double *g)
{
    int64_t n = c->rows;
    double since_start = 0;
    for (int64_t i = 0; i < n; i++) {
        double exponent = 0;
        for (int64_t j = i; j >= 0; j--) {
            c->exponent[i * n + j] = exponent;
            exponent += g[j];
        }
        const struct gdn_token *t = &c->tokens[i];
        for (int64_t j = 0; j <= i; j++) {
            int64_t at = i * n + j;
            c->solve[at] =
                coefficient(c, t->k, c->tokens[j].k, t->beta, c->exponent[at], &c->solve_error[at]);
            c->mix[at] =
                coefficient(c, t->q, c->tokens[j].k, 1, c->exponent[at], &c->mix_error[at]);
        }
        since_start += g[i];
        c->since[i] = exp(since_start);
        c->since_error[i] = decay_error(since_start, c->since[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        c->remain[i] = exp(c->exponent[(n - 1) * n + i]);
        c->remain_error[i] = decay_error(c->exponent[(n - 1) * n + i], c->remain[i]);
    }
    invert(c);
}

/* decay * (a . start): the error of product and sum, given that the start is off by at most `off`
 * in norm; *size: a bound on the computed magnitude. */
static double against_start(const struct gdn_chunk *c, const double *a, double a_norm, int64_t i,
                            const double *start, double off, double *value, double *size)
{
    double magnitude, operands, share = sum_share(c, c->key_dim, 2);
    *value = c->since[i] * dot(a, start, c->key_dim, &magnitude, &operands);
    magnitude += a_norm * off;
    operands += (double)c->key_dim * off;
    double sum_error =
        share * magnitude + TINY * ((double)c->key_dim + 1) + sum_tiny(c, c->key_dim, operands);
    double decay = c->since[i] + c->since_error[i];
    *size = decay * (magnitude + sum_error);
    return c->since[i] * sum_error + (c->since_error[i] + 2 * U * decay) * (magnitude + sum_error) +
           TINY + in_range(magnitude);
}

/* (3) The local error of delta_i, then (4) what the solve makes of all local errors so far.
 * spread[i] holds the local error until its row is done. */
static void delta_errors(const struct gdn_chunk *c, struct gdn_chunk_column *col, double *local)
{
    int64_t n = c->rows;
    double off = col->arithmetic_norm + col->storage_norm, passed = 1;
    for (int64_t i = 0; i < n; i++) {
        const struct gdn_token *t = &c->tokens[i];
        double value, size, beta = fabs(t->beta);
        double right = against_start(c, t->k, t->k_norm, i, col->start, off, &value, &size);
        double difference = fabs(col->v[i] - value) + c->since[i] * t->k_norm * off + right;
        right = beta * (right + oracle_gamma(2, U) * difference) + TINY * (2 + beta);
        double magnitude = beta * difference, coefficients = 0, operands = 0;
        for (int64_t j = 0; j < i; j++) {
            double a = fabs(c->solve[i * n + j]) + c->solve_error[i * n + j];
            magnitude += a * col->reach[j];
            operands += a + col->reach[j];
            coefficients += c->solve_error[i * n + j] * col->reach[j];
        }
        local[i] = right + coefficients + sum_share(c, i, 2) * magnitude +
                   sum_tiny(c, i, operands) + TINY * (double)(i + 1) + in_range(magnitude);
        double spread = 0;
        for (int64_t j = 0; j <= i; j++)
            spread += c->inverse[i * n + j] * local[j];
        col->spread[i] = spread * UP;
        /* what the start's error does to delta_i in exact arithmetic */
        double carried = beta * t->k_norm * t->alpha * passed * off;
        col->reach[i] = (fabs(col->delta[i]) + spread + carried) * UP;
        passed *= t->growth;
    }
}

/* (5) outputs */
static void output_errors(const struct gdn_chunk *c, struct gdn_chunk_column *col)
{
    int64_t n = c->rows;
    double off = col->arithmetic_norm + col->storage_norm, passed = 1;
    for (int64_t i = 0; i < n; i++) {
        const struct gdn_token *t = &c->tokens[i];
        double value, size, products = 0, operands = 0;
        double start = against_start(c, t->q, t->q_norm, i, col->start, off, &value, &size);
        for (int64_t j = 0; j <= i; j++) {
            int64_t at = i * n + j;
            products += c->mix_error[at] * col->reach[j] + fabs(c->mix[at]) * col->spread[j];
            size += (fabs(c->mix[at]) + c->mix_error[at]) * col->reach[j];
            operands += fabs(c->mix[at]) + c->mix_error[at] + col->reach[j];
        }
        passed *= t->growth;
        col->products[i] = (products + t->q_norm * passed * col->arithmetic_norm) * UP;
        col->accumulation[i] = (start + sum_share(c, i + 1, 2) * size) * UP +
                               sum_tiny(c, i + 1, operands) + TINY * (double)(i + 3) +
                               in_range(size);
        col->storage[i] = t->q_norm * passed * col->storage_norm * UP;
    }
}

/* (6) state */
static void state_errors(const struct gdn_chunk *c, struct gdn_chunk_column *col)
{
    int64_t last = c->rows - 1;
    double off = col->arithmetic_norm + col->storage_norm, passed = 1, squares = 0;
    double share = sum_share(c, c->rows, 2);
    double decay = c->since[last] + c->since_error[last];
    for (int64_t i = 0; i < c->rows; i++)
        passed *= c->tokens[i].growth;
    for (int64_t d = 0; d < c->key_dim; d++) {
        double start = fabs(col->start[d]) + off;
        double error = (c->since_error[last] + 2 * U * decay) * start, size = decay * start;
        double operands = 0;
        for (int64_t i = 0; i < c->rows; i++) {
            double k = fabs(c->tokens[i].k[d]), remain = c->remain[i] + c->remain_error[i];
            error += k * (c->remain[i] * col->spread[i] +
                          (c->remain_error[i] + 2 * U * remain) * col->reach[i]);
            size += k * remain * col->reach[i];
            operands += k + remain * col->reach[i];
        }
        error += share * size + sum_tiny(c, c->rows, operands) + TINY * (double)(c->rows + 2) * 2 +
                 in_range(size);
        col->state_error[d] = error;
        squares += error * error;
    }
    double carried = passed * col->arithmetic_norm * UP;
    for (int64_t d = 0; d < c->key_dim; d++)
        col->state_error[d] = (col->state_error[d] + carried) * UP;
    col->arithmetic_norm = (carried + sqrt(squares) + 0x1p-500) * UP;
    col->storage_norm *= passed * UP;
}

void gdn_chunk_errors(const struct gdn_chunk *c, struct gdn_chunk_column *col)
{
    double local[256]; /* the contract's longest chunk */
    delta_errors(c, col, local);
    output_errors(c, col);
    state_errors(c, col);
}
