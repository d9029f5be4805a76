/* SPDX-License-Identifier: MIT
 *
 * kv_append from its contract. The op selects and rounds, so the value here is the very number that
 * the cache must hold: rounding included, no error allowed.
 */
#include "kv_append_oracle.h"

#include "words.h"

/* The cache before the call, with the rows' slots replaced. */
static void fill(const struct assay_tensor *rows, const struct assay_tensor *cache, int64_t start,
                 struct oracle_output *out)
{
    int64_t slot = cache->extent[1] * cache->extent[2];
    int64_t first = start * slot, count = rows->extent[0] * slot;
    for (int64_t i = 0; i < out->count; i++) {
        bool is_new = i >= first && i < first + count;
        out->value[i] =
            is_new ? oracle_round(oracle_get(rows, i - first), cache->dtype) : oracle_get(cache, i);
        out->own[i] = 0;
    }
}

static assay_status ref(const void *arguments, struct oracle_output *outputs)
{
    const struct assay_kv_append_args *a = arguments;
    fill(&a->k, &a->k_cache, effective_start(a), &outputs[0]);
    fill(&a->v, &a->v_cache, effective_start(a), &outputs[1]);
    return ASSAY_OK;
}

const struct oracle_op oracle_op_kv_append = {
    .name = "kv_append",
    .num_outputs = 2,
    .outputs = {"k_cache", "v_cache"},
    .ref = ref,
    .mpfr = oracle_kv_append_mpfr,
    .bound = oracle_kv_append_bound,
};
