/* SPDX-License-Identifier: MIT
 *
 * attention, the plain route: one query head after the other, a softmax of two passes in binary64,
 * one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/words.h"
#include "ops/attention/attention_routes.h"

#include <math.h>
#include <stdatomic.h>

struct work {
    const struct assay_attention_args *a;
    double *memory; /* of each lane: weights of start + T keys, then one row of y */
    _Atomic int64_t next_row;
};

/* weight[j] = softmax over the keys [0, count) of scale q . k_j, without the division; returns the
 * sum that is to be divided by. */
static double weigh(const struct assay_attention_args *a, const void *q, int64_t key_head,
                    int64_t count, double *weight)
{
    int64_t key_heads = a->k_cache.extent[1];
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < count; j++) {
        const void *k = assay_tensor_row(&a->k_cache, j * key_heads + key_head);
        double dot = 0;
        for (int64_t d = 0; d < a->q.extent[2]; d++)
            dot += word_to_f64(q, a->q.dtype, d) * word_to_f64(k, a->k_cache.dtype, d);
        weight[j] = dot * a->scale;
        if (weight[j] > largest)
            largest = weight[j];
    }
    for (int64_t j = 0; j < count; j++) {
        weight[j] = exp(weight[j] - largest); /* NaN if all scores are -inf, as 0 / 0 is */
        sum += weight[j];
    }
    return sum;
}

/* total[d] = sum_j weight[j] v_j[d] */
static void sum_values(const struct assay_attention_args *a, int64_t key_head, int64_t count,
                       const double *weight, double *total)
{
    int64_t width = a->v_cache.extent[2];
    memset(total, 0, (size_t)width * sizeof *total);
    for (int64_t j = 0; j < count; j++) {
        const void *v = assay_tensor_row(&a->v_cache, j * a->v_cache.extent[1] + key_head);
        for (int64_t d = 0; d < width; d++)
            total[d] += weight[j] * word_to_f64(v, a->v_cache.dtype, d);
    }
}

static void attend(const struct assay_attention_args *a, int64_t row, double *weight, double *total)
{
    int64_t heads = a->q.extent[1];
    int64_t key_head = row % heads / (heads / a->k_cache.extent[1]); /* [ATTENTION-1] */
    int64_t count = a->start + row / heads + 1;
    double sum = weigh(a, assay_tensor_row(&a->q, row), key_head, count, weight);
    sum_values(a, key_head, count, weight, total);
    void *y = assay_tensor_row(&a->y, row); /* y may be q, which is not needed any more */
    for (int64_t d = 0; d < a->y.extent[2]; d++) {
        double value = total[d] / sum;
        if (a->gate.data != NULL) {
            double gate = word_to_f64(assay_tensor_row(&a->gate, row), a->gate.dtype, d);
            value *= 1 / (1 + exp(-gate));
        }
        word_from_f64(value, y, a->y.dtype, d);
    }
}

static void lanes(void *argument, int64_t first, int64_t last)
{
    struct work *work = argument;
    const struct assay_attention_args *a = work->a;
    int64_t keys = a->start + a->q.extent[0];
    for (int64_t lane = first; lane < last; lane++) {
        double *weight = work->memory + lane * (keys + a->y.extent[2]);
        for (;;) {
            int64_t row = atomic_fetch_add(&work->next_row, 1);
            if (row >= a->q.extent[0] * a->q.extent[1])
                break;
            attend(a, row, weight, weight + keys);
        }
    }
}

assay_status attention_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_attention_args *a = args;
    struct work work = {.a = a, .memory = workspace};
    int64_t rows = a->q.extent[0] * a->q.extent[1];
    int64_t num_lanes = assay_context_num_threads(context);
    assay_parallel(context, num_lanes < rows ? num_lanes : rows, 1, lanes, &work);
    return ASSAY_OK;
}
