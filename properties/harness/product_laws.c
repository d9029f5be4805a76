/* SPDX-License-Identifier: MIT
 *
 * What law suites of products share: see product_laws.h.
 */
#include "product_laws.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "words.h"
#include <assay/ops/linear.h>
#include <assay/ops/linear_grouped.h>
#include <assay/route.h>

uint64_t noise_bits(int64_t i)
{
    uint64_t h = (uint64_t)i * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

double noise(int64_t i)
{
    return (double)(int64_t)noise_bits(i) * 0x1p-62;
}

/* Aligned as a device's buffers are. */
static void *new_memory(size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 256) / 256 * 256);
    cr_assert_not_null(memory);
    return memory;
}

struct assay_tensor noise_tensor(int64_t rows, int64_t columns, int64_t seed)
{
    struct assay_tensor x =
        assay_tensor_2d(new_memory(4 * (size_t)(rows * columns)), ASSAY_F32, rows, columns);
    for (int64_t i = 0; i < rows * columns; i++)
        oracle_put(&x, i, noise(i ^ seed << 40));
    return x;
}

struct assay_weights noise_matrix(enum assay_weight_format format, int64_t rows, int64_t columns,
                                  int64_t seed)
{
    struct assay_weight_layout layout;
    struct assay_weights w;
    cr_assert_eq(assay_weight_layout_of(format, rows, columns, &layout, NULL), ASSAY_OK);
    uint8_t *memory = new_memory(layout.total);
    cr_assert_eq(assay_weights_at(memory, format, rows, columns, &w, NULL), ASSAY_OK);
    for (int64_t i = 0; i < rows * columns && format == ASSAY_WEIGHT_BF16; i++)
        oracle_put(&w.base, i, noise(i ^ seed << 40) / 4);
    if (format == ASSAY_WEIGHT_BF16)
        return w;
    for (size_t i = 0; i < layout.total; i++)
        memory[i] = (uint8_t)noise_bits((int64_t)i ^ seed << 40);
    for (int64_t i = 0; i < assay_tensor_count(&w.scales); i++)
        oracle_put(&w.scales, i, noise(~i ^ seed << 40) / 64);
    return w;
}

void product_alone(assay_context *context, const struct assay_tensor *x,
                   const struct assay_weights *w, const struct assay_tensor *y)
{
    if (w->format == ASSAY_WEIGHT_BF16) {
        const struct assay_linear_args a = {.x = *x, .w = w->base, .y = *y};
        cr_assert_eq(assay_linear(context, &a), ASSAY_OK);
        return;
    }
    const struct assay_linear_grouped_args a = {.x = *x, .w = *w, .y = *y};
    cr_assert_eq(assay_linear_grouped(context, &a), ASSAY_OK);
}

bool force_method(assay_context *context, const char *op, const char *method)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s.cpu", op, method);
    const struct assay_route *route = assay_route_find(name, NULL);
    if (route == NULL || route->isa > assay_context_isa(context))
        return false;
    return assay_context_force_route(context, name) == ASSAY_OK;
}

void force_products(assay_context *context, const char *method)
{
    cr_assert(force_method(context, "linear.bf16", method));
    cr_assert(force_method(context, "linear_grouped", method));
    cr_assert(force_method(context, "silu_mul", method));
}

assay_context *new_simt_context(void)
{
    struct assay_context_options options = assay_context_defaults();
    options.backend = ASSAY_SIMT;
    assay_context *context;
    return assay_context_create(&options, &context, NULL) == ASSAY_OK ? context : NULL;
}
