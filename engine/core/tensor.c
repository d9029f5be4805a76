/* SPDX-License-Identifier: MIT
 *
 * Tensor views: element sizes, spans, rows, overlap.
 */
#include <assay/tensor.h>

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} dtypes[ASSAY_NUM_DTYPES] = {
#define DTYPE_ROW(enumerator, name, bytes) [ASSAY_##enumerator] = {name, bytes},
    ASSAY_DTYPE_TABLE(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *assay_dtype_name(enum assay_dtype dtype)
{
    return (unsigned)dtype < ASSAY_NUM_DTYPES ? dtypes[dtype].name : "?";
}

size_t assay_dtype_bytes(enum assay_dtype dtype)
{
    return (unsigned)dtype < ASSAY_NUM_DTYPES ? dtypes[dtype].bytes : 0;
}

enum assay_dtype assay_dtype_from_name(const char *name)
{
    for (int i = 0; i < ASSAY_NUM_DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return (enum assay_dtype)i;
    return ASSAY_NUM_DTYPES;
}

static struct assay_tensor contiguous(void *data, enum assay_dtype dtype, int rank,
                                      const int64_t *extent)
{
    struct assay_tensor tensor = {.data = data, .dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        tensor.extent[i] = extent[i];
        tensor.stride[i] = stride;
        stride *= extent[i];
    }
    return tensor;
}

struct assay_tensor assay_tensor_1d(void *data, enum assay_dtype dtype, int64_t n0)
{
    return contiguous(data, dtype, 1, (const int64_t[]){n0});
}

struct assay_tensor assay_tensor_2d(void *data, enum assay_dtype dtype, int64_t n0, int64_t n1)
{
    return contiguous(data, dtype, 2, (const int64_t[]){n0, n1});
}

struct assay_tensor assay_tensor_3d(void *data, enum assay_dtype dtype, int64_t n0, int64_t n1,
                                    int64_t n2)
{
    return contiguous(data, dtype, 3, (const int64_t[]){n0, n1, n2});
}

int64_t assay_tensor_count(const struct assay_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++)
        count *= tensor->extent[i];
    return count;
}

int64_t assay_tensor_rows(const struct assay_tensor *tensor)
{
    int64_t rows = 1;
    for (int i = 0; i + 1 < tensor->rank; i++)
        rows *= tensor->extent[i];
    return rows;
}

size_t assay_tensor_span(const struct assay_tensor *tensor)
{
    int64_t last = 0;
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->extent[i] == 0)
            return 0;
        last += (tensor->extent[i] - 1) * tensor->stride[i];
    }
    return (size_t)(last + 1) * assay_dtype_bytes(tensor->dtype);
}

void *assay_tensor_row(const struct assay_tensor *tensor, int64_t row)
{
    int64_t offset = 0;
    for (int i = tensor->rank - 2; i >= 0; i--) {
        offset += row % tensor->extent[i] * tensor->stride[i];
        row /= tensor->extent[i];
    }
    return (char *)tensor->data + offset * (int64_t)assay_dtype_bytes(tensor->dtype);
}

bool assay_tensor_overlap(const struct assay_tensor *a, const struct assay_tensor *b)
{
    uintptr_t a_first = (uintptr_t)a->data, b_first = (uintptr_t)b->data;
    size_t a_span = assay_tensor_span(a), b_span = assay_tensor_span(b);
    if (a_span == 0 || b_span == 0)
        return false;
    return a_first < b_first + b_span && b_first < a_first + a_span;
}

bool assay_tensor_same(const struct assay_tensor *a, const struct assay_tensor *b)
{
    if (a->data != b->data || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->extent[i] != b->extent[i])
            return false;
        if (a->extent[i] > 1 && a->stride[i] != b->stride[i])
            return false;
    }
    return true;
}
