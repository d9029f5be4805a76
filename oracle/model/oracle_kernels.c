/* SPDX-License-Identifier: MIT
 *
 * The three loops in which the model oracle spends its time. Each body is written once with
 * 8-lane vector types and compiled for plain x86-64, AVX2 and AVX-512 (elsewhere once); the lanes
 * and the order of additions are the same in all of them, and no product is fused with an
 * addition, so all give the same bits.
 *
 * Sum of a dot product: lane l adds the products l, l + 8, l + 16, ...; the eight lanes are added
 * pairwise, then the products of the last inner % 8 elements one by one. Its longest chain has
 * inner / 8 + 3 + 7 additions.
 */
#include <string.h>

#include "oracle_model_private.h"

#define LANES     8
#define TILE_ROWS 2
#define TILE_COLS 4

/* Alignment 8: rows begin anywhere. may_alias: it reads arrays of double. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

#define BODY static inline __attribute__((always_inline)) void

static inline __attribute__((always_inline)) double lane_sum(const lanes *v)
{
    return (((*v)[0] + (*v)[1]) + ((*v)[2] + (*v)[3])) +
           (((*v)[4] + (*v)[5]) + ((*v)[6] + (*v)[7]));
}

/* num_rows x num_cols dot products at (row, col); both are constants after inlining. */
BODY product_tile(const struct oracle_product *p, int64_t row, int64_t col, int num_rows,
                  int num_cols)
{
    lanes sum[TILE_ROWS][TILE_COLS];
    for (int i = 0; i < num_rows; i++)
        for (int j = 0; j < num_cols; j++)
            sum[i][j] = (lanes){0};
    const double *x = p->x + row * p->x_stride;
    const double *w = p->w + col * p->w_stride;
    int64_t whole = p->inner - p->inner % LANES;
    for (int64_t k = 0; k < whole; k += LANES)
        for (int j = 0; j < num_cols; j++) {
            lanes b = *(const lanes *)(w + j * p->w_stride + k);
            for (int i = 0; i < num_rows; i++)
                sum[i][j] += *(const lanes *)(x + i * p->x_stride + k) * b;
        }
    for (int i = 0; i < num_rows; i++)
        for (int j = 0; j < num_cols; j++) {
            double total = lane_sum(&sum[i][j]);
            for (int64_t k = whole; k < p->inner; k++)
                total += x[i * p->x_stride + k] * w[j * p->w_stride + k];
            p->y[(row + i) * p->y_stride + col + j] = total;
        }
}

BODY product_body(const struct oracle_product *p)
{
    /* Columns outermost: a tile of W stays in the first cache level over all rows. */
    for (int64_t col = 0; col < p->cols;) {
        bool wide = p->cols - col >= TILE_COLS;
        for (int64_t row = 0; row < p->rows;) {
            bool tall = p->rows - row >= TILE_ROWS;
            if (wide && tall)
                product_tile(p, row, col, TILE_ROWS, TILE_COLS);
            else if (wide)
                product_tile(p, row, col, 1, TILE_COLS);
            else if (tall)
                product_tile(p, row, col, TILE_ROWS, 1);
            else
                product_tile(p, row, col, 1, 1);
            row += tall ? TILE_ROWS : 1;
        }
        col += wide ? TILE_COLS : 1;
    }
}

BODY combine_tile(const struct oracle_combination *c, int64_t row, int64_t col, int num_rows,
                  int num_vectors)
{
    lanes sum[TILE_ROWS][TILE_COLS];
    for (int i = 0; i < num_rows; i++)
        for (int v = 0; v < num_vectors; v++)
            sum[i][v] = (lanes){0};
    const double *a = c->a + row * c->a_stride;
    const double *m = c->m + col;
    for (int64_t j = 0; j < c->inner; j++)
        for (int v = 0; v < num_vectors; v++) {
            lanes b = *(const lanes *)(m + j * c->m_stride + v * LANES);
            for (int i = 0; i < num_rows; i++)
                sum[i][v] += a[i * c->a_stride + j] * b;
        }
    for (int i = 0; i < num_rows; i++)
        for (int v = 0; v < num_vectors; v++)
            *(lanes *)(c->y + (row + i) * c->y_stride + col + v * LANES) = sum[i][v];
}

BODY combine_body(const struct oracle_combination *c)
{
    const int64_t block = TILE_COLS * LANES;
    for (int64_t row = 0; row < c->rows;) {
        bool tall = c->rows - row >= TILE_ROWS;
        int64_t col = 0;
        for (; col + block <= c->cols; col += block) {
            if (tall)
                combine_tile(c, row, col, TILE_ROWS, TILE_COLS);
            else
                combine_tile(c, row, col, 1, TILE_COLS);
        }
        for (; col + LANES <= c->cols; col += LANES) {
            combine_tile(c, row, col, 1, 1);
            if (tall)
                combine_tile(c, row + 1, col, 1, 1);
        }
        int64_t last = row + (tall ? TILE_ROWS : 1);
        for (; col < c->cols; col++)
            for (int64_t i = row; i < last; i++) {
                double sum = 0;
                for (int64_t j = 0; j < c->inner; j++)
                    sum += c->a[i * c->a_stride + j] * c->m[j * c->m_stride + col];
                c->y[i * c->y_stride + col] = sum;
            }
        row = last;
    }
}

BODY delta_step_body(const struct oracle_delta_step *s)
{
    int64_t dv = s->value_dim;
    int64_t whole = dv - dv % LANES;
    memset(s->d, 0, (size_t)dv * sizeof *s->d);
    memset(s->o, 0, (size_t)dv * sizeof *s->o);
    for (int64_t i = 0; i < s->key_dim; i++) { /* S = alpha S; p += k_i S_i */
        double *row = s->state + i * dv;
        for (int64_t j = 0; j < whole; j += LANES) {
            lanes decayed = *(lanes *)(row + j) * s->alpha;
            *(lanes *)(row + j) = decayed;
            *(lanes *)(s->d + j) += decayed * s->k[i];
        }
        for (int64_t j = whole; j < dv; j++) {
            row[j] *= s->alpha;
            s->d[j] += row[j] * s->k[i];
        }
    }
    for (int64_t j = 0; j < dv; j++)
        s->d[j] = s->beta * (s->v[j] - s->d[j]);
    for (int64_t i = 0; i < s->key_dim; i++) { /* S += k d^T; o += q_i S_i */
        double *row = s->state + i * dv;
        for (int64_t j = 0; j < whole; j += LANES) {
            lanes updated = *(lanes *)(row + j) + *(lanes *)(s->d + j) * s->k[i];
            *(lanes *)(row + j) = updated;
            *(lanes *)(s->o + j) += updated * s->q[i];
        }
        for (int64_t j = whole; j < dv; j++) {
            row[j] += s->d[j] * s->k[i];
            s->o[j] += row[j] * s->q[i];
        }
    }
}

/* name(p) runs name_body(p) in the widest form the processor has. */
#if defined(__x86_64__)
#define DISPATCH(name, type)                                                    \
    __attribute__((target("avx512f"))) static void name##_avx512(const type *p) \
    {                                                                           \
        name##_body(p);                                                         \
    }                                                                           \
    __attribute__((target("avx2"))) static void name##_avx2(const type *p)      \
    {                                                                           \
        name##_body(p);                                                         \
    }                                                                           \
    void oracle_##name(const type *p)                                           \
    {                                                                           \
        if (__builtin_cpu_supports("avx512f"))                                  \
            name##_avx512(p);                                                   \
        else if (__builtin_cpu_supports("avx2"))                                \
            name##_avx2(p);                                                     \
        else                                                                    \
            name##_body(p);                                                     \
    }
#else
#define DISPATCH(name, type)          \
    void oracle_##name(const type *p) \
    {                                 \
        name##_body(p);               \
    }
#endif

DISPATCH(product, struct oracle_product)
DISPATCH(combine, struct oracle_combination)
DISPATCH(delta_step, struct oracle_delta_step)
