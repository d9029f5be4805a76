/* SPDX-License-Identifier: MIT
 *
 * attention, the plain route: one query head after the other, a softmax of two passes in binary64,
 * one rounding into y. Written to be read.
 */
#include "core/core.h"
#include "numeric/float_words.h"
#include "ops/attention/attention_routes.h"

#include <math.h>
#include <stdatomic.h>

struct work {
    const struct assay_attention_args *a;
    int64_t start;  /* effective */
    double *memory; /* one part for each lane */
    _Atomic int64_t next_row;
};

/* A lane's memory: everything in binary64. */
struct lane {
    int64_t start;  /* of the call, effective */
    double *weight; /* start + T */
    double *query;  /* D */
    double *row;    /* of a cache: the wider of D and Dv */
    double *total;  /* Dv */
};

/* weight[j] = softmax over the keys [0, count) of scale q . k_j, without the division; returns the
 * sum that is to be divided by. */
static double weigh(const struct assay_attention_args *a, int64_t key_head, int64_t count,
                    const struct lane *lane)
{
    int64_t key_heads = a->k_cache.extent[1], width = a->q.extent[2];
    double *weight = lane->weight, largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < count; j++) {
        const void *k = assay_tensor_row(&a->k_cache, j * key_heads + key_head);
        words_to_f64(k, a->k_cache.dtype, width, lane->row);
        double dot = 0;
        for (int64_t d = 0; d < width; d++)
            dot += lane->query[d] * lane->row[d];
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
                       const struct lane *lane)
{
    int64_t key_heads = a->v_cache.extent[1], width = a->v_cache.extent[2];
    memset(lane->total, 0, (size_t)width * sizeof *lane->total);
    for (int64_t j = 0; j < count; j++) {
        const void *v = assay_tensor_row(&a->v_cache, j * key_heads + key_head);
        words_to_f64(v, a->v_cache.dtype, width, lane->row);
        for (int64_t d = 0; d < width; d++)
            lane->total[d] += lane->weight[j] * lane->row[d];
    }
}

static void attend(const struct assay_attention_args *a, int64_t row, const struct lane *lane)
{
    int64_t heads = a->q.extent[1];
    int64_t key_head = row % heads / (heads / a->k_cache.extent[1]); /* [ATTENTION-1] */
    int64_t count = lane->start + row / heads + 1;
    words_to_f64(assay_tensor_row(&a->q, row), a->q.dtype, a->q.extent[2], lane->query);
    double sum = weigh(a, key_head, count, lane);
    sum_values(a, key_head, count, lane);
    void *y = assay_tensor_row(&a->y, row); /* y may be q, which is not needed any more */
    for (int64_t d = 0; d < a->y.extent[2]; d++) {
        double value = lane->total[d] / sum;
        if (a->gate.data != NULL) {
            double gate = word_to_f64(assay_tensor_row(&a->gate, row), a->gate.dtype, d);
            value *= 1 / (1 + exp(-gate)); /* [ATTENTION-2] */
        }
        word_from_f64(value, y, a->y.dtype, d);
    }
}

static void lanes(void *argument, int64_t first, int64_t last)
{
    struct work *work = argument;
    const struct assay_attention_args *a = work->a;
    int64_t keys = a->start + a->q.extent[0], dk = a->q.extent[2], dv = a->y.extent[2];
    for (int64_t index = first; index < last; index++) {
        struct lane lane = {.start = work->start,
                            .weight = work->memory + index * attention_plain_lane(a)};
        lane.query = lane.weight + keys;
        lane.total = lane.query + dk;
        lane.row = lane.total + dv;
        for (;;) {
            int64_t row = atomic_fetch_add(&work->next_row, 1);
            if (row >= a->q.extent[0] * a->q.extent[1])
                break;
            attend(a, row, &lane);
        }
    }
}

assay_status attention_route_plain(assay_context *context, const void *args, void *workspace)
{
    const struct assay_attention_args *a = args;
    struct work work = {.a = a, .start = attention_start(a), .memory = workspace};
    int64_t rows = a->q.extent[0] * a->q.extent[1];
    int64_t num_lanes = assay_context_num_threads(context);
    assay_parallel(context, num_lanes < rows ? num_lanes : rows, 1, lanes, &work);
    return ASSAY_OK;
}
