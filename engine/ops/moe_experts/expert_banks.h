/* SPDX-License-Identifier: MIT
 *
 * What moe_experts and moe_experts_grouped share: a call with banks of any format, one expert's
 * matrices as views into them, and the tokens of a call in order of experts.
 */
#ifndef ASSAY_EXPERT_BANKS_H
#define ASSAY_EXPERT_BANKS_H

#include <string.h>

#include <assay/ops/moe_experts.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Matrices of one shape, one of each expert. */
struct expert_bank {
    struct assay_weights matrix; /* the first expert's */
    int64_t step;                /* to the next expert's: in bf16 elements, else rows of a plane */
};

struct expert_call {
    struct assay_tensor x, ids, weights, y;
    struct expert_bank gate_up, down; /* [2F, H], an expert's rows of gate first; [H, F] */
    int64_t num_experts;
};

static inline int64_t expert_hidden(const struct expert_call *c) /* H */
{
    return c->down.matrix.rows;
}

static inline int64_t expert_width(const struct expert_call *c) /* F */
{
    return c->down.matrix.columns;
}

static inline int64_t expert_pairs(const struct expert_call *c) /* slots of all tokens */
{
    return c->ids.extent[0] * c->ids.extent[1];
}

static inline void expert_move(struct assay_tensor *plane, int64_t elements)
{
    if (plane->data != NULL)
        plane->data = (char *)plane->data + elements * (int64_t)assay_dtype_bytes(plane->dtype);
}

/* Rows first .. first + rows - 1 of expert e's matrix. */
static inline struct assay_weights expert_rows(const struct expert_bank *bank, int64_t e,
                                               int64_t first, int64_t rows)
{
    struct assay_weights view = bank->matrix;
    view.rows = view.base.extent[0] = rows;
    if (view.format == ASSAY_WEIGHT_BF16) {
        expert_move(&view.base, e * bank->step + first * view.base.stride[0]);
        return view;
    }
    first += e * bank->step;
    expert_move(&view.base, first * view.base.stride[0]);
    expert_move(&view.high, first * view.high.stride[0]);
    expert_move(&view.scales, first * view.scales.stride[0]);
    view.scales.extent[0] = rows;
    if (view.high.data != NULL)
        view.high.extent[0] = rows;
    return view;
}

static inline struct assay_weights expert_gate(const struct expert_call *c, int64_t e)
{
    return expert_rows(&c->gate_up, e, 0, expert_width(c));
}

static inline struct assay_weights expert_up(const struct expert_call *c, int64_t e)
{
    return expert_rows(&c->gate_up, e, expert_width(c), expert_width(c));
}

static inline struct assay_weights expert_down(const struct expert_call *c, int64_t e)
{
    return expert_rows(&c->down, e, 0, expert_hidden(c));
}

/* The expert of slot i of token t; -1: not one of the banks [MOEEXPERTS-4]. */
static inline int64_t expert_of(const struct expert_call *c, int64_t t, int64_t i)
{
    const int32_t *ids = (const int32_t *)assay_tensor_row(&c->ids, t);
    return ids[i] >= 0 && ids[i] < c->num_experts ? ids[i] : -1;
}

/* A bf16 bank [E, rows, columns]. */
static inline struct expert_bank expert_bank_of(const struct assay_tensor *tensor)
{
    struct expert_bank bank;
    memset(&bank, 0, sizeof bank);
    bank.matrix.format = ASSAY_WEIGHT_BF16;
    bank.matrix.rows = tensor->extent[1];
    bank.matrix.columns = tensor->extent[2];
    bank.matrix.base =
        assay_tensor_2d(tensor->data, tensor->dtype, tensor->extent[1], tensor->extent[2]);
    bank.matrix.base.stride[0] = tensor->stride[1];
    bank.step = tensor->stride[0];
    return bank;
}

static inline struct expert_call expert_call_of(const struct assay_moe_experts_args *a)
{
    struct expert_call c;
    c.x = a->x;
    c.ids = a->ids;
    c.weights = a->weights;
    c.y = a->y;
    c.gate_up = expert_bank_of(&a->gate_up);
    c.down = expert_bank_of(&a->down);
    c.num_experts = a->gate_up.extent[0];
    return c;
}

/* ---- argument checks and the floor ---------------------------------------------------------- */

/* Contract errors of x, ids and weights by themselves; what their extents have to do with those of
 * the banks and of y, y and its aliases of x, ids and weights. */
ASSAY_MUST_USE assay_status expert_check_inputs(assay_context *context, const char *op,
                                                const struct expert_call *call);
ASSAY_MUST_USE assay_status expert_check_tokens(assay_context *context, const char *op,
                                                const struct expert_call *call);
/* Of the banks, the experts of all slots where no two share one, at most all. bank_bytes: of one
 * expert's matrices. */
struct assay_floor expert_floor(const struct expert_call *call, double bank_bytes);

/* ---- tokens in order of experts ------------------------------------------------------------- */

/* Pairs (t, i), counted t * k + i, in order of their experts and within one of their number. Places
 * first .. first + count - 1 of `pair` have the expert. */
struct expert_group {
    int64_t expert, first, count;
};

/* What the vector routes keep in the workspace for `pairs` pairs. Of a grouped bank the operand is
 * brought into the order of the codes, rows of `columns` floats. */
struct expert_memory {
    int32_t *pair;               /* [pairs] which pair stands at a place */
    int32_t *place;              /* [pairs] where a pair stands; -1: its id is no expert */
    int64_t *next;               /* [E], of expert_memory_group alone */
    struct expert_group *groups; /* [at most pairs], the experts that are in use */
    int64_t num_groups, num_places;
    float *ordered;   /* grouped gate_up: [T, columns], rows of x */
    char *x;          /* [pairs, H] rows of x at their places, in x's format; or those of ordered */
    float *gate, *up; /* [pairs, F]; h in gate */
    float *ordered_h; /* grouped down: [pairs, columns] */
    float *down;      /* [pairs, H]: d */
    size_t x_row_bytes; /* of x */
};

/* Where the intermediates of the kernels for any number of tokens lie, in bytes: h is at 0. */
struct expert_buffers {
    size_t d;      /* [pairs, H] f32 */
    size_t list;   /* [pairs] i32: pairs in order of their experts */
    size_t starts; /* [E + 1] i32: where each expert's begin in it */
    size_t total;
};

static inline struct expert_buffers expert_buffers_of(const struct expert_call *c)
{
    const size_t pairs = (size_t)expert_pairs(c), step = 256;
    struct expert_buffers b;
    b.d = (4 * pairs * (size_t)expert_width(c) + step - 1) / step * step;
    b.list = b.d + (4 * pairs * (size_t)c->x.extent[1] + step - 1) / step * step;
    b.starts = b.list + (4 * pairs + step - 1) / step * step;
    b.total = b.starts + 4 * ((size_t)c->num_experts + 1);
    return b;
}

/* Divides the workspace; returns its size. memory NULL: the size alone. */
size_t expert_memory_layout(const struct expert_call *call, void *workspace,
                            struct expert_memory *memory);
/* Fills pair, place and groups. */
void expert_memory_group(const struct expert_call *call, struct expert_memory *memory);

/* ---- the routes of the host ----------------------------------------------------------------- */

assay_status experts_run_plain(assay_context *context, const struct expert_call *call,
                               void *workspace);
size_t experts_plain_workspace(const struct expert_call *call);
assay_status experts_run_avx2(assay_context *context, const struct expert_call *call,
                              void *workspace);
assay_status experts_run_avx512(assay_context *context, const struct expert_call *call,
                                void *workspace);

#ifdef __cplusplus
}
#endif
#endif
