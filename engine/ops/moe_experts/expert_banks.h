/* SPDX-License-Identifier: MIT
 *
 * One expert's matrices as views into the banks, and the tokens of a call in order of experts.
 */
#ifndef ASSAY_EXPERT_BANKS_H
#define ASSAY_EXPERT_BANKS_H

#include <assay/ops/moe_experts.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline int64_t expert_width(const struct assay_moe_experts_args *a) /* F */
{
    return a->down.extent[2];
}

static inline int64_t expert_pairs(const struct assay_moe_experts_args *a) /* slots of all tokens */
{
    return a->ids.extent[0] * a->ids.extent[1];
}

/* Rows first .. first + rows - 1 of matrix e of a bank, [rows, columns]. */
static inline struct assay_tensor expert_rows(const struct assay_tensor *bank, int64_t e,
                                              int64_t first, int64_t rows)
{
    struct assay_tensor view = assay_tensor_2d(NULL, bank->dtype, rows, bank->extent[2]);
    view.stride[0] = bank->stride[1];
    view.data = (char *)bank->data + (e * bank->stride[0] + first * bank->stride[1]) *
                                         (int64_t)assay_dtype_bytes(bank->dtype);
    return view;
}

static inline struct assay_tensor expert_gate(const struct assay_moe_experts_args *a, int64_t e)
{
    return expert_rows(&a->gate_up, e, 0, expert_width(a));
}

static inline struct assay_tensor expert_up(const struct assay_moe_experts_args *a, int64_t e)
{
    return expert_rows(&a->gate_up, e, expert_width(a), expert_width(a));
}

static inline struct assay_tensor expert_down(const struct assay_moe_experts_args *a, int64_t e)
{
    return expert_rows(&a->down, e, 0, a->down.extent[1]);
}

/* The expert of slot i of token t; -1: not one of the banks [MOEEXPERTS-4]. */
static inline int64_t expert_of(const struct assay_moe_experts_args *a, int64_t t, int64_t i)
{
    const int32_t *ids = (const int32_t *)assay_tensor_row(&a->ids, t);
    return ids[i] >= 0 && ids[i] < a->gate_up.extent[0] ? ids[i] : -1;
}

/* Pairs (t, i), counted t * k + i, in order of their experts and within one of their number. Places
 * first .. first + count - 1 of `pair` have the expert. */
struct expert_group {
    int64_t expert, first, count;
};

/* What the vector routes keep in the workspace for `pairs` pairs. */
struct expert_memory {
    int32_t *pair;               /* [pairs] which pair stands at a place */
    int32_t *place;              /* [pairs] where a pair stands; -1: its id is no expert */
    int64_t *next;               /* [E], of expert_memory_group alone */
    struct expert_group *groups; /* [at most pairs], the experts that are in use */
    int64_t num_groups;
    char *x;          /* [pairs, H] rows of x at their places, in x's format */
    float *gate, *up; /* [pairs, F]; h in gate */
    float *down;      /* [pairs, H]: d */
};

/* Where the intermediates of the kernels for any number of tokens lie, in bytes: h is at 0. */
struct expert_buffers {
    size_t d;      /* [pairs, H] f32 */
    size_t list;   /* [pairs] i32: pairs in order of their experts */
    size_t starts; /* [E + 1] i32: where each expert's begin in it */
    size_t total;
};

static inline struct expert_buffers expert_buffers_of(const struct assay_moe_experts_args *a)
{
    const size_t pairs = (size_t)expert_pairs(a), step = 256;
    struct expert_buffers b;
    b.d = (4 * pairs * (size_t)expert_width(a) + step - 1) / step * step;
    b.list = b.d + (4 * pairs * (size_t)a->x.extent[1] + step - 1) / step * step;
    b.starts = b.list + (4 * pairs + step - 1) / step * step;
    b.total = b.starts + 4 * ((size_t)a->gate_up.extent[0] + 1);
    return b;
}

/* Divides the workspace; returns its size. memory NULL: the size alone. */
size_t expert_memory_layout(const struct assay_moe_experts_args *args, void *workspace,
                            struct expert_memory *memory);
/* Fills pair, place and groups. */
void expert_memory_group(const struct assay_moe_experts_args *args, struct expert_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
