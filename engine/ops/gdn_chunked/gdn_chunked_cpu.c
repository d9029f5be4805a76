/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked, the plain route: the chunk form (F17) in binary64, column by column. The state is
 * rounded to its format at the end of every chunk, so the profile is that of the state's format
 * and not f64.
 *
 * With W S0 folded into the right-hand side, T (U' - W' S0) is the solution of
 *   delta_i = beta_i (v_i - D_i S0^T k_i) - sum_{j<i} A_ij delta_j,      D_i = exp(g_0 + ... + g_i)
 * which forward substitution gives row by row, each column for itself.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/gdn_chunked/gdn_chunked_routes.h"

#include <math.h>
#include <string.h>

struct job {
    const struct assay_gdn_chunked_args *args;
    char *workspace;
    int64_t slots;
};

/* One chunk of one head. Matrices are rows x rows, of which j <= i is used. */
struct chunk {
    const struct assay_gdn_chunked_args *a;
    int64_t head, key_head, first, rows;
    double *decay; /* exp(g_{j+1} + ... + g_i): the part of token j that is left after token i */
    double *kk;    /* k_i . k_j */
    double *qk;    /* scale q_i . k_j */
    double *since; /* D_i: the part of the chunk's start state that is left after token i */
    double *delta; /* of the column at work */
    double *state; /* that column at the start of the chunk */
};

static double dot(const struct assay_tensor *a, int64_t row_a, const struct assay_tensor *b,
                  int64_t row_b)
{
    const void *pa = assay_tensor_row(a, row_a), *pb = assay_tensor_row(b, row_b);
    double sum = 0;
    for (int64_t i = 0; i < a->extent[2]; i++)
        sum += word_to_f64(pa, a->dtype, i) * word_to_f64(pb, b->dtype, i);
    return sum;
}

static int64_t key_row(const struct chunk *c, int64_t i)
{
    return (c->first + i) * c->a->q.extent[1] + c->key_head;
}

static double gate(const struct assay_tensor *tensor, const struct chunk *c, int64_t i)
{
    return word_to_f64(assay_tensor_row(tensor, c->first + i), ASSAY_F32, c->head);
}

/* Exponents are sums over (j, i], never differences of two sums: -inf - -inf would be NaN. */
static void prepare(struct chunk *c)
{
    const struct assay_gdn_chunked_args *a = c->a;
    for (int64_t i = 0; i < c->rows; i++) {
        double exponent = 0;
        for (int64_t j = i; j >= 0; j--) {
            int64_t at = i * c->rows + j;
            c->decay[at] = exp(exponent);
            c->kk[at] = dot(&a->k, key_row(c, i), &a->k, key_row(c, j));
            c->qk[at] = a->scale * dot(&a->q, key_row(c, i), &a->k, key_row(c, j));
            exponent += gate(&a->g, c, j);
        }
        c->since[i] = exp(exponent);
    }
}

static double against_state(const struct chunk *c, const struct assay_tensor *tensor, int64_t i)
{
    const void *p = assay_tensor_row(tensor, key_row(c, i));
    double sum = 0;
    for (int64_t d = 0; d < tensor->extent[2]; d++)
        sum += word_to_f64(p, tensor->dtype, d) * c->state[d];
    return sum;
}

static void column(struct chunk *c, int64_t n)
{
    const struct assay_gdn_chunked_args *a = c->a;
    int64_t heads = a->v.extent[1], key_dim = a->q.extent[2], last = c->rows - 1;
    for (int64_t d = 0; d < key_dim; d++)
        c->state[d] =
            word_to_f64(assay_tensor_row(&a->state, c->head * key_dim + d), a->state.dtype, n);
    for (int64_t i = 0; i < c->rows; i++) {
        int64_t row = (c->first + i) * heads + c->head;
        const double *decay = c->decay + i * c->rows;
        double beta = gate(&a->beta, c, i), since = c->since[i];
        double v = word_to_f64(assay_tensor_row(&a->v, row), a->v.dtype, n);
        double delta = beta * (v - since * against_state(c, &a->k, i));
        double o = since * a->scale * against_state(c, &a->q, i);
        for (int64_t j = 0; j < i; j++) {
            delta -= beta * c->kk[i * c->rows + j] * decay[j] * c->delta[j];
            o += c->qk[i * c->rows + j] * decay[j] * c->delta[j];
        }
        c->delta[i] = delta;
        o += c->qk[i * c->rows + i] * delta;
        word_from_f64(o, assay_tensor_row(&a->o, row), a->o.dtype, n); /* o may be v */
    }
    for (int64_t d = 0; d < key_dim; d++) {
        double s = c->since[last] * c->state[d];
        for (int64_t i = 0; i < c->rows; i++) {
            double k = word_to_f64(assay_tensor_row(&a->k, key_row(c, i)), a->k.dtype, d);
            s += k * c->decay[last * c->rows + i] * c->delta[i];
        }
        word_from_f64(s, assay_tensor_row(&a->state, c->head * key_dim + d), a->state.dtype, n);
    }
}

static void slots(void *argument, int64_t first, int64_t last)
{
    const struct job *job = argument;
    const struct assay_gdn_chunked_args *a = job->args;
    int64_t heads = a->v.extent[1], rows = gdn_chunked_longest(a), tokens = a->q.extent[0];
    for (int64_t slot = first; slot < last; slot++) {
        double *memory =
            (void *)(job->workspace + (size_t)slot * gdn_chunked_scratch_bytes_plain(a));
        struct chunk c = {.a = a,
                          .decay = memory,
                          .kk = memory + rows * rows,
                          .qk = memory + 2 * rows * rows,
                          .since = memory + 3 * rows * rows,
                          .delta = memory + 3 * rows * rows + rows,
                          .state = memory + 3 * rows * rows + 2 * rows};
        for (c.head = slot; c.head < heads; c.head += job->slots) {
            c.key_head = c.head / (heads / a->q.extent[1]);
            for (c.first = 0; c.first < tokens; c.first += c.rows) {
                int64_t left = tokens - c.first;
                c.rows = left < a->chunk ? left : a->chunk;
                prepare(&c);
                for (int64_t n = 0; n < a->v.extent[2]; n++)
                    column(&c, n);
            }
        }
    }
}

assay_status gdn_chunked_route_plain(assay_context *context, const void *args, void *workspace)
{
    struct job job = {args, workspace, gdn_chunked_slots(context, args)};
    assay_parallel(context, job.slots, 1, slots, &job);
    return ASSAY_OK;
}
