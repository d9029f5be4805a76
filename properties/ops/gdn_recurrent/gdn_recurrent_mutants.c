/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "gdn_recurrent_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

/* A head at work: its state as the call sees it, [dk, dv]. */
struct head {
    const struct assay_gdn_recurrent_args *a;
    int64_t head, key_dim, value_dim;
    double *state;
    double *key, *query; /* of the token at work, [dk]; the query scaled */
    double alpha, beta;
    enum fault fault;
};

/* Place of S[i, n] in the tensor. */
static int64_t place(const struct head *h, int64_t i, int64_t n)
{
    int64_t base = h->head * h->key_dim * h->value_dim;
    return base + (h->fault == STATE_TRANSPOSED ? n * h->key_dim + i : i * h->value_dim + n);
}

static double gate(const struct head *h, const struct assay_tensor *tensor, int64_t t)
{
    if (h->fault == GATES_OF_ROW_ZERO)
        t = 0;
    const int64_t tokens = tensor->extent[0];
    const bool late = h->fault == NEIGHBOUR_DECAY || (h->fault == WIDTH_FOUR && tokens == 4);
    if (late && tensor == &h->a->g && t > 0 && t == tokens - 1)
        t--;
    return oracle_get(tensor, t * tensor->extent[1] + h->head);
}

/* Row t of q or k for this value head. */
static int64_t key_row(const struct head *h, int64_t t)
{
    int64_t key_heads = h->a->q.extent[1], ratio = h->a->v.extent[1] / key_heads;
    int64_t key_head = h->fault == HEAD_MODULO ? h->head % key_heads : h->head / ratio;
    return (t * key_heads + key_head) * h->key_dim;
}

static double effective_beta(const struct head *h, int64_t t)
{
    double beta = gate(h, &h->a->beta, t);
    return h->fault == BETA_TWICE ? beta * beta : h->fault == BETA_OMITTED ? 1 : beta;
}

/* Once a token, not once a column: the gate runs this kernel for thousands of tokens. */
static void read_token(struct head *h, int64_t t)
{
    const struct assay_gdn_recurrent_args *a = h->a;
    bool swapped = h->fault == KEY_QUERY_SWAPPED;
    const struct assay_tensor *q = swapped ? &a->k : &a->q, *k = swapped ? &a->q : &a->k;
    double scale = h->fault == QUERY_UNSCALED ? 1 : a->scale;
    for (int64_t i = 0; i < h->key_dim; i++) {
        h->key[i] = oracle_get(k, key_row(h, t) + i);
        h->query[i] = scale * oracle_get(q, key_row(h, t) + i);
    }
    h->alpha = exp(gate(h, &a->g, t));
    h->beta = effective_beta(h, t);
}

static double column(struct head *h, int64_t n, double v)
{
    enum assay_dtype format = h->a->state.dtype;
    double prediction = 0, o = 0;
    bool early = h->fault == LATE_DECAY || h->fault == UNDECAYED_PREDICTION;
    for (int64_t i = 0; i < h->key_dim; i++) {
        double s = h->state[i * h->value_dim + n];
        prediction += (early ? s : h->alpha * s) * h->key[i];
        if (h->fault == OUTPUT_BEFORE_UPDATE)
            o += h->alpha * s * h->query[i];
    }
    double delta = h->beta * (v - prediction);
    for (int64_t i = 0; i < h->key_dim; i++) {
        double *s = &h->state[i * h->value_dim + n], update = h->key[i] * delta;
        double next = h->fault == LATE_DECAY ? h->alpha * (*s + update) : h->alpha * *s + update;
        if (h->fault != OUTPUT_BEFORE_UPDATE)
            o += next * h->query[i];
        if (h->fault == STATE_BF16)
            next = oracle_round(next, ASSAY_BF16);
        *s = oracle_round(next, format);
    }
    return o;
}

/* STATE_NOT_RESET: a pool slot that keeps what the call before wrote, whoever's sequence it was. */
static _Thread_local double left_behind;

static void run_head(struct head *h)
{
    const struct assay_gdn_recurrent_args *a = h->a;
    int64_t cells = h->key_dim * h->value_dim;
    for (int64_t i = 0; i < cells; i++)
        h->state[i] = h->fault == STATE_IGNORED
                          ? 0
                          : oracle_get(&a->state, place(h, i / h->value_dim, i % h->value_dim));
    if (h->fault == STATE_NOT_RESET)
        h->state[0] += left_behind;
    for (int64_t t = 0; t < a->v.extent[0]; t++) {
        read_token(h, t);
        for (int64_t n = 0; n < h->value_dim; n++) {
            int64_t at = (t * a->v.extent[1] + h->head) * h->value_dim + n;
            oracle_put(&a->o, at, column(h, n, oracle_get(&a->v, at)));
        }
    }
    if (h->fault == STATE_NOT_RESET)
        left_behind = h->state[0];
    if (h->fault == ONE_ELEMENT && h->head == 0)
        h->state[cells / 2] *= 1 + 0x1p-9;
    for (int64_t i = 0; i < cells && h->fault != STATE_LOST; i++)
        oracle_put(&a->state, place(h, i / h->value_dim, i % h->value_dim), h->state[i]);
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_gdn_recurrent_args *a = args;
    struct head h = {
        .a = a, .key_dim = a->q.extent[2], .value_dim = a->v.extent[2], .fault = fault};
    size_t cells = (size_t)(h.key_dim * h.value_dim), keys = (size_t)h.key_dim;
    h.state = calloc(cells + 2 * keys, sizeof *h.state);
    if (h.state == NULL)
        return ASSAY_E_MEMORY;
    h.key = h.state + cells;
    h.query = h.key + keys;
    for (h.head = 0; h.head < a->v.extent[1]; h.head++)
        run_head(&h);
    free(h.state);
    return ASSAY_OK;
}

/* The fp16 state passes through bf16: what the trade's gate must catch. */
static bool state_is_f16(const void *args)
{
    const struct assay_gdn_recurrent_args *a = args;
    return a->state.dtype == ASSAY_F16;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("gdn_recurrent", ASSAY_PROFILE_F32, __VA_ARGS__)
#define STATE16_ROW(...) \
    MUTANT_WHEN("gdn_recurrent", ASSAY_PROFILE_STATE16, "state is f16", state_is_f16, __VA_ARGS__)

const struct case_mutant gdn_recurrent_mutants[GDN_RECURRENT_NUM_MUTANTS] = {
    F32_FAULT_TABLE(ROW) STATE16_FAULT_TABLE(STATE16_ROW)};
