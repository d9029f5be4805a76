/* SPDX-License-Identifier: MIT
 *
 * Tensor views. A view never owns memory. Extents and strides count elements; dimension 0 is the
 * outermost. The innermost dimension of every op argument is contiguous (stride 1); outer strides
 * may be anything that keeps elements of an output apart.
 */
#ifndef ASSAY_TENSOR_H
#define ASSAY_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, name, bytes of one element) */
#define ASSAY_DTYPE_TABLE(X)                                 \
    X(F32, "f32", 4)   /* IEEE binary32 */                   \
    X(BF16, "bf16", 2) /* high half of binary32 */           \
    X(F16, "f16", 2)   /* IEEE binary16 */                   \
    X(I32, "i32", 4)   /* two's complement */                \
    X(F64, "f64", 8)   /* references only: no op takes it */ \
    X(I64, "i64", 8)                                         \
    X(U8, "u8", 1)

enum assay_dtype {
#define ASSAY_DTYPE_ENUM(enumerator, name, bytes) ASSAY_##enumerator,
    ASSAY_DTYPE_TABLE(ASSAY_DTYPE_ENUM)
#undef ASSAY_DTYPE_ENUM
        ASSAY_NUM_DTYPES
};

#define ASSAY_MAX_RANK 4

struct assay_tensor {
    void *data; /* NULL: an absent optional argument */
    enum assay_dtype dtype;
    int rank;                       /* 1 .. ASSAY_MAX_RANK */
    int64_t extent[ASSAY_MAX_RANK]; /* >= 0 */
    int64_t stride[ASSAY_MAX_RANK]; /* elements */
};

/* "bf16"; "?" for a value outside the table. */
const char *assay_dtype_name(enum assay_dtype dtype);
/* Bytes of one element, 0 for a value outside the table. */
size_t assay_dtype_bytes(enum assay_dtype dtype);
/* The dtype with this name, ASSAY_NUM_DTYPES when there is none. */
enum assay_dtype assay_dtype_from_name(const char *name);

/* Contiguous views. */
struct assay_tensor assay_tensor_1d(void *data, enum assay_dtype dtype, int64_t n0);
struct assay_tensor assay_tensor_2d(void *data, enum assay_dtype dtype, int64_t n0, int64_t n1);
struct assay_tensor assay_tensor_3d(void *data, enum assay_dtype dtype, int64_t n0, int64_t n1,
                                    int64_t n2);
/* Product of the extents. */
int64_t assay_tensor_count(const struct assay_tensor *tensor);
/* Rows: product of all extents but the innermost; 1 for rank 1. */
int64_t assay_tensor_rows(const struct assay_tensor *tensor);
/* Bytes from the first element to one past the last that the view can reach; 0 when empty. */
size_t assay_tensor_span(const struct assay_tensor *tensor);
/* Address of the first element of row `row` (rows counted as in assay_tensor_rows). */
void *assay_tensor_row(const struct assay_tensor *tensor, int64_t row);
/* True when the two views can reach a common byte (by their spans). */
bool assay_tensor_overlap(const struct assay_tensor *a, const struct assay_tensor *b);
/* True when both views have the same data, extents and strides. */
bool assay_tensor_same(const struct assay_tensor *a, const struct assay_tensor *b);

#ifdef __cplusplus
}
#endif
#endif
