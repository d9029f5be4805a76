/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped, the plain route, weight by weight, written to be read; and the route by rows,
 * which takes the decoder of the formats.
 */
#include "core/core.h"
#include "ops/embedding_grouped/embedding_grouped_routes.h"

static void weights(void *argument, int64_t first, int64_t last)
{
    const struct assay_embedding_grouped_args *a = argument;
    const int32_t *ids = a->ids.data;
    for (int64_t t = first; t < last; t++) {
        const struct grouped_row from = grouped_row_of(&a->table, ids[t]);
        void *to = assay_tensor_row(&a->y, t);
        for (int64_t i = 0; i < a->y.extent[1]; i++)
            word_from_f64((double)grouped_value(&from, i), to, a->y.dtype, i);
    }
}

assay_status embedding_grouped_route_plain(assay_context *context, const void *args,
                                           void *workspace)
{
    const struct assay_embedding_grouped_args *a = args;
    (void)workspace;
    assay_parallel(context, a->y.extent[0], 1, weights, (void *)(uintptr_t)args);
    return ASSAY_OK;
}

struct codec_call {
    const struct assay_embedding_grouped_args *a;
    float *values; /* [T, H] where y is bf16 */
};

static void rows(void *argument, int64_t first, int64_t last)
{
    const struct codec_call *c = argument;
    const int32_t *ids = c->a->ids.data;
    int64_t width = c->a->y.extent[1];
    for (int64_t t = first; t < last; t++) {
        void *to = assay_tensor_row(&c->a->y, t);
        if (c->a->y.dtype == ASSAY_F32) {
            assay_weights_decode_row(&c->a->table, ids[t], to);
        } else {
            assay_weights_decode_row(&c->a->table, ids[t], c->values + t * width);
            words_from_f32(c->values + t * width, width, to, c->a->y.dtype);
        }
    }
}

/* Profile exact. Moves each byte of y and of the ids' rows once. */
assay_status embedding_grouped_route_codec(assay_context *context, const void *args,
                                           void *workspace)
{
    struct codec_call c = {.a = args, .values = workspace};
    assay_parallel(context, c.a->y.extent[0], 1, rows, &c);
    return ASSAY_OK;
}
