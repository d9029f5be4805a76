/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "gdn_chunked_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) SPLIT_TABLE(MUTANT_ENUM) };

/* A head's chunk at work. */
struct work {
    const struct assay_gdn_chunked_args *a;
    int64_t head, first, rows, key_dim, value_dim;
    double *delta, *start;  /* [256], [dk] of one column */
    double *left, *kk, *qk; /* [256, 256]: decay, k_i . k_j, q_i . k_j */
    double *since;          /* [256] */
    enum fault fault;
};

static double gate(const struct work *w, const struct assay_tensor *tensor, int64_t i)
{
    return oracle_get(tensor, (w->first + i) * tensor->extent[1] + w->head);
}

static int64_t key_row(const struct work *w, int64_t i)
{
    int64_t key_heads = w->a->q.extent[1], ratio = w->a->v.extent[1] / key_heads;
    int64_t key_head = w->fault == HEAD_MODULO ? w->head % key_heads : w->head / ratio;
    return ((w->first + i) * key_heads + key_head) * w->key_dim;
}

/* exp(g_{j+1} + ... + g_i); j = -1: since the chunk's start. */
static double decay(const struct work *w, int64_t i, int64_t j)
{
    if (w->fault != MASK_AFTER_EXP) {
        double exponent = 0;
        for (int64_t m = j + 1; m <= i; m++)
            exponent += gate(w, &w->a->g, m);
        return exp(exponent);
    }
    float exponent = 0; /* differences of prefix sums, both signs, in binary32 */
    for (int64_t m = j < i ? j + 1 : i + 1; m <= (j < i ? i : j); m++)
        exponent += (float)gate(w, &w->a->g, m);
    return (double)expf(j < i ? exponent : -exponent);
}

/* An operand of a sum over dk. */
static double operand(const struct work *w, double x)
{
    return w->fault == LOW_PARTS_LOST ? oracle_round(x, ASSAY_BF16) : x;
}

static double dot(const struct work *w, const struct assay_tensor *a, int64_t i,
                  const struct assay_tensor *b, int64_t j)
{
    double sum = 0;
    for (int64_t d = 0; d < w->key_dim; d++)
        sum += operand(w, oracle_get(a, key_row(w, i) + d)) *
               operand(w, oracle_get(b, key_row(w, j) + d));
    return sum;
}

/* What all columns share. Above the diagonal only what a mask applied too late would see. */
static void prepare(const struct work *w)
{
    for (int64_t i = 0; i < w->rows; i++) {
        w->since[i] = decay(w, i, -1);
        for (int64_t j = 0; j < w->rows; j++) {
            if (j <= i || w->fault == MASK_AFTER_EXP)
                w->left[i * 256 + j] = decay(w, i, j);
            if (j > i)
                continue;
            w->kk[i * 256 + j] = dot(w, &w->a->k, i, &w->a->k, j);
            w->qk[i * 256 + j] = dot(w, &w->a->q, i, &w->a->k, j);
        }
    }
}

static double against(const struct work *w, const struct assay_tensor *a, int64_t i)
{
    double sum = 0;
    for (int64_t d = 0; d < w->key_dim; d++)
        sum += operand(w, oracle_get(a, key_row(w, i) + d)) * operand(w, w->start[d]);
    return sum;
}

static double solve_row(const struct work *w, int64_t i, double v)
{
    const struct assay_gdn_chunked_args *a = w->a;
    double beta = gate(w, &a->beta, i);
    double since = w->fault == START_UNDECAYED ? 1 : w->since[i];
    double delta = beta * (v - since * against(w, &a->k, i));
    for (int64_t j = 0; j < i; j++) {
        double left = w->fault == SOLVE_UNDECAYED ? 1 : w->left[i * 256 + j];
        delta -= beta * w->kk[i * 256 + j] * left * w->delta[j];
    }
    for (int64_t j = i + 1; w->fault == MASK_AFTER_EXP && j < w->rows; j++)
        delta -= 0 * w->left[i * 256 + j]; /* masked too late: 0 times infinity */
    if (w->fault == DIAGONAL_IN_SOLVE)
        delta /= 1 + beta * w->kk[i * 256 + i];
    return w->fault == SOLVE_BF16 ? oracle_round(delta, ASSAY_BF16) : delta;
}

static void run_column(const struct work *w, int64_t n)
{
    const struct assay_gdn_chunked_args *a = w->a;
    int64_t last = w->rows - 1;
    double scale = w->fault == QUERY_UNSCALED ? 1 : a->scale;
    for (int64_t d = 0; d < w->key_dim; d++) {
        bool forget = w->fault == STATE_IGNORED || (w->fault == CHUNK_IGNORED && w->first > 0);
        double s = oracle_get(&a->state, (w->head * w->key_dim + d) * w->value_dim + n);
        w->start[d] = forget ? 0 : s;
    }
    for (int64_t i = 0; i < w->rows; i++) {
        int64_t at = ((w->first + i) * a->v.extent[1] + w->head) * w->value_dim + n;
        w->delta[i] = solve_row(w, i, oracle_get(&a->v, at));
        double o = w->since[i] * against(w, &a->q, i);
        for (int64_t j = 0; j <= i; j++)
            o += w->qk[i * 256 + j] * w->left[i * 256 + j] * w->delta[j];
        oracle_put(&a->o, at, o * scale);
    }
    if (w->fault == WRONG_END && last > 0 && w->rows < a->chunk)
        last--; /* the ragged chunk's end is taken a row early */
    for (int64_t d = 0; d < w->key_dim; d++) {
        double s = w->since[last] * w->start[d];
        for (int64_t i = 0; i < w->rows; i++)
            s += oracle_get(&a->k, key_row(w, i) + d) * w->left[(i < last ? last : i) * 256 + i] *
                 w->delta[i];
        if (w->fault == ONE_ELEMENT && w->head == 0 && d == 0 && n == 0)
            s *= 1 + 0x1p-9;
        if (w->fault != STATE_LOST)
            oracle_put(&a->state, (w->head * w->key_dim + d) * w->value_dim + n, s);
    }
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_gdn_chunked_args *a = args;
    struct work w = {
        .a = a, .key_dim = a->q.extent[2], .value_dim = a->v.extent[2], .fault = fault};
    w.delta = malloc((size_t)(3 * 256 * 256 + 2 * 256 + w.key_dim) * sizeof *w.delta);
    if (w.delta == NULL)
        return ASSAY_E_MEMORY;
    w.since = w.delta + 256;
    w.left = w.since + 256;
    w.kk = w.left + 256 * 256;
    w.qk = w.kk + 256 * 256;
    w.start = w.qk + 256 * 256;
    int64_t tokens = a->q.extent[0];
    for (w.head = 0; w.head < a->v.extent[1]; w.head++) {
        for (w.first = 0; w.first < tokens; w.first += w.rows) {
            w.rows = tokens - w.first < a->chunk ? tokens - w.first : a->chunk;
            prepare(&w);
            for (int64_t n = 0; n < w.value_dim; n++)
                run_column(&w, n);
        }
    }
    free(w.delta);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)
SPLIT_TABLE(MUTANT_RUN)

#define ROW(...)       MUTANT("gdn_chunked", ASSAY_PROFILE_F32, __VA_ARGS__)
#define SPLIT_ROW(...) MUTANT("gdn_chunked", ASSAY_PROFILE_A16X2, __VA_ARGS__)

const struct case_mutant gdn_chunked_mutants[GDN_CHUNKED_NUM_MUTANTS] = {
    FAULT_TABLE(ROW) SPLIT_TABLE(SPLIT_ROW)};
