/* SPDX-License-Identifier: MIT
 *
 * A model folder of chosen sizes with pseudo-random weights, no two rows alike: what permutes rows,
 * columns or heads shows.
 */
#ifndef ASSAY_PROPERTIES_SIZED_MODEL_H
#define ASSAY_PROPERTIES_SIZED_MODEL_H

#include <stdint.h>

/* Two layers, linear then full, and a block of MTP. */
struct model_sizes {
    int64_t vocab, hidden, inner;
    int64_t heads, kv_heads, head_dim;
    int64_t key_heads, value_heads, state; /* state: dk = dv */
    int64_t experts, width;                /* 0: dense; else `inner` is the shared expert's width */
};

/* Smallest with value heads in another order than key heads: Hk = 2, Hv = 6. */
extern const struct model_sizes sized_small;
/* The same with rows of whole blocks of 256. */
extern const struct model_sizes sized_wide;
/* Mixtures of 3 experts of these sizes, two a token. */
extern const struct model_sizes sized_small_mixture, sized_wide_mixture;

/* Writes config.json and model.safetensors into dir. */
void sized_write(const char *dir, const struct model_sizes *sizes);

#endif
