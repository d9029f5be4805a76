/* SPDX-License-Identifier: MIT
 *
 * Rows of GGUF tensors, which are whole blocks one after the other, to binary32. docs/formats.md
 * has the blocks byte by byte.
 */
#ifndef ASSAY_FORMATS_GGUF_BLOCKS_H
#define ASSAY_FORMATS_GGUF_BLOCKS_H

#include <stdint.h>

#include <assay/status.h>

/* X(enumerator, type id in the file, name, values of a block, bytes of a block) */
#define GGUF_BLOCK_TABLE(X)       \
    X(F32, 0, "F32", 1, 4)        \
    X(F16, 1, "F16", 1, 2)        \
    X(Q4_0, 2, "Q4_0", 32, 18)    \
    X(Q8_0, 8, "Q8_0", 32, 34)    \
    X(Q4_K, 12, "Q4_K", 256, 144) \
    X(Q5_K, 13, "Q5_K", 256, 176) \
    X(Q6_K, 14, "Q6_K", 256, 210) \
    X(BF16, 30, "BF16", 1, 2)

enum gguf_type {
#define GGUF_TYPE_ENUM(enumerator, id, name, values, bytes) GGUF_TYPE_##enumerator = id,
    GGUF_BLOCK_TABLE(GGUF_TYPE_ENUM)
#undef GGUF_TYPE_ENUM
};

struct gguf_block {
    uint32_t type;
    const char *name;
    int64_t values, bytes;
};

/* NULL for a type that Assay does not read. */
const struct gguf_block *gguf_block_find(uint32_t type);
/* Bytes of a row. ASSAY_E_UNSUPPORTED: unknown type; ASSAY_E_SHAPE: columns negative, not whole
 * blocks, or more than 2^48. `what` names the tensor. */
ASSAY_MUST_USE assay_status gguf_row_bytes(uint32_t type, int64_t columns, const char *what,
                                           int64_t *bytes, struct assay_error *error);
/* values[0, columns) of the row; type and columns as above. Products are exact; the differences of
 * Q4_K and Q5_K are rounded once. Any alignment. */
void gguf_decode_row(uint32_t type, const void *row, int64_t columns, float *values);

#endif
