/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked in binary64. The values come from the recurrence (F15), which equals the chunk form
 * (F17) in exact arithmetic [GDNCHUNK-1]: a second formulation, so that a mistake in the chunk
 * form cannot hide in its own oracle. The errors are those of the chunk form.
 */
#include "gdn_chunked_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "noise.h"
#include "words.h"

struct head {
    bool keeps_values; /* the outputs' values are there already, only errors are wanted */
    struct gdn_token *tokens;
    double *memory;
    double *q, *k, *g, *v, *delta, *o, *own; /* [T, dk] and [T] */
    struct gdn_column column;
    struct gdn_chunk chunk;
    struct gdn_chunk_column errors;
    double *start;
};

/* Hands out parts of one block. */
static double *take(double **next, int64_t count)
{
    double *part = *next;
    *next += count;
    return part;
}

static bool head_create(struct head *h, int64_t tokens, int64_t key_dim, int64_t rows)
{
    int64_t total =
        2 * tokens * key_dim + 5 * tokens + 6 * rows * rows + 4 * rows + 5 * rows + 5 * key_dim;
    h->tokens = malloc(((size_t)tokens + 1) * sizeof *h->tokens);
    h->memory = calloc((size_t)total, sizeof *h->memory);
    if (h->tokens == NULL || h->memory == NULL)
        return false;
    double *next = h->memory;
    h->q = take(&next, tokens * key_dim);
    h->k = take(&next, tokens * key_dim);
    h->g = take(&next, tokens);
    h->v = take(&next, tokens);
    h->delta = take(&next, tokens);
    h->o = take(&next, tokens);
    h->own = take(&next, tokens);
    h->chunk = (struct gdn_chunk){.key_dim = key_dim};
    double **matrices[] = {&h->chunk.exponent, &h->chunk.solve,     &h->chunk.solve_error,
                           &h->chunk.mix,      &h->chunk.mix_error, &h->chunk.inverse};
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
        *matrices[i] = take(&next, rows * rows);
    double **vectors[] = {&h->chunk.since,        &h->chunk.since_error, &h->chunk.remain,
                          &h->chunk.remain_error, &h->errors.products,   &h->errors.accumulation,
                          &h->errors.storage,     &h->errors.reach,      &h->errors.spread};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        *vectors[i] = take(&next, rows);
    h->column = (struct gdn_column){.key_dim = key_dim,
                                    .state = take(&next, key_dim),
                                    .arithmetic = take(&next, key_dim),
                                    .storage = take(&next, key_dim)};
    h->errors.state_error = take(&next, key_dim);
    h->start = take(&next, key_dim);
    return true;
}

static void load_head(struct head *h, const struct assay_gdn_chunked_args *a, int64_t head)
{
    int64_t key_heads = a->q.extent[1], heads = a->v.extent[1], key_dim = a->q.extent[2];
    for (int64_t t = 0; t < a->q.extent[0]; t++) {
        int64_t row = t * key_heads + head / (heads / key_heads);
        double *q = h->q + t * key_dim, *k = h->k + t * key_dim;
        oracle_get_row(&a->q, row, q);
        oracle_get_row(&a->k, row, k);
        for (int64_t i = 0; i < key_dim; i++)
            q[i] *= a->scale;
        h->g[t] = oracle_get(&a->g, t * heads + head);
        h->tokens[t] = (struct gdn_token){.q = q,
                                          .k = k,
                                          .alpha = oracle_noisy(exp(h->g[t])),
                                          .beta = oracle_get(&a->beta, t * heads + head)};
        gdn_token_norms(&h->tokens[t], key_dim);
    }
}

/* The contract leaves non-finite values of a head free from their chunk on [GDNCHUNK-9]: value 0
 * and no bound, so that the element is not judged. */
static void put(const struct head *h, struct oracle_output *out, int64_t at, double value,
                double own, double products, double accumulation, double storage)
{
    bool free_choice = !isfinite(value);
    double p = gdn_bound(products, 0), a = gdn_bound(accumulation, 0), s = gdn_bound(storage, 0);
    if (!h->keeps_values) {
        out->value[at] = free_choice ? 0 : value;
        out->own[at] = free_choice ? 0 : gdn_bound(own, 0);
    }
    out->aux[GDN_AUX_PRODUCTS][at] = free_choice ? INFINITY : p;
    out->aux[GDN_AUX_ACCUMULATION][at] = free_choice ? 0 : a;
    out->aux[GDN_AUX_STORAGE][at] = free_choice ? 0 : s;
}

static bool all_finite(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Values of one column by the recurrence, tokens [first, first + rows). */
static void recur(struct head *h, int64_t first, int64_t rows)
{
    for (int64_t t = first; t < first + rows; t++) {
        struct gdn_step step;
        gdn_column_step(&h->column, &h->tokens[t], h->v[t], &step);
        h->delta[t] = step.delta;
        h->o[t] = step.o;
        h->own[t] = (step.propagated + step.accumulation) * GDN_OWN_SHARE;
    }
}

/* One chunk of one column. The chunk's matrices are the head's. */
static void run_chunk(struct head *h, const struct assay_gdn_chunked_args *a, int64_t head,
                      int64_t n, int64_t first, struct oracle_output *out)
{
    int64_t heads = a->v.extent[1], value_dim = a->v.extent[2], rows = h->chunk.rows;
    int64_t key_dim = a->q.extent[2];
    memcpy(h->start, h->column.state, (size_t)key_dim * sizeof *h->start);
    recur(h, first, rows);
    h->errors.start = h->start;
    h->errors.v = h->v + first;
    h->errors.delta = h->delta + first;
    gdn_chunk_errors(&h->chunk, &h->errors);
    bool finite = all_finite(h->start, key_dim) && all_finite(h->column.state, key_dim) &&
                  all_finite(h->delta + first, rows);
    for (int64_t i = 0; i < rows; i++)
        put(h, out, ((first + i) * heads + head) * value_dim + n, finite ? h->o[first + i] : NAN,
            h->own[first + i], h->errors.products[i], h->errors.accumulation[i],
            h->errors.storage[i]);
}

/* Rounding of the state to its format at the end of a chunk. */
static double stored_norm(const struct head *h, enum assay_dtype format)
{
    double squares = 0, off = h->errors.storage_norm, largest = oracle_max_finite(format);
    for (int64_t d = 0; d < h->column.key_dim; d++) {
        double size = fabs(h->column.state[d]) + h->errors.state_error[d] + off;
        double half = size < largest ? oracle_half_ulp(size, format) : INFINITY;
        squares += half * half;
    }
    return (off + sqrt(squares)) * (1 + 0x1p-40);
}

/* One chunk of all columns; saved: state and norms of each column between chunks. */
struct saved {
    double *state;      /* [dv, dk] */
    double *arithmetic; /* [dv, dk] error of the recurrence, for `own` */
    double *norms;      /* [dv, 4] */
};

static void load_column(struct head *h, const struct saved *s, int64_t n)
{
    size_t bytes = (size_t)h->column.key_dim * sizeof(double);
    int64_t at = n * h->column.key_dim;
    memcpy(h->column.state, s->state + at, bytes);
    memcpy(h->column.arithmetic, s->arithmetic + at, bytes);
    h->column.arithmetic_norm = s->norms[4 * n];
    h->errors.arithmetic_norm = s->norms[4 * n + 1];
    h->errors.storage_norm = s->norms[4 * n + 2];
}

static void save_column(const struct head *h, struct saved *s, int64_t n)
{
    size_t bytes = (size_t)h->column.key_dim * sizeof(double);
    int64_t at = n * h->column.key_dim;
    memcpy(s->state + at, h->column.state, bytes);
    memcpy(s->arithmetic + at, h->column.arithmetic, bytes);
    s->norms[4 * n] = h->column.arithmetic_norm;
    s->norms[4 * n + 1] = h->errors.arithmetic_norm;
    s->norms[4 * n + 2] = h->errors.storage_norm;
}

static void finish_column(const struct head *h, const struct assay_gdn_chunked_args *a,
                          int64_t head, int64_t n, struct oracle_output *state)
{
    int64_t key_dim = a->q.extent[2], value_dim = a->v.extent[2];
    bool finite = all_finite(h->column.state, key_dim), ran = a->q.extent[0] > 0;
    for (int64_t d = 0; d < key_dim; d++) {
        int64_t at = (head * key_dim + d) * value_dim + n;
        double value = h->column.state[d];
        if (ran)
            put(h, state, at, finite ? value : NAN, h->column.arithmetic[d] * GDN_OWN_SHARE,
                h->errors.state_error[d], 0, h->errors.storage_norm);
        else
            state->value[at] = value;
    }
}

static void run_head(struct head *h, const struct assay_gdn_chunked_args *a, int64_t head,
                     struct saved *s, struct oracle_output *outputs)
{
    int64_t tokens = a->q.extent[0], heads = a->v.extent[1], value_dim = a->v.extent[2];
    int64_t key_dim = a->q.extent[2];
    load_head(h, a, head);
    gdn_column_start(&h->column);
    h->errors.arithmetic_norm = h->errors.storage_norm = 0;
    for (int64_t n = 0; n < value_dim; n++) {
        for (int64_t d = 0; d < key_dim; d++)
            h->column.state[d] = oracle_get(&a->state, (head * key_dim + d) * value_dim + n);
        save_column(h, s, n);
        if (tokens == 0)
            finish_column(h, a, head, n, &outputs[1]);
    }
    for (int64_t first = 0; first < tokens; first += a->chunk) {
        int64_t left = tokens - first;
        bool last = left <= a->chunk;
        h->chunk.rows = last ? left : a->chunk;
        h->chunk.tokens = h->tokens + first;
        gdn_chunk_prepare(&h->chunk, h->g + first);
        for (int64_t n = 0; n < value_dim; n++) {
            load_column(h, s, n);
            for (int64_t t = first; t < first + h->chunk.rows; t++)
                h->v[t] = oracle_get(&a->v, (t * heads + head) * value_dim + n);
            run_chunk(h, a, head, n, first, &outputs[0]);
            if (last)
                finish_column(h, a, head, n, &outputs[1]);
            else if (a->state.dtype != ASSAY_F32)
                h->errors.storage_norm = stored_norm(h, a->state.dtype);
            save_column(h, s, n);
        }
    }
}

assay_status gdn_chunked_evaluate(const struct assay_gdn_chunked_args *a, bool on_tensor_cores,
                                  bool values, struct oracle_output *outputs)
{
    int64_t tokens = a->q.extent[0], key_dim = a->q.extent[2], value_dim = a->v.extent[2];
    struct head h = {.keeps_values = !values};
    double *memory = calloc((size_t)(value_dim * (2 * key_dim + 4)), sizeof *memory);
    struct saved s = {.state = memory,
                      .arithmetic = memory + value_dim * key_dim,
                      .norms = memory + 2 * value_dim * key_dim};
    bool good = head_create(&h, tokens, key_dim, tokens < a->chunk ? tokens : a->chunk);
    h.chunk.on_tensor_cores = on_tensor_cores;
    if (good && memory != NULL)
        for (int64_t head = 0; head < a->v.extent[1]; head++)
            run_head(&h, a, head, &s, outputs);
    assay_status status = good && memory != NULL ? ASSAY_OK : ASSAY_E_MEMORY;
    free(h.tokens);
    free(h.memory);
    free(memory);
    return status;
}

static assay_status ref(const void *args, struct oracle_output *outputs)
{
    return gdn_chunked_evaluate(args, false, true, outputs);
}

static double work(const void *args)
{
    const struct assay_gdn_chunked_args *a = args;
    return 3 * (double)a->q.extent[0] * (double)assay_tensor_count(&a->state);
}

const struct oracle_op oracle_op_gdn_chunked = {
    .name = "gdn_chunked",
    .num_outputs = 2,
    .outputs = {"o", "state"},
    .ref = ref,
    .mpfr = oracle_gdn_chunked_mpfr,
    .bound = oracle_gdn_chunked_bound,
    .ceiling = gdn_ceiling,
    .work = work,
};
