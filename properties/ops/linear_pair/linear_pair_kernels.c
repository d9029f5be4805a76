/* SPDX-License-Identifier: MIT
 *
 * linear_pair and linear_swiglu on a device: what dispatch takes has the bits of what dispatch
 * takes of the separate calls [LINEARPAIR-5], for every format, one row, few and many, and sizes at
 * which several warps share a row. A plain program: it can say that there is no device (77) and run
 * where nothing but the shared libraries is.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/device.h>
#include <assay/ops/linear.h>
#include <assay/ops/linear_grouped.h>
#include <assay/ops/linear_pair.h>
#include <assay/ops/linear_swiglu.h>
#include <assay/ops/silu_mul.h>

enum { NO_DEVICE = 77, MAX = ASSAY_LINEAR_PAIR_MAX, MAX_BUFFERS = 16 };

struct bench {
    assay_context *context;
    void *buffer[MAX_BUFFERS];
    int num_buffers, num_checks, num_failed;
};

static uint32_t noise(int64_t i)
{
    uint64_t h = (uint64_t)i * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

static void must(struct bench *b, assay_status status)
{
    if (status == ASSAY_OK)
        return;
    fprintf(stderr, "%s: %s\n", assay_status_name(status),
            assay_context_error(b->context)->message);
    exit(1);
}

/* A buffer of the context with these bytes; NULL: zeros. */
static void *put(struct bench *b, const void *host, size_t bytes)
{
    void *buffer = NULL;
    must(b, b->num_buffers < MAX_BUFFERS ? assay_buffer_create(b->context, bytes, &buffer)
                                         : ASSAY_E_FULL);
    b->buffer[b->num_buffers++] = buffer;
    must(b, host != NULL ? assay_buffer_write(b->context, buffer, host, bytes)
                         : assay_buffer_fill(b->context, buffer, 0, bytes));
    return buffer;
}

static struct assay_tensor floats(struct bench *b, int64_t rows, int64_t columns, int64_t seed)
{
    size_t count = (size_t)(rows * columns);
    float *host = malloc(4 * count);
    if (host == NULL)
        exit(1);
    for (size_t i = 0; i < count; i++)
        host[i] = (float)(int32_t)noise((int64_t)i ^ seed << 40) * 0x1p-31f;
    void *buffer = put(b, seed < 0 ? NULL : host, 4 * count);
    free(host);
    return assay_tensor_2d(buffer, ASSAY_F32, rows, columns);
}

/* Any codes; scales and bf16 weights of either sign and moderate size. */
static struct assay_weights matrix(struct bench *b, enum assay_weight_format format, int64_t rows,
                                   int64_t columns, int64_t seed)
{
    struct assay_weight_layout layout;
    struct assay_weights w;
    must(b, assay_weight_layout_of(format, rows, columns, &layout, NULL));
    uint8_t *host = malloc(layout.total);
    if (host == NULL)
        exit(1);
    must(b, assay_weights_at(host, format, rows, columns, &w, NULL));
    for (size_t i = 0; i < layout.total; i++)
        host[i] = (uint8_t)noise((int64_t)i ^ seed << 40);
    const struct assay_tensor *small = format == ASSAY_WEIGHT_BF16 ? &w.base : &w.scales;
    uint16_t base = format == ASSAY_WEIGHT_BF16 ? 0x3d00 : 0x2400;
    for (int64_t i = 0; i < assay_tensor_count(small); i++)
        ((uint16_t *)small->data)[i] = (uint16_t)(base | (noise(~i ^ seed << 40) & 0x80ff));
    void *buffer = put(b, host, layout.total);
    free(host);
    must(b, assay_weights_at(buffer, format, rows, columns, &w, NULL));
    return w;
}

static void forget(struct bench *b)
{
    while (b->num_buffers > 0)
        assay_buffer_destroy(b->context, b->buffer[--b->num_buffers]);
}

static void compare(struct bench *b, const struct assay_tensor *fused,
                    const struct assay_tensor *alone, const char *what)
{
    size_t bytes = 4 * (size_t)assay_tensor_count(fused), nonzero = 0;
    unsigned char *first = malloc(bytes), *second = malloc(bytes);
    if (first == NULL || second == NULL)
        exit(1);
    must(b, assay_buffer_read(b->context, first, fused->data, bytes));
    must(b, assay_buffer_read(b->context, second, alone->data, bytes));
    for (size_t i = 0; i < bytes; i++)
        nonzero += first[i] != 0;
    b->num_checks++;
    if (memcmp(first, second, bytes) != 0 || nonzero < bytes / 2) {
        b->num_failed++;
        printf("FAILED %s: %s\n", what, nonzero < bytes / 2 ? "zeros" : "other bits than alone");
    }
    free(first);
    free(second);
}

static void product(struct bench *b, const struct assay_tensor *x, const struct assay_weights *w,
                    const struct assay_tensor *y)
{
    if (w->format == ASSAY_WEIGHT_BF16) {
        const struct assay_linear_args a = {.x = *x, .w = w->base, .y = *y};
        must(b, assay_linear(b->context, &a));
        return;
    }
    const struct assay_linear_grouped_args a = {.x = *x, .w = *w, .y = *y};
    must(b, assay_linear_grouped(b->context, &a));
}

/* Product i has format (first + i step) of the five. */
static void check_pair(struct bench *b, int64_t tokens, const int64_t *rows, int64_t inner,
                       int num_products, int first, int step)
{
    struct assay_linear_pair_args a = {.x = floats(b, tokens, inner, 0),
                                       .num_products = num_products};
    for (int i = 0; i < num_products; i++) {
        enum assay_weight_format format =
            (enum assay_weight_format)((first + i * step) % ASSAY_NUM_WEIGHT_FORMATS);
        a.w[i] = matrix(b, format, rows[i], inner, i + 1);
        a.y[i] = floats(b, tokens, rows[i], -1);
    }
    must(b, assay_linear_pair(b->context, &a));
    for (int i = 0; i < num_products; i++) {
        struct assay_tensor alone = floats(b, tokens, rows[i], -1);
        char what[160];
        product(b, &a.x, &a.w[i], &alone);
        snprintf(what, sizeof what, "linear_pair y[%d] of %d, %s, T=%lld N=%lld K=%lld", i,
                 num_products, assay_weight_format_name(a.w[i].format), (long long)tokens,
                 (long long)rows[i], (long long)inner);
        compare(b, &a.y[i], &alone, what);
    }
    forget(b);
}

static void check_swiglu(struct bench *b, int64_t tokens, int64_t columns, int64_t inner,
                         enum assay_weight_format gate, enum assay_weight_format up)
{
    struct assay_linear_swiglu_args a = {.x = floats(b, tokens, inner, 0),
                                         .gate = matrix(b, gate, columns, inner, 1),
                                         .up = matrix(b, up, columns, inner, 2),
                                         .y = floats(b, tokens, columns, -1)};
    must(b, assay_linear_swiglu(b->context, &a));
    struct assay_tensor g = floats(b, tokens, columns, -1), u = floats(b, tokens, columns, -1);
    product(b, &a.x, &a.gate, &g);
    product(b, &a.x, &a.up, &u);
    const struct assay_silu_mul_args silu = {.gate = g, .up = u, .y = g};
    must(b, assay_silu_mul(b->context, &silu));
    char what[160];
    snprintf(what, sizeof what, "linear_swiglu %s and %s, T=%lld N=%lld K=%lld",
             assay_weight_format_name(gate), assay_weight_format_name(up), (long long)tokens,
             (long long)columns, (long long)inner);
    compare(b, &a.y, &g, what);
    forget(b);
}

int main(int argc, char **argv)
{
    static const int64_t tokens[] = {1, 5, 40}, inner[] = {200, 4100, 5120};
    static const int64_t columns[] = {7, 300, 5120};
    static const int64_t rows[MAX] = {1030, 37, 517, 48};
    struct assay_context_options options = assay_context_defaults();
    struct bench b = {.num_checks = 0};
    options.backend = argc > 1 && strcmp(argv[1], "simt") == 0 ? ASSAY_SIMT : ASSAY_CUDA;
    if (options.backend == ASSAY_CUDA && assay_device_count() == 0) {
        puts("no CUDA device");
        return NO_DEVICE;
    }
    if (assay_context_create(&options, &b.context, NULL) != ASSAY_OK)
        return 1;
    bool is_host = options.backend == ASSAY_SIMT; /* the smaller sizes: a thread is slow there */
    for (int s = 0; s < (is_host ? 1 : 3); s++) {
        for (int t = 0; t < 3; t++) {
            for (int f = 0; f < ASSAY_NUM_WEIGHT_FORMATS; f++) {
                enum assay_weight_format format = (enum assay_weight_format)f;
                enum assay_weight_format next = (enum assay_weight_format)((f + 1) % 5);
                check_swiglu(&b, tokens[t], columns[s], inner[s], format, format);
                check_swiglu(&b, tokens[t], columns[s], inner[s], format, next);
                if (!is_host)
                    check_pair(&b, tokens[t], rows, inner[s], 2 + (f + s) % 3, f, 1 + s);
            }
        }
    }
    printf("%d checks, %d failed\n", b.num_checks, b.num_failed);
    assay_context_destroy(b.context);
    return b.num_checks > 0 && b.num_failed == 0 ? 0 : 1;
}
