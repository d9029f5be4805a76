/* SPDX-License-Identifier: MIT
 *
 * Writes a model as a GGUF file, by the transforms of qwen3_5.md sections 8.3 and 8.4 read
 * forwards: what the reader undoes. Knows nothing of the reader. Faults are wrong converters, as
 * there have been: a file of each must be refused or show in the values.
 */
#ifndef ASSAY_PROPERTIES_GGUF_WRITER_H
#define ASSAY_PROPERTIES_GGUF_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/model.h>

/* X(enumerator, what the converter does) */
#define GGUF_FAULT_TABLE(X)                                              \
    X(NONE, "nothing wrong")                                             \
    X(NO_TILE, "value heads stay in grouped order")                      \
    X(TILE_BACKWARDS, "value heads permuted by the inverse")             \
    X(TILE_KEYS, "the rows of q and k are permuted, too")                \
    X(TILE_CONV_NOT, "all but the convolution's channels are tiled")     \
    X(TILE_OUT_ROWS, "rows of out_proj are permuted instead of columns") \
    X(TILE_DECAY_NOT, "ssm_a stays in grouped order")                    \
    X(NORM_TWICE, "2 + w")                                               \
    X(NORM_NEVER, "w")                                                   \
    X(GATED_NORM, "1 + w for the gated norm as well")                    \
    X(DECAY_RAW, "A_log itself")                                         \
    X(DECAY_POSITIVE, "exp(A_log)")                                      \
    X(SWAP_EXTENTS, "extents of matrices outermost first")               \
    X(CONV_REVERSED, "taps in reverse")                                  \
    X(GATE_UP, "gate and up change places")                              \
    X(HALVES, "q_proj in halves instead of query and gate a head")       \
    X(MISALIGNED, "a tensor 8 bytes off")                                \
    X(COUNT_MTP, "block_count without the MTP block")                    \
    X(EXPERT_GATE_UP, "gate and up of the experts change places")        \
    X(EXPERTS_REVERSED, "the last expert first")                         \
    X(EXPERT_PAIRS, "gate and up rows of an expert by turns")            \
    X(EXPERT_EXTENTS, "the number of experts is the middle extent")      \
    X(BLOCKS_FLAT, "ssm_ba and ssm_in without blocks of a key head")     \
    X(SAYS_TILED, "heads in blocks, which metadata calls tiled")         \
    X(SIGMOID, "experts chosen by a sigmoid")                            \
    X(NOT_ONE, "weights of a token's experts that do not add up to 1")   \
    X(NO_UP_EXPERTS, "experts without up")                               \
    X(USED_COUNT, "a token has more experts than there are")

enum gguf_fault {
#define GGUF_FAULT_ENUM(enumerator, meaning) GGUF_FAULT_##enumerator,
    GGUF_FAULT_TABLE(GGUF_FAULT_ENUM)
#undef GGUF_FAULT_ENUM
        GGUF_NUM_FAULTS,
    GGUF_FIRST_MIXTURE_FAULT = GGUF_FAULT_EXPERT_GATE_UP /* these concern mixtures alone */
};
const char *gguf_fault_meaning(enum gguf_fault fault);

/* A field of the file whose value the reader must not believe. */
enum gguf_field_kind {
    GGUF_FIELD_COUNT,  /* of tensors, keys, elements */
    GGUF_FIELD_LENGTH, /* of a text */
    GGUF_FIELD_TYPE,   /* of a value or tensor */
    GGUF_FIELD_RANK,
    GGUF_FIELD_EXTENT,
    GGUF_FIELD_OFFSET,
    GGUF_FIELD_ALIGNMENT
};
struct gguf_field {
    enum gguf_field_kind kind;
    size_t at, bytes;
};

/* A tensor in the file, for those who compare values in it. */
struct gguf_written {
    char name[64];
    uint32_t type;
    int rank;
    uint64_t ne[4];
    size_t at, bytes; /* in the file */
};

enum { GGUF_MAX_WRITTEN = 160 };

struct gguf_image {
    uint8_t *bytes;
    size_t size, data; /* where the data starts */
    struct gguf_field *fields;
    size_t num_fields;
    struct gguf_written tensors[GGUF_MAX_WRITTEN];
    int num_tensors;
};

/* How the model is written. Of a mixture the router and the shared expert's gate are always F32. */
struct gguf_style {
    uint32_t matrix_type; /* type id; blocks of other types than F32 and BF16 are random bytes */
    enum gguf_fault fault;
    uint32_t alignment; /* 0: the default, unstated */
    /* Of mixtures: */
    uint32_t up_type;   /* of the experts' up, if it is another; 0: matrix_type */
    bool fused_experts; /* one bank of gate and up */
    bool is_next;       /* qwen3next instead of qwen35moe: heads in grouped order, ssm_ba, no MTP */
    bool is_old_next;   /* and ssm_in */
};

/* A mixture of experts is written as qwen35moe. The caller frees bytes and fields. */
void gguf_write(const assay_model *model, const struct gguf_style *style, struct gguf_image *image);
void gguf_free(struct gguf_image *image);

#endif
