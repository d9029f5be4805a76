/* SPDX-License-Identifier: MIT
 *
 * The tensors of the gated delta rule as the kernels of gdn_recurrent and gdn_chunked see them.
 */
#ifndef ASSAY_GDN_DEVICE_CUH
#define ASSAY_GDN_DEVICE_CUH

#include "cuda/rows.cuh"

struct gdn_tensors {
    struct row_view q, k, v, o; /* outer: token, inner: head */
    struct row_view g, beta;    /* outer: token */
    struct row_view state;      /* outer: head, inner: row of dk */
    int64_t tokens, key_dim, value_dim;
    int64_t heads, ratio; /* value heads; value heads a key head */
    double scale;
};

/* args: of gdn_recurrent or gdn_chunked, whose tensors have the same names. */
template <typename Args> static inline struct gdn_tensors gdn_tensors_of(const Args *a)
{
    struct gdn_tensors p = {row_view_of(&a->q),
                            row_view_of(&a->k),
                            row_view_of(&a->v),
                            row_view_of(&a->o),
                            row_view_of(&a->g),
                            row_view_of(&a->beta),
                            row_view_of(&a->state),
                            a->q.extent[0],
                            a->q.extent[2],
                            a->v.extent[2],
                            a->v.extent[1],
                            a->v.extent[1] / a->q.extent[1],
                            a->scale};
    return p;
}

/* row_address without its division. */
SIMT_DEVICE unsigned char *gdn_row(const struct row_view &v, int64_t outer, int64_t inner)
{
    return v.data + outer * v.outer_stride + inner * v.inner_stride;
}

SIMT_DEVICE float gdn_gate(const struct row_view &v, int64_t token, int64_t head)
{
    return simt_load_constant(reinterpret_cast<const float *>(gdn_row(v, token, 0)) + head);
}

template <bool constant>
SIMT_DEVICE float gdn_element(const struct row_view &v, const unsigned char *row, int64_t i)
{
    if (v.is_bf16)
        return simt_bf16_to_f32(
            row_load<uint16_t, constant>(reinterpret_cast<const uint16_t *>(row) + i));
    return row_load<float, constant>(reinterpret_cast<const float *>(row) + i);
}

SIMT_DEVICE void gdn_store_element(const struct row_view &v, unsigned char *row, int64_t i,
                                   float value)
{
    if (v.is_bf16)
        simt_store(reinterpret_cast<uint16_t *>(row) + i, simt_bf16_from_f32(value));
    else
        simt_store(reinterpret_cast<float *>(row) + i, value);
}

/* Element i of a row of the state. */
template <bool is_f16> SIMT_DEVICE float gdn_state_element(const unsigned char *row, int64_t i)
{
    if (is_f16)
        return simt_f16_to_f32(simt_load(reinterpret_cast<const uint16_t *>(row) + i));
    return simt_load(reinterpret_cast<const float *>(row) + i);
}

template <bool is_f16>
SIMT_DEVICE void gdn_store_state_element(unsigned char *row, int64_t i, float value)
{
    if (is_f16)
        simt_store(reinterpret_cast<uint16_t *>(row) + i, simt_f16_from_f32(value));
    else
        simt_store(reinterpret_cast<float *>(row) + i, value);
}

#endif
