/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent in binary64, from the contract [GDNREC-1] [GDNREC-2] and qwen3_5.md (F14), (F15),
 * with the error recursion of gdn_recurrent_bound.md along the way.
 */
#include "gdn_recurrent_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "gdn_column.h"
#include "noise.h"
#include "words.h"

/* Memory of one head: all tokens, and one column. */
struct head {
    struct gdn_token *tokens; /* [T] */
    double *q, *k;            /* [T, dk], q scaled */
    struct gdn_column column;
    double *memory;
};

static bool head_create(struct head *h, int64_t tokens, int64_t key_dim)
{
    size_t rows = (size_t)(tokens * key_dim), width = (size_t)key_dim;
    h->tokens = malloc(((size_t)tokens + 1) * sizeof *h->tokens);
    h->memory = malloc((2 * rows + 3 * width) * sizeof *h->memory);
    if (h->tokens == NULL || h->memory == NULL)
        return false;
    h->q = h->memory;
    h->k = h->q + rows;
    h->column = (struct gdn_column){.key_dim = key_dim,
                                    .state = h->k + rows,
                                    .arithmetic = h->k + rows + width,
                                    .storage = h->k + rows + 2 * width};
    return true;
}

static void head_destroy(struct head *h)
{
    free(h->tokens);
    free(h->memory);
}

static void load_head(struct head *h, const struct assay_gdn_recurrent_args *a, int64_t head)
{
    int64_t key_heads = a->q.extent[1], heads = a->v.extent[1], key_dim = a->q.extent[2];
    for (int64_t t = 0; t < a->q.extent[0]; t++) {
        int64_t row = t * key_heads + head / (heads / key_heads);
        double *q = h->q + t * key_dim, *k = h->k + t * key_dim;
        oracle_get_row(&a->q, row, q);
        oracle_get_row(&a->k, row, k);
        for (int64_t i = 0; i < key_dim; i++)
            q[i] *= a->scale;
        h->tokens[t] =
            (struct gdn_token){.q = q,
                               .k = k,
                               .alpha = oracle_noisy(exp(oracle_get(&a->g, t * heads + head))),
                               .beta = oracle_get(&a->beta, t * heads + head)};
        gdn_token_norms(&h->tokens[t], key_dim);
    }
}

static void put(struct oracle_output *out, int64_t at, double value, double products,
                double accumulation, double storage, bool undecided)
{
    out->value[at] = value;
    /* NaN: the verdict does not judge the element */
    out->aux[GDN_AUX_PRODUCTS][at] = undecided ? NAN : gdn_bound(products, value);
    out->aux[GDN_AUX_ACCUMULATION][at] = gdn_bound(accumulation, value);
    out->aux[GDN_AUX_STORAGE][at] = gdn_bound(storage, value);
    out->own[at] = gdn_bound((products + accumulation) * GDN_OWN_SHARE, value);
}

static void run_column(struct head *h, const struct assay_gdn_recurrent_args *a, int64_t head,
                       int64_t n, struct oracle_output *outputs)
{
    int64_t tokens = a->q.extent[0], heads = a->v.extent[1];
    int64_t key_dim = a->q.extent[2], value_dim = a->v.extent[2];
    struct gdn_column *c = &h->column;
    for (int64_t i = 0; i < key_dim; i++)
        c->state[i] = oracle_get(&a->state, (head * key_dim + i) * value_dim + n);
    gdn_column_start(c);
    for (int64_t t = 0; t < tokens; t++) {
        struct gdn_step step;
        int64_t at = (t * heads + head) * value_dim + n;
        if (t > 0 && a->state.dtype != ASSAY_F32)
            gdn_column_store(c, a->state.dtype);
        gdn_column_step(c, &h->tokens[t], oracle_get(&a->v, at), &step);
        put(&outputs[0], at, step.o, step.propagated, step.accumulation, step.storage,
            step.undecided);
    }
    for (int64_t i = 0; i < key_dim; i++)
        put(&outputs[1], (head * key_dim + i) * value_dim + n, c->state[i], c->arithmetic[i], 0,
            c->storage[i], c->undecided);
}

static assay_status ref(const void *args, struct oracle_output *outputs)
{
    const struct assay_gdn_recurrent_args *a = args;
    struct head h;
    if (!head_create(&h, a->q.extent[0], a->q.extent[2])) {
        head_destroy(&h);
        return ASSAY_E_MEMORY;
    }
    for (int64_t head = 0; head < a->v.extent[1]; head++) {
        load_head(&h, a, head);
        for (int64_t n = 0; n < a->v.extent[2]; n++)
            run_column(&h, a, head, n, outputs);
    }
    head_destroy(&h);
    return ASSAY_OK;
}

static double work(const void *args)
{
    const struct assay_gdn_recurrent_args *a = args;
    return 3 * (double)a->q.extent[0] * (double)assay_tensor_count(&a->state);
}

const struct oracle_op oracle_op_gdn_recurrent = {
    .name = "gdn_recurrent",
    .num_outputs = 2,
    .outputs = {"o", "state"},
    .ref = ref,
    .mpfr = oracle_gdn_recurrent_mpfr,
    .bound = oracle_gdn_recurrent_bound,
    .ceiling = gdn_ceiling,
    .work = work,
};
